"""Takes one system through one step of the comparison, inside the system's own environment; only the standard library is imported.

``python -m benchmarks.peers.driver index|use|quality --system NAME --server URL --folder DIR …`` prints one JSON object in its last line.
Times are CPU seconds of this process; ``client_cpu_s`` of them went into asking the model server, which all systems do with one client.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from benchmarks.meters import peak_mb
from benchmarks.peers.wire import Wire

WARM_UP = 3  # questions before those that are measured
WHOLE_BUDGET = 0  # ask for as much context as the system gives by default
ADAPTERS = {  # module and class
    "dgrag": ("benchmarks.peers.edge", "Adapter"),
    "dgrag-spacy": ("benchmarks.peers.edge", "WithSpacy"),
    "lightrag": ("benchmarks.peers.lightrag", "Adapter"),
    "nano-graphrag": ("benchmarks.peers.nano_graphrag", "Adapter"),
    "fast-graphrag": ("benchmarks.peers.fast_graphrag", "Adapter"),
}

Row = dict[str, Any]


class System(Protocol):
    """What each adapter offers, made with (wire, step)."""

    async def open(self, folder: Path) -> None:
        """Start in an empty folder, or go on with what is there."""

    async def add(self, documents: Sequence[tuple[str, str]]) -> None:
        """Index documents, (name, text), until questions find them."""

    async def finish(self) -> None:
        """Wait for what the system does afterwards by itself."""

    async def ask(self, question: str, budget_tokens: int) -> str:
        """The context for an answer, within about ``budget_tokens``; WHOLE_BUDGET: as much as by default."""

    async def ask_chunks(self, question: str, budget_tokens: int) -> str | None:
        """The same from chunks alone, without a graph: a peer's naive mode; None where a system has none on the same index."""

    def counts(self) -> dict[str, int]:
        """Entities and relations that were built."""

    async def close(self) -> None:
        """Save all and stop."""


@contextmanager
def metered(wire: Wire, row: Row, prefix: str = "") -> Iterator[None]:
    """Put what a block costs into ``row``: CPU and wall seconds of the process, and the client's share of the CPU."""
    cpu, wall, client = time.process_time(), time.perf_counter(), wire.cpu_s
    yield
    row[f"{prefix}cpu_s"] = round(time.process_time() - cpu, 4)
    row[f"{prefix}client_cpu_s"] = round(wire.cpu_s - client, 4)
    row[f"{prefix}wall_s"] = round(time.perf_counter() - wall, 4)


@contextmanager
def counted(wire: Wire, row: Row, prefix: str = "") -> Iterator[None]:
    """Put what the model server was asked during a block into ``row``, by the step that asked."""
    before = wire.counts()
    yield
    after = wire.counts()
    for name in ("calls", "prompt_tokens", "completion_tokens"):
        row[f"{prefix}{name}"] = {kind: more for kind, total in sorted(after[name].items()) if (more := total - before[name].get(kind, 0))}
    for name in ("texts_embedded", "embed_cpu_s"):
        row[f"{prefix}{name}"] = round(after[name] - before[name], 3)


async def index(system: System, wire: Wire, asked: argparse.Namespace) -> Row:
    """Index all documents in a fresh folder."""
    row: Row = {}
    documents = read(asked.documents, "id", "text")
    await system.open(asked.folder)
    gc.collect()
    row["rss_before_mb"] = peak_mb()
    with counted(wire, row):
        with metered(wire, row):
            await system.add(documents)
        with metered(wire, row, "later_"):
            await system.finish()
            await system.close()
    return row | {"rss_mb": peak_mb(), "disk_bytes": disk_bytes(asked.folder), **system.counts()}


async def use(system: System, wire: Wire, asked: argparse.Namespace) -> Row:
    """Open an index, ask questions, add one document."""
    row: Row = {}
    questions = [text for _, text in read(asked.questions, "id", "question")]
    with metered(wire, row, "open_"):
        await system.open(asked.folder)
    for question in questions[:WARM_UP]:
        await system.ask(question, WHOLE_BUDGET)
    spent, sizes = [], []
    with counted(wire, row, "ask_"):
        for question in questions[WARM_UP:]:
            one: Row = {}
            with metered(wire, one):
                context = await system.ask(question, WHOLE_BUDGET)
            spent.append((one["cpu_s"], one["client_cpu_s"], one["wall_s"]))
            sizes.append(len(context))
    row |= {"ask_s": spent, "context_chars": sum(sizes) // len(sizes)}
    with counted(wire, row, "add_"):
        with metered(wire, row, "add_"):
            await system.add(read(asked.new, "id", "text"))
        with metered(wire, row, "add_later_"):
            await system.finish()
    await system.close()
    return row | system.counts()


async def quality(system: System, wire: Wire, asked: argparse.Namespace) -> Row:
    """Index all documents, then write the contexts of each question at each budget to ``--contexts``."""
    row: Row = {}
    await system.open(asked.folder)
    with counted(wire, row):
        await system.add(read(asked.documents, "id", "text"))
        await system.finish()
    with asked.contexts.open("w", encoding="utf-8") as out:
        for budget in asked.budgets:
            for key, question in read(asked.questions, "id", "question"):
                for chunks_alone, ask in ((False, system.ask), (True, system.ask_chunks)):
                    if (context := await ask(question, budget)) is not None:
                        line = {"id": key, "budget": budget, "chunks_alone": chunks_alone, "context": context}
                        out.write(json.dumps(line) + "\n")
    await system.close()
    return row | system.counts()


STEPS = {"index": index, "use": use, "quality": quality}


def read(path: Path, key: str, value: str) -> list[tuple[str, str]]:
    """Two fields of each line of a JSON Lines file."""
    with path.open(encoding="utf-8") as lines:
        return [(row[key], row[value]) for row in map(json.loads, lines)]


def disk_bytes(folder: Path) -> int:
    """Size of all files of an index."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("step", choices=STEPS)
    parser.add_argument("--system", choices=ADAPTERS, required=True)
    parser.add_argument("--server", required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--documents", type=Path)
    parser.add_argument("--questions", type=Path)
    parser.add_argument("--new", type=Path)
    parser.add_argument("--contexts", type=Path)
    parser.add_argument("--budgets", type=int, nargs="*", default=[])
    return parser.parse_args()


def main() -> None:
    """Run one step."""
    asked = arguments()
    wire = Wire(asked.server)
    module, name = ADAPTERS[asked.system]
    system: System = getattr(import_module(module), name)(wire, asked.step)
    row = asyncio.run(STEPS[asked.step](system, wire, asked))
    wire.close()
    print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
