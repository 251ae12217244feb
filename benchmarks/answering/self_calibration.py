"""What ``dgrag calibrate`` is worth.

``python -m benchmarks.answering.self_calibration SITE … --url http://127.0.0.1:8090/v1 --model small``. A site is ``hospital``, a sample,
or the stem of a file in UltraDomain's format below ``--data``. It is calibrated without labels. Then its labelled questions are asked, and
those of the other sites, each once with open bars, and no answer drawn to the others. What the gate does with the thresholds as they are
set, and with those that were chosen, is read off the same scores. With ``--probe`` no answer is drawn to any labelled question: the steps
before the samples are compared. A killed run goes on. One JSON line a site is printed.
"""

from __future__ import annotations

import asyncio
import csv
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer
from pydantic import TypeAdapter

from benchmarks.cluster import drop_settings_of_the_shell
from benchmarks.config import WORK
from benchmarks.datasets.ultradomain import UltraDomain
from benchmarks.instant_edge import running, settled
from benchmarks.journal import Journal
from benchmarks.machine import code, machine
from edge_node.build import Adapters, build_node
from edge_node.calibration.choice import Choice, Scored, limits_of
from edge_node.calibration.service import Serving, scored
from edge_node.calibration.signals import Signals, Thresholds, escalation
from edge_node.documents.readers import read
from edge_node.node import EdgeNode
from edge_node.records import Offered, document_id
from edge_node.settings import EdgeSettings
from shared.intervals import wilson_interval
from shared.models.build import build_embedder, build_generator, build_tokenizer, made_by, model_http
from shared.models.settings import ModelSettings

SAMPLES = Path("deploy/samples")
STAGE = "labelled"
PATIENCE_S = 900.0  # for an answer, on a machine with much else to do
_SCORED = TypeAdapter(Scored)


@dataclass(frozen=True, slots=True)
class Site:
    """Documents, and labelled questions: those that they answer, and others."""

    name: str
    documents: tuple[tuple[str, str, str], ...]  # name, title, text
    within: tuple[str, ...]
    out: tuple[str, ...]


def sample_site(name: str) -> Site:
    """A sample, with the questions whose sources are all its own, and those of which none is."""
    texts = tuple((file.name, "", read(file.name, file.read_bytes()).text) for file in sorted((SAMPLES / name).glob("*")))
    asked = [(row["question"], {source.split("/")[0] for source in row["sources"]}) for row in _samples()]
    with (SAMPLES / "questions.csv").open(encoding="utf-8", newline="") as file:
        asked += [(row["question"], set(filter(None, row["site"].split(";")))) for row in csv.DictReader(file)]
    within = tuple(dict.fromkeys(question for question, sites in asked if sites == {name}))
    return Site(name, texts, within, tuple(dict.fromkeys(question for question, sites in asked if sites and name not in sites)))


def _samples() -> Any:
    return json.loads((SAMPLES / "questions.json").read_text(encoding="utf-8"))


def textbook_site(name: str, data: Path) -> Site:
    """A domain, with its questions, and those of the other domains in the same folder."""
    corpus = UltraDomain.read(data, ["*.jsonl"])
    own = {one.document_id: one.title for one in corpus.documents() if one.domain == name}
    texts = tuple((key, own[key], orjson.loads(line)["context"]) for key, line in corpus.rows(own))
    questions = [(one.text, one.domain == name) for one in corpus.questions()]
    return Site(name, texts, tuple(text for text, mine in questions if mine), tuple(text for text, mine in questions if not mine))


def spread(items: Sequence[str], most: int) -> list[str]:
    """At most so many of them, evenly from the first to the last.

    >>> spread(["a", "b", "c", "d"], 2)
    ['a', 'c']
    """
    return [items[n * len(items) // most] for n in range(most)] if len(items) > most else list(items)


def shares(rows: Sequence[Signals], limits: Thresholds) -> dict[str, Any]:
    """Which shares of both kinds escalate, by which step, with Wilson's intervals."""
    found, n = escalation(rows, limits), sum(row.within for row in rows)
    kinds = ("within", found.within, found.within_by, n), ("out", found.out, found.out_by, len(rows) - n)
    return {kind: {"share": share, "interval": wilson_interval(share, of), "n": of, "by": by} for kind, share, by, of in kinds}


async def calibrated(node: EdgeNode, questions: int) -> tuple[Choice, float]:
    """Calibrate, and the seconds of a question."""
    while (now := await node.calibration.step(questions)).done < now.total:
        typer.echo(f"{now.done} of {now.total}, {now.seconds:.1f} s a question", err=True)
    return await node.calibration.finish(apply=True, now=time.time()), now.seconds


async def measured(
    site: Site, settings: ModelSettings, work: Path, *, questions: int, within: int, out: int, samples: int, probe: bool
) -> dict[str, Any]:
    """Index, calibrate, ask the labelled questions. Raises ModelError."""
    state = work / f"self-calibration-{site.name}-{settings.name}-{samples}"
    journal_file = state / ("probed.jsonl" if probe else "journal.jsonl")
    state.mkdir(parents=True, exist_ok=True)
    embedder, tokenizer = build_embedder(settings), build_tokenizer(settings)
    async with model_http(settings) as http:
        parts = Adapters(build_generator(settings, http), embedder, tokenizer, None, made_by=made_by(settings, embedder))
        node = build_node(EdgeSettings(state_dir=state, id=site.name, memory="off", samples=samples, answer_deadline_s=PATIENCE_S), parts)
        async with running(node):
            for name, title, text in site.documents:
                raw = text.encode()
                await node.accept(Offered(document_id(name, raw), name, raw, reader="a.md", title=title))
            await settled(node)
            choice, seconds = await calibrated(node, questions)
            serving = Serving(node.answerer, embedder.fingerprint)
            with Journal(journal_file) as journal:
                asked = spread(site.within, within), spread(site.out, out)
                rows = [row async for row in _labelled(serving, *asked, journal, draws=not probe)]
            before = limits_of(node.answerer.untuned)
            after = Thresholds(**{**asdict(before), **choice.after})
            labelled = {"before": shares(rows, before), "after": shares(rows, after)}
            told = {"site": site.name, "model": settings.name, "samples": samples, "probe": probe, "seconds": round(seconds, 1)}
            return told | {"choice": asdict(choice), "labelled": labelled}


async def _labelled(serving: Serving, within: Sequence[str], out: Sequence[str], journal: Journal, *, draws: bool) -> Any:
    for kind, question in (*(("own", one) for one in within), *(("foreign", one) for one in out)):
        if not journal.done(STAGE, question):
            row = await scored(serving, kind, question, draws=draws)  # type: ignore[arg-type]
            journal.add(STAGE, question, _SCORED.dump_python(row, mode="json"))
            typer.echo(f"{kind} {row.seen}", err=True)
        yield _SCORED.validate_python(journal.row(STAGE, question)).seen


def _sites(names: Sequence[str], data: Path) -> Iterator[Site]:
    for name in names:
        yield sample_site(name) if (SAMPLES / name).is_dir() else textbook_site(name, data)


def main(
    sites: Annotated[list[str], typer.Argument(help="hospital, or the stem of a file below --data.")],
    data: Annotated[Path, typer.Option(file_okay=False, help="UltraDomain files, a domain each.")] = Path(
        "../shared/data/standin_textbooks"
    ),
    url: Annotated[str, typer.Option(help="A model server; `dgrag model serve` starts one.")] = "http://127.0.0.1:8090/v1",
    model: Annotated[str, typer.Option(help="What the model is called there.")] = "standard",
    questions: Annotated[int, typer.Option(help="Of the calibration.")] = 40,
    within: Annotated[int, typer.Option(help="Labelled questions of the site, at most.")] = 24,
    out: Annotated[int, typer.Option(help="Labelled questions of other sites, at most.")] = 40,
    samples: Annotated[int, typer.Option(min=1, max=8, help="Answers that are drawn for a question.")] = 5,
    probe: Annotated[bool, typer.Option("--probe", help="Draw no answer to labelled questions.")] = False,
    work: Annotated[Path, typer.Option(file_okay=False, help="Where the index and the answers stay.")] = WORK,
) -> None:
    """Calibrate each site, and say what became of labelled questions."""
    drop_settings_of_the_shell()
    settings = ModelSettings(url=url, name=model)
    for site in _sites(sites, data):
        found = asyncio.run(measured(site, settings, work, questions=questions, within=within, out=out, samples=samples, probe=probe))
        typer.echo(orjson.dumps({**code(), "machine": machine(), **found}))


if __name__ == "__main__":
    typer.run(main)
