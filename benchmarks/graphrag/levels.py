"""How much there is to read on each level of communities, against the texts themselves (GraphRAG §3.6, Table 3), without a model call.

``python -m benchmarks.graphrag.levels DATA`` with DATA a folder that has the sets ``podcast`` and ``multihop_rag``. The edge's real write
path with spaCy and the default embedder; then all plain reports of each level are made and counted. Beside them stands what reports of the
paper's size would take, computed from the tokens of the graph's elements. Prints the table and writes ``results/levels.json``.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from benchmarks.graphrag.full_size import Size, sizes
from benchmarks.instant_edge import indexed_of, running, settled
from benchmarks.machine import code, machine
from benchmarks.stand_ins import InstantGenerator, Models
from edge_node.build import Adapters, build_node
from edge_node.communities.cover import Count
from edge_node.communities.drafts import bounds_of
from edge_node.communities.elements import elements_of
from edge_node.communities.hierarchy import LEVELS, fresh_uppers
from edge_node.communities.reports import Headline, Report
from edge_node.documents.chunking import split
from edge_node.graph.partition import quotient
from edge_node.graph.repair import modularity
from edge_node.graph.summaries import part_of
from edge_node.node import EdgeNode
from edge_node.records import Offered, document_id
from edge_node.settings import EdgeSettings
from shared.models.build import build_embedder, build_tokenizer
from shared.models.settings import ModelSettings
from shared.ports import Embedder, Tokenizer
from shared.records import Document

TABLE_WIDTH = 160  # characters, where no terminal says how wide it is
console = Console(stderr=True, width=None if sys.stderr.isatty() else TABLE_WIDTH)
OUT = Path("benchmarks/results/levels.json")
CHUNK_TOKENS, CHUNK_OVERLAP = 600, 100  # §3.1
OVERLAP_CHARS = range(1_000, 4, -1)  # that two parts of one transcript may share
TIES = (0.0, 0.1, 0.25, 0.5, 1.0)
ALL = 1_000_000
# Table 3: units and tokens of C0 to C3 and TS.
PAPER = {
    "podcast": ((34, 26_657), (367, 225_756), (969, 565_720), (1_310, 746_100), (1_669, 1_014_611)),
    "multihop_rag": ((55, 39_770), (555, 352_641), (1_797, 980_898), (2_142, 1_140_266), (3_197, 1_707_694)),
}


@dataclass(frozen=True, slots=True)
class Text:
    """A document as its publisher wrote it."""

    name: str
    title: str
    text: str


def texts(folder: Path) -> list[Text]:
    """The documents of a set. Parts of one transcript are one document, without what a part repeats of the one before."""
    rows = [json.loads(line) for line in (folder / "corpus.jsonl").read_text(encoding="utf-8").split("\n") if line]
    grouped = groupby(rows, key=lambda row: row["title"] if "part" in row else row["doc_id"])
    return [
        Text(parts[0]["doc_id"], parts[0]["title"], joined([part["text"] for part in parts])) for parts in (list(g) for _, g in grouped)
    ]


def joined(parts: Sequence[str]) -> str:
    r"""Consecutive parts as one text, each without what it repeats of the end of the one before.

    >>> joined(["The gate is shut.", "is shut. It rains.", "Then sun."])
    'The gate is shut. It rains.\nThen sun.'
    """
    text = parts[0]
    for part in parts[1:]:
        shared = next((size for size in OVERLAP_CHARS if size <= len(part) and text.endswith(part[:size])), 0)
        text += part[shared:] if shared else f"\n{part}"
    return text


async def indexed(node: EdgeNode, documents: Sequence[Text]) -> float:
    """Give an edge the documents and wait; returns the seconds. Raises AssertionError if one is not read."""
    began = time.perf_counter()
    for one in documents:
        raw = one.text.encode()
        await node.accept(Offered(document_id(one.name, raw), one.name, raw, reader="a.txt", title=one.title))
    await settled(node)
    counts = node.documents.counts()
    assert not counts["parked"], counts
    return round(time.perf_counter() - began, 1)


async def measured(folder: Path, tokenizer: Tokenizer, embedder: Embedder) -> dict[str, Any]:
    """All figures of one set."""
    documents = texts(folder)
    with tempfile.TemporaryDirectory(prefix="dgrag-levels-") as state:
        chosen = EdgeSettings(state_dir=Path(state))
        node = build_node(chosen, Adapters(InstantGenerator(Models()), embedder, tokenizer, None))
        async with running(node):
            seconds = await indexed(node, documents)
            console.print(f"{folder.name}: {len(documents)} documents in {seconds} s")
            sources = {
                "paper": _cut(documents, tokenizer, CHUNK_TOKENS, CHUNK_OVERLAP),
                "edge": _cut(documents, tokenizer, chosen.chunk_tokens, chosen.chunk_overlap),
            }
            return {
                "documents": len(documents),
                "text_tokens": sum(tokenizer.count(one.text) for one in documents),
                "index_seconds": seconds,
                **indexed_of(node).counts(),
                "sources": sources,
                **await _levels(node, folder.name, tokenizer.count, sources["paper"]["tokens"]),
                "ties": _ties(node, chosen),
            }


def _cut(documents: Sequence[Text], tokenizer: Tokenizer, size: int, overlap: int) -> dict[str, int]:
    whole = [Document(document_id(one.name, b""), one.name, one.title, one.text, ()) for one in documents]
    chunks = [chunk for one in whole for chunk in split(one, tokenizer, size=size, overlap=overlap)]
    return {"units": len(chunks), "tokens": sum(tokenizer.count(chunk.text) for chunk in chunks)}


async def _levels(node: EdgeNode, name: str, count: Count, source_tokens: int) -> dict[str, Any]:
    strategy = indexed_of(node)
    levels = [await strategy.reports.communities(level, limit=ALL) for level in range(LEVELS)]
    communities = {one.community.community_id: one.community for found in levels for one in found}
    view = strategy.write_path.view
    degrees = {key: len(view.adjacency.get(key, ())) for key in view.graph.entities}
    elements = {}
    for key, community in communities.items():
        lines = elements_of(part_of(view.graph, view.adjacency, community.entities), degrees)
        elements[key] = sum(count(line.text) for line in lines)
    full = sizes(list(communities.values()), elements)
    began = time.perf_counter()
    reports = {key: await strategy.reports.report(key) for key in communities}
    seconds = round(time.perf_counter() - began, 1)
    rows = [_level(level, found, reports, full, count, source_tokens, name) for level, found in enumerate(levels)]
    return {"reports": len(reports), "report_seconds": seconds, "levels": rows, "roots": _roots(levels[0], reports)}


def _level(
    level: int,
    found: Sequence[Headline],
    reports: Mapping[str, Report],
    full: Mapping[str, Size],
    count: Count,
    source_tokens: int,
    name: str,
) -> dict[str, Any]:
    """One row of Table 3. What is projected down from the level above is read here too, and written there."""
    ids = [one.community.community_id for one in found]
    own = [one.community.community_id for one in found if one.community.level == level]
    units, tokens = PAPER[name][level] if name in PAPER else (0, 0)
    plain = sum(read_tokens(reports[key], count) for key in ids)
    held = sum(full[key].report for key in ids)
    return {
        "level": level,
        "units": len(ids),
        "own": len(own),
        "entities": round(sum(len(one.community.entities) for one in found) / max(1, len(found)), 1),
        "plain_tokens": plain,
        "plain_share": round(plain / source_tokens, 4),
        "element_tokens": sum(full[key].elements for key in ids),
        "full_context_tokens": sum(full[key].context for key in own),
        "full_tokens_at_most": held,
        "full_share_at_most": round(held / source_tokens, 4),
        "full_tokens_as_paper": sum(min(full[key].report, round(tokens / units)) for key in ids) if units else None,
        "paper": {"units": units, "tokens": tokens, "share": round(tokens / PAPER[name][-1][1], 4)} if units else None,
    }


def read_tokens(report: Report, count: Count) -> int:
    """Tokens of a report as a question's map step reads it: the title, and a line for each finding."""
    return count(report.title) + sum(count(finding.text) for finding in report.findings)


def _roots(found: Sequence[Headline], reports: Mapping[str, Report]) -> list[dict[str, Any]]:
    """The coarsest communities, those with most entities first; their titles are names out of the texts."""
    ordered = sorted(found, key=lambda one: -len(one.community.entities))
    return [
        {"entities": len(one.community.entities), "chunks": one.chunks, "title": reports[one.community.community_id].title}
        for one in ordered
    ]


def _ties(node: EdgeNode, settings: EdgeSettings) -> list[dict[str, Any]]:
    """C0 and C1 by what a shared passage counts beside a relation: how many, how large the largest, how many of one part."""
    write_path = indexed_of(node).write_path
    parts, view, rows = write_path.updater.placer.parts.members, write_path.view, list[dict[str, Any]]()
    home = {key: part for part, keys in parts.items() for key in keys}
    for tie in TIES:
        weights = quotient(home, view.graph.relations, view.told, tie=tie)
        uppers = fresh_uppers(list(parts), weights, seed=settings.seed, method=settings.leiden)
        roots, near = Counter(uppers.root.values()), dict[str, dict[str, float]]()
        for (one, other), weight in weights.items():
            near.setdefault(one, {})[other] = near.setdefault(other, {})[one] = weight
        rows.append(
            {
                "tie": tie,
                "c0": len(roots),
                "c1": len(set(uppers.middle.values())),
                "largest_c0": round(max(roots.values()) / len(parts), 3),
                "single_part_c0": sum(size == 1 for size in roots.values()),
                "modularity": round(modularity(near, uppers.root), 3),
            }
        )
    return rows


def table(name: str, result: Mapping[str, Any]) -> Table:
    """Table 3 of one set, with the paper's figures beside ours."""
    shown = Table(title=f"{name}: tokens of reports on each level, and of the texts (TS)")
    for column in ("", "units", "tokens", "of TS", "full size, at most", "of TS", "as long as the paper's", "paper: units", "paper: of TS"):
        shown.add_column(column, justify="right" if column else "left")
    for row in result["levels"]:
        paper = row["paper"] or {"units": "", "share": None}
        full = f"{row['full_tokens_at_most']:,}", _percent(row["full_share_at_most"]), f"{row['full_tokens_as_paper'] or 0:,}"
        plain = str(row["units"]), f"{row['plain_tokens']:,}", _percent(row["plain_share"])
        shown.add_row(f"C{row['level']}", *plain, *full, str(paper["units"]), _percent(paper["share"]))
    for title, source in result["sources"].items():
        shown.add_row(f"TS, chunks of the {title}", str(source["units"]), f"{source['tokens']:,}")
    return shown


def _percent(share: float | None) -> str:
    return "" if share is None else f"{share * 100:.1f} %"


def main(
    data: Annotated[Path, typer.Argument(metavar="DATA", exists=True, file_okay=False, help="A folder with the sets.")],
    sets: Annotated[list[str] | None, typer.Option("--set", help="Folders below DATA with corpus.jsonl; both sets of the paper.")] = None,
    out: Annotated[Path, typer.Option(dir_okay=False, help="File for the JSON, written over.")] = OUT,
) -> None:
    """Count what there is to read on each level."""
    settings = EdgeSettings()
    bounds = {**asdict(bounds_of(settings)), "community_tie": settings.community_tie}
    tokenizer, embedder = build_tokenizer(ModelSettings()), build_embedder(ModelSettings())
    found: dict[str, Any] = {}
    for name in sets or PAPER:
        found[name] = asyncio.run(measured(data / name, tokenizer, embedder))
        result = {**code(), "machine": machine(), "settings": bounds, "sets": found}
        out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
        console.print(table(name, found[name]))
        typer.echo("; ".join(f"{root['title']} ({root['entities']})" for root in found[name]["roots"]))
        for row in found[name]["ties"]:
            typer.echo(str(row))


if __name__ == "__main__":
    typer.run(main)
