"""Parts of a document's text as they are shown: cut at words, with one span marked. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from edge_node.records import DocumentText

PAGE = 8_000  # characters
AROUND = 600  # characters of a passage with what stands beside it
LEAST_BESIDE = 120  # characters before a passage and behind it, however long it is
LONGEST = 8_000  # characters that are marked; a longer span is marked in part
SLACK = 80  # characters within which a word begins; Chinese, say, has no blanks, and is cut anywhere


@dataclass(frozen=True, slots=True)
class Window:
    """Characters [start, end) of a text are shown, of them [marked, marked_end) marked."""

    start: int
    end: int
    marked: int
    marked_end: int

    @property
    def read_from(self) -> int:
        """Where reading begins, so that a beginning of a word is seen."""
        return max(0, self.start - SLACK)

    @property
    def read_to(self) -> int:
        """Where reading ends: one character farther, so that the end of the text is seen."""
        return self.end + 1


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The text of a window; ``is_first``, ``is_last``: nothing is before it, or behind it."""

    before: str
    marked: str
    after: str
    is_first: bool
    is_last: bool


def beside(start: int, end: int) -> Window:
    """A span with a little of what stands beside it.

    >>> beside(1_000, 1_200)
    Window(start=800, end=1400, marked=1000, marked_end=1200)
    """
    end = min(end, start + LONGEST)
    room = max(LEAST_BESIDE, (AROUND - (end - start)) // 2)
    return Window(max(0, start - room), end + room, start, end)


def page_of(number: int) -> Window:
    """A page of a text by its number, from 0; nothing is marked."""
    return Window(number * PAGE, (number + 1) * PAGE, number * PAGE, number * PAGE)


def page_with(start: int, end: int) -> Window:
    """The page on which a span begins; it is as much longer as the span goes on.

    >>> page_with(7_900, 8_300)
    Window(start=0, end=8300, marked=7900, marked_end=8300)
    """
    page, end = page_of(start // PAGE), min(end, start + LONGEST)
    return Window(page.start, max(page.end, end), start, end)


def excerpt(read: DocumentText, window: Window) -> Excerpt:
    """What a window shows of a text that was read from ``read_from`` to ``read_to``.

    >>> read = DocumentText("d", "a.md", "", 0, 20, 20, "A pump has stopped.")
    >>> excerpt(read, Window(4, 14, 7, 10))
    Excerpt(before='pump ', marked='has', after=' ', is_first=False, is_last=False)
    """
    first, start, end, last = (at - read.start for at in (window.start, window.marked, window.marked_end, window.end))
    first, last = word_start(read.text, first), max(word_start(read.text, last), end)
    text = read.text
    return Excerpt(text[first:start], text[start:end], text[end:last], read.start + first == 0, read.start + last >= read.length)


def word_start(text: str, place: int) -> int:
    """The last place at or before this one where a word begins; this one where none is near, and the end where it is behind that.

    >>> word_start("A pump stopped.", 9), word_start("水泵停止工作", 3), word_start("A pump", 9)
    (7, 3, 6)
    """
    if place >= len(text):
        return len(text)
    return next((at for at in range(place, max(0, place - SLACK), -1) if text[at - 1].isspace()), place)
