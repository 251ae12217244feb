"""Questions to a site in its own language: ``python -m benchmarks.languages.own_language --url http://127.0.0.1:8090/v1``.

For each language an edge in this process reads 40 invented facts (``data/multilingual.jsonl``) among sentences in the manner of an
encyclopedia (``datasets/prose.toml``), each a document, with ``use-multilingual`` and the language's pack, and is asked for each fact.
hit@1 and hit@5: its own fact is among the first passages. With ``--url`` the model answers as well, once, from the passages: how many
it answers, how many of the answers cite the fact, and how many are in the language of the question. Then the product's check of support
reads ten facts with a sentence that says the same in other words, and one that invents (``data/said_in_languages.jsonl``): how many of each
it takes for supported. One line a question goes into a journal, so a killed run goes on; its file is named, as a person has to say whether
an answer is right.
"""

from __future__ import annotations

import asyncio
import json
import time
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer

from benchmarks.cluster import drop_settings_of_the_shell
from benchmarks.config import WORK, digest
from benchmarks.instant_edge import indexed_of, running, settled
from benchmarks.journal import Journal
from benchmarks.languages.language_sites import EMBEDDER
from benchmarks.languages.multilingual import DATA, LANGUAGES
from benchmarks.machine import code, machine
from benchmarks.memories.single_facts import ALONE
from benchmarks.meters import percentile_ms
from deploy.evaluation.intervals import wilson
from edge_node.answering.answerer import Ask
from edge_node.build import Adapters, build_node
from edge_node.node import EdgeNode
from edge_node.records import Offered, document_id
from edge_node.settings import EdgeSettings
from shared.limits import Deadline
from shared.models.build import build_embedder, build_generator, build_tokenizer, model_http
from shared.models.settings import ModelSettings
from shared.ports import Generator
from shared.records import ChunkId, DocumentId, EdgeId, Evidence
from shared.telemetry.trace import Trace
from shared.text.language import language_of_question
from shared.text.support import Checking

PROSE = Path(__file__).parent.parent / "datasets" / "prose.toml"
BUDGET_TOKENS, FIRST = 4_000, 5
FOUND, SAID, CHECKED = "found", "said", "checked"
PAIRS = DATA.parent / "said_in_languages.jsonl"
CHECK_S = 120.0


def documents(facts: Sequence[Mapping[str, Any]], language: str) -> dict[str, str]:
    """What the site of a language holds: name -> text."""
    prose = tomllib.loads(PROSE.read_text(encoding="utf-8")).get(language, "").split("\n")
    held = {f"prose-{number}": line for number, line in enumerate(prose) if line}
    return held | {f"fact-{number}": fact[language]["passage"] for number, fact in enumerate(facts)}


async def _found(node: EdgeNode, question: str, own: str) -> dict[str, Any]:
    """At which place, from 1, the fact stands among the passages; 0: it does not."""
    began = time.perf_counter()
    found = await indexed_of(node).retrieve(question, budget_tokens=BUDGET_TOKENS, top_k=FIRST)
    names = [passage.document for passage in found.evidence]
    return {"place": names.index(own) + 1 if own in names else 0, "seconds": round(time.perf_counter() - began, 4)}


async def _said(node: EdgeNode, question: str, own: str) -> dict[str, Any]:
    began = time.perf_counter()
    said = await node.ask(Ask(question, mode="local", memory=False), Trace())
    told = {"question": question, "answer": said.answer, "answered": said.answered}
    told |= {"own": any(one.document == own for one in said.citations), "language": language_of_question(said.answer)}
    return {**told, "seconds": round(time.perf_counter() - began, 2)}


async def measured(language: str, settings: ModelSettings, journal: Journal, state: Path, *, asks_model: bool) -> dict[str, Any]:
    """The figures of one language."""
    facts = [json.loads(line) for line in DATA.read_text(encoding="utf-8").splitlines()]
    async with model_http(settings) as http:
        adapters = Adapters(build_generator(settings, http), build_embedder(settings), build_tokenizer(settings), None)
        node = build_node(EdgeSettings(state_dir=state / language, id=language, **ALONE), adapters)
        async with running(node):
            for name, text in documents(facts, language).items():
                raw = text.encode()
                await node.accept(Offered(document_id(name, raw), name, raw, reader="a.txt"))
            await settled(node)
            for number, fact in enumerate(facts):
                asked = node, fact[language]["question"], f"fact-{number}"
                for stage, ask in ((FOUND, _found), *([(SAID, _said)] if asks_model else [])):
                    if not journal.done(stage, key := f"{language}-{number}"):
                        journal.add(stage, key, await ask(*asked))
        checked = await _checked(adapters.generator, language, facts, journal) if asks_model else {}
    keys = [f"{language}-{number}" for number in range(len(facts))]
    found = [journal.row(FOUND, key) for key in keys]
    return _figures(language, found, [journal.row(SAID, key) for key in keys] if asks_model else []) | checked


async def _checked(generator: Generator, language: str, facts: Sequence[Mapping[str, Any]], journal: Journal) -> dict[str, Any]:
    """Of how many sentences the check says that the fact supports them: true ones, and inventions."""
    pairs = [pair for line in PAIRS.read_text(encoding="utf-8").splitlines() if (pair := json.loads(line))["language"] == language]
    for pair in pairs:
        if not journal.done(CHECKED, key := f"{language}-{pair['fact']}"):
            text = facts[pair["fact"]][language]["passage"]
            passage = Evidence(EdgeId(language), DocumentId("d"), "d.md", ChunkId("d:0"), (0, len(text)), text, 1.0)
            check = Checking(generator, Trace(), Deadline(CHECK_S))
            journal.add(CHECKED, key, {kind: await check.holds(pair[kind], [passage]) for kind in ("said", "invented")})
    rows = [journal.row(CHECKED, f"{language}-{pair['fact']}") for pair in pairs]
    return {"pairs": len(rows)} | {f"{kind}_supported": sum(row[kind] for row in rows) for kind in ("said", "invented")}


def _figures(language: str, found: Sequence[Mapping[str, Any]], said: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    told: dict[str, Any] = {"asked": len(found)}
    for most in (1, FIRST):
        share = wilson([float(0 < row["place"] <= most) for row in found])
        told[f"hit@{most}"] = [round(one, 3) for one in (share.mean, share.low, share.high)]
    if answers := [row for row in said if row["answered"]]:
        told |= {"answered": len(answers), "cite_the_fact": sum(row["own"] for row in answers)}
        told |= {"in_its_language": sum(row["language"] == language for row in answers)}
        told["p50_s"] = percentile_ms([row["seconds"] for row in said], 50) / 1000
    return told


def main(
    url: Annotated[str, typer.Option(help="A model server, if it is to answer; `dgrag model serve` starts one.")] = "",
    languages: Annotated[str, typer.Option(help="With commas between them.")] = ",".join((*LANGUAGES, "en")),
    work: Annotated[Path, typer.Option(help="Where the indexes and the journal stay.", file_okay=False)] = WORK,
) -> None:
    """Ask each site in its language, and print what came of it as one JSON line."""
    drop_settings_of_the_shell()
    settings = ModelSettings(embedder=EMBEDDER) if not url else ModelSettings(embedder=EMBEDDER, url=url)
    state = work / f"own-language-{digest([settings.name, code()['commit']])}"
    state.mkdir(parents=True, exist_ok=True)
    with Journal(state / "journal.jsonl") as journal:
        told = {one: asyncio.run(measured(one, settings, journal, state, asks_model=bool(url))) for one in languages.split(",")}
    typer.echo(orjson.dumps({**code(), "machine": machine(), "journal": str(state / "journal.jsonl"), **told}))


if __name__ == "__main__":
    typer.run(main)
