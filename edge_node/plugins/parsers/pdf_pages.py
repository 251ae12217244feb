"""A page of a PDF, or a scan, as a picture with a sentence marked."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from itertools import islice, takewhile

from PIL import Image, ImageChops, ImageDraw

from edge_node.documents.readers.tessdata import chosen
from edge_node.plugins.parsers.ocr import Engine, is_late, is_recognised, pictures, prepared
from edge_node.plugins.parsers.pdf_page import Box, Page, Word, unturned
from edge_node.plugins.parsers.pdf_rows import rows_of
from edge_node.plugins.parsers.pdfium import Document
from shared.errors import UnreadableDocument

MARKER = (255, 235, 90)
USUAL_WIDTH, MAX_WIDTH = 1_200, 4_000  # pixels
MOST_PIXELS = 16_000_000
MAX_MARK_CHARS = 2_000
LEAST_FOUND = (
    0.6  # of a sentence's letters stand in one piece or in large ones, or nothing is marked
)
LEAST_PIECE = 12  # letters


def page_image(data: bytes, page: int, mark: str = "", width: int = 0) -> bytes:
    """A page (from 1) as PNG, ``width`` pixels wide or as it is usual.

    The words of ``mark`` are highlighted; nothing is, if they do not stand there.
    Raises UnreadableDocument: ``bad_pdf``, ``encrypted``, ``bad_image``, ``no_page``.
    """
    width = max(16, min(width or USUAL_WIDTH, MAX_WIDTH))
    if b"%PDF-" in data[:1024]:
        picture, boxes = _of_pdf(data, page - 1, mark, width)
    else:
        picture, boxes = _of_image(data, page - 1, mark, width)
    if boxes:
        picture = _marked(picture, boxes)
    target = io.BytesIO()
    picture.save(target, "PNG")
    return target.getvalue()


def _of_pdf(data: bytes, index: int, mark: str, width: int) -> tuple[Image.Image, list[Box]]:
    with Document("the document", data) as document:
        if not 0 <= index < document.page_count:
            raise _no_page(index)
        pixels, columns, rows = document.rendered(
            index, width=width, most=MOST_PIXELS, has_colours=True
        )
        if not pixels:
            raise _no_page(index)
        picture = Image.frombuffer("RGB", (columns, rows), pixels, "raw", "BGRX", 0, 1)
        if not mark:
            return picture, []
        page = document.page(index)
        rotation = document.rotation(index)
    words = [word for direction in sorted(page.words) for word in page.words[direction]]
    directions = [direction for direction in sorted(page.words) for _ in page.words[direction]]
    hits = _hits(words, mark)
    if hits:
        boxes = [
            _on_picture(words[at], directions[at], page, rotation, picture.size) for at in hits
        ]
        return picture, boxes
    return picture, _recognised(picture, mark) if is_recognised(page) else []


def _of_image(data: bytes, index: int, mark: str, width: int) -> tuple[Image.Image, list[Box]]:
    with pictures("the document", data) as frames:
        frame = next(islice(frames, max(index, 0), None), None)
        if frame is None or index < 0:
            raise _no_page(index)
        whole = frame.convert("RGB")
    boxes = _recognised(whole, mark) if mark else []
    factor = min(width / whole.width, (MOST_PIXELS / (whole.width * whole.height)) ** 0.5)
    size = max(1, round(whole.width * factor)), max(1, round(whole.height * factor))
    picture = whole.resize(size, Image.Resampling.LANCZOS)
    return picture, [
        Box(box.left * factor, box.top * factor, box.right * factor, box.bottom * factor)
        for box in boxes
    ]


def _recognised(picture: Image.Image, mark: str) -> list[Box]:
    """Where the words stand in a picture, in its pixels."""
    languages = chosen.get().data()
    if languages is None or is_late():
        return []
    grey = prepared(picture)
    factor = picture.width / grey.width
    with Engine(languages) as engine:
        words = engine.upright_words(grey, factor)
    return [words[at] for at in _hits(words, mark)]


def _hits(words: Sequence[Word], mark: str) -> list[int]:
    """Which words a sentence covers; none where most of it does not stand there."""
    wanted = _letters(mark[:MAX_MARK_CHARS])
    owners = list[int]()
    letters = list[str]()
    for at, word in enumerate(words):  # as the file has them: a column's lines one below the other
        piece = _letters(word.text)
        letters.append(piece)
        owners += [at] * len(piece)
    text = "".join(letters)
    if not wanted or not text:
        return []
    start = text.find(wanted)
    if start >= 0:
        return sorted(set(owners[start : start + len(wanted)]))
    found = list(_common_pieces(text, wanted))
    if sum(end - start for start, end in found) < LEAST_FOUND * len(wanted):
        return _cells(words, mark)
    return sorted({at for start, end in found for at in owners[start:end]})


def _common_pieces(text: str, wanted: str) -> Iterator[tuple[int, int]]:
    """Where a text has pieces of a sentence, of LEAST_PIECE letters or more."""
    at = last = 0
    while at + LEAST_PIECE <= len(wanted):
        piece = wanted[at : at + LEAST_PIECE]
        start = text.find(piece, last)
        if start < 0:
            start = text.find(piece)
        if start < 0:
            at += 1
            continue
        pairs = zip(text[start : start + len(wanted)], wanted[at:], strict=False)
        length = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        last = start + length
        yield start, last
        at += length


def _cells(words: Sequence[Word], mark: str) -> list[int]:
    """Which words a row of a table covers, by its sentence: "Ward: Juniper; Beds: 28"."""
    cells = (part.rsplit(": ", 1)[-1] for part in mark[:MAX_MARK_CHARS].split("; "))
    values = [letters for letters in map(_letters, cells) if letters]
    places = {id(word): at for at, word in enumerate(words)}
    best = list[int]()
    most = 0.0
    for row in rows_of(words) if len(values) > 1 else ():
        hits = list[int]()
        count = 0
        pieces = [(places[id(word)], _letters(words[places[id(word)]].text)) for word in row.items]
        for value in values:
            inside = _run(pieces, value)
            hits += inside
            count += bool(inside)
        if count > most:
            best, most = hits, count
    return sorted(set(best)) if most >= LEAST_FOUND * len(values) else []


def _run(pieces: Sequence[tuple[int, str]], value: str) -> list[int]:
    """Words side by side that are just this value."""
    for start in range(len(pieces)):
        text, end = "", start
        while end < len(pieces) and len(text) < len(value):
            text += pieces[end][1]
            end += 1
        if text == value:
            return [at for at, _ in pieces[start:end]]
    return []


def _letters(text: str) -> str:
    return "".join(sign for sign in text.casefold() if sign.isalnum())


def _on_picture(
    word: Word, direction: int, page: Page, rotation: int, size: tuple[int, int]
) -> Box:
    """A word's box in the pixels of a picture of its page, which may be turned by quarters."""
    box = unturned(word, direction)
    left, bottom = page.origin
    x, y = box.left - left, box.top - bottom
    right, top = box.right - left, box.bottom - bottom
    match rotation:
        case 1:
            x, y, right, top = y, page.width - right, top, page.width - x
            width, height = page.height, page.width
        case 2:
            x, y, right, top = (
                page.width - right,
                page.height - top,
                page.width - x,
                page.height - y,
            )
            width, height = page.width, page.height
        case 3:
            x, y, right, top = page.height - top, x, page.height - y, right
            width, height = page.height, page.width
        case _:
            width, height = page.width, page.height
    across, down = size[0] / max(width, 1), size[1] / max(height, 1)
    return Box(x * across, (height - top) * down, right * across, (height - y) * down)


def _marked(picture: Image.Image, boxes: Sequence[Box]) -> Image.Image:
    """As with a marker on paper: what is dark stays so."""
    layer = Image.new("RGB", picture.size, "white")
    pen = ImageDraw.Draw(layer)
    for row in rows_of(boxes):
        for part in _parts(row.items):
            left, right = part[0].left, max(item.right for item in part)
            top = min(item.top for item in part)
            bottom = max(item.bottom for item in part)
            pen.rectangle((left - 1, top - 1, right + 1, bottom + 1), fill=MARKER)
    return ImageChops.multiply(picture, layer)


def _parts(items: Sequence[Box]) -> list[list[Box]]:
    parts = list[list[Box]]()
    for item in items:
        is_near = bool(parts) and item.left - parts[-1][-1].right < 1.5 * item.height
        if is_near:
            parts[-1].append(item)
        else:
            parts.append([item])
    return parts


def _no_page(index: int) -> UnreadableDocument:
    message = f"has no page {index + 1}"
    return UnreadableDocument("the document", "no_page", message, next_step="name another page")
