"""What a campaign of faults has found, as JSON on the way from its process to the test that judges it."""

import json
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import cache
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


@cache
def forker():
    """The process that campaigns are forked from; it ends with this one, whose end of its input is closed then."""
    command = [sys.executable, "-m", "tests.faults.forker"]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2])


def told(module, *options):
    """The report of ``python -m tests.faults.MODULE OPTIONS``, which runs as long as it takes."""
    with memory_folder() as folder:
        forker().stdin.write(f"{json.dumps([folder, module, *map(str, options)])}\n")
        forker().stdin.flush()
        status = forker().stdout.readline().strip()
        out, err = (Path(folder, name).read_text() if Path(folder, name).exists() else "" for name in ("out", "err"))
    assert status == "0", err[-4000:]
    return Report(**json.loads(out.splitlines()[-1]))
