"""Memories by a language model, from the sentences of hyperedges: a few at a time, each committed by itself (FD-RAG §4.1, eq. 10)."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import secrets
import sqlite3
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from threading import Lock

from edge_node.database.schema import Database
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
from shared.text.sentences import WORD, content_words

log = logging.getLogger("dgrag.edge.memory")
MOST_OF_PROMPT = 3  # memories
LEAST_NOTES = 2  # of one sentence alone the templates make what there is to make
Keep = Callable[[Sequence[Memory], str], Awaitable[frozenset[str]]]  # commits memories, and which model wrote them; ids of those kept

store_log = logging.getLogger("dgrag.edge.store")
ASKED_OF = "asked_of_"  # and the name of a hyperedge: key in meta
_PRESENT = f"SELECT memory_id FROM memories WHERE memory_id IN {KEYS} UNION ALL SELECT chunk_id FROM chunks WHERE chunk_id IN {KEYS}"

MOST_NOTES = 12  # of a prompt
LINE_TOKENS = 60  # of a reply; a line takes about 35
MAX_QUESTION_CHARS = 300
MAX_ANSWER_CHARS = 120
MOST_ANSWER_WORDS = 12
LEAST_WORDS = 2  # of a question, that carry meaning
_LINE = re.compile(
    r"(?:[-*•]|\(?\d{1,2}[.)])?[\s*_]*+(?:Q(?:uestion)?\s*+\d*+\s*+[:.])?(?P<question>[^|]*+)"
    r"\|[\s*_]*+(?:A(?:nswer)?\s*+[:.])?(?P<answer>[^|]*+)\|(?P<notes>[^|]*)",
    re.IGNORECASE,
)
_EDGES = ' \t`*_"“”'
_OF_NOTES = frozenset({"note", "notes", "passage", "passages", "sentence", "sentences", "text"})


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
class NumberedSentence:
    """A sentence as a model reads it, and where it stands."""

    support: Support
    text: str


@dataclass(frozen=True, slots=True)
class WrittenMemory:
    """A question and its answer, with the sentences that say so: of one document, or of several for what takes two steps."""

    question: str
    answer: str
    supports: tuple[Support, ...]


@dataclass(frozen=True, slots=True)
class ParsedMemories:
    """What could be used of a reply, each question once, and how many lines could not."""

    memories: tuple[WrittenMemory, ...]
    unread_lines: int


def memory_prompt(notes: Sequence[NumberedSentence], fence: Fence, *, most: int) -> Prompt:
    """Ask for at most ``most`` questions that the notes answer, the first ``MOST_NOTES`` of them."""
    told = "\n".join(f"[{number}] {one_line(note.text)}" for number, note in enumerate(notes[:MOST_NOTES], start=1))
    messages = load_prompt("edge_node", "memories").render(notes=fence.around(told), most=str(most))
    return Prompt(messages, max_tokens=most * LINE_TOKENS, stop=("\n\n",))


def parsed_memories(reply: str, notes: Sequence[NumberedSentence], *, most: int) -> ParsedMemories:
    """Read a reply; never raises: what cannot be used is counted. ``notes`` and ``most``: as they were asked with.

    A line is kept if its question names something, one of the notes that it cites holds the answer as it is written, which the question
    does not, and the notes hold its names, its numbers and half of its words. It rests on that one and, of the others that it cites and of
    those of the same document (a model names a subject that another sentence of its introduced, and cites one), on those that hold words
    of the question which that one does not.
    """
    written, unread = dict[frozenset[str], WrittenMemory](), 0
    for line in filter(None, map(str.strip, reply.splitlines())):
        found = _written(line, notes[:MOST_NOTES])
        if found is None or len(written) == most:
            unread += 1
        else:
            written.setdefault(content_words(found.question), found)
    return ParsedMemories(tuple(written.values()), unread)


def _written(line: str, notes: Sequence[NumberedSentence]) -> WrittenMemory | None:
    parts = _LINE.fullmatch(line)
    if parts is None:
        return None
    question, answer = _plain(parts["question"]), _plain(parts["answer"]).rstrip(".")
    cited = [notes[row] for row in _rows(parts["notes"], len(notes))]
    if not (_stands_alone(question) and _is_short(answer, question)):
        return None
    rests = _resting(question, answer, cited, notes)
    texts = [note.text for note in rests]
    told = frozenset(_run(" ".join(texts)).split())
    if not rests or not _names(question) <= told or not is_supported(f"{question} {answer}", texts):
        return None
    return WrittenMemory(question, answer, tuple(sorted({note.support for note in rests})))


def _stands_alone(question: str) -> bool:
    """Whether somebody who has not seen the notes can tell what is asked."""
    if not question.endswith("?") or len(question) > MAX_QUESTION_CHARS or is_refusal(question):
        return False
    return len(content_words(question)) >= LEAST_WORDS and bool(_names(question))


def _is_short(answer: str, question: str) -> bool:
    words = WORD.findall(answer)
    if len(answer) > MAX_ANSWER_CHARS or not 0 < len(words) <= MOST_ANSWER_WORDS or is_refusal(answer):
        return False
    return not content_words(answer) <= content_words(question)


def _resting(question: str, answer: str, cited: Sequence[NumberedSentence], notes: Sequence[NumberedSentence]) -> list[NumberedSentence]:
    """The cited note that holds the answer and most of the question, and those that hold more of the question; none without an answer."""
    asked, run = content_words(question), f" {_run(answer)} "
    holding = [note for note in cited if run in f" {_run(note.text)} "]
    if not holding:
        return []
    rests = [max(holding, key=lambda note: len(asked & content_words(note.text)))]
    beside = [note for note in notes if document_of(note.support.chunk_id) == document_of(rests[0].support.chunk_id)]
    for note in (*cited, *beside):
        if asked & content_words(note.text) - _content(rests):
            rests.append(note)
    return rests


def _content(notes: Sequence[NumberedSentence]) -> frozenset[str]:
    return frozenset[str]().union(*(content_words(note.text) for note in notes))


def _names(question: str) -> frozenset[str]:
    """The words of a question, in lower case, that are a name's or a number's, and those that would speak of the notes themselves.

    Its first word's capital says nothing.
    """
    words = enumerate(WORD.findall(question))
    found = (word for n, word in words if word[0].isdigit() or (n and word[0].isupper()) or word.casefold() in _OF_NOTES)
    return frozenset(map(str.casefold, found))


def _run(text: str) -> str:
    return " ".join(WORD.findall(text.casefold()))


def _rows(numbers: str, count: int) -> Iterator[int]:
    """Rows of the notes that a list of numbers names, each once."""
    found = dict.fromkeys(int(number) - 1 for number in re.findall(r"\d{1,3}", numbers))
    return (row for row in found if 0 <= row < count)


def _plain(text: str) -> str:
    """As one line without markers and emphasis."""
    return one_line(MARKER.sub("", inert(text))).strip(_EDGES)


class MemoryWriter:
    """Asks about hyperedges that no reply was read of yet: those of the most documents first, then those of the most sentences.

    Tokens are spent on what is there now: those of memories that went with their chunks may be written again, and what they said is asked.
    """

    def __init__(self, tools: Tools, grouping: HypergraphBuilder, keep: Keep, *, tokens_per_1000: int, deadline_s: float) -> None:
        """``tokens_per_1000``: that may be written for 1,000 tokens of documents; ``deadline_s``: of one call."""
        self._task = ModelTask(tools.generator, log, deadline_s=deadline_s)
        self._documents = tools.documents
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
        found = [(graph.name_of(units), units) for _, units in graph.members() if len(units) >= LEAST_NOTES]
        waiting = [one for one in found if one[0] not in self._availability.names]
        self._waiting = sorted(waiting, key=lambda one: (-_documents(graph, one[1]), -len(one[1]), one[0]))
        self._seen, self._looked_at = graph, changes

    async def _ask(self, name: str, units: IntArray) -> Cost:
        notes = await asyncio.to_thread(self._notes, units)
        cost, memories = Cost(), list[Memory]()
        if len(notes) >= LEAST_NOTES:
            fence = Fence(secrets.token_hex(FENCE_BYTES))
            prompt = memory_prompt(notes, fence, most=MOST_OF_PROMPT)
            reply, cost = await self._task.ask(prompt, f"the model wrote no memories of hyperedge {name}")
            parsed = parsed_memories(lines_of(reply, prompt, fence), notes, most=MOST_OF_PROMPT)
            if parsed.unread_lines:
                log.info("%d lines of what the model wrote of hyperedge %s are unread", parsed.unread_lines, name)
            memories = [memory_of("model", one.question, one.answer, one.supports, ()) for one in parsed.memories]
        kept = await self._keep(memories, self._task.model)
        await asyncio.to_thread(self._spend, name, cost, kept or self._read_of(units))
        return cost

    def _notes(self, units: IntArray) -> list[NumberedSentence]:
        """The sentences of a hyperedge as they stand in the store, those that belong to it most first."""
        graph = self._seen
        if graph is None:
            return []
        rows = units[:MOST_NOTES].tolist()
        texts = self._documents.texts_of({graph.chunk_ids[row] for row in rows})
        return [_note(graph.chunk_ids[row], texts[graph.chunk_ids[row]], graph.spans[row]) for row in rows if graph.chunk_ids[row] in texts]

    def _read_of(self, units: IntArray) -> frozenset[str]:
        """The chunks of the sentences that are read of a hyperedge."""
        graph = self._seen
        return frozenset(graph.chunk_ids[row] for row in units[:MOST_NOTES].tolist()) if graph is not None else frozenset()

    def _spend(self, name: str, cost: Cost, parts: frozenset[str]) -> None:
        self._waiting = [one for one in self._waiting if one[0] != name]
        self._askings.note(name, max(cost.calls, cost.tokens_out), parts)
        self.count()


def _note(chunk_id: str, text: str, span: Span) -> NumberedSentence:
    told = text[slice(*span)]
    start = span[0] + len(told) - len(told.lstrip())
    return NumberedSentence(Support(chunk_id, start, start + len(told.strip())), told.strip())


def _documents(graph: Hypergraph, units: IntArray) -> int:
    return len({document_of(graph.chunk_ids[row]) for row in units.tolist()})
