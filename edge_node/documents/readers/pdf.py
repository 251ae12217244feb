"""PDF: the text layer page by page, without what only a printed page needs."""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from itertools import islice

from edge_node.documents.readers.extracted import PDF, extracted
from edge_node.documents.readers.lines import flowing
from edge_node.documents.readers.native import pdfium
from edge_node.documents.readers.recognition import with_recognised
from edge_node.documents.readers.text import ReadText, capped, check_pages, normalised, stem
from shared.errors import UnreadableDocument

_MARGIN_LINES = 2  # at the top and at the foot of a page
_MIN_PAGES_FOR_RUNNING_LINES = 3
_PAGE_NUMBER = re.compile(r"(?:page|seite|p\.)?\s*+[-–—]?\s*+\d{1,5}+\s*+[-–—]?(?:\s*+(?:/|of|von)\s*+\d{1,5})?", re.IGNORECASE)
_CUT = re.compile("[\x02\ufffe]")  # PDFium's sign for a hyphen at a line's end, in place of both
_SOFTWARE_TITLE = re.compile(r"(?:microsoft \w+|untitled|document\d*$|.*\.(?:docx?|tex|indd|pages|odt)$)", re.IGNORECASE)


def read_pdf(name: str, data: bytes) -> ReadText:
    """Return a PDF's text by pages; the title is the stated one, else a short first line. Pages that are images are recognised (OCR).

    Running headers and footers, page numbers and hyphens at line ends are undone. Raises UnreadableDocument:
    ``encrypted``, ``bad_pdf``, ``no_text`` (a scan, and nothing here that recognises text), ``too_large``.
    """
    if b"%PDF-" not in data[:1024]:
        raise UnreadableDocument(name, "bad_pdf", "is damaged, or not a PDF", next_step="open and save it again as PDF")
    check_pages(name, pdfium.page_count(data))
    found = extracted(name, data, PDF, bad="bad_pdf")
    told = found.pages or []
    check_pages(name, len(told))
    layer = {page["page_number"]: _CUT.sub("-\n", page["content"]) for page in told}
    pages, shortfalls = with_recognised(name, data, layer)
    texts = [normalised(pages[number]) for number in sorted(pages)]
    text = normalised(flowing(without_running_lines(capped(name, texts, separator="\f").split("\f"))))
    if not any(character.isalnum() for character in text):
        raise UnreadableDocument(name, "no_text", "has no text in it", next_step="check the file")
    first = text.split("\n", 1)[0].strip()
    fallback = first if 3 <= len(first) <= 120 and first[-1] not in ".,;:" else stem(name)
    stated = str(found.metadata.get("title") or "").strip()
    places = tuple((at, f"page {number}") for at, number in page_starts(without_running_lines(texts), sorted(pages), text))
    return ReadText(fallback if not stated or _SOFTWARE_TITLE.match(stated) else stated, text, places, shortfalls)


def page_starts(pages: Sequence[str], numbers: Sequence[int], text: str) -> Iterator[tuple[int, int]]:
    """Where in the flowing text of the pages each that has words begins, (character, number): letters and digits are those of the pages.

    >>> list(page_starts(["An emer-", "", "gency."], [1, 2, 3], "An emergency."))
    [(0, 1), (7, 3)]
    """
    places = (at for at, character in enumerate(text) if character.isalnum())
    for number, page in zip(numbers, pages, strict=True):
        count = sum(map(str.isalnum, page))
        if count and (at := next(places, None)) is not None:
            yield at, number
            deque(islice(places, count - 1), maxlen=0)


def without_running_lines(pages: Sequence[str]) -> list[str]:
    r"""Return pages without page numbers and without marginal lines that recur, their digits aside, on most pages.

    >>> without_running_lines(['Ward book\nOne.\n1', 'Ward book\nTwo.\n2', 'Ward book\nThree.\n3'])
    ['One.', 'Two.', 'Three.']
    """
    split = [[line.strip() for line in page.split("\n") if line.strip()] for page in pages]
    seen = Counter(shape for lines in split for shape in {_shape(line) for _, line in _margin(lines)})
    most = max(_MIN_PAGES_FOR_RUNNING_LINES, len(pages) // 2 + 1)
    return ["\n".join(_body(lines, running={shape for shape, count in seen.items() if count >= most})) for lines in split]


def _margin(lines: Sequence[str]) -> list[tuple[int, str]]:
    width = min(_MARGIN_LINES, len(lines) // 3)  # on a page of few lines, such as a slide, most of them are its text
    return [(row, lines[row]) for row in [*range(width), *range(len(lines) - width, len(lines))]]


def _shape(line: str) -> str:
    return re.sub(r"\d+", "#", line)


def _body(lines: Sequence[str], *, running: set[str]) -> list[str]:
    dropped = {row for row, line in _margin(lines) if _shape(line) in running}
    dropped |= {row for row in (0, len(lines) - 1) if lines and _PAGE_NUMBER.fullmatch(lines[row])}
    return [line for row, line in enumerate(lines) if row not in dropped]
