"""Memories by a language model, from the sentences of hyperedges: a few at a time, each committed by itself (FD-RAG §4.1, eq. 10)."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import secrets
import sqlite3
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock

from edge_node.database.schema import Database
from edge_node.database.vectors import embed_texts
from edge_node.extraction.facts import Fact
from edge_node.graph.mentions import KEYS
from edge_node.graph.tools import Tools
from edge_node.memory.clustering import HypergraphBuilder
from edge_node.memory.hypergraph import Hypergraph, IntArray, Span
from edge_node.memory.records import Memory, Support, memory_of
from edge_node.model_task import ModelTask, lines_of
from edge_node.records import Cost, Progress
from shared.ports import Prompt
from shared.records import document_of
from shared.text.citations import MARKER, is_supported
from shared.text.fence import FENCE_BYTES, Fence, one_line
from shared.text.inert import inert
from shared.text.prompts import load_prompt
from shared.text.refusals import is_refusal
from shared.text.same_question import fits, is_single
from shared.text.sentences import NUMBER_WORDS, WORD, content_words

log = logging.getLogger("dgrag.edge.memory")
LEAST_SENTENCES = 2  # of a hyperedge: of one sentence alone the templates make what there is to make
FactsOf = Callable[[Collection[str]], Mapping[str, Sequence[Fact]]]  # by chunk
Keep = Callable[[Sequence[Memory], str], Awaitable[frozenset[str]]]  # commits memories, and which model wrote them; ids of those kept

store_log = logging.getLogger("dgrag.edge.store")
ASKED_OF = "asked_of_"  # and the name of a hyperedge: key in meta
_PRESENT = f"SELECT memory_id FROM memories WHERE memory_id IN {KEYS} UNION ALL SELECT chunk_id FROM chunks WHERE chunk_id IN {KEYS}"

MOST_SENTENCES = 12  # of a hyperedge, that are looked at
QUESTION_TOKENS = 60  # of a reply; a question takes about 20
NEAREST = 3  # sentences of the site, among which a question must find its own
MAX_QUESTION_CHARS = 300
MAX_ANSWER_CHARS = 120
MOST_ANSWER_WORDS = 12
LEAST_WORDS = 2  # of a question, that carry meaning
_EDGES = ' \t`*_"“”'
_LABEL = re.compile(r"\s*+[-*•]?[\s*_]*+(?:Q(?:uestion)?\s*+[:.])?", re.IGNORECASE)
_OF_SENTENCES = frozenset({"note", "notes", "passage", "passages", "sentence", "sentences", "text"})


@dataclass(frozen=True, slots=True)
class AskedSoFar:
    """Of all askings: the tokens that what is left of them took, and the names of the hyperedges of which nothing has gone since."""

    tokens: int
    names: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Asking:
    """Tokens that a model wrote, an equal share for each of ``parts``."""

    tokens: int
    parts: frozenset[str]

    def left(self, there: Collection[str]) -> int:
        """Tokens of those of the parts that are there, rounded up."""
        return -(-self.tokens * len(self.parts.intersection(there)) // len(self.parts)) if self.parts else 0


class AskingStore:
    """Askings stand for their parts: the memories that came of one or, where none did, the chunks that were read.

    So what a deletion takes along, or anything else, is asked about again without anybody having to say so, and its tokens are free again.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def note(self, name: str, tokens: int, parts: Collection[str]) -> None:
        """A model wrote ``tokens`` about a hyperedge. What is left of an earlier asking about the same one goes on counting."""
        with self._database.write() as tx:
            row = tx.execute("SELECT value FROM meta WHERE key = ?", (ASKED_OF + name,)).fetchone()
            former = _read(row["value"]) if row else _Asking(0, frozenset())
            left = _present(tx.execute(_PRESENT, _listed(former.parts)).fetchall()).difference(parts)
            told = json.dumps([tokens + former.left(left), sorted({*parts, *left})])
            tx.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (ASKED_OF + name, told))

    def standing(self) -> AskedSoFar:
        """What stands now; that of which nothing is left is forgotten, and so is what is damaged."""
        rows = {row["key"]: row["value"] for row in self._database.rows("SELECT key, value FROM meta WHERE key GLOB ?", (ASKED_OF + "*",))}
        askings = {key: _read(value) for key, value in rows.items()}
        parts = frozenset[str]().union(*(one.parts for one in askings.values()))
        there = _present(self._database.rows(_PRESENT, _listed(parts)))
        gone = [(key, rows[key]) for key, one in askings.items() if one.parts.isdisjoint(there)]
        if gone:
            with self._database.write() as tx:
                tx.executemany("DELETE FROM meta WHERE key = ? AND value = ?", gone)  # not one that was noted meanwhile
        names = (key.removeprefix(ASKED_OF) for key, one in askings.items() if one.parts and one.parts <= there)
        return AskedSoFar(sum(one.left(there) for one in askings.values()), frozenset(names))


def _listed(parts: Collection[str]) -> tuple[str, str]:
    return (json.dumps(list(parts)),) * 2


def _present(rows: Collection[sqlite3.Row]) -> frozenset[str]:
    return frozenset(row[0] for row in rows)


def _read(value: str) -> _Asking:
    """Nothing where it is damaged: what there is to ask is asked again, within the tokens that there are."""
    try:
        tokens, parts = json.loads(value)
        return _Asking(int(tokens), frozenset(map(str, parts)))
    except (TypeError, ValueError):
        store_log.error("a damaged note of what a model was asked is left out")
        return _Asking(0, frozenset())


@dataclass(frozen=True, slots=True)
class ToAsk:
    """A sentence, with the words of it that are to be asked for. ``row``: its unit; ``title``: its document's."""

    row: int
    support: Support
    title: str
    text: str
    answer: str

    @property
    def told(self) -> str:
        """The sentence behind its title, which says whom "he" and "it" mean."""
        return one_line(f"{self.title}: {self.text}" if self.title else self.text)


def answer_in(facts: Sequence[Fact], sentence: str) -> str:
    """What of a sentence's facts is asked for: a name, date or number before other things, as they are written; "": nothing.

    >>> said = "Orrin Mill has looms and was built in 1881."
    >>> facts = [Fact("d:0", 0, 43, "Orrin Mill", "place", "has", "have", "", "looms", "concept", False)]
    >>> facts.append(Fact("d:0", 0, 43, "Orrin Mill", "place", "was built", "build", "in", "1881", "date", False))
    >>> answer_in(facts, said), answer_in(facts, "It has looms."), answer_in(facts, "It is old.")
    ('1881', 'looms', '')
    """
    run = f" {_run(sentence)} "
    found = [fact for fact in facts if not fact.negated and _is_short(fact.object) and f" {_run(fact.object)} " in run]
    best = min(found, key=lambda fact: _is_vague(fact.object), default=None)
    return best.object if best else ""


def _is_vague(answer: str) -> bool:
    """Whether it is neither a name nor a date or number: a question seldom asks for "an American actor", or for "one of them"."""
    first = next((word for word in WORD.findall(answer) if word.casefold() != "the"), "")
    return not (first[:1].isupper() or first[:1].isdigit() or (first.casefold() in NUMBER_WORDS and first.casefold() != "one"))


def question_prompt(one: ToAsk, fence: Fence) -> Prompt:
    """Ask for the question that some words of a sentence answer. Rules and examples come first, so a server keeps them."""
    messages = load_prompt("edge_node", "question_of").render(sentence=fence.around(one.told), answer=one_line(one.answer))
    return Prompt(messages, QUESTION_TOKENS, stop=("\n",))


def question_in(reply: str, one: ToAsk) -> str:
    """The question of a reply; "" where it cannot be used: it must be single, name something and be of the answer's type.

    The answer must not stand in it, and the sentence and its title must have its names, its numbers and half of its words.
    """
    question = _plain(_LABEL.sub("", reply, count=1))
    if not (_stands_alone(question) and is_single(question) and fits(question, question, one.answer)):
        return ""
    said = frozenset(_run(one.told).split())
    if _asks_who(question) and _is_vague(one.answer):
        return ""
    is_told = _names(question) <= said and is_supported(question, [one.told])
    return question if is_told and not content_words(one.answer) <= content_words(question) else ""


def _asks_who(question: str) -> bool:
    """Whether a name must answer; what may answer "Who is Ann Lee?" too."""
    return question.startswith(("Who ", "Whose ", "Whom ")) and not re.match(r"Who (?:is|was|are|were) [A-Z]", question)


def _stands_alone(question: str) -> bool:
    """Whether somebody who has not seen the sentence can tell what is asked."""
    if not question.endswith("?") or len(question) > MAX_QUESTION_CHARS or is_refusal(question):
        return False
    return len(content_words(question)) >= LEAST_WORDS and bool(_names(question))


def _is_short(answer: str) -> bool:
    return len(answer) <= MAX_ANSWER_CHARS and 0 < len(WORD.findall(answer)) <= MOST_ANSWER_WORDS


def _names(question: str) -> frozenset[str]:
    """The words of a question, in lower case, that are a name's or a number's, and those that would speak of the sentence itself.

    Its first word's capital says nothing.
    """
    words = enumerate(WORD.findall(question))
    found = (word for n, word in words if word[0].isdigit() or (n and word[0].isupper()) or word.casefold() in _OF_SENTENCES)
    return frozenset(map(str.casefold, found))


def _run(text: str) -> str:
    return " ".join(WORD.findall(text.casefold()))


def _plain(text: str) -> str:
    """As one line without markers and emphasis."""
    return one_line(MARKER.sub("", inert(text))).strip(_EDGES)


class MemoryWriter:
    """Asks one question about each hyperedge that no reply was read of yet: those of the most documents first, then of the most sentences.

    What is asked for are words of a fact; a question that does not find its own sentence again is not kept. Tokens are spent on what is
    there now: those of memories that went with their chunks may be written again, and what they said is asked.
    """

    def __init__(
        self, tools: Tools, grouping: HypergraphBuilder, facts_of: FactsOf, keep: Keep, *, tokens_per_1000: int, deadline_s: float
    ) -> None:
        """``tokens_per_1000``: that may be written for 1,000 tokens of documents; ``deadline_s``: of one call."""
        self._task = ModelTask(tools.generator, log, deadline_s=deadline_s)
        self._documents = tools.documents
        self._embedder = tools.embedder
        self._facts_of = facts_of
        self._askings = AskingStore(tools.graph.database)
        self._grouping = grouping
        self._keep = keep
        self._share = tokens_per_1000 / 1000
        self._availability = AskedSoFar(0, frozenset())
        self._left = 0  # tokens
        self._counting = Lock()  # a settle counts beside a turn; the later look is what stays
        self._looked_at = -1  # changes of the grouping
        self._waiting: list[tuple[str, IntArray]] = []  # hyperedges by name, with their units; of the moment that was looked at
        self._seen: Hypergraph | None = None

    def load(self) -> None:
        """Read what was spent."""
        self.count()

    def count(self) -> None:
        """Look how many tokens there are to spend on the documents that are there."""
        if not self._share:
            return
        with self._counting:
            self._availability = standing = self._askings.standing()
            self._left = max(0, int(self._share * self._documents.totals()["tokens"]) - standing.tokens)

    @property
    def stale(self) -> int:
        """Tokens that may still be written; 0 where there is nothing to write them about."""
        looked = self._looked_at == self._grouping.changes and not self._grouping.stale
        return 0 if looked and not self._waiting else self._left

    async def write(self, progress: Progress, *, most: int) -> Cost:
        """Ask about up to ``most`` hyperedges; the groups are up to date by then. Raises ModelError; what was written is kept."""
        await asyncio.to_thread(self._look)
        cost, done = Cost(), 0
        while self._waiting and self._left and done < most:
            progress("write memories", done, most)
            name, units = self._waiting[0]
            cost += await self._ask(name, units)
            done += 1
        return cost

    def _look(self) -> None:
        self.count()
        if self._looked_at == self._grouping.changes:
            return
        changes, graph = self._grouping.changes, self._grouping.hypergraph("sentence")
        found = [(graph.name_of(units), units) for _, units in graph.members() if len(units) >= LEAST_SENTENCES]
        waiting = [one for one in found if one[0] not in self._availability.names]
        self._waiting = sorted(waiting, key=lambda one: (-_documents(graph, one[1]), -len(one[1]), one[0]))
        self._seen, self._looked_at = graph, changes

    async def _ask(self, name: str, units: IntArray) -> Cost:
        one, cost, memories = await asyncio.to_thread(self._to_ask, units), Cost(), list[Memory]()
        if one is not None:
            fence = Fence(secrets.token_hex(FENCE_BYTES))
            prompt = question_prompt(one, fence)
            reply, cost = await self._task.ask(prompt, f"the model wrote no question of hyperedge {name}")
            question = question_in(lines_of(reply, prompt, fence), one)
            if question and await self._is_found(question, one.row):
                memories = [memory_of("model", question, one.answer, [one.support], ())]
            else:
                log.info("what the model wrote of hyperedge %s is of no use", name)
        kept = await self._keep(memories, self._task.model)
        await asyncio.to_thread(self._spend, name, cost, kept or self._read_of(units))
        return cost

    def _to_ask(self, units: IntArray) -> ToAsk | None:
        """A sentence of a hyperedge that has something to ask for: a name, date or number if any has, of the one that is in it most."""
        graph = self._seen
        if graph is None:
            return None
        rows = units[:MOST_SENTENCES].tolist()
        chunks = self._documents.chunks(sorted({graph.chunk_ids[row] for row in rows}))
        facts, found = self._facts_of(chunks.keys()), list[ToAsk]()
        for row in rows:
            chunk_id = graph.chunk_ids[row]
            if chunk_id not in chunks:
                continue
            chunk, _, title = chunks[chunk_id]
            support, text = _stripped(chunk_id, chunk.text, graph.spans[row])
            of_it = [fact for fact in facts.get(chunk_id, []) if graph.row_of(chunk_id, fact.start, fact.end) == row]
            if answer := answer_in(of_it, text):
                found.append(ToAsk(row, support, title, text, answer))
        return min(found, key=lambda one: _is_vague(one.answer), default=None)

    async def _is_found(self, question: str, row: int) -> bool:
        """Whether a question is near enough to the sentence that it was made of."""
        _, vectors = await embed_texts(self._embedder, {"": question}, questions=True)
        graph = self._seen
        if graph is None or not len(vectors):
            return False
        near = graph.units @ vectors[0]
        return int((near > near[row]).sum()) < NEAREST

    def _read_of(self, units: IntArray) -> frozenset[str]:
        """The chunks of the sentences that are read of a hyperedge."""
        graph = self._seen
        return frozenset(graph.chunk_ids[row] for row in units[:MOST_SENTENCES].tolist()) if graph is not None else frozenset()

    def _spend(self, name: str, cost: Cost, parts: frozenset[str]) -> None:
        self._waiting = [one for one in self._waiting if one[0] != name]
        self._askings.note(name, max(cost.calls, cost.tokens_out), parts)
        self.count()


def _stripped(chunk_id: str, text: str, span: Span) -> tuple[Support, str]:
    """A sentence without the blanks around it, and where it stands."""
    told = text[slice(*span)]
    start = span[0] + len(told) - len(told.lstrip())
    return Support(chunk_id, start, start + len(told.strip())), told.strip()


def _documents(graph: Hypergraph, units: IntArray) -> int:
    return len({document_of(graph.chunk_ids[row]) for row in units.tolist()})
