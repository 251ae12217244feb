"""R14: nothing grows with the number of requests. The figures are printed, as the long run's belong into docs/reliability.md."""

from pathlib import Path

import pytest

from tests.faults.report import told

pytestmark = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")
GOAL_KB = 0.05  # a request, of resident memory
SHORT_KB = 4.0  # what so few requests can show: the allocator and SQLite's statements take megabytes until they are warm


@pytest.mark.parametrize(
    ("requests", "most_kb"),
    [
        (3_000, SHORT_KB),
        pytest.param(10_000, 1.0, marks=pytest.mark.slow),
        pytest.param(100_000, GOAL_KB, marks=pytest.mark.slow),
    ],
)
def test_nothing_grows_with_the_requests(requests, most_kb):
    report = told("soak", requests)
    print(f"R14: {report}")  # noqa: T201 - the figures are what the run is for
    figures = report.figures
    assert report.faults == []
    assert figures["KB a request, 95 % bound"] <= most_kb
    for name in ("files", "tasks", "threads"):
        first, last = figures[name]
        assert abs(last - first) <= 5, name
    assert figures["WAL MB"] <= 64


@pytest.mark.parametrize(
    ("requests", "kept", "most_kb"), [(1_500, 16_384, SHORT_KB), pytest.param(10_000, 2_048, 1.0, marks=pytest.mark.slow)]
)
def test_what_is_kept_of_each_request_is_seen(requests, kept, most_kb):
    """The null control: more than such a run may show is kept, in bytes."""
    assert told("soak", requests, "--leak", kept).figures["KB a request"] > most_kb
