"""What a trial of the containers has seen, as a person reads it: while it runs, and in docs/containers.md."""

import contextlib
import re
import statistics
import sys
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime

from tests.compose.faults import Outcome
from tests.conftest import ROOT
from tests.support.containers import Reply

PAGE = ROOT / "docs" / "containers.md"
BLOCK = re.compile(r"(?<=<!-- made by tests/compose/release_trial.py -->\n).*(?=<!-- end -->)", re.DOTALL)
FAULTS = (
    "fault", "clouds", "all is well again after, s", "documents acknowledged meanwhile", "lost", "questions answered",
    "of these degraded or partial", "refused", "the edge was away", "median seconds",
)  # fmt: skip


@dataclass(frozen=True)
class Paper:
    """A file that is sent to an edge, and words that have to be in the text that the edge read from it."""

    edge: str
    name: str
    data: bytes
    words: tuple[str, ...]


@dataclass(frozen=True)
class Question:
    """Where it is asked, what the answer has to have in it, and which site's documents that comes from."""

    edge: str
    text: str
    answer: str
    source: str
    mode: str = "auto"


@dataclass
class Record:
    """What was seen; ``wrong``: what must not be."""

    facts: list[str] = field(default_factory=list)
    steps: list[tuple[str, float]] = field(default_factory=list)
    papers: list[tuple[Paper, str, float]] = field(default_factory=list)
    answers: list[tuple[Question, Reply]] = field(default_factory=list)
    outcomes: list[tuple[str, Outcome]] = field(default_factory=list)
    memory: dict[str, float] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)

    @contextlib.contextmanager
    def step(self, words, *, listed=True):
        """Time a step, and say where it is. ``listed``: it gets a row among the steps."""
        tell(f"{datetime.now(UTC):%H:%M:%S} {words} …")
        began = time.monotonic()
        yield
        seconds = time.monotonic() - began
        tell(f"         {seconds:.0f} s")
        if listed:
            self.steps.append((words, seconds))

    def see(self, *words):
        """Note what is wrong, and go on: one run shows all."""
        for found in words:
            tell(f"WRONG    {found}")
            self.wrong.append(found)


def tell(text):
    """A line for who waits."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def page(record):
    """The record as Markdown."""
    yield "\n".join(record.facts) + "\n"
    yield table(["step", "seconds"], [[words, f"{seconds:.0f}"] for words, seconds in record.steps])
    yield table(
        ["file", "sent to", "is", "after, s"],
        [[paper.name, paper.edge, status, f"{seconds:.0f}"] for paper, status, seconds in record.papers],
    )
    yield table(
        ["question", "asked at", "route", "seconds", "answer"],
        [[one.text, one.edge, reply.body.get("route", "-"), f"{reply.seconds:.0f}", reply.body.get("answer", str(reply.status))]
         for one, reply in record.answers],
    )  # fmt: skip
    yield table(FAULTS, [row(where, outcome) for where, outcome in record.outcomes])
    yield "Memory at the end: " + ", ".join(f"{service} {used:.0f} MB" for service, used in record.memory.items()) + ".\n"
    yield "\n".join(f"- **Wrong:** {words}" for words in record.wrong) + "\n" if record.wrong else "Nothing was wrong.\n"


def row(where, outcome):
    good = [reply for reply in outcome.answers if reply.status == 200]
    less = [reply for reply in good if reply.body["degraded"] or reply.body["partial"]]
    away = [reply for reply in outcome.answers if not reply.status]
    refused = len(outcome.answers) - len(good) - len(away)
    typical = statistics.median(reply.seconds for reply in outcome.answers)
    cells = [len(outcome.kept), len(outcome.lost), len(good), len(less), refused, len(away)]
    return [outcome.fault.act.__doc__, where, f"{outcome.back_s:.0f}", *map(str, cells), f"{typical:.0f}"]


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |\n" for line in lines)


def written(text):
    """Put it into the page, in the place of the former record."""
    PAGE.write_text(BLOCK.sub(lambda _: f"\n{text}\n", PAGE.read_text(encoding="utf-8")), encoding="utf-8")
