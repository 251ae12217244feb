"""Plain lines: which of them go on in the next, as whoever wrote them wrapped them at a column."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain, groupby, pairwise

COLUMNS = range(40, 161)  # of the widest line of a block: wider ones are whole paragraphs
MIN_WRAPPED_LINE = 40
FILLED = 0.9  # of the widest line, with the next word: people and small models wrap unevenly
_OWN_LINE = re.compile(r"\s*(?:[-•*▪◦–#\uf0b7]|\(?\d{1,3}[.)]\s|\(?[a-z][.)]\s)")
_ENDED = re.compile(r"[.!?:;…。！？；：][\"'”’)\]」』）]*$")  # behind it a line may end anywhere
_OPENS = re.compile(r"[\"'“‘(„«]?\w")
_FIELD = re.compile(r"\w[\w .-]{0,30}[:=]\s")  # "Phone: 12", "key = value"
_CODE_OR_CELLS = re.compile(r"\t|\S {3,}\S")
_INDENTED = re.compile(r" {4}|\t")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff，、]")


def unwrapped(text: str) -> str:
    r"""Text in which each paragraph that somebody has wrapped has its sentences on one line.

    A line goes on where it ends within a sentence and the next begins with a small letter, or, in
    a block whose lines are all filled, with any word. Lists, fields, cells and indented lines stay
    as they are; so does what is behind a sentence's end.

    >>> unwrapped("In October 2023 Pavel Drozd of the workshop replaced the\nfeed pump.\nPhone: 12")
    'In October 2023 Pavel Drozd of the workshop replaced the feed pump.\nPhone: 12'
    """
    blocks = groupby(text.split("\n"), key=lambda line: bool(line.strip()))
    parts = (_joined(list(lines)) if is_text else lines for is_text, lines in blocks)
    return "\n".join(chain.from_iterable(parts))


def _joined(lines: Sequence[str]) -> Iterator[str]:
    """The lines of one block, those that go on in one."""
    column = max(map(len, lines))
    pairs = list(pairwise(lines))
    open_pairs = [pair for pair in pairs if _is_open(*pair)]
    is_even = all(_is_filled(line, following, column) for line, following in open_pairs)
    counts = all(line.lstrip()[0].isdigit() for line in lines)  # a log, a list of dates
    pieces = [lines[0]]
    for line, following in pairs:
        first = following.lstrip()[0]
        is_continued = first.islower() or (is_even and not (counts and first.isdigit()))
        if column in COLUMNS and is_continued and _is_open(line, following):
            pieces[-1] = pieces[-1].rstrip()
            pieces += [_between(line.rstrip(), first), following.lstrip()]
        else:
            yield "".join(pieces)
            pieces = [following]
    yield "".join(pieces)


def _is_open(line: str, following: str) -> bool:
    """Whether a line ends within a sentence, and the next could be the rest of it."""
    head, rest = line.rstrip(), following.lstrip()
    if len(head) < MIN_WRAPPED_LINE or _ENDED.search(head) or head.lstrip().startswith("#"):
        return False
    if not _OPENS.match(rest):
        return False
    is_list = _OWN_LINE.match(line) or line[:1] == " "
    if _INDENTED.match(following) and not is_list:
        return False
    if _CODE_OR_CELLS.search(head) or _CODE_OR_CELLS.search(rest):
        return False
    return not (_OWN_LINE.match(rest) or _FIELD.match(rest))


def _is_filled(line: str, following: str, column: int) -> bool:
    return len(line.rstrip()) + 1 + len(following.split(maxsplit=1)[0]) > FILLED * column


def _between(line: str, first: str) -> str:
    """Nothing behind a hyphen in a word, or where a script has no blanks; else a blank."""
    is_cut = line.endswith(("-", "\xad")) and line[-2:-1].isalpha()
    is_unspaced = _UNSPACED.match(line[-1]) and _UNSPACED.match(first)
    return "" if is_cut or is_unspaced else " "
