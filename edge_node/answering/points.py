"""What a model noted about packed reports, made into points: what was said, and the words of the document that it rests on."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain, zip_longest
from typing import TypeAlias, TypeVar
from zlib import crc32

import numpy as np

from edge_node.communities.elements import Finding
from edge_node.communities.reports import Report
from edge_node.communities.selection import LINE_TOKENS
from shared.records import Chunk, DocumentId, EdgeId, Evidence
from shared.reduce import MIN_WORDS
from shared.text.citations import LIST_MARKS, MARKER, MIN_SUPPORT, Citer, cite, is_supported
from shared.text.fence import one_line
from shared.text.refusals import is_refusal
from shared.text.sentences import content_words, sentences
from shared.wire import MAX_MORE_CHUNKS

UNSURE = 0.5  # how helpful notes are of which a model does not say it
MOST_NAMED = 1 + MAX_MORE_CHUNKS  # chunks of a point
MOST_MEANT = 4  # notes that tell what a model only speaks about
UNTITLED = "various"
NAMED_BY = 2  # words of a report's title, or all of a shorter one's, by which an answer names it
_SCORE = re.compile(r"^[^\w\n]*+score\W*+(\d{1,3})\b.*$", re.IGNORECASE | re.MULTILINE)
_STOP = ".!?… "
Chunks = Mapping[str, tuple[Chunk, str, str]]  # by id, with name and title of their document

Pack: TypeAlias = tuple[Report, ...]
T = TypeVar("T")


def shuffled(items: Sequence[T], *, seed: int, question: str) -> list[T]:
    """The items in an order of chance, the same one each time for a seed and a question.

    >>> sorted(shuffled("abcd", seed=7, question="What is it about?"))
    ['a', 'b', 'c', 'd']
    """
    rng = np.random.default_rng(crc32(f"{seed} {question}".encode()))
    return [items[row] for row in rng.permutation(len(items))]


def packed(reports: Sequence[Report], *, limit_tokens: int, count: Callable[[str], int]) -> list[Pack]:
    """The reports in their order, each in the last pack if it fits there, else in a new one.

    One that is longer than ``limit_tokens`` by itself is cut behind a finding; the first finding always stays.
    ``count``: tokens of a text.
    """
    packs, left = list[list[Report]](), 0
    for report in reports:
        kept, tokens = _cut(report, limit_tokens, count)
        if not packs or tokens > left:
            packs.append([])
            left = limit_tokens
        packs[-1].append(kept)
        left -= tokens
    return [tuple(pack) for pack in packs]


def _cut(report: Report, limit_tokens: int, count: Callable[[str], int]) -> tuple[Report, int]:
    """What of a report fits into an empty pack, and its tokens there."""
    ends = list(accumulate(count(text) + LINE_TOKENS for text in (report.title, *(finding.text for finding in report.findings))))
    fitting = max(bisect_right(ends, limit_tokens) - 1, min(1, len(report.findings)))
    return replace(report, findings=report.findings[:fitting]), ends[fitting]


@dataclass(frozen=True, slots=True)
class NumberedFinding:
    """A finding, and the report in which it stands; of one that stands for several, the report of the first."""

    report: Report
    finding: Finding


@dataclass(frozen=True, slots=True)
class KeyPoint:
    """A sentence that rests on a note. ``score``: how much it helps to answer, [0, 1]."""

    note: NumberedFinding
    text: str
    score: float


def masked(report: Report, mask: Callable[[str], str]) -> Report:
    """A report as a model may read it for others."""
    findings = tuple(replace(finding, text=mask(finding.text)) for finding in report.findings)
    return replace(report, title=mask(report.title), findings=findings)


def notes_of(reports: Sequence[Report]) -> list[NumberedFinding]:
    """Every finding that rests on something."""
    return [NumberedFinding(report, finding) for report in reports for finding in report.findings if finding.chunk_ids]


def in_turn(reports: Sequence[Report]) -> list[NumberedFinding]:
    """The first finding of each report, then the second of each, where nothing tells which help more."""
    turns = zip_longest(*(notes_of([report]) for report in reports))
    return [note for note in chain.from_iterable(turns) if note is not None]


def passages_of(notes: Sequence[NumberedFinding], edge: EdgeId) -> list[Evidence]:
    """The notes as passages of a prompt: findings below their report's title."""
    return [
        Evidence(
            edge,
            DocumentId(note.report.community_id),
            note.report.title or UNTITLED,
            note.finding.chunk_ids[0],
            (0, len(note.finding.text)),
            note.finding.text,
            0.0,
        )
        for note in notes
    ]


def scored(text: str) -> tuple[str, float]:
    r"""An answer without its line "Score: n", n from 0 to 100, and n / 100; UNSURE without such a line.

    >>> scored("Pumps fail [1].\nScore: 80")
    ('Pumps fail [1].\n', 0.8)
    """
    found = _SCORE.search(text)
    return (_SCORE.sub("", text), min(int(found[1]), 100) / 100) if found else (text, UNSURE)


def joined(notes: Sequence[NumberedFinding], sentence: str) -> NumberedFinding:
    """One note for a sentence that rests on all of these: the first, with the chunks of each.

    Where a point cannot name them all, the first alone if it supports the sentence by itself: a policy looks at what is named.
    """
    chunk_ids = dict.fromkeys(chunk_id for note in notes for chunk_id in note.finding.chunk_ids)
    if len(chunk_ids) > MOST_NAMED and is_supported(sentence, [notes[0].finding.text]):
        return notes[0]
    return replace(notes[0], finding=replace(notes[0].finding, chunk_ids=tuple(chunk_ids)))


def noted(text: str, passages: Sequence[Evidence]) -> list[tuple[list[int], str]]:
    """The sentences of an answer that rest on passages, without their markers, each with their rows, first the one that says most of it.

    None of a refusal, and no heading. Small models speak about what they were given instead of telling it, as "The notes discuss the trial
    and the holiday.": then the passages that have most words of the answer tell it themselves, and one of each report that it names.
    """
    answer = text.strip().removeprefix("Answer:")
    if is_refusal(answer):
        return []
    citer, found = Citer(passages), list[tuple[list[int], str]]()
    for sentence in citer.add(answer):
        said = one_line(MARKER.sub("", sentence)).lstrip(LIST_MARKS)
        rows, words = citer.rows_of(sentence), content_words(said)
        if len(words) >= MIN_WORDS and is_supported(said, [passages[row].text for row in rows]):
            shared = {row: len(words & content_words(passages[row].text)) for row in rows}
            found.append((sorted(rows, key=lambda row: -shared[row]), said))
    return found or _meant(answer, passages)


def unspoken(text: str, notes: Sequence[NumberedFinding]) -> list[tuple[list[int], str]]:
    """As ``noted``, of a pack that helps, by the model's own word, and of which it then said nothing that could be cited.

    Then the first finding of each report tells for itself, four at most; none where the model refused, and of no passage that stands in the
    place of a report.
    """
    if not text.strip() or is_refusal(text):
        return []
    first = {note.report.community_id: row for row, note in reversed(list(enumerate(notes))) if not _is_passage(note)}
    return [([row], notes[row].finding.text) for row in sorted(first.values())[:MOST_MEANT]]


def _is_passage(note: NumberedFinding) -> bool:
    """Whether it stands in the place of a report, which nobody could open."""
    return note.report.community_id in note.finding.chunk_ids


def _meant(answer: str, passages: Sequence[Evidence]) -> list[tuple[list[int], str]]:
    words = content_words(MARKER.sub("", answer))
    if len(words) < MIN_WORDS:
        return []
    shared = [len(words & content_words(passage.text)) for passage in passages]
    nearest = sorted(range(len(passages)), key=lambda row: -shared[row])
    first_of = {passages[row].document: row for row in reversed(nearest)}
    named = {row for title, row in first_of.items() if title != UNTITLED and _is_named(content_words(title), words)}
    best = [row for row in nearest if row in named or shared[row] >= MIN_WORDS][:MOST_MEANT]
    return [([row], passages[row].text) for row in best]


def _is_named(title: Collection[str], words: Collection[str]) -> bool:
    return sum(word in words for word in title) >= min(NAMED_BY, len(title)) > 0


def pointed(said: KeyPoint, chunks: Chunks, edge: EdgeId) -> Evidence | None:
    """The point that a sentence makes.

    Its text is what the document says: of all the note's passages, the sentence that shares most words with what was said. Where that is
    the same, or the finding of a report that no model wrote, nobody has written anything, and the document's words are said as they stand;
    so they are where they hold less than ``MIN_SUPPORT`` of the words that somebody has written.
    None where they hold fewer than ``MIN_WORDS`` of them, where the note rests on more passages than a point can name, and where one of
    them was deleted since the report was made.
    """
    finding = said.note.finding
    if len(finding.chunk_ids) > MOST_NAMED or not all(chunk_id in chunks for chunk_id in finding.chunk_ids):
        return None
    words = content_words(said.text)
    quotes = [_quoted(said, *chunks[chunk_id], edge) for chunk_id in finding.chunk_ids]
    best = max(quotes, key=lambda quote: (len(words & content_words(quote.text)), len(quote.text)))  # a passage may end within the sentence
    others = tuple(chunk_id for chunk_id in finding.chunk_ids if chunk_id != best.chunk_id)
    report = said.note.report
    copied = _same(said.text, best.text) or (not report.by_model and _same(said.text, finding.text))
    supporting = len(words & content_words(best.text))
    says_it = supporting >= MIN_SUPPORT * len(words)
    if not (copied or says_it) and supporting < MIN_WORDS:
        return None
    copied = copied or not says_it
    report_id = "" if _is_passage(said.note) else said.note.report.community_id
    return replace(best, point="" if copied else said.text, report=report_id, chunk_ids=others)


def whole_sentences(text: str) -> str:
    """Without the last one, which was cut off."""
    return text[: sentences(text)[-1][0]] if text else ""


def _same(one: str, other: str) -> bool:
    return one_line(one).rstrip(_STOP) == one_line(other).rstrip(_STOP)


def _quoted(said: KeyPoint, chunk: Chunk, name: str, title: str, edge: EdgeId) -> Evidence:
    whole = Evidence(
        edge, chunk.document_id, name, chunk.chunk_id, (chunk.start, chunk.end), chunk.text, said.score, title=title, places=chunk.places
    )
    (citation,) = cite(f"{one_line(said.text).rstrip(_STOP)} [1].", [whole])[1]
    start, end = citation.span
    return replace(whole, text=chunk.text[start - chunk.start : end - chunk.start], span=(start, end))
