"""What a campaign of faults has found, as JSON on the way from its process to the test that judges it."""

import json
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

MEMORY = Path("/dev/shm")  # kill -9 and strace's errors keep the page cache, so a disk would prove no more


@dataclass(slots=True)
class Report:
    """``figures`` counts what was done; ``found`` counts faults by kind, ``faults`` has a line for each."""

    points: int = 0
    seconds: float = 0.0
    figures: dict = field(default_factory=dict)
    found: dict = field(default_factory=dict)
    faults: list = field(default_factory=list)

    def count(self, figure, more=1):
        self.figures[figure] = self.figures.get(figure, 0) + more

    def fault(self, kind, what):
        self.found[kind] = self.found.get(kind, 0) + 1
        self.faults.append(f"{kind}: {what}")


def memory_folder():
    """A folder that lasts for a with block, in memory where the system has such a place."""
    return tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None)


@contextmanager
def campaign():
    """A report and a folder in memory; the time until its end is noted."""
    report, started = Report(), time.perf_counter()
    with memory_folder() as folder:
        yield report, Path(folder)
    report.seconds = round(time.perf_counter() - started, 1)


def tell(report):
    """Print it for ``told``."""
    print(json.dumps(asdict(report)))  # noqa: T201


def told(module, *options, limit_s=3600):
    """The report of ``python -m tests.faults.MODULE OPTIONS``: a process of its own, as only one without threads may fork."""
    command = [sys.executable, "-m", f"tests.faults.{module}", *map(str, options)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=limit_s, cwd=Path(__file__).parents[2], check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return Report(**json.loads(done.stdout.splitlines()[-1]))
