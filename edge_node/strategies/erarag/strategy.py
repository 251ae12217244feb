"""EraRAG as a method: a tree of summaries over the passages that grows with them, and one flat search over all of its levels."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from edge_node.communities.cover import node_text
from edge_node.graph.passages import top_allowed
from edge_node.graph.summaries import usable, whole_sentences
from edge_node.graph.tools import Tools
from edge_node.model_task import ModelTask
from edge_node.records import Cost, Needs, PassageSummary, Progress, Retrieval
from edge_node.settings import EraRAGSettings
from edge_node.strategies.erarag.growing import TEXT_TOKENS, Grower
from edge_node.strategies.erarag.nodes import PASSAGES, TreeView, chunk_of
from edge_node.strategies.erarag.search import Hit, SelectedContext, collapsed, detailed, segment_prompt, summarised
from edge_node.strategies.erarag.store import TreeNode
from edge_node.strategies.method import Method, MethodQuery
from edge_node.strategies.write_path import WritePath
from shared.errors import ModelError
from shared.ports import FloatArray, Prompt, Reply
from shared.records import ChunkId, is_withheld
from shared.text.fence import FENCE_BYTES, Fence, one_line
from shared.text.inert import inert
from shared.text.sentences import content_words

if TYPE_CHECKING:
    from edge_node.settings import EdgeSettings

log = logging.getLogger("dgrag.edge.tree")
AT_ONCE = 8  # texts in one go: a new document must not wait longer
PROMPT_CHARS = 12_000  # of a segment's members together
MOST_BELOW = 16  # passages that a node's text is cited from


class EraRAG(Method):
    """Finds passages, and summaries of many of them, by nearness."""

    def __init__(self, tools: Tools, write_path: WritePath, settings: EraRAGSettings) -> None:
        self._tools = tools
        self._passages = write_path.passages
        self._task = ModelTask(tools.generator, log, deadline_s=settings.model_deadline_s)
        self._settings = settings
        self._grower = Grower(tools, settings)

    @staticmethod
    def needs(settings: EdgeSettings) -> Needs:
        """Words for the gate, and the graph for what the cloud is told: the tree's own texts stay at the site."""
        del settings
        return Needs(words=True, mentions=True, graph=True)

    # ------------------------------------------------------------ write path

    async def open(self) -> None:
        """Read the tree; what passages have come or gone since is seen by the first settle."""
        await self._grower.open()

    async def forget(self, chunk_ids: Sequence[ChunkId]) -> None:
        """Hide the nodes above chunks that are gone: they may say their sentences."""
        await asyncio.to_thread(self._grower.forget, chunk_ids)

    async def renew(self, progress: Progress) -> None:
        """Insert and delete (Alg. 3); the new nodes say sentences of their members until a model writes better ones."""
        await self._grower.renew(progress)

    async def improve(self, progress: Progress) -> Cost:
        """Let the model write a few nodes of one level; an upper one waits until nothing below it does (Alg. 1 l. 13)."""
        chosen = self._grower.unwritten(AT_ONCE)
        texts, cost, failed = dict[str, str](), Cost(), None
        for done, (node, members) in enumerate(zip(chosen, await self._grower.members_of(chosen), strict=True)):
            progress("write the tree's summaries", done, len(chosen))
            try:
                texts[node.node_id], spent = await self._written(members)
            except ModelError as error:  # what was paid for is kept all the same
                failed = error
                break
            cost += spent
        if texts:
            await self._grower.rewrite(chosen[0].level, texts, progress)
        if failed is not None:
            raise failed
        return cost

    async def _written(self, members: Sequence[str]) -> tuple[str, Cost]:
        """A model's summary; sentences of the members where its reply is of no use, or there is nothing to ask about."""
        text, cost = "", Cost()
        if any(member.strip() for member in members):
            fence = Fence(secrets.token_hex(FENCE_BYTES))
            prompt = segment_prompt(members, fence, max_tokens=TEXT_TOKENS, max_chars=PROMPT_CHARS)
            reply, cost = await self._task.ask(prompt, "the model did not summarise a segment")
            text = _said(reply, prompt, fence)
        if not usable(text):
            text = node_text(members, max_tokens=TEXT_TOKENS, count=self._tools.tokenizer.count, terms=content_words)
        return text, cost

    @property
    def stale(self) -> int:
        """Nodes that the model should write."""
        return self._grower.stale

    # ------------------------------------------------------------ read path

    async def search(self, asked: MethodQuery) -> Retrieval:
        """The nearest passages, and the texts of the nearest nodes, each with its nearest passage as evidence (Alg. 2 l. 2)."""
        return await asyncio.to_thread(partial(self._found, asked))

    def _found(self, asked: MethodQuery) -> Retrieval:
        leaves, nodes = self._hits(asked)
        k, budget_tokens = asked.top_k, asked.budget_tokens
        if self._settings.tree_search == "collapsed":
            chosen = collapsed(leaves, nodes, k=k, budget_tokens=budget_tokens)
        else:
            by_level = detailed if self._settings.tree_search == "detailed" else summarised
            chosen = by_level(leaves, nodes, k=k, budget_tokens=budget_tokens, share=self._settings.tree_share)
        return self._read(asked, chosen)

    def _hits(self, asked: MethodQuery) -> tuple[list[Hit], list[Hit]]:
        """The k nearest passages, and the k nearest nodes with the passage that is cited for each."""
        near = self._passages.top(asked.vector, asked.top_k, asked.shown.withheld)
        cited = self._cited(asked, [key for key, _ in near])
        tokens = self._tools.documents.tokens_of({*(key for key, _ in near), *(key for _, _, key in cited)})
        count = self._tools.tokenizer.count
        leaves = [Hit(score, key, tokens[key]) for key, score in near if key in tokens]
        nodes = [Hit(score, key, tokens[key], node.node_id, count(one_line(node.text))) for node, score, key in cited if key in tokens]
        return leaves, nodes

    def _cited(self, asked: MethodQuery, near: Sequence[str]) -> list[tuple[TreeNode, float, str]]:
        """The k nearest nodes, each with its cosine and the nearest passage below it; ``near``: the nearest of all that may be shown.

        A node above a withheld passage is as if it were not there: its text may say what the passage says.
        """
        view = self._grower.view
        withheld = asked.shown.withheld
        barred = {key for key, _ in view.above(member for member in view.parents if is_withheld(member, withheld))} if withheld else ()
        nearest = dict(view.above(near))
        found = []
        for key, score in top_allowed(self._grower.index, asked.vector, asked.top_k, lambda key: key in view.nodes and key not in barred):
            if passage := nearest.get(key) or next((passage for passage, _ in self._near_below(view, key, asked.vector, most=1)), None):
                found.append((view.nodes[key], score, passage))
        return found

    def _near_below(self, view: TreeView, key: str, vector: FloatArray, *, most: int) -> list[tuple[str, float]]:
        """Passages below a node, nearest first: those that are found by way of the ``most`` nearest members of each level.

        Empty where they are gone meanwhile.
        """
        keys = [key]
        for _ in range(view.nodes[key].level, PASSAGES, -1):
            members = [member for node in keys for member in view.nodes[node].members]
            scores = self._grower.index.scores(vector, members)
            there = {member: score for member, score in zip(members, scores, strict=True) if score is not None and member in view.nodes}
            keys = [member for member, _ in _nearest(there, most)]
        return _nearest(self._passages.scores(vector, [chunk_of(member) for node in keys for member in view.nodes[node].members]), most)

    def _read(self, asked: MethodQuery, chosen: SelectedContext) -> Retrieval:
        """Passages by their own nearness; a node that was replaced or hidden a moment ago is left out."""
        cosines = self._passages.scores(asked.vector, chosen.passages)
        evidence = self._passages.read(_nearest(cosines, len(cosines)), budget_tokens=asked.budget_tokens)
        view, summaries = self._grower.view, list[PassageSummary]()
        for key in chosen.nodes:
            if key in view.nodes:
                passages = self._passages.all_of(self._near_below(view, key, asked.vector, most=MOST_BELOW))
                text, near = view.nodes[key].text, self._grower.index.scores(asked.vector, [key])[0]
                summaries.append(PassageSummary(key, one_line(text), near or 0.0, passages))
        return Retrieval(evidence, summaries=tuple(summaries))


def _nearest(cosines: Mapping[str, float], most: int) -> list[tuple[str, float]]:
    return sorted(cosines.items(), key=lambda item: (-item[1], item[0]))[:most]


def _said(reply: Reply | None, prompt: Prompt, fence: Fence) -> str:
    """A reply's summary, inert; "" where it says nothing, or gives the prompt away."""
    text = whole_sentences(inert(reply.texts[0])) if reply and reply.texts else ""
    return "" if fence.is_given_away(text, prompt.messages) else text
