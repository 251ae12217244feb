"""EraRAG as a method: a tree of summaries over the passages that grows with them, and one flat search over all of its levels."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal, Self

from edge_node.graph.summaries import usable, whole_sentences
from edge_node.knowledge.knowledge import Knowledge
from edge_node.knowledge.refine import Unkept
from edge_node.store.tree import TreeNode
from edge_node.strategies.base import Cost, Needs, Progress, Retrieval, Tools
from edge_node.strategies.erarag.growing import Grower, Shape
from edge_node.strategies.erarag.search import Chosen, Hit, collapsed, detailed, summarised
from edge_node.strategies.erarag.segments import Bounds
from edge_node.strategies.erarag.texts import node_text, segment_prompt
from edge_node.strategies.method import Asked, Method
from shared.errors import ModelReplyError
from shared.fence import one_line
from shared.sentences import content_words

if TYPE_CHECKING:
    from edge_node.settings import EdgeSettings

log = logging.getLogger("dgrag.edge.tree")
AT_ONCE = 8  # texts in one go: a new document must not wait longer (performance goal F4)
PROMPT_CHARS = 12_000  # of a segment's members together


@dataclass(frozen=True, slots=True)
class Options:
    """The knobs of the search; see EdgeSettings."""

    search: Literal["collapsed", "detailed", "summarised"]
    share: float
    model_deadline_s: float


class EraRAG(Method):
    """Finds passages, and summaries of many of them, by nearness."""

    def __init__(self, tools: Tools, knowledge: Knowledge, shape: Shape, options: Options) -> None:
        self._tools = tools
        self._passages = knowledge.passages
        self._model = Unkept(tools.generator)
        self._options = options
        self._shape = shape
        self._grower = Grower(tools, shape)

    @staticmethod
    def needs(settings: EdgeSettings) -> Needs:
        """Words for the gate, and the graph for what the cloud is told: the tree's own texts stay at the site."""
        del settings
        return Needs(words=True, mentions=True, graph=True)

    @classmethod
    def of(cls, tools: Tools, knowledge: Knowledge, settings: EdgeSettings) -> Self:
        """Take this method's knobs out of the settings."""
        shape = Shape(
            bits=settings.tree_bits,
            bounds=Bounds(settings.tree_min, settings.tree_max),
            levels=settings.tree_levels,
            text_tokens=settings.tree_text_tokens,
            staleness=settings.tree_staleness,
            by_model=settings.summaries == "model",
            seed=settings.seed,
        )
        return cls(tools, knowledge, shape, Options(settings.tree_search, settings.tree_share, settings.model_deadline_s))

    # ------------------------------------------------------------ write path

    async def open(self) -> None:
        """Read the tree; what passages have come or gone since is seen by the first settle."""
        await self._grower.open()

    async def renew(self, progress: Progress) -> None:
        """Insert and delete (Alg. 3); the new nodes say sentences of their members until a model writes better ones."""
        await self._grower.renew(progress)

    async def improve(self, progress: Progress) -> Cost:
        """Let the model write a few nodes of one level; an upper one waits until nothing below it does (Alg. 1 l. 13)."""
        stale = self._grower.stale()
        chosen = [node for node in stale if node.level == stale[0].level][:AT_ONCE]
        texts, cost = dict[str, str](), Cost()
        for done, (node, members) in enumerate(zip(chosen, await self._grower.members_of(chosen), strict=True)):
            progress("write the tree's summaries", done, len(chosen))
            texts[node.node_id], spent = await self._written(members)
            cost += spent
        if texts:
            await self._grower.rewrite(chosen[0].level, texts, progress)
        return cost

    async def _written(self, members: Sequence[str]) -> tuple[str, Cost]:
        """A model's summary; sentences of the members where its reply is of no use."""
        prompt = segment_prompt(members, max_tokens=self._shape.text_tokens, max_chars=PROMPT_CHARS)
        try:
            reply = await self._model.generate(prompt, deadline_s=self._options.model_deadline_s)
        except ModelReplyError as error:
            log.warning("the model did not summarise a segment: %s", error.code)
            text, cost = "", Cost(calls=1)
        else:
            text, cost = whole_sentences(reply.texts[0]) if reply.texts else "", Cost(1, reply.tokens_in, reply.tokens_out)
        if not usable(text):
            text = node_text(members, max_tokens=self._shape.text_tokens, count=self._tools.tokenizer.count, terms=content_words)
        return text, cost

    @property
    def stale(self) -> int:
        """Nodes that the model should write."""
        return len(self._grower.stale())

    # ------------------------------------------------------------ read path

    async def search(self, asked: Asked) -> Retrieval:
        """The nearest passages, and lines: the texts of the nearest nodes, each with its nearest passage as evidence (Alg. 2 l. 2)."""
        return await asyncio.to_thread(partial(self._found, asked))

    def _found(self, asked: Asked) -> Retrieval:
        leaves, nodes = self._hits(asked)
        k, budget_tokens = asked.top_k, asked.budget_tokens
        if self._options.search == "collapsed":
            chosen = collapsed(leaves, nodes, k=k, budget_tokens=budget_tokens)
        else:
            by_level = detailed if self._options.search == "detailed" else summarised
            chosen = by_level(leaves, nodes, k=k, budget_tokens=budget_tokens, share=self._options.share)
        return self._read(asked, chosen)

    def _hits(self, asked: Asked) -> tuple[list[Hit], list[Hit]]:
        """The k nearest passages and the k nearest nodes. With documents withheld a node's text is not shown: it may be theirs."""
        near = self._passages.top(asked.vector, asked.top_k, asked.shown.withheld)
        cited = self._cited(asked, [key for key, _ in near])
        tokens = self._tools.documents.tokens_of({*(key for key, _ in near), *(key for _, _, key in cited)})
        leaves = [Hit(score, key, tokens[key]) for key, score in near if key in tokens]
        count, shown = self._tools.tokenizer.count, not asked.shown.withheld
        nodes = [
            Hit(score, key, tokens[key], node.node_id, count(one_line(node.text))) if shown else Hit(score, key, tokens[key])
            for node, score, key in cited
            if key in tokens
        ]
        return leaves, nodes

    def _cited(self, asked: Asked, near: Sequence[str]) -> list[tuple[TreeNode, float, str]]:
        """The k nearest nodes, each with its cosine and the nearest passage below it; ``near``: the nearest of all that may be shown."""
        nearest = dict[str, str]()
        for chunk_id in near:
            for node_id in self._grower.above(chunk_id):
                nearest.setdefault(node_id, chunk_id)
        found = []
        for node_id, score in self._grower.index.top(asked.vector, asked.top_k):
            if (node := self._grower.nodes.get(node_id)) is None:
                continue  # replaced a moment ago
            if node_id not in nearest:
                cosines = self._passages.scores(asked.vector, asked.shown.visible(self._grower.chunks_under(node_id)))
                if not cosines:
                    continue
                nearest[node_id] = min(cosines, key=lambda key: (-cosines[key], key))
            found.append((node, score, nearest[node_id]))
        return found

    def _read(self, asked: Asked, chosen: Chosen) -> Retrieval:
        """Passages by their own nearness; a node that was replaced a moment ago has no line."""
        cosines = self._passages.scores(asked.vector, chosen.passages)
        ranked = sorted(cosines.items(), key=lambda item: (-item[1], item[0]))
        lines = [one_line(node.text) for key in chosen.nodes if (node := self._grower.nodes.get(key)) is not None]
        return Retrieval(self._passages.read(ranked, budget_tokens=asked.budget_tokens), tuple(lines))
