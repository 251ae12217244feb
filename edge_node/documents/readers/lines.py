"""Lines that a page or a column broke: which of them go on in the next."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain, groupby, pairwise

_MIN_FULL_LINE = 30  # characters: shorter lines are headings and table cells
_HYPHENATED = re.compile(r"\b(\w++)[-\u2010\u00ad]\n[ \t]*+([^\W_]\w*+)")
_NEW_LINE_OF_ITS_OWN = re.compile(r"\s*(?:[-•*▪◦–#\uf0b7]|\(?\d{1,3}[.)]\s|\(?[a-z][.)]\s)")

_COLUMNS = range(40, 161)  # characters of the widest line of a block: what somebody has wrapped; wider ones are whole paragraphs
_MIN_WRAPPED_LINE = 40
_FILLED = 0.9  # of the widest line, with the next word: people and small models wrap unevenly
_ENDED = re.compile(r"[.!?:;…。！？；：][\"'”’)\]」』）]*$")  # behind it a line may end where it likes
_OPENS = re.compile(r"[\"'“‘(„«]?\w")
_FIELD = re.compile(r"\w[\w .-]{0,30}[:=]\s")  # "Phone: 12", "key = value"
_CODE_OR_CELLS = re.compile(r"\t|\S {3,}\S")
_INDENTED = re.compile(r" {4}|\t")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff，、]")


def flowing(pages: Sequence[str]) -> str:
    r"""Return a PDF's lines as paragraphs: words cut at a line's end are whole, wrapped lines are joined.

    A hyphen stays where the text also has the word with it. A line goes on in the next if that begins with a small
    letter, or if the line is nearly as wide as the widest ones.

    >>> flowing(['The emer-\ngency plan of well-\nknown wards. A well-known\nplan.'])
    'The emergency plan of well-known wards. A well-known plan.'
    """
    text = "\n".join(pages)
    words = set(re.findall(r"\b\w++-\w++", text))
    whole = _HYPHENATED.sub(lambda cut: _uncut(cut, words), text)
    lines = [line.strip() for line in whole.split("\n") if line.strip()]
    widest = sorted(map(len, lines))[-1 - len(lines) // 10] if lines else 0  # the ninth decile: a stray long line sets no measure
    breaks = (" " if _goes_on(line, following, widest=widest) else "\n" for line, following in pairwise(lines))
    return "".join(chain.from_iterable(zip(lines, [*breaks, ""], strict=False)))


def _uncut(cut: re.Match[str], words: set[str]) -> str:
    head, tail = cut.groups()
    keep_hyphen = f"{head}-{tail}" in words or not tail[0].islower()
    return f"{head}-{tail}" if keep_hyphen else head + tail


def _goes_on(line: str, following: str, *, widest: int) -> bool:
    if _NEW_LINE_OF_ITS_OWN.match(following):
        return False
    return following[0].islower() or len(line) >= max(_MIN_FULL_LINE, 0.75 * widest)


def unwrapped(text: str) -> str:
    r"""Return text in which each paragraph that somebody has wrapped at a column has its sentences on one line.

    A line goes on where it ends within a sentence and the next begins with a small letter, or, in a block whose lines are all filled,
    with any word. Lists, fields, cells and indented lines stay as they are; so does what is behind a sentence's end.

    >>> unwrapped("In October 2023 Pavel Drozd of the workshop replaced the\nfeed pump of boiler 2.\nPhone: 12\n- a\n- b")
    'In October 2023 Pavel Drozd of the workshop replaced the feed pump of boiler 2.\nPhone: 12\n- a\n- b'
    """
    blocks = groupby(text.split("\n"), key=lambda line: bool(line.strip()))
    return "\n".join(line for is_text, lines in blocks for line in (_joined(list(lines)) if is_text else lines))


def _joined(lines: Sequence[str]) -> Iterator[str]:
    """The lines of one block, those that go on in one."""
    column = max(map(len, lines))
    pairs = list(pairwise(lines))
    is_even = all(_is_filled(line, following, column) for line, following in pairs if _is_open(line, following))
    counts = all(line.lstrip()[0].isdigit() for line in lines)  # a log, a list of dates
    going = [lines[0]]
    for line, following in pairs:
        begins = following.lstrip()[0]
        is_meant = begins.islower() or (is_even and not (counts and begins.isdigit()))
        if column in _COLUMNS and is_meant and _is_open(line, following):
            going[-1] = going[-1].rstrip()
            going += [_between(line.rstrip(), begins), following.lstrip()]
        else:
            yield "".join(going)
            going = [following]
    yield "".join(going)


def _is_open(line: str, following: str) -> bool:
    """Whether a line ends within a sentence, and the next could be the rest of it."""
    said, rest = line.rstrip(), following.lstrip()
    if len(said) < _MIN_WRAPPED_LINE or _ENDED.search(said) or said.lstrip().startswith("#") or not _OPENS.match(rest):
        return False
    is_list = _NEW_LINE_OF_ITS_OWN.match(line) or line[:1] == " "
    if _INDENTED.match(following) and not is_list:
        return False
    return not (_NEW_LINE_OF_ITS_OWN.match(rest) or _FIELD.match(rest) or _CODE_OR_CELLS.search(said) or _CODE_OR_CELLS.search(rest))


def _is_filled(line: str, following: str, column: int) -> bool:
    return len(line.rstrip()) + 1 + len(following.split(maxsplit=1)[0]) > _FILLED * column


def _between(line: str, begins: str) -> str:
    """What stands between two joined lines: nothing behind a hyphen in a word, or where a script has no blanks."""
    is_cut = line.endswith("-") and line[-2:-1].isalpha()
    return "" if is_cut or (_UNSPACED.match(line[-1]) and _UNSPACED.match(begins)) else " "
