"""How well the packs find names: ``python -m benchmarks.languages.names``, no model server.

Of 200 sentences with planted names for each language: the share of persons, organisations and places that the pack finds with all their
words and as what they are (``typed``), and the share that it finds at all (``found``). A name counts as found where an entity has all of
its words. Every sentence is a document of its own. Then the share of sheets, mails, notes and lists that are read in their language
(``datasets/short_texts.toml``). Prints the table and writes ``results/languages.json``.

``--show de`` prints the entities of running text in a language instead (``datasets/prose.toml``, ``data/multilingual.jsonl``), for who
judges them by eye.
"""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks.languages.multilingual import DATA
from benchmarks.machine import code, machine
from edge_node.extraction.languages import reading_languages
from edge_node.extraction.nlp import SpacyExtractor
from edge_node.extraction.packs.table import installed_pack
from shared.records import Chunk, ChunkId, DocumentId, EntityMention
from shared.text.language import READ

OUT = Path("benchmarks/results/languages.json")
SENTENCES = 200
KINDS = ("person", "organization", "place")


@dataclass(frozen=True, slots=True)
class Planted:
    """A sentence, and the names in it by their kind."""

    text: str
    names: Mapping[str, str]


def planted(language: str, said: Mapping[str, Any], n: int = SENTENCES) -> Iterator[Planted]:
    """The first n sentences of a language, each frame and each name as often as any other.

    >>> said = {"first": "Ann", "last": "Lee", "organization": "A; B", "place": "Ulm", "frames": ["{person} is in {place}."]}
    >>> next(planted("en", said)).text
    'Ann Lee is in Ulm.'
    """
    first, last = said["first"].split(), said["last"].split()
    organizations, places = ([name.strip() for name in said[kind].split(";")] for kind in ("organization", "place"))
    for row in range(n):
        turn = row // len(said["frames"])
        one, two = first[row % len(first)], last[(row + turn) % len(last)]
        names = {
            "person": f"{two}{one}" if language == "zh" else f"{one} {two}",
            "organization": organizations[(row + turn) % len(organizations)],
            "place": places[(row + 3 * turn) % len(places)],
        }
        frame = said["frames"][row % len(said["frames"])]
        yield Planted(frame.format(**names), {kind: name for kind, name in names.items() if f"{{{kind}}}" in frame})


def told(sentences: list[Planted]) -> dict[str, dict[str, float]]:
    """By kind, the share of the names that are found as what they are, that are found at all, and how many there are."""
    chunks = [Chunk(ChunkId(f"{row}:0"), DocumentId(str(row)), 0, one.text, 0, len(one.text), 1) for row, one in enumerate(sentences)]
    mentions: dict[str, list[EntityMention]] = {}
    for mention in SpacyExtractor().extract(chunks).entities:
        mentions.setdefault(mention.chunk_id, []).append(mention)
    counts = Counter[tuple[str, str]]()
    for row, one in enumerate(sentences):
        for kind, name in one.names.items():
            holding = [mention for mention in mentions.get(f"{row}:0", []) if name.rstrip(".") in mention.name]
            counts[kind, "n"] += 1
            counts[kind, "found"] += bool(holding)
            counts[kind, "typed"] += any(mention.type == kind for mention in holding)
    return {
        kind: {"n": n, "found": round(counts[kind, "found"] / n, 3), "typed": round(counts[kind, "typed"] / n, 3)}
        for kind in KINDS
        if (n := counts[kind, "n"])
    }


def entities_of_prose(language: str) -> list[tuple[str, str]]:
    """The names and types that a pack finds in running text, each once, in the order of the text."""
    prose = _dataset("prose")[language].strip().splitlines()
    facts = [json.loads(line)[language]["passage"] for line in DATA.read_text(encoding="utf-8").splitlines()]
    parts = [prose, *(facts[start : start + 10] for start in range(0, len(facts), 10))]
    texts = [(f"{part}:{row}", str(part), row, text) for part, said in enumerate(parts) for row, text in enumerate(said)]
    chunks = [Chunk(ChunkId(key), DocumentId(part), row, text, 0, len(text), 20) for key, part, row, text in texts]
    return list(dict.fromkeys((mention.name, mention.type) for mention in SpacyExtractor().extract(chunks).entities))


def short_documents(texts: Mapping[str, Sequence[str]]) -> dict[str, dict[str, int]]:
    """By language, how many documents of few words are read in it, and how many there are.

    >>> short_documents({"de": ["Heizung rauscht, Hausmeister anrufen"]})
    {'de': {'n': 1, 'right': 1}}
    """
    return {
        language: {"n": len(said), "right": sum(reading_languages([text]) == [language] for text in said)}
        for language, said in texts.items()
    }


def _dataset(name: str) -> dict[str, Any]:
    return tomllib.loads(files("benchmarks.datasets").joinpath(f"{name}.toml").read_text(encoding="utf-8"))


def measure(
    out: Annotated[Path, typer.Option(dir_okay=False)] = OUT,
    show: Annotated[str, typer.Option(help="Print what is found in running text in a language: de, fr, es or zh.")] = "",
) -> None:
    """Measure all installed packs, and how many short documents are read in their language; or show what one pack finds."""
    if show:
        typer.echo("\n".join(f"{kind}: {name}" for name, kind in entities_of_prose(show)))
        return
    data = _dataset("languages")
    packs = {language: pack for language in data if (pack := installed_pack(language))}
    figures = {language: {"pack": pack} | told(list(planted(language, data[language]))) for language, pack in packs.items()}
    for language, figure in figures.items():
        typer.echo(f"{language} {figure}" + (" (open as ever)" if language == READ else ""))
    short = {part: short_documents(texts) for part, texts in _dataset("short_texts").items()}
    typer.echo(f"short documents {short}")
    measured = {"machine": machine(), "code": code(), "figures": figures, "short_documents": short}
    out.write_text(json.dumps(measured, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    typer.run(measure)
