"""Whether a model can tell which name stood in what a site shares of its memories: an attack of restoration (FD-RAG §5.4, Table 5).

``python -m benchmarks.memories.restoration SET --url http://127.0.0.1:8090/v1``. SET is a folder with ``corpus.jsonl``. One edge remembers
documents without a model. Of each memory with a name the attacker sees the question and its answer as they are (``raw``), with each name's
kind in its place (``masked``), and as the hint that leaves an edge (``hint``: names drawn by randomised response, figures blotted out). It
is told which place is meant, and right where it says the name that stood there. Prints the shares of rightly restored names as JSON, each
with its 95 % interval.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer

from benchmarks.cluster import drop_settings_of_the_shell
from benchmarks.datasets.narrowed import fewer_documents
from benchmarks.datasets.passages import Passages
from benchmarks.datasets.splits import stride
from benchmarks.errors import BenchmarkError
from benchmarks.instant_edge import add, running
from benchmarks.machine import code
from deploy.evaluation.intervals import wilson
from edge_node.build import Adapters, build_node
from edge_node.egress.memory_sharing import MemorySharing
from edge_node.egress.policy_file import NAME
from edge_node.memory.records import Memory
from edge_node.memory.release import SharedMemory
from edge_node.node import EdgeNode
from edge_node.policy.hints import Names
from edge_node.policy.rules import NAME_KINDS, Level
from edge_node.policy.surrogates import key_of
from edge_node.settings import EdgeSettings
from shared.models.build import build_embedder, build_generator, build_tokenizer, model_http
from shared.models.fake import ScriptedGenerator
from shared.models.settings import ModelSettings
from shared.ports import Generator, Prompt
from shared.records import document_of
from shared.text.prompts import load_prompt

POLICY = 'version = 1\n[memories]\nshare = "hints"\nepsilon = {epsilon}\nepsilon_budget = {epsilon}\n'
MEMORIES = 1_000_000  # more than there are
ANSWER_TOKENS = 24
DEADLINE_S = 120.0
SEED = 7


@dataclass(frozen=True, slots=True)
class Told:
    """A question and its answer as an attacker sees them; ``shown`` stands where the name stood."""

    question: str
    answer: str
    shown: str


@dataclass(frozen=True, slots=True)
class Item:
    """A name of a memory, and what is told of it by each way of sharing."""

    name: str
    kind: str
    ways: Mapping[str, Told]


def item_of(memory: Memory, hint: SharedMemory, names: Names) -> Item | None:
    """The first name in a memory's question that is exchanged in its hint; None: there is none.

    >>> from edge_node.memory.records import Support, memory_of
    >>> from edge_node.policy.hints import Known
    >>> from edge_node.policy.surrogates import ReleasedName
    >>> memory = memory_of("template", "What did Ann Lee buy?", "a mill", [Support("d:0", 0, 9)], frozenset())
    >>> hint = SharedMemory("m", "What did Bo Orr buy?", "", False, (ReleasedName("k", "person", "Bo Orr", 2.0),))
    >>> item = item_of(memory, hint, Names({"ann lee": Known("person", 1)}, frozenset({"ann"})))
    >>> item.name, [told.question for told in item.ways.values()]
    ('Ann Lee', ['What did Ann Lee buy?', 'What did [PERSON] buy?', 'What did Bo Orr buy?'])
    """
    asked, said = names.pieces(memory.question), names.pieces(memory.answer)
    first = next((piece for piece in asked if piece.key and names.known[piece.key].kind in NAME_KINDS), None)
    if first is None or not hint.names:
        return None
    kind = names.known[first.key].kind

    def masked(piece_text: str, key: str) -> str:
        return f"[{names.known[key].kind.upper()}]" if key and names.known[key].kind in NAME_KINDS else piece_text

    question, answer = ("".join(masked(piece.text, piece.key) for piece in pieces) for pieces in (asked, said))
    ways = {
        "raw": Told(memory.question, memory.answer, first.text),
        "masked": Told(question, answer, f"[{kind.upper()}]"),
        "hint": Told(hint.question, hint.answer, hint.names[0].surrogate),
    }
    return Item(first.text, kind, ways)


def prompt_of(item: Item, told: Told) -> Prompt:
    """Ask which name stood where ``told.shown`` stands."""
    values = {"kind": item.kind, "shown": told.shown, "question": told.question, "answer": told.answer or "(not told)"}
    return Prompt(load_prompt("benchmarks", "restore").render(**values), ANSWER_TOKENS, stop=("\n",))


def is_restored(name: str, reply: str) -> bool:
    """Whether a reply is the name, in any spelling that the store takes for the same.

    >>> is_restored("the Anchor Mills", '"Anchor Mill."'), is_restored("Anchor Mill", "Anchor Works")
    (True, False)
    """
    return key_of(name) == key_of(reply.strip().strip("\"'.“”*"))


async def items_of(node: EdgeNode) -> list[Item]:
    """Every hint that may leave, with what it was made of."""
    memories = {one.memory.memory_id: one.memory for one in await node.strategy.memories.page("", MEMORIES)}
    released = await asyncio.to_thread(MemorySharing.of(node.sharing, node.documents, node.graph).released)
    mentions = tuple(node.graph.mentions.entities())
    names = Names.of(mentions, {document_of(mention.chunk_id): Level.FULL for mention in mentions})
    found = (item_of(memories[hint.memory_id], hint, names) for hint in released.leaving)
    return [item for item in found if item is not None]


async def shared_items(folder: Path, documents: Sequence[tuple[str, str]], epsilon: float) -> list[Item]:
    """What an edge that remembers these documents, (name, text), shares."""
    (folder / NAME).write_text(POLICY.format(epsilon=epsilon), encoding="utf-8")
    models = ModelSettings()
    node = build_node(
        EdgeSettings(state_dir=folder), Adapters(ScriptedGenerator(str), build_embedder(models), build_tokenizer(models), None)
    )
    async with running(node):
        await add(node, documents)
        await node.worker.news.until(lambda: node.strategy.stale == 0)
        return await items_of(node)


async def attacked(items: Sequence[Item], generator: Generator) -> dict[str, Any]:
    """The share of names that are restored, by the way they were shared. Raises ModelError."""
    found = dict[str, Any]()
    for way in ("raw", "masked", "hint"):
        right = list[float]()
        for item in items:
            reply = await generator.generate(prompt_of(item, item.ways[way]), deadline_s=DEADLINE_S)
            right.append(float(is_restored(item.name, reply.texts[0])))
        share = wilson(right)
        found[way] = {"restored": round(share.mean, 3), "interval": [round(share.low, 3), round(share.high, 3)]}
    return found


async def _measured(folder: Path, settings: ModelSettings, documents: int, count: int, epsilon: float) -> dict[str, Any]:
    corpus = fewer_documents(Passages.read(folder, ""), documents, seed=SEED)
    rows = corpus.rows([one.document_id for one in corpus.documents()])
    texts = [(f"{name}.txt", orjson.loads(row)["text"]) for name, row in rows]
    with tempfile.TemporaryDirectory() as state:
        items = await shared_items(Path(state), texts, epsilon)
    asked = stride(items, count, seed=SEED)
    if not asked:
        raise BenchmarkError("no memory of these documents may leave", next_step="take more of them with --documents")
    row = {
        "set": folder.name,
        "documents": len(texts),
        "hints": len(items),
        "asked": len(asked),
        "epsilon": epsilon,
        "model": settings.name,
    }
    async with model_http(settings) as http:
        return row | await attacked(asked, build_generator(settings, http))


def main(
    folder: Annotated[Path, typer.Argument(metavar="SET", exists=True, file_okay=False, help="A folder with corpus.jsonl.")],
    url: Annotated[str, typer.Option(help="An OpenAI-compatible server, as `dgrag model serve` is one.")],
    model: Annotated[str, typer.Option(help="What the model is called there.")] = "standard",
    documents: Annotated[int, typer.Option(min=1, help="Of the set, evenly over it.")] = 100,
    count: Annotated[int, typer.Option("-n", min=1, help="Names, evenly over what is shared.")] = 60,
    epsilon: Annotated[float, typer.Option(min=0.1, max=10.0, help="Of a name.")] = 2.0,
) -> None:
    """Attack what an edge shares of its memories, and print what came of it."""
    drop_settings_of_the_shell()
    try:
        found = asyncio.run(_measured(folder, ModelSettings(url=url, name=model), documents, count, epsilon))
    except BenchmarkError as error:
        raise typer.BadParameter(f"{error.message}: {error.next_step}") from error
    typer.echo(json.dumps({**code(), **found}, indent=1))


if __name__ == "__main__":
    typer.run(main)
