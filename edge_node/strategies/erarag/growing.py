"""The tree of an edge's passages, kept up to date with the store: what changed is made anew, and committed at once (EraRAG Alg. 3)."""

from __future__ import annotations

import asyncio
from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from threading import Lock

import numpy as np

from edge_node.communities.cover import node_text
from edge_node.graph.tools import Tools
from edge_node.records import Progress
from edge_node.settings import EraRAGSettings
from edge_node.strategies.erarag.nodes import PASSAGES, TreeView, chunk_of, inherited, leaf_key, leaves_under, number_of, placed
from edge_node.strategies.erarag.segments import Bounds, draw_hyperplanes
from edge_node.strategies.erarag.store import TreeNode, TreeStore
from edge_node.strategies.erarag.tree import Item, Segment, Tree, node_key, rewritten, updated
from shared.index import open_index
from shared.ports import FloatArray
from shared.text.sentences import content_words

LEVELS = 5  # L: of summaries above the passages
TEXT_TOKENS = 160  # of a summary
BATCH = 32  # texts that are embedded at a time


@dataclass(frozen=True, slots=True, eq=False)
class NodeDraft:
    """A node to be: what its text was made of, and its vector (d,) where it is known."""

    level: int
    members: tuple[str, ...]
    made_of: frozenset[int]
    by_model: bool
    text: str
    vector: FloatArray | None = None


class Grower:
    """Holds the tree, the nodes that the store has, and a view of those that searches may find, with their index.

    Store, tree and view change together, and when all of a change is made.
    """

    def __init__(self, tools: Tools, settings: EraRAGSettings) -> None:
        self._tools = tools
        self._store = TreeStore(tools.graph.database)
        self._settings = settings
        self._bounds = Bounds(settings.tree_min, settings.tree_max)
        self._planes = np.zeros((0, 0), dtype=np.float32)
        self._tree = Tree(self._bounds, LEVELS)
        self._leaves: dict[str, str] = {}  # hash of its text by chunk id, of the passages in the tree
        self._saved: dict[str, TreeNode] = {}  # what the store has, also what must not be shown any more
        self._lock = asyncio.Lock()  # one change at a time
        self._ending: asyncio.Future[None] | None = None  # of a change whose outcome was not seen: it goes on where it was cancelled
        self._showing = Lock()
        self.view = TreeView()
        self.index = open_index(tools.index, tools.embedder.dimensions)
        self.stale = 0  # nodes that a model should write

    # ------------------------------------------------------------ what is there

    def unwritten(self, most: int) -> list[TreeNode]:
        """The first nodes of those of the lowest level that a model should write."""
        waiting = (node for node in self.view.nodes.values() if not node.by_model)
        found = nsmallest(most, waiting, key=lambda node: (node.level, node.node_id)) if self.stale else []
        return [node for node in found if node.level == found[0].level]

    async def members_of(self, nodes: Sequence[TreeNode]) -> list[list[str]]:
        """The texts of the members of some nodes."""
        texts = await asyncio.to_thread(texts_of, self._tools, self.view.nodes, [(node.level, node.members) for node in nodes])
        return [[texts[member] for member in node.members if member in texts] for node in nodes]

    # ------------------------------------------------------------ changes

    async def open(self) -> None:
        """Read nodes and hyperplanes; where these are missing, or others are wanted, draw them and begin anew."""
        async with self._lock:
            await self._to_its_end(self._load)

    def forget(self, chunk_ids: Iterable[str]) -> None:
        """Hide the nodes above passages that are gone from the store; the next renewal deletes them."""
        with self._showing:
            gone = {node_id for node_id, _ in self.view.above(chunk_ids)}
            self.index.drop(gone)
            self._show(self.view.without(gone))

    async def renew(self, progress: Progress) -> None:
        """Put in the passages that came, take out those that went, and make anew the nodes above them (Alg. 3)."""
        async with self._lock:
            await self._catch_up()
            await self._renew(progress)

    async def rewrite(self, level: int, texts: Mapping[str, str], progress: Progress) -> None:
        """Put a model's texts in the place of those of nodes, by id, and make anew what lies above. A node that is gone stays gone."""
        async with self._lock:
            await self._catch_up()
            if not self._tree.layers:
                await self._renew(progress)
            if old := [node for node_id in texts if (node := self.view.nodes.get(node_id))]:
                maker = await asyncio.to_thread(self._maker, progress)
                items = await maker.made(await asyncio.to_thread(maker.rewritten, old, texts))
                new = {node.node_id: item for node, item in zip(old, items, strict=True)}
                await self._keep(await rewritten(self._tree, level, new, maker), self._leaves, maker)

    async def _renew(self, progress: Progress) -> None:
        leaves, came, went = await asyncio.to_thread(self._compared)
        maker = await asyncio.to_thread(self._maker, progress)
        await self._keep(await updated(self._tree, came, went, maker), leaves, maker)

    def _compared(self) -> tuple[dict[str, str], list[Item], set[str]]:
        """The passages that are there, as ``_leaves``; those that the tree lacks; and keys of those that only the tree has."""
        there = self._tools.graph.vectors.all_hashes("chunk")
        new = [chunk_id for chunk_id, known in there.items() if self._leaves.get(chunk_id) != known]
        rows = self._tools.graph.vectors.some("chunk", new, self._tools.embedder.dimensions)
        came = dict(zip(rows.keys, rows.text_hashes, strict=True))
        items = placed([leaf_key(*leaf) for leaf in came.items()], rows.vectors, self._planes)
        went = {leaf_key(chunk_id, known) for chunk_id, known in self._leaves.items() if there.get(chunk_id) != known}
        return {chunk_id: known for chunk_id, known in there.items() if self._leaves.get(chunk_id) == known} | came, items, went

    def _maker(self, progress: Progress) -> _Maker:
        return _Maker(self._tools, self._settings, self._planes, self._saved, progress, building=not self._tree.layers)

    async def _keep(self, tree: Tree, leaves: dict[str, str], maker: _Maker) -> None:
        def keep() -> None:
            kept = tree.keys()
            saved = {key: maker.new.get(key) or self._saved[key] for key in kept}
            new = [node for key, node in saved.items() if self._saved.get(key) is not node]
            self._store.commit(new, self._saved.keys() - kept)
            self._tree, self._leaves, self._saved = tree, leaves, saved
            self._show_whole()

        await self._to_its_end(keep)

    async def _to_its_end(self, change: Callable[[], None]) -> None:
        self._ending = asyncio.ensure_future(asyncio.to_thread(change))
        await asyncio.shield(self._ending)
        self._ending = None

    async def _catch_up(self) -> None:
        """Wait for a change that was cut off; after one that failed read again what the store has."""
        if self._ending is not None:
            await asyncio.wait([self._ending])
            if self._ending.cancelled() or self._ending.exception():
                await self._to_its_end(self._load)
            self._ending = None

    def _load(self) -> None:
        bits, dimensions = self._settings.tree_bits, self._tools.embedder.dimensions
        planes = self._store.planes(bits=bits, dimensions=dimensions)
        if planes is None:
            planes = draw_hyperplanes(bits, dimensions, np.random.default_rng(self._settings.seed))
            self._store.begin(planes)
        self._planes = planes
        self._tree, self._leaves = Tree(self._bounds, LEVELS), {}  # to be built of the saved nodes by the next renewal
        self._saved = {node.node_id: node for node in self._store.nodes(dimensions=dimensions)}
        self._show_whole()

    def _show_whole(self) -> None:
        """Show of the saved nodes those that are whole, and no others.

        The store is asked under the lock: what is removed from it later is hidden by ``forget`` later.
        """
        with self._showing:
            gone = self.view.nodes.keys() - self._saved.keys()
            other = [node for key, node in self._saved.items() if self.view.nodes.get(key) is not node]
            wanted = {chunk_of(member) for node in other if node.level == PASSAGES for member in node.members}
            there = self._tools.graph.vectors.hashes("chunk", wanted)
            view = self.view.without(gone).grown(other, {leaf_key(*leaf) for leaf in there.items()})
            new = [node for node in other if node.node_id in view.nodes]
            self.index.drop(gone)
            if new:
                self.index.put([node.node_id for node in new], np.stack([node.vector for node in new]))
            self._show(view)

    def _show(self, view: TreeView) -> None:
        self.view = view
        self.stale = sum(not node.by_model for node in view.nodes.values()) if self._settings.summaries == "model" else 0


class _Maker:
    """Implements Make for one change: what was saved is found again, all else is made; ``new`` has every node that it gave.

    ``building``: of an empty tree, so that nobody knows which nodes the new ones come after.
    """

    def __init__(
        self, tools: Tools, settings: EraRAGSettings, planes: FloatArray, nodes: dict[str, TreeNode], progress: Progress, *, building: bool
    ) -> None:
        self._tools = tools
        self._settings = settings
        self._bounds = Bounds(settings.tree_min, settings.tree_max)
        self._planes = planes
        self._nodes = nodes
        self._saved = {(node.level, node.members): node for node in sorted(nodes.values(), key=lambda node: node.by_model)}
        self._progress = progress
        self._building = building
        self.new: dict[str, TreeNode] = {}
        self._there = ChainMap(self.new, nodes)

    async def __call__(self, level: int, segments: Sequence[Segment], gone: Sequence[str]) -> Sequence[Item]:
        """As Make says."""
        return await self.made(await asyncio.to_thread(self._drafts, level, segments, gone))

    async def made(self, drafts: Sequence[NodeDraft]) -> list[Item]:
        """Embed the texts whose vectors are not known, and give each node its name and place."""
        unknown = list(dict.fromkeys(draft.text for draft in drafts if draft.vector is None))
        vectors = dict[str, FloatArray]()
        for start in range(0, len(unknown), BATCH):
            self._progress("summarise", start, len(unknown))
            batch = unknown[start : start + BATCH]
            vectors |= zip(batch, await self._tools.embedder.embed(batch), strict=True)
        return await asyncio.to_thread(self._named, drafts, vectors)

    def _named(self, drafts: Sequence[NodeDraft], vectors: Mapping[str, FloatArray]) -> list[Item]:
        keys = [node_key(draft.level, draft.members, draft.text) for draft in drafts]
        rows = [vectors[draft.text] if draft.vector is None else draft.vector for draft in drafts]
        for key, draft, vector in zip(keys, drafts, rows, strict=True):
            known = self._nodes.get(key)
            made_of = tuple(sorted(draft.made_of))
            new = TreeNode(key, draft.level, draft.members, made_of, draft.by_model, draft.text, vector)
            self.new[key] = known if known is not None and known.by_model == draft.by_model else new
        return placed(keys, np.stack(rows), self._planes) if rows else []

    def rewritten(self, nodes: Iterable[TreeNode], texts: Mapping[str, str]) -> list[NodeDraft]:
        """Nodes of one level with a model's texts, by id."""
        return [NodeDraft(node.level, node.members, self._numbers(node.members), True, texts[node.node_id]) for node in nodes]

    def _drafts(self, level: int, segments: Sequence[Segment], gone: Sequence[str]) -> list[NodeDraft]:
        keys = self._nodes.keys() if self._building else gone
        former = [node for key in keys if (node := self._nodes.get(key)) and node.level == level and node.by_model]
        by_passage = {number: node for node in former for number in node.made_of}
        unsaved = [(level, members) for members in segments if (level, members) not in self._saved]
        texts = texts_of(self._tools, self._there, unsaved)
        return [self._draft(level, members, texts, by_passage) for members in segments]

    def _numbers(self, members: Sequence[str]) -> frozenset[int]:
        """A number for each passage below some members."""
        return frozenset(map(number_of, leaves_under(members, self._there)))

    def _draft(self, level: int, members: Segment, texts: Mapping[str, str], by_passage: Mapping[int, TreeNode]) -> NodeDraft:
        """The saved node; or the text of a model's former one that still holds; or sentences of the members."""
        if (saved := self._saved.get((level, members))) is not None:
            return NodeDraft(level, members, frozenset(saved.made_of), saved.by_model, saved.text, saved.vector)
        if by_passage:
            numbers = self._numbers(members)
            former = {by_passage[number] for number in numbers & by_passage.keys()}
            if kept := inherited(former, numbers, staleness=self._settings.tree_staleness):
                return NodeDraft(level, members, frozenset(kept.made_of), True, kept.text, kept.vector)
        children = [texts[member] for member in members if member in texts]
        count = self._tools.tokenizer.count
        text = node_text(children, max_tokens=TEXT_TOKENS, count=count, terms=content_words)
        return NodeDraft(level, members, frozenset(), False, text)


def texts_of(tools: Tools, nodes: Mapping[str, TreeNode], segments: Sequence[tuple[int, Sequence[str]]]) -> dict[str, str]:
    """What the members of (level, members) say; without passages that were deleted meanwhile, whose going the next change sees."""
    below = {member: nodes[member].text for level, members in segments if level > PASSAGES for member in members if member in nodes}
    passages = {member: chunk_of(member) for level, members in segments if level == PASSAGES for member in members}
    chunks = tools.documents.texts_of(set(passages.values()))
    return below | {member: chunks[chunk_id] for member, chunk_id in passages.items() if chunk_id in chunks}
