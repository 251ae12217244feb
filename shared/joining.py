"""The reduce step in short calls: points that speak of one matter become one sentence, checked against them (GraphRAG §2.6).

The paper's reduce step is one call over all points (``shared.reduce.Reducer``). A small model lists there what it likes, and joins what
does not belong together. Here each call reads two to four points. What it adds to them is left out, and their own words take its place.
"""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from shared.counts import apart, summed
from shared.limits import Deadline
from shared.ports import Embedder, FloatArray, Generator, Prompt
from shared.records import Evidence
from shared.reduce import MOST_PROBES, OnText, ReducedAnswer, Teller, ignore_text, said, shown_line
from shared.telemetry.trace import OpenStep, Trace
from shared.text.citations import MIN_SUPPORT, with_marker
from shared.text.fence import FENCE_BYTES, Fence, one_line
from shared.text.prompts import load_prompt
from shared.text.sentences import content_words
from shared.text.support import Checking

JOIN = load_prompt("shared", "join")
SAME_MATTER = 0.55  # cosine with the first point of a cluster
MOST_COUNTED = 10  # names whose counts are told
MOST_LINES = 12  # clusters that are told
MOST_JOINED = 4  # points of a cluster: what is joined of more says little of each
MOST_QUOTED = 2  # points of a cluster that are told in their own words
SENTENCE_TOKENS = 80
LEAST_NEW = 2  # content words of a sentence that one of its points alone holds


def clusters(points: Sequence[Evidence], vectors: FloatArray) -> list[list[int]]:
    """Rows of points that speak of one matter, the site first whose turn it is.

    Point by point, best first: each joins the first cluster that has room and whose first point is as near as ``SAME_MATTER``, or begins
    one. Then each site's first cluster comes, by its first point, then each site's second: whoever sends many points is not heard alone. A
    cluster whose first point is of a document that began one before waits as long again.
    vectors (n, d): of the points, unit rows.

    >>> from shared.records import ChunkId, DocumentId, EdgeId
    >>> import numpy as np
    >>> def point(edge: str, document: str) -> Evidence:
    ...     return Evidence(EdgeId(edge), DocumentId(document), "d.md", ChunkId("d:0"), (0, 9), "Pumps fail.", 0.9)
    >>> clusters([point("a", "d"), point("a", "e"), point("b", "f"), point("b", "f")], np.array([[1, 0], [0, 1], [0.9, 0.44], [-1, 0]]))
    [[0, 2], [3], [1]]
    """
    found = list[list[int]]()
    for row in range(len(points)):
        near = (rows for rows in found if len(rows) < MOST_JOINED and float(vectors[rows[0]] @ vectors[row]) >= SAME_MATTER)
        if (home := next(near, None)) is not None:
            home.append(row)
        else:
            found.append([row])
    turns, turn_of = Counter[str](), dict[int, int]()
    for rows in found:
        first = points[rows[0]]
        document = f"{first.edge}/{first.document_id}"
        turn_of[rows[0]] = turns[first.edge] + turns[document]
        turns.update([first.edge, document])
    return sorted(found, key=lambda rows: (turn_of[rows[0]], rows[0]))


class _Lines:
    """The lines of an answer, each heard when it is whole."""

    def __init__(self, points: Sequence[Evidence], checking: Checking, on_text: OnText) -> None:
        self.points = points
        self.lines = list[str]()
        self._teller = Teller(points, checking)
        self._on_text = on_text

    def state(self, row: int) -> None:
        """A point that was counted, and needs no check."""
        self._show(self._teller.state(with_marker(shown_line(self.points[row]), f" [{row + 1}]")))

    async def quote(self, row: int) -> None:
        """A point in its own words, where it may be shown."""
        point = self.points[row]
        if point.point or point.quotable:
            await self.add(shown_line(point), f"[{row + 1}]")

    async def add(self, sentence: str, marks: str) -> None:
        """A sentence with its markers, if the points that it cites say it."""
        self._show(await self._teller.add(with_marker(sentence, f" {marks}")))

    def answer(self) -> ReducedAnswer | None:
        """None where no line may be shown."""
        return replace(self._teller.told(), text="\n".join(self.lines)) if self.lines else None

    def _show(self, text: str) -> None:
        if line := one_line(text):
            self._on_text(f"\n{line}" if self.lines else line)
            self.lines.append(line)


class Joiner:
    """Writes an answer out of points: a line for each name that was counted, and a sentence for each cluster, ``MOST_LINES`` at most."""

    def __init__(self, generator: Generator, embedder: Embedder) -> None:
        self._generator = generator
        self._embedder = embedder

    async def reduce(
        self, question: str, points: Sequence[Evidence], trace: Trace, *, deadline_s: float, on_text: OnText = ignore_text
    ) -> ReducedAnswer | None:
        """The answer; None where nothing of it may be shown. Then, and where a call fails, ``on_text`` is told that what was heard is void.

        Raises ModelError.
        """
        deadline, is_whole = Deadline(deadline_s), False
        counts, others = apart(points)
        first = summed(counts, most=MOST_COUNTED)
        told = _Lines([*first, *others], Checking(self._generator, trace, deadline, MOST_PROBES), on_text)
        try:
            with trace.step("reduce") as step:
                for row in range(len(first)):
                    told.state(row)
                if others:
                    vectors = await self._embedder.embed([said(point) for point in others])
                    matters = [[row + len(first) for row in rows] for rows in clusters(others, vectors)]
                    await self._tell(question, matters, told, step, deadline)
            is_whole = True
        finally:
            if not is_whole:
                on_text("")
        return told.answer()

    async def _tell(self, question: str, matters: Sequence[Sequence[int]], told: _Lines, step: OpenStep, deadline: Deadline) -> None:
        for rows in matters[:MOST_LINES]:
            before = len(told.lines)
            if len(rows) > 1 and deadline.left_s() > 0:
                sentence = await self._joined(question, [told.points[row] for row in rows], step, deadline)
                if marks := marks_of(sentence, told.points, rows):
                    await told.add(sentence, marks)
            for row in rows[:MOST_QUOTED] if len(told.lines) == before else ():
                await told.quote(row)

    async def _joined(self, question: str, points: Sequence[Evidence], step: OpenStep, deadline: Deadline) -> str:
        """One sentence of the model about all of them; empty where it did not come to its end, or gives its instructions away."""
        fence = Fence(secrets.token_hex(FENCE_BYTES))
        lines = "\n".join(f"{one_line(point.title or point.document)}: {one_line(said(point))}" for point in points)
        messages = JOIN.render(question=one_line(question), sentences=fence.around(lines))
        reply = step.model(await self._generator.generate(Prompt(messages, SENTENCE_TOKENS, stop=("\n",)), deadline_s=deadline.left_s()))
        text = reply.texts[0]
        return "" if any(reply.truncated) or fence.is_given_away(text, messages) else one_line(text)


def marks_of(sentence: str, points: Sequence[Evidence], rows: Sequence[int]) -> str:
    """Markers of the points that a sentence tells of: those that hold half of its words, or some that no other has; empty where none is.

    >>> from shared.records import ChunkId, DocumentId, EdgeId
    >>> def point(text: str) -> Evidence:
    ...     return Evidence(EdgeId("a"), DocumentId("d"), "d.md", ChunkId("d:0"), (0, 9), text, 0.9)
    >>> points = [point("Ann repaired pump P-2 in March."), point("Owls hunt mice by night."), point("Pump P-2 is old.")]
    >>> marks_of("Ann repaired P-2 in March, and owls hunt mice.", points, [0, 1, 2])
    '[1, 2]'
    """
    if not (told := content_words(sentence)):
        return ""
    held = {row: told & content_words(said(points[row])) for row in rows}
    alone = {row: held[row].difference(*(words for other, words in held.items() if other != row)) for row in rows}
    chosen = [row for row in rows if len(held[row]) >= MIN_SUPPORT * len(told) or len(alone[row]) >= LEAST_NEW]
    return f"[{', '.join(str(row + 1) for row in chosen)}]" if chosen else ""
