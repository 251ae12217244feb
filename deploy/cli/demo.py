"""``dgrag demo``: four sites, four questions, one machine."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from textwrap import shorten
from typing import Annotated, Any, Literal

import httpx2
import orjson
import typer
from pydantic import TypeAdapter
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from deploy.cli import render
from deploy.cli.ask import Mode, as_answer, query
from deploy.cli.board import err, out
from deploy.cli.rest import Json, client
from deploy.cli.sending import listing
from deploy.cli.up import WEAK, bring_up
from deploy.cluster.errors import ClusterError
from deploy.cluster.launch import Plan
from deploy.cluster.lifecycle import supervised
from deploy.cluster.local import ByProcess
from deploy.cluster.runtimes import Runtime
from deploy.cluster.services import EdgeOptions
from deploy.cluster.state import Member, StateDir
from shared.plural import counted
from shared.records import Answer

SITES = ("hospital", "bank", "plant", "fieldoffice")
QUESTION_CHARS = 22  # of a row of the summary: the row fits into 80 columns
QUESTIONS = 4  # the first ones of the file: one of each kind

Expect = Literal["local", "other_edge", "two_edges", "nobody"]
HEADLINES: dict[Expect, str] = {
    "local": "answered at the site itself",
    "other_edge": "answered from another site's documents",
    "two_edges": "answered from two other sites together",
    "nobody": "answered by nobody, and said so",
}
NOT_JUDGED = "what is expected of each answer is what the standard model says; the {model} model is not judged by it"
CONSOLE = "each site and the cloud have a console in the browser: `dgrag demo --keep` leaves them running, and says their addresses"
ROUTES_OF_A_SITE = ("local", "memory")


@dataclass(frozen=True, slots=True)
class Wording:
    """How an answer is put beside what is expected: words and their styles, and the column of the summary."""

    expected: str
    right: tuple[str, str]
    wrong: tuple[str, str]  # with the fault behind it
    column: str


JUDGED = Wording("Expected: ", ("✓ as expected", "bold green"), ("✗ ", "bold red"), "ok")
TOLD = Wording("The standard model: ", ("this model: the same", "dim"), ("this model: ", "dim"), "same")


@dataclass(frozen=True, slots=True)
class SampleQuestion:
    """One row of ``samples/questions.json``."""

    question: str
    asked_at: str  # edge id
    expect: Expect
    answer: str
    must_contain: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()  # "<edge>/<document>"


def fault(sample: SampleQuestion, answer: Answer) -> str:
    """What is wrong with the answer, in words; empty when it is as expected."""
    if sample.expect == "nobody":
        return f"was answered ({answer.route}), though no document holds the answer" if answer.answered else ""
    if not answer.answered:
        return f"was not answered ({answer.route})"
    return _wrong_place(sample, answer) or _missing_words(sample, answer)


def _wrong_place(sample: SampleQuestion, answer: Answer) -> str:
    if sample.expect == "local":
        return "" if answer.route in ROUTES_OF_A_SITE else f"was answered by {answer.route}, expected local"
    if answer.route != "cloud":
        return f"was answered by {answer.route}, expected cloud"
    others = {citation.edge for citation in answer.citations} - {sample.asked_at}
    wanted = 2 if sample.expect == "two_edges" else 1
    return "" if len(others) >= wanted else f"cites {counted(len(others), 'other site')}, expected {wanted}"


def _missing_words(sample: SampleQuestion, answer: Answer) -> str:
    missing = [words for words in sample.must_contain if words.casefold() not in answer.answer.casefold()]
    return f"does not say {', '.join(missing)}" if missing else ""


SAMPLES = Path(__file__).parents[1] / "samples"


@dataclass(frozen=True, slots=True)
class AskedSample:
    """A sample question with its answer; ``fault`` is empty when the answer is as expected."""

    sample: SampleQuestion
    reply: Any  # the answer's JSON as it came
    answer: Answer
    seconds: float
    fault: str


def demo(
    state: Annotated[Path | None, typer.Option("--state", help="Folder to use; default: a temporary one.")] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Leave the cluster running afterwards.")] = False,
    model: Annotated[str, typer.Option(help="standard, small, smoke, or the URL of an OpenAI-compatible server.")] = "standard",
    as_json: Json = False,
) -> None:
    """Start four sample sites, ask four questions, show where each answer comes from, and stop."""
    started, asked, first_answer_s = time.monotonic(), list[AskedSample](), 0.0
    wording = TOLD if model in WEAK else JUDGED
    if model in WEAK:
        err().print(NOT_JUDGED.format(model=model), style="yellow", markup=False, soft_wrap=True)
    with (
        _folder(state, keep=keep) as folder,
        supervised(ByProcess(StateDir(folder), detached=keep), detached=keep) as runtime,
        client() as http,
    ):
        for result in _ask_all(runtime, http, model):
            asked.append(result)
            first_answer_s = first_answer_s or time.monotonic() - started
            if not as_json:
                _show(len(asked), result, wording)
        members = runtime.state.members
    total_s = time.monotonic() - started
    if as_json:
        typer.echo(orjson.dumps(as_body(asked, first_answer_s, total_s)).decode())
    else:
        out().print(
            Text(),
            render.heading("Summary"),
            _summary(asked, wording),
            Text(f"\nfirst answer after {first_answer_s:.0f} s, all done after {total_s:.0f} s, start and indexing included"),
        )
    for line in _farewell(members, folder) if keep else [CONSOLE]:
        err().print(line, markup=False, soft_wrap=True)
    _verdict(asked, model)


def _farewell(members: Sequence[Member], folder: Path) -> list[str]:
    """What is said of a demo that goes on running: where its consoles are, and how to ask and to stop it."""
    consoles = [f"  {member.name}: {member.url}" for member in members if member.role in ("cloud", "edge")]
    return [
        "still running; open a console in a browser:",
        *consoles,
        f"ask with `dgrag ask … --state {folder}`, stop with `dgrag down --state {folder}`",
    ]


def _verdict(asked: Sequence[AskedSample], model: str) -> None:
    """Raise ClusterError where an answer is not as expected; a model that is not judged has none wrong unless a service failed too."""
    wrong = [result for result in asked if result.fault]
    if not wrong:
        return
    if model not in WEAK or any(result.answer.degraded or result.answer.partial for result in asked):
        said = "; ".join(_said(result) for result in wrong)
        raise ClusterError(f"{len(wrong)} of {counted(len(asked), 'answer')} not as expected: {said}")
    same = f"{len(asked) - len(wrong)} of {counted(len(asked), 'answer')} as the standard model's"
    err().print(f"the services of the demo worked; {same}: --model standard shows them all", markup=False, soft_wrap=True)


def samples() -> list[SampleQuestion]:
    """The questions of the demo."""
    return TypeAdapter(list[SampleQuestion]).validate_json((SAMPLES / "questions.json").read_bytes())[:QUESTIONS]


def as_body(asked: Sequence[AskedSample], first_answer_s: float, total_s: float) -> dict[str, Any]:
    """What ``dgrag demo --json`` prints."""
    rows = [
        {
            "question": result.sample.question,
            "asked_at": result.sample.asked_at,
            "expect": result.sample.expect,
            "ok": not result.fault,
            "fault": result.fault,
            "seconds": round(result.seconds, 2),
            "answer": result.reply,
        }
        for result in asked
    ]
    ok = all(row["ok"] for row in rows)
    return {"ok": ok, "first_answer_s": round(first_answer_s, 1), "total_s": round(total_s, 1), "questions": rows}


def _ask_all(runtime: Runtime, http: httpx2.Client, model: str) -> Iterator[AskedSample]:
    plan = Plan(SITES, model=model, options=EdgeOptions(share="full"))  # made-up documents: all may be quoted
    _, failed = bring_up(runtime, plan, {site: listing([SAMPLES / site]) for site in SITES}, http)
    if failed:
        reasons = "; ".join(f"{result.name}: {result.reason}" for result in failed)
        raise ClusterError(f"{counted(len(failed), 'sample document')} not indexed: {reasons}", next_step="see the edge's log")
    urls = {member.name: member.url for member in runtime.state.of("edge")}
    for sample in samples():
        began = time.monotonic()
        with err().status(f"asking {sample.asked_at} …"):
            reply = query(http, urls[sample.asked_at], sample.question, Mode.auto)
        answer = as_answer(reply)
        yield AskedSample(sample, reply, answer, time.monotonic() - began, fault(sample, answer))


def _show(number: int, result: AskedSample, wording: Wording) -> None:
    title = Text.assemble(f"\n{wording.expected}", (HEADLINES[result.sample.expect], "bold"))
    out().print(title, Panel(Text(f"{number}. {result.sample.asked_at} asks: {result.sample.question}")), render.answer(result.answer))
    said, style = wording.wrong if result.fault else wording.right
    out().print(Text(f"{said}{result.fault}", style=style))


def _summary(asked: Sequence[AskedSample], wording: Wording) -> Table:
    """One line a question; below it the time and the tokens of all."""
    columns = ("#", "question", "asked at", "route", "cites", ">s", ">tokens", wording.column)
    total = ("", render.TOTAL, "", "", "", f"{sum(result.seconds for result in asked):.1f}", f"{sum(map(_tokens, asked)):,}", "")
    return render.table(columns, [*(_row(number, result) for number, result in enumerate(asked, 1)), total])


def _row(number: int, result: AskedSample) -> tuple[str, ...]:
    cited = ", ".join(sorted({citation.edge for citation in result.answer.citations}))
    question = shorten(result.sample.question, QUESTION_CHARS, placeholder=" …")
    facts = (f"{result.seconds:.1f}", f"{_tokens(result):,}", "no" if result.fault else "yes")
    return (str(number), question, result.sample.asked_at, result.answer.route, cited, *facts)


def _tokens(result: AskedSample) -> int:
    return sum(step.tokens_in + step.tokens_out for step in result.answer.trace)


def _said(result: AskedSample) -> str:
    return f"“{result.sample.question}” {result.fault}"


@contextmanager
def _folder(state: Path | None, *, keep: bool) -> Iterator[Path]:
    """The state's folder; a temporary one is gone afterwards, unless its cluster is kept."""
    if state or keep:
        yield state or Path(mkdtemp(prefix="dgrag-demo-"))
        return
    with TemporaryDirectory(prefix="dgrag-demo-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)
