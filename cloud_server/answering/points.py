"""What the points of a global answer are worth that edges sent: no edge's own word counts (GraphRAG §2.6 over sites that may lie)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from heapq import nlargest
from itertools import accumulate, chain, zip_longest
from statistics import fmean

from cloud_server.answering.merging import DUPLICATE_COSINE, cosines, fill_whole
from shared.ports import FloatArray, Tokenizer
from shared.records import EdgeId, Evidence
from shared.reduce import listable, ordered, said
from shared.text.fence import one_line
from shared.text.inert import inert
from shared.text.prompts import listed
from shared.text.sentences import content_words

MIN_NEW_WORDS = 4  # content words of a point that are not the question's: what has fewer repeats it
MOST_POINTS = 32  # of one edge: the cloud embeds each …
MOST_READ = 512  # … of all edges together; beyond as many edges, one each
NEAREST, NEARNESS = 3, 0.25  # points whose mean cosine with a question says whether it names a subject of theirs: 0.2 for "the main themes"
SCORE_DIGITS = 5  # the same words have the same score wherever in a batch they stand; what float32 adds behind is chance


def worth_reading(sent: Collection[Sequence[Evidence]], question: str, *, max_bytes: int) -> list[Evidence]:
    """What is worth reading of what each edge sent, of one ``max_bytes`` at most, and as many of each as ``MOST_READ`` allows."""
    most = max(1, min(MOST_POINTS, MOST_READ // max(1, len(sent))))
    read = chain.from_iterable(first_points(points, max_bytes=max_bytes)[:most] for points in sent)
    return [point for point in read if is_worth_reading(point, question)]


def first_points(points: Sequence[Evidence], *, max_bytes: int) -> list[Evidence]:
    """An edge's first, as many as ``max_bytes`` can hold: of one that sends more than it was asked for, the rest is not read."""
    best = points[:MOST_POINTS]
    before = accumulate((len((point.text + point.point).encode()) for point in best), initial=0)
    return [_shown(point) for point, size in zip(best, before, strict=False) if size < max_bytes]


def is_worth_reading(point: Evidence, question: str) -> bool:
    """Whether a point can be opened at its edge, says more than the question, and has something in common with what it rests on.

    >>> from shared.records import ChunkId, DocumentId
    >>> text = "Bees find fewer flowers each August."
    >>> bees = Evidence(EdgeId("a"), DocumentId("d"), "d.md", ChunkId("d:0"), (0, 36), text, 0.9, report="r1")
    >>> parrot = replace(bees, point="What is it that threatens bees?")
    >>> [is_worth_reading(point, "What threatens bees?") for point in (bees, parrot)]
    [True, False]
    """
    words = content_words(said(point))
    opens = bool(point.report.strip() and point.chunk_id.strip())
    return opens and len(words - content_words(question)) >= MIN_NEW_WORDS and bool(words & content_words(point.text))


def rescored(points: Sequence[Evidence], vectors: FloatArray, question: FloatArray) -> list[Evidence]:
    """The points, best first, each with the cosine of its row of ``vectors`` (n, d) with ``question`` (1, d).

    One nearer than ``DUPLICATE_COSINE`` to a better one of its edge is left out; one of another edge only where it says the same word by
    word: a forged copy must not displace what it was made from. Of equal ones the first edge by name is told.
    """
    scores = cosines(vectors, question)
    row_of = {replace(point, score=round(float(scores[row]), SCORE_DIGITS)): row for row, point in enumerate(points)}
    kept, rows_of = list[Evidence](), dict[EdgeId, list[int]]()
    for point in ordered(list(row_of)):
        row, rows = row_of[point], rows_of.setdefault(point.edge, [])
        if all(float(vectors[row] @ vectors[other]) < DUPLICATE_COSINE for other in rows):
            rows.append(row)
            kept.append(point)
    return kept


def is_about_something(scores: Sequence[float]) -> bool:
    """Whether cosines of points with a question tell which help more: not with "What are the main themes?", which names no subject.

    >>> is_about_something([0.5, 0.1, 0.1, 0.3]), is_about_something([0.2, 0.1, 0.2]), is_about_something([])
    (True, False, False)
    """
    nearest = nlargest(NEAREST, scores)
    return bool(nearest) and fmean(nearest) >= NEARNESS


def in_turn(points: Iterable[Evidence]) -> list[Evidence]:
    """The first point of each edge, then the second of each, where nothing has compared them; the same words once, and none has a score.

    >>> from shared.records import ChunkId, DocumentId
    >>> def point(edge: str, text: str) -> Evidence:
    ...     return Evidence(EdgeId(edge), DocumentId("d"), "d.md", ChunkId("d:0"), (0, 9), text, 0.9)
    >>> found = in_turn([point("a", "Bees."), point("a", "Owls."), point("b", "Trout."), point("b", "bees.")])
    >>> [(one.edge, one.text, one.score) for one in found]
    [('a', 'Bees.', 0.0), ('b', 'Trout.', 0.0), ('a', 'Owls.', 0.0)]
    """
    points_of, first = dict[EdgeId, list[Evidence]](), dict[str, Evidence]()
    for point in points:
        points_of.setdefault(point.edge, []).append(replace(point, score=0.0))
    for point in chain.from_iterable(zip_longest(*points_of.values())):
        if point is not None:
            first.setdefault(one_line(said(point)).casefold(), point)
    return list(first.values())


def in_own_order(best: Sequence[Evidence], sent: Sequence[Evidence]) -> list[Evidence]:
    """The best points in turn, the site with the nearest one first, each site's in the order in which it has ``sent`` them.

    A site's own model has judged its sentences; what that says of them is heard among this site's alone.
    """
    place = {replace(point, score=0.0): row for row, point in enumerate(sent)}
    sites = {edge: row for row, edge in enumerate(dict.fromkeys(point.edge for point in best))}
    return in_turn(sorted(best, key=lambda point: (sites[point.edge], place[replace(point, score=0.0)])))


def within_shares(points: Sequence[Evidence], tokenizer: Tokenizer, *, budget_tokens: int) -> list[Evidence]:
    """The best points that fit into ``budget_tokens``, each whole, no edge with more than its share.

    Each counts as it stands in the prompt, below a line with its document's name: an edge pays for the names that it gives.
    """
    whole = [replace(point, text=listed([one])) for point, one in zip(points, listable(points), strict=True)]
    point_of = dict(zip(whole, points, strict=True))
    return [point_of[one] for one in fill_whole(whole, tokenizer, budget_tokens=budget_tokens)]


def _shown(point: Evidence) -> Evidence:
    """With a name that may stand in an answer: its words are made so where they are cited."""
    return replace(point, document=one_line(inert(point.document)))
