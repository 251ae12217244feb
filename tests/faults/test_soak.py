"""R14: nothing grows with the number of requests. The figures are printed, as the long run's belong into docs/reliability.md."""

from pathlib import Path

import pytest

from tests.faults.report import told

pytestmark = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")
LEAST_KB = 0.05  # a request, of resident memory: the goal
SHORT_KB = 0.5  # what so few requests can show: the allocator's own coming and going is a megabyte


@pytest.mark.parametrize(
    ("requests", "most_kb"),
    [
        (3_000, SHORT_KB),
        pytest.param(10_000, SHORT_KB, marks=pytest.mark.slow),
        pytest.param(100_000, LEAST_KB, marks=pytest.mark.slow),
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


def test_a_kilobyte_kept_of_each_request_is_seen():
    """The null control."""
    assert told("soak", 3_000, "--leak", 1024).figures["KB a request"] > SHORT_KB
