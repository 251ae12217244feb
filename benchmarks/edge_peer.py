"""Our edge beside other systems: a ``Peer`` for a driver that measures all of them on the same corpus with the same instant models.

``python -m benchmarks.edge_peer index|use --tokens N --dir D --perf FOLDER``: FOLDER holds the driver, ``peer_common.py`` and
``stub.py``, which say what models are and where the corpus is.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.instant_edge import add, dgrag_of, instant_edge
from benchmarks.stand_ins import Models, Said
from edge_node.node import EdgeNode
from edge_node.strategies.dgrag.dual_level import Keywords
from shared.ports import FloatArray

RETRIEVAL_TOKENS, TOP_K = 30_000, 40  # as the other systems


class Peer:
    """What the driver calls. ``stub``: its models, with its clock and its count of tokens."""

    modes = ("dual",)

    def __init__(self, stub: Any, keywords: Any) -> None:
        self._stub = stub
        self._keywords = keywords
        self._open = AsyncExitStack()
        self._node: EdgeNode | None = None
        self._stats: dict[str, Any] = {}

    async def open(self, folder: str) -> None:
        """Start the edge, or continue one."""
        models = Models(say=self._say, embed=self._embed)
        self._node = await self._open.enter_async_context(instant_edge(Path(folder), models))
        dgrag_of(self._node)._keywords = self

    async def insert(self, documents: Sequence[tuple[str, str]]) -> None:
        """(name, text) of each document."""
        await add(self._edge, documents)

    async def query(self, question: str, mode: str) -> str:
        """The context for an answer."""
        del mode  # there is one
        found = await self._edge.strategy.retrieve(question, budget_tokens=RETRIEVAL_TOKENS, top_k=TOP_K)
        return "\n".join([*found.facts, *(item.text for item in found.evidence)])

    def stats(self) -> dict[str, Any]:
        """Counts, also after ``close``."""
        return self._stats

    async def close(self) -> None:
        """Stop the edge."""
        self._stats = self._edge.strategy.counts() | self._edge.documents.totals()
        await self._open.aclose()

    async def find(self, question: str) -> Keywords:
        """Implements KeywordFinder with the driver's keywords."""
        with self._stub.Clock():
            high, low = self._keywords(question)
        return Keywords(tuple(low), tuple(high))

    @property
    def _edge(self) -> EdgeNode:
        assert self._node is not None
        return self._node

    def _say(self, text: str) -> Said:
        with self._stub.Clock():
            entities, relations = self._stub.extract(text)
            self._stub.note("extract", [text], repr((entities, relations)))
        return Said(entities, relations)

    def _embed(self, texts: Sequence[str]) -> FloatArray:
        with self._stub.Clock():
            vectors: FloatArray = self._stub.embed(texts)
        return vectors


def main() -> None:
    """Run one step of the driver."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--perf", type=Path, required=True)
    known, sys.argv[1:] = parser.parse_known_args()
    sys.path.insert(0, str(known.perf))
    driver, stub = import_module("peer_common"), import_module("stub")
    asyncio.run(driver.drive(Peer(stub, driver.keywords), driver.args(), "dgrag edge"))


if __name__ == "__main__":
    main()
