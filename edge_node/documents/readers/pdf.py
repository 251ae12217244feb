"""PDF: the text layer page by page, without what only a printed page needs."""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from itertools import chain, islice, pairwise

from edge_node.documents.readers.extracted import extracted
from edge_node.documents.readers.recognition import MIME, with_recognised
from edge_node.documents.readers.text import ReadText, capped, normalised, stem, too_large
from shared.errors import UnreadableDocument

MAX_PAGES = 5_000
_MIN_FULL_LINE = 30  # characters: shorter lines are headings and table cells
_MARGIN_LINES = 2  # at the top and at the foot of a page
_MIN_PAGES_FOR_RUNNING_LINES = 3
_PAGE_NUMBER = re.compile(r"(?:page|seite|p\.)?\s*+[-–—]?\s*+\d{1,5}+\s*+[-–—]?(?:\s*+(?:/|of|von)\s*+\d{1,5})?", re.IGNORECASE)
_HYPHENATED = re.compile(r"\b(\w++)[-\u2010\u00ad]\n[ \t]*+([^\W_]\w*+)")
_CUT = re.compile("[\x02\ufffe]")  # PDFium's sign for a hyphen at a line's end, in place of both
_NEW_LINE_OF_ITS_OWN = re.compile(r"\s*(?:[-•*▪◦–#\uf0b7]|\(?\d{1,3}[.)]\s|\(?[a-z][.)]\s)")
_SOFTWARE_TITLE = re.compile(r"(?:microsoft \w+|untitled|document\d*$|.*\.(?:docx?|tex|indd|pages|odt)$)", re.IGNORECASE)


def read_pdf(name: str, data: bytes) -> ReadText:
    """Return a PDF's text by pages; the title is the stated one, else a short first line. Pages that are images are recognised (OCR).

    Running headers and footers, page numbers and hyphens at line ends are undone. Raises UnreadableDocument:
    ``encrypted``, ``bad_pdf``, ``no_text`` (a scan, and nothing here that recognises text), ``too_large``.
    """
    if b"%PDF-" not in data[:1024]:
        raise UnreadableDocument(name, "bad_pdf", "is damaged, or not a PDF", next_step="open and save it again as PDF")
    found = extracted(name, data, MIME, bad="bad_pdf")
    told = found.pages or []
    if len(told) > MAX_PAGES:
        raise too_large(name, f"has more than {MAX_PAGES} pages")
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


def flowing(pages: Sequence[str]) -> str:
    r"""Return the pages' lines as paragraphs: words cut at a line's end are whole, wrapped lines are joined.

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
