"""The tree of an edge's passages, kept up to date with the store: what changed is made anew, and committed at once (EraRAG Alg. 3)."""

from __future__ import annotations

import asyncio
from collections import ChainMap
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from edge_node.store.tree import TreeNode, TreeStore
from edge_node.strategies.base import Progress, Tools
from edge_node.strategies.erarag.layer import Item, Segment
from edge_node.strategies.erarag.nodes import PASSAGES, chunk_of, inherited, is_leaf, leaf_key, leaves_under, number_of, placed
from edge_node.strategies.erarag.planes import draw_hyperplanes
from edge_node.strategies.erarag.segments import Bounds
from edge_node.strategies.erarag.texts import node_text
from edge_node.strategies.erarag.tree import Tree, Updated, node_key, rewritten, updated
from shared.index import open_index
from shared.ports import FloatArray
from shared.records import ChunkId
from shared.sentences import content_words

BATCH = 32  # texts that are embedded at a time


@dataclass(frozen=True, slots=True)
class Shape:
    """The knobs of the tree; see EdgeSettings."""

    bits: int
    bounds: Bounds
    levels: int
    text_tokens: int
    staleness: float  # a model's text of a segment that grew by less than this share stays
    by_model: bool
    seed: int


@dataclass(frozen=True, slots=True, eq=False)
class Draft:
    """A node to be: what its text was made of, and its vector (d,) where it is known."""

    level: int
    members: tuple[str, ...]
    made_of: frozenset[int]
    by_model: bool
    text: str
    vector: FloatArray | None = None


class Grower:
    """Holds the tree, its nodes by id, and their index; what it shows changes when all of a change is committed."""

    def __init__(self, tools: Tools, shape: Shape) -> None:
        self._tools = tools
        self._store = TreeStore(tools.graph.database)
        self._shape = shape
        self._planes = np.zeros((0, 0), dtype=np.float32)
        self._tree = Tree(shape.bounds, shape.levels)
        self._leaves: dict[str, str] = {}  # hash of its text by chunk id, of the passages in the tree
        self._lock = asyncio.Lock()  # one change at a time
        self._commit: asyncio.Future[None] | None = None  # one whose outcome was not seen: it goes on where its change was cancelled
        self._parents: dict[str, str] = {}  # node by passage or node below it
        self.nodes: dict[str, TreeNode] = {}
        self.index = open_index(tools.index, tools.embedder.dimensions)

    # ------------------------------------------------------------ what is there

    def above(self, chunk_id: str) -> Iterator[str]:
        """The nodes that a passage lies below, lowest first."""
        here = self._parents.get(chunk_id)
        while here is not None:
            yield here
            here = self._parents.get(here)

    def chunks_under(self, node_id: str) -> list[ChunkId]:
        """The passages below a node; without those of a node that was replaced a moment ago."""
        return [chunk_of(key) for key in leaves_under([node_id], self.nodes)]

    def stale(self) -> list[TreeNode]:
        """The nodes that a model should write, lowest level first."""
        waiting = [node for node in self.nodes.values() if not node.by_model] if self._shape.by_model else []
        return sorted(waiting, key=lambda node: (node.level, node.node_id))

    async def members_of(self, nodes: Sequence[TreeNode]) -> list[list[str]]:
        """The texts of the members of some nodes."""
        texts = await asyncio.to_thread(texts_of, self._tools, self.nodes, [(node.level, node.members) for node in nodes])
        return [[texts[member] for member in node.members if member in texts] for node in nodes]

    # ------------------------------------------------------------ changes

    async def open(self) -> None:
        """Read nodes and hyperplanes; where these are missing, or others are wanted, draw them and begin anew."""
        async with self._lock:
            await asyncio.to_thread(self._load)

    def _load(self) -> None:
        bits, dimensions = self._shape.bits, self._tools.embedder.dimensions
        planes = self._store.planes(bits=bits, dimensions=dimensions)
        if planes is None:
            planes = draw_hyperplanes(bits, dimensions, np.random.default_rng(self._shape.seed))
            self._store.begin(planes)
        self._planes = planes
        self._tree, self._leaves = Tree(self._shape.bounds, self._shape.levels), {}  # to be built of the saved nodes by the next renewal
        self._show(self._store.nodes(dimensions=dimensions), set(self.nodes))

    async def renew(self, progress: Progress) -> None:
        """Put in the passages that came, take out those that went, and make anew the nodes above them (Alg. 3)."""
        async with self._lock:
            await self._catch_up()
            there = await asyncio.to_thread(self._tools.graph.vectors.all_hashes, "chunk")
            stay = {chunk_id: known for chunk_id, known in self._leaves.items() if there.get(chunk_id) == known}
            came = await asyncio.to_thread(self._passages, [chunk_id for chunk_id in there if chunk_id not in stay])
            went = {leaf_key(chunk_id, known) for chunk_id, known in self._leaves.items() if chunk_id not in stay}
            maker = _Maker(self._tools, self._shape, self._planes, self.nodes, progress)
            change = await updated(self._tree, came, went, maker)
            await self._keep(change, maker)
            self._leaves = stay | {chunk_of(item.key): there[chunk_of(item.key)] for item in came}

    async def rewrite(self, level: int, texts: Mapping[str, str], progress: Progress) -> None:
        """Put a model's texts in the place of those of nodes, by id, and make anew what lies above. A node that is gone stays gone."""
        async with self._lock:
            await self._catch_up()
            maker = _Maker(self._tools, self._shape, self._planes, self.nodes, progress)
            old = [self.nodes[node_id] for node_id in texts if node_id in self.nodes]
            drafts = [Draft(level, node.members, maker.numbers(node.members), True, texts[node.node_id]) for node in old]
            items = await maker.made(drafts)
            change = await rewritten(self._tree, level, {node.node_id: item for node, item in zip(old, items, strict=True)}, maker)
            await self._keep(change, maker)

    async def _keep(self, change: Updated, maker: _Maker) -> None:
        kept = change.tree.keys()
        new, gone = [node for key, node in maker.new.items() if key in kept], self.nodes.keys() - kept
        self._commit = asyncio.ensure_future(asyncio.to_thread(self._store.commit, new, gone))
        await asyncio.shield(self._commit)
        self._tree = change.tree
        await asyncio.to_thread(self._show, new, gone)
        self._commit = None

    async def _catch_up(self) -> None:
        """After a change that was cut off, read again what the store has."""
        if self._commit is not None:
            await asyncio.wait([self._commit])
            await asyncio.to_thread(self._load)
            self._commit = None

    def _show(self, new: Sequence[TreeNode], gone: Collection[str]) -> None:
        parents = dict(self._parents)
        for node in (self.nodes[key] for key in gone):
            for member in map(_plain, node.members):
                parents.pop(member, None)
        for node in new:
            parents |= dict.fromkeys(map(_plain, node.members), node.node_id)
        self._parents = parents
        self.nodes = {key: node for key, node in self.nodes.items() if key not in gone} | {node.node_id: node for node in new}
        self.index.drop(list(gone))
        if new:
            self.index.put([node.node_id for node in new], np.stack([node.vector for node in new]))

    def _passages(self, chunk_ids: Sequence[str]) -> list[Item]:
        rows = self._tools.graph.vectors.some("chunk", chunk_ids, self._tools.embedder.dimensions)
        keys = [leaf_key(key, known) for key, known in zip(rows.keys, rows.text_hashes, strict=True)]
        return placed(keys, rows.vectors, self._planes)


def _plain(member: str) -> str:
    """A passage by its chunk's id, a node by its own."""
    return chunk_of(member) if is_leaf(member) else member


class _Maker:
    """Implements Make for one change: what was saved is found again, all else is made; ``new`` has every node that it gave."""

    def __init__(self, tools: Tools, shape: Shape, planes: FloatArray, nodes: dict[str, TreeNode], progress: Progress) -> None:
        self._tools = tools
        self._shape = shape
        self._planes = planes
        self._nodes = nodes
        self._saved = {(node.level, node.members): node for node in sorted(nodes.values(), key=lambda node: node.by_model)}
        self._progress = progress
        self.new: dict[str, TreeNode] = {}
        self._there = ChainMap(self.new, nodes)

    async def __call__(self, level: int, segments: Sequence[Segment], gone: Sequence[str]) -> Sequence[Item]:
        """As Make says."""
        former = [node for key in gone if (node := self._nodes.get(key)) is not None and node.by_model]
        unsaved = [(level, one) for one in segments if (level, one) not in self._saved]
        texts = await asyncio.to_thread(texts_of, self._tools, self._there, unsaved)
        drafts = [self._draft(level, segment, texts, former) for segment in segments]
        return await self.made(drafts)

    async def made(self, drafts: Sequence[Draft]) -> list[Item]:
        """Embed the texts whose vectors are not known, and give each node its name and place."""
        unknown = list(dict.fromkeys(draft.text for draft in drafts if draft.vector is None))
        vectors = dict[str, FloatArray]()
        for start in range(0, len(unknown), BATCH):
            self._progress("summarise", start, len(unknown))
            batch = unknown[start : start + BATCH]
            vectors |= zip(batch, await self._tools.embedder.embed(batch), strict=True)
        keys = [node_key(draft.level, draft.members, draft.text) for draft in drafts]
        rows = [vectors[draft.text] if draft.vector is None else draft.vector for draft in drafts]
        for key, draft, vector in zip(keys, drafts, rows, strict=True):
            made_of = tuple(sorted(draft.made_of))
            self.new[key] = TreeNode(key, draft.level, draft.members, made_of, draft.by_model, draft.text, vector)
        return placed(keys, np.stack(rows), self._planes) if rows else []

    def numbers(self, members: Sequence[str]) -> frozenset[int]:
        """A number for each passage below some members."""
        return frozenset(map(number_of, leaves_under(members, self._there)))

    def _draft(self, level: int, members: Segment, texts: Mapping[str, str], former: Sequence[TreeNode]) -> Draft:
        """The saved node; or the text of a model's former one that still holds; or sentences of the members."""
        if (saved := self._saved.get((level, members))) is not None:
            return Draft(level, members, frozenset(saved.made_of), saved.by_model, saved.text, saved.vector)
        if former:
            kept = inherited(former, self.numbers(members), staleness=self._shape.staleness)
            if kept is not None:
                return Draft(level, members, frozenset(kept.made_of), True, kept.text, kept.vector)
        children = [texts[member] for member in members if member in texts]
        count = self._tools.tokenizer.count
        text = node_text(children, max_tokens=self._shape.text_tokens, count=count, terms=content_words)
        return Draft(level, members, frozenset(), False, text)


def texts_of(tools: Tools, nodes: Mapping[str, TreeNode], segments: Sequence[tuple[int, Sequence[str]]]) -> dict[str, str]:
    """What the members of (level, members) say; without passages that were deleted meanwhile, whose going the next change sees."""
    below = {member: nodes[member].text for level, members in segments if level > PASSAGES for member in members if member in nodes}
    passages = {member: chunk_of(member) for level, members in segments if level == PASSAGES for member in members}
    chunks = tools.documents.texts_of(set(passages.values()))
    return below | {member: chunks[chunk_id] for member, chunk_id in passages.items() if chunk_id in chunks}
