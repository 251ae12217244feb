"""Lines that a page broke: hyphens undone, paragraphs, headings and items."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median

from edge_node.documents.blocks import TextBlock
from edge_node.plugins.parsers.pdf_rows import Line

LARGER = 1.12  # of the text's size: a heading, if it is short
MAX_HEADING_CHARS = 160
MAX_WORD_CHARS = 80  # before a hyphen at a line's end
MAX_PARAGRAPH_CHARS = 20_000  # what is longer is parted
MIN_FULL_LINE = 30  # characters: shorter lines are headings and cells
SPACED = 1.4  # of the usual distance of lines: a new paragraph
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_HYPHENATED = re.compile(r"\b\w++(?:[-\u2010]\w++)++")
_CUT_END = re.compile(r"(?<!\w)(\w++)[-\u2010\u00ad]$")
_FIRST_WORD = re.compile(r"\w+")
_FIRST_PARTS = frozenset(  # of words that keep their hyphen
    (
        "all",
        "anti",
        "co",
        "cross",
        "cyber",
        "double",
        "e",
        "ex",
        "eye",
        "far",
        "fast",
        "first",
        "five",
        "four",
        "free",
        "full",
        "general",
        "good",
        "half",
        "hard",
        "high",
        "ill",
        "life",
        "light",
        "long",
        "low",
        "mass",
        "mid",
        "much",
        "multi",
        "near",
        "new",
        "nine",
        "non",
        "old",
        "one",
        "open",
        "pseudo",
        "quasi",
        "real",
        "second",
        "self",
        "semi",
        "seven",
        "short",
        "single",
        "six",
        "small",
        "social",
        "socio",
        "ten",
        "third",
        "three",
        "two",
        "ultra",
        "user",
        "vice",
        "well",
        "wide",
        "world",
        "year",
        "zero",
    )
)
_BOUND_PARTS = frozenset(  # of words that have no hyphen, though they are words as well
    (
        "cor",
        "dis",
        "durch",
        "hinter",
        "inter",
        "nieder",
        "over",
        "some",
        "there",
        "through",
        "trans",
        "under",
        "unter",
        "weiter",
        "where",
        "wieder",
        "with",
        "zurück",
        "zusammen",
        "über",
    )
)
_LAST_PARTS = frozenset(  # behind a hyphen that is the word's own
    (
        "assisted",
        "associated",
        "based",
        "centered",
        "centred",
        "controlled",
        "dependent",
        "driven",
        "free",
        "friendly",
        "funded",
        "induced",
        "linked",
        "mediated",
        "off",
        "oriented",
        "related",
        "resistant",
        "specific",
        "up",
    )
)
_PARTICLES = frozenset(("down", "in", "off", "on", "out", "over", "up"))
_LOOSE_TAILS = frozenset(
    ("und", "oder", "and", "or", "bis", "et", "ou", "y", "o", "to")
)  # "Ein- und Ausgang"
_ITEM = re.compile(r"\s*(?:[•▪◦‣●○■□▸►\uf0b7\uf0a7·]|[-–*](?=\s))\s*(?=\S)")
_NUMBERED = re.compile(
    r"\s*(?:\(?\d{1,3}[.)]\s|\(?[a-z][.)]\s|[A-Z][.)]\s|\.\d{1,2}\s|\(?[ivx]{1,5}[.)]\s)"
)
_ENDED = re.compile(r"[.!?:;…。！？；：][\"'”’)\]」』）]*$")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff，、。]")


@dataclass(slots=True)
class Vocabulary:
    """The words of a document, for what a line's end has cut; without those pieces."""

    words: Counter[str] = field(default_factory=Counter)
    small: set[str] = field(default_factory=set)  # that begin with a small letter somewhere
    hyphenated: set[str] = field(default_factory=set)

    def learn(self, text: str, *, is_rest: bool = False) -> bool:
        """Take up the words of a line; whether its last one is cut, which is left out.

        ``is_rest``: its first one is the rest of a word.
        """
        cut = _cut_word(text)
        whole = text[: -len(cut) - 1] if cut else text
        is_cut = bool(cut)
        text = _FIRST_WORD.sub("", whole, count=1) if is_rest else whole
        words = _WORD.findall(text)
        self.words.update(map(str.casefold, words))
        self.small.update(word.casefold() for word in words if word[0].islower())
        self.hyphenated.update(word.casefold() for word in _HYPHENATED.findall(text))
        return is_cut

    def joined(self, head: str, tail: str, *, is_soft: bool = False) -> str:
        """Two pieces of a word around a line's end as one word, with its hyphen if it has one.

        A noun of German behind another, as in "Kranken-haus", stands elsewhere with a capital.

        >>> Vocabulary().joined("emer", "gency"), Vocabulary().joined("follow", "up")
        ('emergency', 'follow-up')
        """
        whole, apart = f"{head}{tail}", f"{head}-{tail}"
        if is_soft or whole.casefold() in self.words:
            return whole
        if apart.casefold() in self.hyphenated:
            return apart
        if len(head) == 1 or head[-1].isdigit() or not tail[0].islower():
            return apart
        first = head.casefold()
        if first in _FIRST_PARTS:
            return apart
        if first in _BOUND_PARTS:
            return whole
        if tail in _LAST_PARTS and len(first) > 2 and len(whole) > 5:
            return apart
        are_words = first in self.words and tail.casefold() in self.small
        is_tail_long = len(tail) > 3 or tail in _PARTICLES
        return apart if are_words and len(first) > 3 and is_tail_long else whole


def _cut_word(text: str) -> str:
    """The beginning of a word that a hyphen at the end cuts; "" if none does."""
    if not text.endswith(("-", "\u2010", "\u00ad")):
        return ""
    cut = _CUT_END.search(text[-MAX_WORD_CHARS:])
    return cut.group(1) if cut else ""


def mended(text: str, following: str, vocabulary: Vocabulary) -> str:
    """A line and the next one as one line of text."""
    cut = _cut_word(text)
    tail = _FIRST_WORD.match(following)
    if cut and tail:
        if tail.group().casefold() in _LOOSE_TAILS:
            return f"{text} {following}"
        is_soft = text.endswith("\u00ad")
        word = vocabulary.joined(cut, tail.group(), is_soft=is_soft)
        return f"{text[: -len(cut) - 1]}{word}{following[tail.end() :]}"
    if text and following and _UNSPACED.match(text[-1]) and _UNSPACED.match(following[0]):
        return text + following
    if text.endswith(("-", "\u2010")) and text[-2:-1].isalnum() and following[:1].isalnum():
        return text + following
    return f"{text} {following}" if text else following


def one_paragraph(text: str, vocabulary: Vocabulary) -> str:
    """The lines of a cell in one."""
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    parts = [""]
    for line in lines:
        if len(parts[-1]) > MAX_PARAGRAPH_CHARS:
            parts.append(line)
        else:
            parts[-1] = mended(parts[-1], line, vocabulary)
    return " ".join(parts)


@dataclass(frozen=True, slots=True)
class Typography:
    """The size of a document's text, and the sizes of its headings, the largest first."""

    size: float
    headings: tuple[float, ...]
    is_bold: bool

    @classmethod
    def of(cls, lines: Sequence[Line]) -> Typography:
        """By the letters of all lines."""
        sizes, larger = Counter[float](), set[float]()
        bold = 0
        for line in lines:
            sizes[_rounded(line.size)] += len(line.text)
            bold += len(line.text) * line.is_bold
        size = sizes.most_common(1)[0][0] if sizes else 0.0
        for line in lines:
            if line.size > LARGER * size and _may_head(line.text):
                larger.add(_rounded(line.size))
        return cls(size, tuple(sorted(larger, reverse=True)[:4]), 2 * bold > sizes.total())

    def level(self, line: Line) -> int:
        """Of a heading, from 1; 0: it is none."""
        if not _may_head(line.text):
            return 0
        if line.size > LARGER * self.size:
            size = _rounded(line.size)
            return 1 + sum(size < heading for heading in self.headings)
        is_heading = line.is_bold and not self.is_bold and not line.text.endswith((":", ")"))
        return 1 + len(self.headings) if is_heading and line.size > 0.95 * self.size else 0


def _rounded(size: float) -> float:
    return round(2 * size) / 2


def _may_head(text: str) -> bool:
    letters = sum(map(str.isalpha, text))
    return (
        letters >= 3
        and len(text) <= MAX_HEADING_CHARS
        and 2 * letters > len(text.replace(" ", ""))
        and not text.endswith((".", ",", ";"))
    )


@dataclass(slots=True)
class Passage:
    """A block that may still grow, and the last line in it."""

    kind: str
    text: str
    last: Line
    level: int = 0

    def block(self) -> TextBlock:
        """As it stands in the document."""
        kind = "heading" if self.level and self.kind == "heading" else self.kind
        if kind == "item":
            return TextBlock("item", self.text)
        return (
            TextBlock("heading", self.text, self.level)
            if kind == "heading"
            else TextBlock("paragraph", self.text)
        )


def passages(
    lines: Sequence[Line], typography: Typography, vocabulary: Vocabulary
) -> Iterator[Passage]:
    """The lines of a region as headings, paragraphs and items."""
    open_passage: Passage | None = None
    for column in _columns(lines):
        right = sorted(line.right for line in column)[-1 - len(column) // 10]
        left = min(line.left for line in column)
        pitches = [below.top - above.top for above, below in pairwise(column)]
        pitches = [pitch for pitch in pitches if pitch > 0.5 * typography.size]
        usual = min(median(pitches), 2.2 * typography.size) if pitches else 0.0
        for line in column:
            if not line.text.strip():
                continue
            if open_passage is not None and _extend(
                open_passage, line, typography, vocabulary, (left, right, usual)
            ):
                continue
            if open_passage is not None:
                yield open_passage
            open_passage = _opened(line, typography)
    if open_passage is not None:
        yield open_passage


def _columns(lines: Sequence[Line]) -> Iterator[list[Line]]:
    """Lines that stand below one another."""
    column = list[Line]()
    for line in lines:
        if column and line.top < column[-1].top:
            yield column
            column = []
        column.append(line)
    if column:
        yield column


def _opened(line: Line, typography: Typography) -> Passage:
    bullet = _ITEM.match(line.text)
    if bullet and bullet.end() < len(line.text):
        return Passage("item", line.text[bullet.end() :], line)
    level = typography.level(line)
    return Passage("heading" if level else "paragraph", line.text, line, level)


def _extend(
    passage: Passage,
    line: Line,
    typography: Typography,
    vocabulary: Vocabulary,
    column: tuple[float, float, float],
) -> bool:
    """Add a line to a passage that it belongs to. ``column``: left and right, usual distance."""
    before = passage.last
    left, right, usual = column
    if _ITEM.match(line.text) or not _is_close(before, line, usual):
        return False
    if len(passage.text) > MAX_PARAGRAPH_CHARS:
        return False
    is_below = line.top >= before.top
    goes_on = goes_on_in(before, line, right if is_below else before.right)
    if not _is_same_kind(passage, line, typography):
        return False
    if passage.kind == "heading":
        is_number = _NUMBERED.match(line.text) is not None
        if not is_below or is_number or not _is_wrapped(before, line, right):
            return False
        goes_on = True
    if not goes_on and (passage.kind != "paragraph" or not is_below):
        return False
    if goes_on and _is_indented(before, line, left):
        return False
    passage.text = (
        mended(passage.text, line.text, vocabulary) if goes_on else f"{passage.text}\n{line.text}"
    )
    passage.last = line
    return True


def _is_close(before: Line, line: Line, usual: float) -> bool:
    """Whether no more than the usual distance parts two lines, or a word's beginning is small."""
    pitch = line.top - before.top
    if pitch <= max(SPACED * usual, 1.05 * max(before.size, line.size)):
        return True
    return line.text[:1].islower() and pitch < 2 * max(usual, before.size)


def _is_same_kind(passage: Passage, line: Line, typography: Typography) -> bool:
    """Whether a line is set as the passage is: as a heading of the same level, or as text."""
    before = passage.last
    is_like = line.is_bold == before.is_bold and abs(line.size - before.size) < 0.05 * before.size
    level = typography.level(line)
    if passage.kind == "heading":
        return level == passage.level or (is_like and not level)  # its rest may be a year
    is_near = abs(line.size - before.size) < 0.1 * before.size
    return not level or (line.text[:1].islower() and is_near)


def _is_indented(before: Line, line: Line, left: float) -> bool:
    """Whether a line begins a paragraph by its indent."""
    is_in = before.left + 0.8 * line.size < line.left < left + 4 * line.size
    return is_in and _ENDED.search(before.text) is not None and len(before.text) > MIN_FULL_LINE


def goes_on_in(line: Line, following: Line, right: float) -> bool:
    """Whether a line ends because its column does: the next word would not have fitted."""
    if _NUMBERED.match(following.text) and not line.is_cut:
        return False
    if line.is_spaced or following.is_spaced:
        return False
    if line.is_cut or following.text[:1].islower():
        return True
    if len(line.text) < MIN_FULL_LINE and not _UNSPACED.search(line.text[-1:]):
        return False
    return _is_wrapped(line, following, right)


def _is_wrapped(line: Line, following: Line, right: float) -> bool:
    first = following.text.split(maxsplit=1)[0] if following.text.split() else ""
    share = (len(first) + 1) / max(1, len(following.text) + 1)
    needed = share * (following.right - following.left)
    width = right - min(line.left, following.left)
    return line.right + needed > right - 0.03 * width


def learned(lines: Iterable[Line]) -> Vocabulary:
    """The vocabulary of some lines."""
    vocabulary = Vocabulary()
    is_rest = False
    for line in lines:
        is_rest = vocabulary.learn(line.text, is_rest=is_rest)
    return vocabulary
