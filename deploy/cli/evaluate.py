"""``dgrag eval``: one's own questions to an edge, and how good its answers are against those that are expected."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextvars import copy_context
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import httpx2
import orjson
import typer
from rich.text import Text

from deploy.cli import render
from deploy.cli.ask import Mode, as_answer, query
from deploy.cli.board import err, out, waiting
from deploy.cli.rest import DEFAULT_STATE, Edge, Json, State, client, edge_url
from deploy.cli.sending import status_of
from deploy.cluster.errors import ClusterError
from deploy.cluster.state import StateDir
from deploy.evaluation.figures import Change, Figures, by_site, changes, figures, interval, percent
from deploy.evaluation.page import SHARES, page, table_rows
from deploy.evaluation.questions import OwnQuestion, parsed
from deploy.evaluation.results import begin, record, recorded
from deploy.evaluation.verdicts import Reply, Verdict, judged
from shared.client.errors import ServiceError
from shared.plural import counted

COLUMNS = ("site", ">n", *(f">{share}" for share in SHARES), ">s p50")  # 80 columns; the rest of a site's is in --json and on the page
QUESTION_COLUMNS = {name: name == "question" for name in (">#", "question", "correct", "hit", "answered", ">supported", ">s", ">tokens")}
CHANGE_COLUMNS = {"question": True, ">before": False, ">now": False}
SHOWN = 40  # questions on a terminal; of more, those that are not correct
PAGE, SUMMARY = "report.html", "summary.json"
NO_ENTRY = frozenset({401, 403})  # of no question's making: the next one would fare no better


def evaluate(
    file: Annotated[
        Path, typer.Argument(exists=True, dir_okay=False, help="*.csv or *.jsonl: question, answer, and, if known, site that holds it.")
    ],
    edge: Edge = None,
    mode: Annotated[Mode, typer.Option(help="As of `dgrag ask`.")] = Mode.auto,
    samples: Annotated[int | None, typer.Option(min=1, max=8, help="Answers that the edge draws for one. Default: as it is set.")] = None,
    memory: Annotated[bool, typer.Option("--memory/--no-memory", help="May a remembered answer do? It needs no model.")] = True,
    parallel: Annotated[int, typer.Option(min=1, max=64, help="Questions that are asked at once.")] = 1,
    limit: Annotated[int | None, typer.Option(min=1, help="At most so many questions, the first ones.")] = None,
    folder: Annotated[
        Path | None, typer.Option("--out", help=f"Folder for results, {SUMMARY} and {PAGE}; what it holds is not asked again.")
    ] = None,
    against: Annotated[Path | None, typer.Option(exists=True, file_okay=False, help="The --out of another run: what got better?")] = None,
    fail_under: Annotated[float, typer.Option(min=0.0, max=1.0, help="End with 1 where a smaller share is correct.")] = 0.0,
    as_json: Json = False,
    state: State = DEFAULT_STATE,
) -> None:
    """Ask an edge the questions of a file, and judge its answers by those that the file expects: by rule, without a model."""
    questions = parsed(file.name, file.read_bytes())[:limit]
    before = recorded(against) if against else {}
    url = edge_url(StateDir(state), edge)
    with client() as http:
        asked = {"edge": status_of(http, url).edge, "mode": mode.value, "samples": samples or "as set", "memory": memory}
        ask = partial(_asked, http, url, mode, samples, memory=memory)
        replies = _replies(questions, folder, asked, partial(_ask_all, ask=ask, parallel=parallel))
    verdicts = [judged(one, replies[one.question]) for one in questions]
    former = [judged(one, before[one.question]) for one in questions if one.question in before]
    changed = changes(former, verdicts) if against else None
    summary = orjson.dumps(as_body(verdicts, asked, changed), option=orjson.OPT_INDENT_2)
    if folder:
        (folder / SUMMARY).write_bytes(summary)
        (folder / PAGE).write_text(page(verdicts, asked, changed), encoding="utf-8")
    if as_json:
        typer.echo(summary.decode())
    else:
        _show(verdicts, changed, len(former), folder)
    correct = sum(one.correct for one in verdicts)
    if correct / len(verdicts) < fail_under:  # not `fail_under * len`: 0.55 * 100 is more than 55
        raise ClusterError(f"{correct} of {counted(len(verdicts), 'question')} correct, which is below --fail-under {fail_under}")


def as_body(verdicts: Sequence[Verdict], asked: Mapping[str, Any], changed: Sequence[Change] | None) -> dict[str, Any]:
    """What ``summary.json`` holds, and what ``--json`` prints: ``sites`` has each site's figures."""
    head = {"asked": asked, "total": figures(verdicts), "sites": by_site(verdicts), "questions": [_as_row(one) for one in verdicts]}
    return head if changed is None else {**head, "changes": changed}


def _as_row(one: Verdict) -> dict[str, Any]:
    judged_as = {name: getattr(one, name) for name in ("hit", "answered", "sentences", "supported", "correct", "claims")}
    costs = {"seconds": round(one.reply.seconds, 2), "tokens": one.tokens, "sites_asked": one.sites_asked}
    return {"question": one.asked.question, "line": one.asked.line, **judged_as, **costs, "trouble": one.trouble}


def _replies(
    questions: Sequence[OwnQuestion],
    folder: Path | None,
    asked: Mapping[str, Any],
    ask_all: Callable[[Sequence[str]], Iterator[Reply]],
) -> dict[str, Reply]:
    """A reply to each question: the one that the folder has, else a new one, which goes there at once. What failed is asked again."""
    found = recorded(folder, asked) if folder else {}
    if folder:
        begin(folder)
    missing = [one.question for one in questions if one.question not in found or found[one.question].error]
    with waiting(f"asking {counted(len(missing), 'question')}") as tell:
        for number, reply in enumerate(ask_all(missing), start=1):
            found[reply.question] = reply
            if folder:
                record(folder, asked, reply)
            tell(f"{number} of {counted(len(missing), 'question')} asked")
    return found


def _ask_all(questions: Sequence[str], *, ask: Callable[[str], Reply], parallel: int) -> Iterator[Reply]:
    """The replies as they come."""
    with ThreadPoolExecutor(parallel) as pool:
        coming = [pool.submit(copy_context().run, ask, question) for question in questions]  # the context has the API key
        try:
            for reply in as_completed(coming):
                yield reply.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _asked(http: httpx2.Client, url: str, mode: Mode, samples: int | None, question: str, *, memory: bool) -> Reply:
    """Ask once. A refusal and a silence are this question's result; a key that opens nothing, and an edge that is away, raise."""
    began, answer, failure = time.monotonic(), None, ""
    try:
        answer = as_answer(query(http, url, question, mode, samples=samples, memory=memory))
    except ServiceError as error:
        if error.status in NO_ENTRY:
            raise
        failure = error.message
    except httpx2.ReadTimeout:
        failure = "no answer in time"
    return Reply(question, time.monotonic() - began, answer, failure)


def _show(verdicts: Sequence[Verdict], changed: Sequence[Change] | None, compared: int, folder: Path | None) -> None:
    numbered = list(enumerate(verdicts, start=1))
    shown = numbered if len(numbered) <= SHOWN else [one for one in numbered if not one[1].correct][:SHOWN]
    rows = table_rows(verdicts)
    if shown:
        out().print(render.lines(QUESTION_COLUMNS, [_question_row(*one) for one in shown]), "")
    out().print(render.table(COLUMNS, [_figures_row(*row) for row in rows]))
    out().print(_costs(rows[-1][1]), markup=False)
    if changed is not None:
        better = sum(one.now > one.before for one in changed)
        out().print(Text())
        out().print(f"of {counted(compared, 'question')} of the other run {better} better, {len(changed) - better} worse", markup=False)
        if changed:
            out().print(render.lines(CHANGE_COLUMNS, [(one.question, f"{one.before:.0%}", f"{one.now:.0%}") for one in changed[:SHOWN]]))
    for one in (one for one in verdicts if one.trouble):
        err().print(f"line {one.asked.line} {one.trouble}", markup=False, soft_wrap=True)
    if folder:
        err().print(f"each answer with its verdicts: {folder / PAGE}", markup=False, soft_wrap=True)


def _question_row(number: int, one: Verdict) -> tuple[str, ...]:
    told = f"{sum(claim.is_told for claim in one.claims)} of {len(one.claims)}" if len(one.claims) > 1 else _yes(one.correct)
    supported = f"{one.supported} of {one.sentences}" if one.sentences else ""
    costs = f"{one.reply.seconds:.1f}", render.count(one.tokens)
    return str(number), one.asked.question, told, _yes(one.hit), _yes(one.answered), supported, *costs


def _yes(verdict: bool | None) -> str:
    return "" if verdict is None else "yes" if verdict else "no"


def _figures_row(site: str, row: Figures) -> tuple[str | Text, ...]:
    shares = (Text(f"{percent(getattr(row, name))}\n{interval(getattr(row, name))}") for name in SHARES)
    return site, str(row.questions), *shares, "–" if row.seconds_p50 is None else f"{row.seconds_p50:.1f}"


def _costs(total: Figures) -> str:
    if total.seconds_p90 is None:
        return "no question was answered in any way"
    means = f"{total.tokens:,.0f} tokens and {total.sites_asked:.1f} sites asked a question"
    return f"nine of ten took at most {total.seconds_p90:.1f} s; {means}"
