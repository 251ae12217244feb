"""Sites of several languages under one cloud: ``python -m benchmarks.languages.language_sites``, no language model.

Real processes, all with ``use-multilingual``: a cloud, a German, a Chinese and two English sites. Each holds what it would hold: translated
facts in the manner of the sample sites (``datasets/translated.toml``), or the sample sites bank and plant, with questions in its own
language; and each fourth of 40 invented facts (``data/multilingual.jsonl``), which are asked in four languages. match@1: the summary that
the cloud finds first is of the site that holds the fact. The German and the Chinese site hold the same translated facts, so that only
the language tells them apart. Prints the table and writes ``results/language_sites.json``.
"""

from __future__ import annotations

import csv
import json
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import httpx2
import typer

from benchmarks.cluster import drop_settings_of_the_shell
from benchmarks.languages.multilingual import DATA
from benchmarks.languages.multilingual import LANGUAGES as ASKED_IN
from benchmarks.machine import code, machine
from benchmarks.peers.run import model_server
from benchmarks.under_load import edge_process, service_process, wait_settled
from edge_node.documents.readers import read

HERE = Path(__file__).parent.parent
OUT = HERE / "results" / "language_sites.json"
SAMPLES = HERE.parent / "deploy" / "samples"
SITES = {"klinik": "de", "yiyuan": "zh", "bank": "en", "plant": "en"}
EMBEDDER = "use-multilingual"


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and the site that holds its fact. ``kind``: "own", of the site's own facts, or "invented"."""

    text: str
    language: str
    site: str
    kind: str


def documents() -> dict[str, list[str]]:
    """The texts of each site."""
    translated = tomllib.loads((HERE / "datasets" / "translated.toml").read_text(encoding="utf-8"))
    found = {
        site: list(translated[language]["facts"])
        if language in translated
        else [read(file.name, file.read_bytes()).text for file in sorted((SAMPLES / site).iterdir())]
        for site, language in SITES.items()
    }
    for row, fact in enumerate(_invented()):
        site, language = list(SITES.items())[row % len(SITES)]
        found[site].append(fact[language]["passage"])
    return found


def questions() -> Iterator[Question]:
    """What is asked, site by site."""
    translated = tomllib.loads((HERE / "datasets" / "translated.toml").read_text(encoding="utf-8"))
    of_language = {language: site for site, language in SITES.items() if language in translated}
    for language, site in of_language.items():
        yield from (Question(text, language, site, "own") for text in translated[language]["questions"])
    with (SAMPLES / "questions.csv").open(encoding="utf-8") as file:
        yield from (Question(row["question"], "en", row["site"], "own") for row in csv.DictReader(file) if row["site"] in SITES)
    for row, fact in enumerate(_invented()):
        site = list(SITES)[row % len(SITES)]
        yield from (Question(fact[language]["question"], language, site, "invented") for language in ASKED_IN)


def figures(asked: Sequence[Question], first: Sequence[str]) -> dict[str, dict[str, Any]]:
    """match@1 by kind of fact, language of the question and of its site; ``first``: the site that was found first, for each.

    >>> figures([Question("Wer?", "de", "klinik", "own"), Question("Was?", "de", "klinik", "own")], ["klinik", "bank"])
    {'own, asked in de at a site in de': {'n': 2, 'match@1': 0.5}}
    """
    rows: dict[str, list[bool]] = {}
    for question, site in zip(asked, first, strict=True):
        for_it = f"{question.kind}, asked in {question.language} at a site in {SITES[question.site]}"
        rows.setdefault(for_it, []).append(site == question.site)
    return {name: {"n": len(right), "match@1": round(sum(right) / len(right), 3)} for name, right in rows.items()}


def _invented() -> list[dict[str, Any]]:
    return [json.loads(line) for line in DATA.read_text(encoding="utf-8").splitlines()]


def _first(cloud: httpx2.Client, question: str) -> str:
    answer = cloud.post("/v1/match", json={"question": question, "m": 1, "min_score": -1.0})
    matches = answer.raise_for_status().json()["matches"]
    return str(matches[0]["edge"]) if matches else ""


def _matched(top: Path, texts: Mapping[str, Sequence[str]], asked: Sequence[Question]) -> list[str]:
    """The site that the cloud finds first for each question."""
    with ExitStack() as stack:
        common = {"DGRAG_MODEL_EMBEDDER": EMBEDDER, "DGRAG_MODEL_URL": f"{stack.enter_context(model_server('instant', top))}/v1"}
        (top / "cloud").mkdir()
        cloud, _ = stack.enter_context(service_process("cloud_server", "DGRAG_CLOUD", top / "cloud", **common))
        edges = []
        for site, said in texts.items():
            (top / site).mkdir()
            told = {"DGRAG_EDGE_ID": site, "DGRAG_EDGE_CLOUD_URL": str(cloud.base_url), **common}
            edge, _ = stack.enter_context(edge_process(top / site, **told))
            edges.append(edge)
            for number, text in enumerate(said):
                edge.post("/v1/documents", json={"name": f"{number}.md", "text": text}).raise_for_status()
        wait_settled(edges)
        return [_first(cloud, question.text) for question in asked]


def measure(out: Annotated[Path, typer.Option(dir_okay=False)] = OUT) -> None:
    """Start the sites, ask, and tell how often the right one is found first."""
    drop_settings_of_the_shell()
    asked = list(questions())
    with tempfile.TemporaryDirectory() as top:
        first = _matched(Path(top), documents(), asked)
    told = figures(asked, first)
    for name, figure in told.items():
        typer.echo(f"{name}: {figure['match@1']} of {figure['n']}")
    wrong = [{"question": one.text, "site": one.site, "found": site} for one, site in zip(asked, first, strict=True) if site != one.site]
    said = {"machine": machine(), "code": code(), "embedder": EMBEDDER, "figures": told, "wrong": wrong}
    out.write_text(json.dumps(said, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    typer.run(measure)
