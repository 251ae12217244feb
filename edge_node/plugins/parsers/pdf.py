"""PDF: its pages as blocks and grids in reading order, with form values and notes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

from edge_node.documents.blocks import Block, ParsedDocument, Place, TextBlock
from edge_node.documents.grids import Grid
from edge_node.documents.parsers import Parser
from edge_node.documents.text import MAX_TEXT_CHARS, check_pages, one_line, stem, too_large
from edge_node.plugins.parsers.ocr import Recognised, recognised_images, recognised_pages
from edge_node.plugins.parsers.package import left_out
from edge_node.plugins.parsers.pdf_grids import Table, continued
from edge_node.plugins.parsers.pdf_layout import Paragraphs, Region, narrowest, regions
from edge_node.plugins.parsers.pdf_margins import running_rows
from edge_node.plugins.parsers.pdf_page import SLANTED, Box, Field, Page, Word, turned
from edge_node.plugins.parsers.pdf_pages import page_image
from edge_node.plugins.parsers.pdf_rows import Line, rows_of
from edge_node.plugins.parsers.pdf_text import (
    Passage,
    Typography,
    Vocabulary,
    goes_on_in,
    learned,
    mended,
    one_paragraph,
    passages,
)
from edge_node.plugins.parsers.pdfium import Document
from shared.errors import UnreadableDocument

_SOFTWARE_TITLE = re.compile(
    r"(?:microsoft \w+|untitled|document\d*$"
    r"|.*\.(?:docx?|tex|indd|pages|odt|xlsx?|pptx?|rtf|dvi)$)",
    re.IGNORECASE,
)
FIELD_HEIGHT = 12.0  # points: of a line in a form field
TALL_FIELD = 2.5  # lines: its value stands at its top
MOST_BETWEEN = 2  # lines at the pages' edges between the parts of a table
Shortfalls = tuple[tuple[str, str], ...]


@dataclass(slots=True)
class _Sheet:
    """A page on its way to blocks: rows of its main direction, the others behind, rules."""

    number: int
    words: list[list[Word]]
    rules: list[Box]
    blank: float = 0.0  # between columns, in heights of a line
    notes: list[str] = field(default_factory=list)
    regions: list[Region] = field(default_factory=list)


def parse_pdf(name: str, data: bytes) -> ParsedDocument:
    """Return a PDF's blocks. Pages that are images are recognised (OCR).

    Raises UnreadableDocument: ``encrypted``, ``bad_pdf``, ``no_text`` (a scan, and nothing here
    that recognises text), ``too_large``.
    """
    if b"%PDF-" not in data[:1024]:
        step = "open and save it again as PDF"
        raise UnreadableDocument(name, "bad_pdf", "is damaged, or not a PDF", next_step=step)
    with Document(name, data) as document:
        check_pages(name, document.page_count)
        if not document.page_count:
            step = "open and save it again as PDF"
            raise UnreadableDocument(name, "bad_pdf", "has no page", next_step=step)
        title = document.title.strip()
        pages = _read(name, document)
        recognised = recognised_pages(name, document, pages)
        attachments = document.attachment_count + sum(page.attachments for page in pages)
    sheets = [
        _sheet(number, page, recognised.words.get(number - 1))
        for number, page in enumerate(pages, start=1)
    ]
    running = _without_running_rows(sheets)
    blocks, first_line = _arranged(name, sheets)
    hidden = sum(_hidden(page) for page in pages)
    shortfalls = (
        *recognised.shortfalls,
        *_unread(pages),
        *_shortfalls(running, hidden, attachments),
    )
    stated = one_line(title)
    if not stated or _SOFTWARE_TITLE.match(stated):
        stated = _title(first_line) or stem(name)
    return ParsedDocument(tuple(blocks), stated, shortfalls)


def parse_image(name: str, data: bytes) -> ParsedDocument:
    """Return the text in an image, of several in a file by page. Raises UnreadableDocument."""
    recognised = recognised_images(name, data)
    sheets = [
        _Sheet(number + 1, [each.words], []) for number, each in sorted(recognised.words.items())
    ]
    blocks, _ = _arranged(name, sheets)
    if len(sheets) == 1:
        blocks = [block for block in blocks if not isinstance(block, Place)]
    return ParsedDocument(tuple(blocks), stem(name), recognised.shortfalls)


def _arranged(name: str, sheets: Sequence[_Sheet]) -> tuple[list[Block], str]:
    """Blocks, and the first line. Raises UnreadableDocument (``no_text``)."""
    for sheet in sheets:
        for words in sheet.words:
            sheet.regions.extend(regions(words, sheet.rules, sheet.blank or None))
            sheet.rules = []
    blocks, first_line = _blocks(sheets)
    if not _has_text(blocks):
        raise UnreadableDocument(name, "no_text", "has no text in it", next_step="check the file")
    return blocks, first_line


def _read(name: str, document: Document) -> list[Page]:
    pages, length = list[Page](), 0
    for index in range(document.page_count):
        page = document.page(index)
        pages.append(page)
        length += sum(len(word.text) for word in chain.from_iterable(page.words.values()))
        if length > MAX_TEXT_CHARS:
            raise too_large(name, f"holds more than {MAX_TEXT_CHARS} characters of text")
    return pages


def _sheet(number: int, page: Page, recognised: Recognised | None) -> _Sheet:
    if recognised is not None:
        upright, *others = recognised.layer or [[]]
        return _Sheet(number, [[*recognised.words, *upright], *others], [], notes=page.notes)
    visible = {
        direction: [word for word in words if not word.is_hidden]
        for direction, words in page.words.items()
    }
    order = sorted(
        (direction for direction in visible if visible[direction] or page.fields),
        key=lambda direction: (direction == SLANTED, -len(visible[direction]), direction),
    )
    main = order[0] if order else 0
    rules = [turned(rule, main) for rule in page.rules]
    words = [visible.get(direction, []) for direction in order or [main]]
    words[0].extend(_filled(page.fields, words[0], main))
    return _Sheet(number, words, rules, notes=page.notes)


def _filled(fields: Iterable[Field], words: Sequence[Word], direction: int) -> list[Word]:
    """The values of form fields as words in their boxes; those without a label get one."""
    found = list[Word]()
    for each in fields:
        box = turned(each.box, direction)
        height = min(FIELD_HEIGHT, box.height)
        is_tall = box.height > TALL_FIELD * FIELD_HEIGHT
        middle = box.top + height if is_tall else box.centre[1]
        has_label = any(_is_beside(word, box) for word in words)
        if each.is_ticked is not None:
            text = "☒" if each.is_ticked else "☐"
            if not has_label and not each.is_ticked:
                continue
        else:
            text = " ".join(each.value.split())
        if not has_label:
            text = f"{each.name}: {text}" if each.name else text
        found.append(
            Word(
                box.left,
                middle - height / 2,
                box.right,
                middle + height / 2,
                text=text,
                size=height,
            )
        )
    return found


def _is_beside(word: Word, box: Box) -> bool:
    """Whether a word may say what a form field is: it stands on its line, or close above."""
    x, y = word.centre
    is_level = box.top - 4 <= y <= box.bottom + 4
    is_above = box.top - 2 * word.size <= y < box.top and box.left - 20 <= x <= box.right + 20
    return is_level or is_above


def _without_running_rows(sheets: Sequence[_Sheet]) -> int:
    """Take running lines and page numbers out; returns how many."""
    rows = [rows_of(sheet.words[0]) if sheet.words else [] for sheet in sheets]
    for sheet, part in zip(sheets, rows, strict=True):
        sheet.blank = narrowest(part)
    dropped, count = running_rows(rows)
    for page, at in dropped:
        sheet = sheets[page]
        gone = set(map(id, rows[page][at].items))
        sheet.words[0] = [word for word in sheet.words[0] if id(word) not in gone]
    return count


@dataclass(slots=True)
class _Tables:
    """The table above, whose names the next one has if it goes on over a page."""

    vocabulary: Vocabulary
    above: tuple[Table, Grid, int] | None = None
    lines_below: int = 0

    def grid(self, table: Table, page: int) -> Grid:
        grid = table.grid(lambda text: one_paragraph(text, self.vocabulary))
        if self.above is not None and self.lines_below <= MOST_BETWEEN:
            before, names, last_page = self.above
            if page == last_page + 1 and table.has_columns_of(before):
                grid = continued(grid, names)
        self.above = table, grid, page
        self.lines_below = 0
        return grid


def _blocks(sheets: Sequence[_Sheet]) -> tuple[list[Block], str]:
    """Blocks with their pages; and the document's first line."""
    lines = [line for sheet in sheets for line in _lines(sheet.regions)]
    typography, vocabulary = Typography.of(lines), learned(lines)
    for sheet in sheets:
        for region in sheet.regions:
            if not isinstance(region, Paragraphs):
                _learn_cells(region, vocabulary)
    blocks = list[Block]()
    last: tuple[int, Passage] | None = None
    tables = _Tables(vocabulary)
    for sheet in sheets:
        blocks.append(Place(f"page {sheet.number}"))
        is_first = True
        for region in sheet.regions:
            if not isinstance(region, Paragraphs):
                blocks.append(tables.grid(region, sheet.number))
                last, is_first = None, False
                continue
            tables.lines_below += len(region.lines)
            for passage in passages(region.lines, typography, vocabulary):
                if is_first and last is not None and _goes_over(last[1], passage):
                    at, before = last
                    before.text = mended(before.text, passage.text, vocabulary)
                    before.last = passage.last
                    blocks[at] = before.block()
                else:
                    blocks.append(passage.block())
                    last = len(blocks) - 1, passage
                is_first = False
        blocks.extend(TextBlock("note", f"Note: {note}") for note in sheet.notes)
    first = next((line.text for line in lines if line.text.strip()), "")
    return blocks, first


def _goes_over(before: Passage, passage: Passage) -> bool:
    """Whether a page's last paragraph goes on at the top of the next page."""
    if passage.kind != "paragraph" or before.kind == "heading":
        return False
    first, *_ = passage.text.split("\n", 1)
    is_open = before.last.text[-1:].isalnum() or before.last.text[-1:] in ",-\u2010"
    following = Line(first, 0, 0, 0, 0, passage.last.size, passage.last.is_bold)
    is_same_size = abs(before.last.size - passage.last.size) < 0.1 * before.last.size
    return is_same_size and is_open and goes_on_in(before.last, following, float("inf"))


def _lines(found: Iterable[Region]) -> list[Line]:
    return [line for region in found if isinstance(region, Paragraphs) for line in region.lines]


def _learn_cells(region: Region, vocabulary: Vocabulary) -> None:
    assert not isinstance(region, Paragraphs)
    texts = [text for row in region.slots for text in row]
    texts += [cell.text for row in region.cells for cell in row]
    for text in texts:
        is_rest = False
        for line in text.split("\n"):
            is_rest = vocabulary.learn(line, is_rest=is_rest)


def _title(line: str) -> str:
    line = one_line(line)
    is_title = 3 <= len(line) <= 120 and any(map(str.isalpha, line)) and line[-1] not in ".,;:"
    return line if is_title else ""


def _has_text(blocks: Iterable[Block]) -> bool:
    for block in blocks:
        if isinstance(block, TextBlock):
            texts: Iterable[str] = (block.text,)
        elif isinstance(block, Place):
            continue
        else:
            texts = (cell.text for row in block.slots for cell in row)
        if any(any(map(str.isalnum, text)) for text in texts):
            return True
    return False


def _hidden(page: Page) -> int:
    if page.is_scan:
        return page.covered
    return sum(word.is_hidden for words in page.words.values() for word in words)


def _unread(pages: Sequence[Page]) -> Iterator[tuple[str, str]]:
    """The pages that cannot be opened, and what is too much on others."""
    closed = [number for number, page in enumerate(pages, start=1) if not page.is_open]
    if closed:
        noun = "page is" if len(closed) == 1 else "pages are"
        first = "it is" if len(closed) == 1 else "the first is"
        message = f"{len(closed)} {noun} damaged and not in the text: {first} page {closed[0]}."
        yield "pages_unread", message
    characters = sum(page.surplus_characters for page in pages)
    annotations = sum(page.surplus_annotations for page in pages)
    yield from left_out(
        (characters, "character of an overfull page", "characters of overfull pages"),
        (annotations, "note or field of an overfull page", "notes or fields of overfull pages"),
    )


def _shortfalls(running: int, hidden: int, attachments: int) -> Shortfalls:
    found = list[tuple[str, str]]()
    if running:
        lines = "running line or page number" if running == 1 else "running lines and page numbers"
        found.append(
            (
                "running_lines",
                f"{running} {lines} at the pages' edges {_are(running)} not in the text.",
            )
        )
    if hidden:
        words = "word" if hidden == 1 else "words"
        found.append(
            (
                "hidden_text",
                f"{hidden} {words} that nobody sees on the pages {_are(hidden)} not in the text.",
            )
        )
    if attachments:
        files = "attached file" if attachments == 1 else "attached files"
        found.append(
            (
                "attachments",
                f"{attachments} {files} {_are(attachments)} not read: save and add them.",
            )
        )
    return tuple(found)


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


_IMAGE_HEADS = (b"\x89PNG\r\n", b"\xff\xd8\xff", b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
PDF = Parser(
    "pdf",
    3,
    parse_pdf,
    heads=(b"%PDF-", b"%pdf-"),
    page_image=page_image,
    media_types={".pdf": "application/pdf"},
)
IMAGE = Parser(
    "image",
    2,
    parse_image,
    heads=_IMAGE_HEADS,
    page_image=page_image,
    media_types={
        ".jpeg": "image/jpeg",
        ".jpg": "image/jpeg",
        ".png": "image/png",
        ".tif": "image/tiff",
        ".tiff": "image/tiff",
    },
)
