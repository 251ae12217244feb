"""What can keep a benchmark from running."""

from __future__ import annotations

from shared.errors import DgragError


class BenchmarkError(DgragError):
    """The run cannot be made as it was asked for: what, why, and the next step."""

    code = "benchmark_error"
