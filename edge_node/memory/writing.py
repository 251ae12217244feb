"""Memories by a model: the prompt, and a parser that keeps what the sentences of a hyperedge say (FD-RAG §4.1, eq. 10)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from edge_node.memory.records import Support
from shared.citations import MARKER, is_supported
from shared.fence import Fence, one_line
from shared.inert import inert
from shared.ports import Prompt
from shared.prompts import load_prompt
from shared.records import document_of
from shared.refusals import is_refusal
from shared.sentences import WORD, content_words

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
class Note:
    """A sentence as a model reads it, and where it stands."""

    support: Support
    text: str


@dataclass(frozen=True, slots=True)
class Written:
    """A question and its answer, with the sentences that say so: of one document, or of several for what takes two steps."""

    question: str
    answer: str
    supports: tuple[Support, ...]


@dataclass(frozen=True, slots=True)
class Parsed:
    """What could be used of a reply, each question once, and how many lines could not."""

    memories: tuple[Written, ...]
    unread_lines: int


def memory_prompt(notes: Sequence[Note], fence: Fence, *, most: int) -> Prompt:
    """Ask for at most ``most`` questions that the notes answer, the first ``MOST_NOTES`` of them."""
    told = "\n".join(f"[{number}] {one_line(note.text)}" for number, note in enumerate(notes[:MOST_NOTES], start=1))
    messages = load_prompt("edge_node", "memories").render(notes=fence.around(told), most=str(most))
    return Prompt(messages, max_tokens=most * LINE_TOKENS, stop=("\n\n",))


def parsed_memories(reply: str, notes: Sequence[Note], *, most: int) -> Parsed:
    """Read a reply; never raises: what cannot be used is counted. ``notes`` and ``most``: as they were asked with.

    A line is kept if its question names something, one of the notes that it cites holds the answer as it is written, which the question
    does not, and the notes hold its names, its numbers and half of its words. It rests on that one and, of the others that it cites and of
    those of the same document (a model names a subject that another sentence of its introduced, and cites one), on those that hold words
    of the question which that one does not.
    """
    written, unread = dict[frozenset[str], Written](), 0
    for line in filter(None, map(str.strip, reply.splitlines())):
        found = _written(line, notes[:MOST_NOTES])
        if found is None or len(written) == most:
            unread += 1
        else:
            written.setdefault(content_words(found.question), found)
    return Parsed(tuple(written.values()), unread)


def _written(line: str, notes: Sequence[Note]) -> Written | None:
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
    return Written(question, answer, tuple(sorted({note.support for note in rests})))


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


def _resting(question: str, answer: str, cited: Sequence[Note], notes: Sequence[Note]) -> list[Note]:
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


def _content(notes: Sequence[Note]) -> frozenset[str]:
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
