"""The reduce step of a global answer: one call over the best points; each sentence names what it rests on (GraphRAG §2.6)."""

from __future__ import annotations

import re
import secrets
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace

from shared.limits import Deadline
from shared.plural import counted
from shared.ports import Generator, Message, Prompt, Reply
from shared.records import Citation, EdgeReport, Evidence
from shared.telemetry.trace import Trace
from shared.text.asking import asked
from shared.text.citations import MARKER, MAX_QUOTE_CHARS, Citer, with_marker
from shared.text.claims import without_contradicting
from shared.text.fence import FENCE_BYTES, Fence, one_line
from shared.text.inert import inert
from shared.text.prompts import listed, load_prompt
from shared.text.quoting import is_copy
from shared.text.sentences import content_words, sentences
from shared.text.support import Checking

REDUCE = load_prompt("shared", "reduce")
_MARKERS = re.compile(r"(?:\s*(?:\[[^\[\]]{0,40}\]|\([^()]{0,40}\)))*\s*")
MOST_PROBES = 16  # of a global answer: as many sentences as the model is asked for, twice over
_ENDED = re.compile(r"[.!?…\])\"'”’]\s*$")  # behind a stop or a marker
OnText = Callable[[str], None]  # is told the next sentences of an answer; "" says that what was heard so far, if anything was, is void

MIN_WORDS = 3  # content words of a sentence that is missed when it is left out; shorter ones are headings and numbers of lists
SPEAKING = content_words(  # words that speak about what was read, and say nothing of it: "The main themes across the documents include …"
    "main common key major overall general various several different multiple many wide range variety across including include includes "
    "theme topic subject aspect area matter collection document text article note point report site discuss discusses discussed discussing "
    "mention mentions mentioned describe describes described cover covers covered covering highlight highlights highlighted emphasize "
    "emphasizes focus focuses focused revolve revolves relate relates related additionally furthermore overall summary conclusion"
)
_LEFT_OUT = re.compile(r"\b(\d{1,4}) sentences? of the model's left out")
UNSUPPORTED = "no sentence of the model's answer is said by the passages that it cites"
LIST_NUMBER = re.compile(r"\W*\d{1,2}[.)]\s*")
_CLOSING = (".", "!", "?", ":", ";", "…")


@dataclass(frozen=True, slots=True)
class ReducedAnswer:
    """An answer made of points. ``left_out``: sentences that no point supports."""

    text: str
    citations: tuple[Citation, ...]
    left_out: int = 0


def said(point: Evidence) -> str:
    """The point as a sentence."""
    return point.point or point.text


def ordered(points: Sequence[Evidence]) -> list[Evidence]:
    """Best first; ties by edge, then as they came. What says the same as a better one goes."""
    first: dict[str, Evidence] = {}
    for point in sorted(points, key=lambda point: (-point.score, point.edge)):
        first.setdefault(one_line(said(point)).casefold(), point)
    return list(first.values())


def fitting(points: Sequence[Evidence], *, limit_tokens: int, count: Callable[[str], int]) -> list[Evidence]:
    """The first points that fit into ``limit_tokens``, which is where the paper's reduce step stops (GraphRAG §2.6).

    Each counts as it stands in the prompt, below a line with its document's name.

    >>> from shared.records import ChunkId, DocumentId, EdgeId
    >>> points = [Evidence(EdgeId("a"), DocumentId("d"), "d", ChunkId("d:0"), (0, 9), text, 0.5) for text in ("one two", "three", "four")]
    >>> [point.text for point in fitting(points, limit_tokens=9, count=lambda text: len(text.split()))]
    ['one two', 'three']
    """
    kept, left = list[Evidence](), limit_tokens
    for point in points:
        left -= count(listed(listable([point])))
        if left < 0:
            break
        kept.append(point)
    return kept


def listable(points: Sequence[Evidence]) -> list[Evidence]:
    """The points as passages of a prompt: their sentences in the place of the documents' words."""
    return [replace(point, text=said(point)) for point in points]


class Teller:
    """Takes an answer sentence by sentence: cites it, and leaves out what the passages that it cites do not say.

    ``points``: passages, or what was written about them; then the document's own words must say it.
    """

    def __init__(self, points: Sequence[Evidence], checking: Checking) -> None:
        self._points = points
        self._checking = checking
        self._citer = Citer(listable(points))
        self._hidden = [point.text for point in points if not point.quotable]
        self._text = ""
        self._left_out = 0

    async def add(self, text: str) -> str:
        """What may be shown of the next whole sentences."""
        kept, numbered, mark = "", len(self._citer.rows), ""
        for cited in self._citer.add(text):
            if LIST_NUMBER.fullmatch(cited):
                mark = cited  # shown before its sentence, if that is
                continue
            sentence = cited = self._agreeing(cited, numbered)
            is_supported = await self._is_supported(sentence)
            if not is_supported:
                self._citer.forget(numbered)
                sentence = self._citer.gathered(cited)  # it may list what many points say, and name one of them
                is_supported = self._citer.rows_of(sentence) != self._citer.rows_of(cited) and await self._is_supported(sentence)
            if is_supported:
                kept += mark + sentence
                numbered = len(self._citer.rows)
            else:
                self._left_out += len(content_words(sentence)) >= MIN_WORDS
                self._citer.forget(numbered)
            mark = ""
        kept = kept if self._text else kept.lstrip()
        self._text += kept
        return kept

    def _agreeing(self, sentence: str, numbered: int) -> str:
        """The sentence without markers of passages that say something else. ``numbered``: citations before it."""
        rows, bare = self._citer.rows_of(sentence), MARKER.sub("", sentence)
        agreeing = without_contradicting(bare, rows, self._points)
        if agreeing == rows:
            return sentence
        self._citer.forget(numbered)
        return self._citer.cite_rows(bare, agreeing, content_words(bare))

    def state(self, text: str) -> str:
        """What may be shown of sentences that were counted or copied, and not written: nothing is checked."""
        kept = "".join(self._citer.add(text))
        kept = kept if self._text else kept.lstrip()
        self._text += kept
        return kept

    async def _is_supported(self, sentence: str) -> bool:
        """Whether the points that it cites say it: any number can be written behind a sentence. A copy of what is hidden is not shown."""
        bare = MARKER.sub("", sentence)
        if any(is_copy(bare, text) for text in self._hidden):
            return False
        return await self._checking.holds(bare, [self._points[row] for row in self._citer.rows_of(sentence)], aside=SPEAKING)

    def told(self) -> ReducedAnswer:
        """The answer so far."""
        rows = zip(self._citer.citations(), self._citer.rows, strict=True)
        citations = tuple(_resolved(citation, self._points[row]) for citation, row in rows)
        return ReducedAnswer(self._text.strip(), citations, self._left_out)


async def tell(answer: str, evidence: Sequence[Evidence], checking: Checking) -> ReducedAnswer:
    """A whole answer with the sentences that passages support, each with its citation; empty where none is."""
    teller = Teller(evidence, checking)
    await teller.add(answer)
    return teller.told()


def left_out(sentences: int) -> str:
    """How many sentences of an answer are not shown, in words; empty for none.

    >>> left_out(1), left_out(0)
    ("1 sentence of the model's left out: no passage supports it", '')
    """
    one = sentences == 1
    said = f"{sentences} {'sentence' if one else 'sentences'} of the model's left out: no passage supports {'it' if one else 'them'}"
    return said if sentences else ""


def sentences_left_out(reason: str) -> int:
    """How many sentences of an answer are not shown, by what ``left_out`` says of it within its reason.

    >>> sentences_left_out("asked alone; " + left_out(12)), sentences_left_out("")
    (12, 0)
    """
    found = _LEFT_OUT.search(reason)
    return int(found[1]) if found else 0


def spoken(points: Sequence[Evidence], *, most: int) -> ReducedAnswer:
    """The answer without a model: the first points that may be shown, a ``shown_line`` each, each sentence with its point's marker.

    >>> from shared.records import ChunkId, DocumentId, EdgeId
    >>> spoken([Evidence(EdgeId("a"), DocumentId("d"), "d", ChunkId("d:0"), (0, 9), "Pumps fail.", 0.5)], most=5).text
    'Pumps fail [1].'
    """
    shown = [point for point in points if point.point or point.quotable][:most]
    lines, citations = list[str](), list[Citation]()
    for n, point in enumerate(shown, start=1):
        lines.append(_marked(shown_line(point), n))
        blank = Citation(
            n,
            point.edge,
            point.document_id,
            one_line(inert(point.document)),
            point.chunk_id,
            point.span,
            _quote(point),
            point.score,
            place=point.place,
        )
        citations.append(_resolved(blank, point))
    return ReducedAnswer("\n".join(lines), tuple(citations))


def coverage(reports: Sequence[EdgeReport]) -> str:
    """Which sites a global answer tells of, from what became of each; how many of its reports each has read.

    >>> from shared.records import EdgeId
    >>> told = EdgeReport(EdgeId("bank"), "reports", "answered", 9.0, 900, 4, reports=12, reports_there=40)
    >>> coverage([told, EdgeReport(EdgeId("field"), "reports", "late", 9.0, 0, 0)])
    '1 of 2 sites answered: bank (12 of 40 reports); late: field'
    >>> coverage([EdgeReport(EdgeId("ward"), "reports", "answered", 9.0, 60, 0, reports=3, reports_there=3)])
    '1 of 1 site answered: ward (3 of 3 reports, nothing to tell)'
    """
    answered = [report for report in reports if report.status == "answered"]
    told = ", ".join(f"{one.edge} ({_read(one)})" for one in answered)
    missing = {
        status: [_why(one) for one in reports if one.status == status] for status in ("refused", "late", "failed", "offline", "skipped")
    }
    first = f"{len(answered)} of {counted(len(reports), 'site')} answered{': ' if told else ''}{told}"
    return "; ".join([first, *(f"{status}: {', '.join(edges)}" for status, edges in missing.items() if edges)])


def _why(report: EdgeReport) -> str:
    return f"{report.edge} ({report.reason})" if report.reason and report.status == "refused" else report.edge


def _read(report: EdgeReport) -> str:
    nothing = "" if report.evidence else "nothing to tell"
    return ", ".join(filter(None, (f"{report.reports} of {counted(report.reports_there, 'report')}", report.reason, nothing)))


def coverage_alone(*, read: int, there: int) -> str:
    """``coverage`` where one site answers by itself.

    >>> coverage_alone(read=12, there=40)
    'this site alone: 12 of 40 reports'
    """
    return f"this site alone: {read} of {counted(there, 'report')}"


def shown_line(point: Evidence) -> str:
    """A point as it may be shown, in one line: the sentences that fit into ``MAX_QUOTE_CHARS``, or as much of the first."""
    line = one_line(MARKER.sub("", inert(said(point))))
    if len(line) <= MAX_QUOTE_CHARS:
        return line
    whole = [end for _, end in sentences(line) if end <= MAX_QUOTE_CHARS]
    return line[: whole[-1]].strip() if whole else f"{line[: MAX_QUOTE_CHARS - 1].rpartition(' ')[0] or line[: MAX_QUOTE_CHARS - 1]}…"


def _marked(line: str, n: int) -> str:
    """With a marker in each sentence that needs one, and in the last."""
    closed = line if line.endswith(_CLOSING) else f"{line}."
    spans = sentences(closed)
    needs = [len(content_words(closed[start:end])) >= MIN_WORDS for start, end in spans[:-1]]
    pieces = (closed[start:end] for start, end in spans)
    return "".join(with_marker(piece, f" [{n}]") if needed else piece for piece, needed in zip(pieces, [*needs, True], strict=True))


def _resolved(citation: Citation, point: Evidence) -> Citation:
    """With the report and what the document itself says: a point's own sentence is nobody's quote."""
    found = replace(citation, report=point.report, chunks=point.chunk_ids)
    return replace(found, span=point.span, quote=_quote(point), place=point.place) if point.point else found


def _quote(point: Evidence) -> str:
    return inert(one_line(point.text))[:MAX_QUOTE_CHARS] if point.quotable else ""


def ignore_text(text: str) -> None:
    """Nobody listens: the answer is wanted as a whole."""


class Reducer:
    """Writes an answer out of points. ``count``: tokens of a text, for the trace, as a stream does not tell them."""

    def __init__(self, generator: Generator, count: Callable[[str], int], *, max_tokens: int) -> None:
        self._generator = generator
        self._count = count
        self._max_tokens = max_tokens

    async def reduce(
        self, question: str, points: Sequence[Evidence], trace: Trace, *, deadline_s: float, on_text: OnText = ignore_text
    ) -> ReducedAnswer | None:
        """The answer; None where no sentence of it rests on a point, and where the model gives its instructions away.

        Then ``on_text`` is told that what was heard is void, and where the call fails. Raises ModelError.
        """
        teller, is_whole = Teller(points, Checking(self._generator, trace, Deadline(deadline_s), MOST_PROBES)), False
        try:
            is_whole = await self._write(question, points, teller, trace, deadline_s, on_text)
        finally:
            if not is_whole:
                on_text("")
        told = teller.told()
        return told if is_whole and told.text else None

    async def _write(
        self, question: str, points: Sequence[Evidence], teller: Teller, trace: Trace, deadline_s: float, on_text: OnText
    ) -> bool:
        """Whether it could be written to its end."""
        fence = Fence(secrets.token_hex(FENCE_BYTES))
        messages = REDUCE.render(points=fence.around(listed(listable(points))), question=asked(question))
        prompt, text = Prompt(messages, self._max_tokens, stop=("\nQuestion:",)), ""
        with trace.step("reduce") as step:
            try:
                async with aclosing(self._sentences(prompt, deadline_s)) as parts:
                    async for part in parts:
                        text += part
                        if fence.is_given_away(text, messages):
                            return False
                        if shown := await teller.add(part):
                            on_text(shown)
            finally:
                step.model(Reply((text,), self._tokens(messages), self._count(text)))
        return True

    async def _sentences(self, prompt: Prompt, deadline_s: float) -> AsyncGenerator[str, None]:
        """Whole sentences of the stream, each with the markers behind it, without a last one that was cut off, unless it is the only one.

        A stream does not say why it ends: a sentence counts as whole with a stop or a marker at its end.
        """
        waiting, is_first = "", True
        async for piece in self._generator.stream(prompt, deadline_s=deadline_s):
            waiting += piece
            begins = sentences(waiting)[-1][0]
            markers = _MARKERS.match(waiting, begins)
            ends = markers.end() if markers else begins
            if begins and waiting[ends:] and waiting[ends] not in "[(":
                yield waiting[:ends]
                waiting, is_first = waiting[ends:], False
        if waiting.strip() and (is_first or _ENDED.search(waiting)):
            yield waiting

    def _tokens(self, messages: Sequence[Message]) -> int:
        return sum(self._count(message.content) for message in messages)
