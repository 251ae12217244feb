"""Reads the pages of a PDF with PDFium."""

from __future__ import annotations

import ctypes
import math
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, partial
from types import TracebackType
from typing import Any, Self

import pypdfium2.raw as pdfium
from pypdfium2_raw.bindings import _libs

from edge_node.plugins.parsers.pdf_objects import (
    RULE_WIDTH,
    address,
    bounds_of,
    colour_of,
    drawn_objects,
    is_white,
    outlines_of,
    picture_of,
    straight_lines,
)
from edge_node.plugins.parsers.pdf_page import (
    SLANTED,
    TO_LEFT,
    Box,
    Field,
    Page,
    Word,
    is_right_to_left,
    turned,
    unturned,
)
from shared.errors import UnreadableDocument

MAX_CHARACTERS = 200_000  # of a page
SEGMENTS_OF_A_BAR = 5
MAX_ANNOTATIONS = 5_000  # of a page
MAX_COVERS = 1_000  # of a page: areas that are compared with its words
LEAST_COVER = 4.0  # points: the shorter side of an area that covers words
MOST_COVER_PIXELS = 4_000_000  # of a page that is drawn to see whether words are seen
COVER_SCALE = 2.0  # pixels a point
FAINT = 24  # of 255: what differs less from its ground is not seen
INVISIBLE_MODES = (pdfium.FPDF_TEXTRENDERMODE_INVISIBLE, pdfium.FPDF_TEXTRENDERMODE_CLIP)
_WORD = re.compile("[^\\s\x00-\x1f\ufffe\uffff]+")
_CUT = ("\x02", "\ufffe")  # PDFium's signs for a hyphen at a line's end, in place of both
_BOLD = re.compile("bold|black|heavy", re.IGNORECASE)
_UNMAPPED = re.compile("[\ufffd\ue000-\uf8ff]")
# the same functions as pdfium's, with numbers in place of pointers: each word asks for them
_char_box = _libs["pdfium"]["FPDFText_GetLooseCharBox"]
_char_box.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p]
_char_box.restype = ctypes.c_int
_text_object = _libs["pdfium"]["FPDFText_GetTextObject"]
_text_object.argtypes = [ctypes.c_void_p, ctypes.c_int]
_text_object.restype = ctypes.c_void_p


@cache
def _library() -> None:
    pdfium.FPDF_InitLibrary()


class Document:
    """An open PDF, for ``with``. Raises UnreadableDocument: ``encrypted``, ``bad_pdf``."""

    def __init__(self, name: str, data: bytes) -> None:
        _library()
        self._data = data  # PDFium reads from it until the document is closed
        self._handle = pdfium.FPDF_LoadMemDocument64(data, len(data), None)
        if not self._handle:
            if pdfium.FPDF_GetLastError() == pdfium.FPDF_ERR_PASSWORD:
                step = "save it without a password"
                raise UnreadableDocument(name, "encrypted", "is behind a password", next_step=step)
            step = "open and save it again as PDF"
            raise UnreadableDocument(name, "bad_pdf", "is damaged, or not a PDF", next_step=step)
        self._form: Any = None
        self._info: Any = None
        if pdfium.FPDF_GetFormType(self._handle) != pdfium.FORMTYPE_NONE:
            self._info = pdfium.FPDF_FORMFILLINFO(version=2)
            self._form = pdfium.FPDFDOC_InitFormFillEnvironment(self._handle, self._info)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._form:
            pdfium.FPDFDOC_ExitFormFillEnvironment(self._form)
        pdfium.FPDF_CloseDocument(self._handle)

    @property
    def page_count(self) -> int:
        """Pages as its catalogue counts them."""
        return int(pdfium.FPDF_GetPageCount(self._handle))

    @property
    def attachment_count(self) -> int:
        """Files in the document as a whole."""
        return max(0, int(pdfium.FPDFDoc_GetAttachmentCount(self._handle)))

    @property
    def title(self) -> str:
        """The one that its properties state."""
        return _wide(lambda *to: pdfium.FPDF_GetMetaText(self._handle, b"Title", *to))

    def page(self, index: int) -> Page:
        """What stands on a page; an empty one where it cannot be opened."""
        handle = pdfium.FPDF_LoadPage(self._handle, index)
        if not handle:
            return Page(0, 0, is_open=False)
        try:
            return _Reader(handle, self._form).page()
        finally:
            pdfium.FPDF_ClosePage(handle)

    def rotation(self, index: int) -> int:
        """How many quarters clockwise a page is turned when it is shown."""
        handle = pdfium.FPDF_LoadPage(self._handle, index)
        if not handle:
            return 0
        try:
            return int(pdfium.FPDFPage_GetRotation(handle)) % 4
        finally:
            pdfium.FPDF_ClosePage(handle)

    def rendered(
        self,
        index: int,
        *,
        scale: float = 1.0,
        width: int = 0,
        most: int,
        has_colours: bool = False,
        has_text: bool = True,
    ) -> tuple[bytes, int, int]:
        """A page as it is seen, its width and height in pixels; without its text layer if so asked.

        ``scale`` pixels a point, or ``width`` of them; ``most`` in all. A byte each, in grey, or
        four: blue, green, red and nothing.
        """
        handle = pdfium.FPDF_LoadPage(self._handle, index)
        if not handle:
            return b"", 0, 0
        try:
            across = max(1.0, pdfium.FPDF_GetPageWidthF(handle))
            down = max(1.0, pdfium.FPDF_GetPageHeightF(handle))
            scale = width / across if width else scale
            scale = min(scale, math.sqrt(most / (across * down)))
            size = max(1, round(across * scale)), max(1, round(down * scale))
            if not has_text:
                for item, _ in drawn_objects(handle):
                    if pdfium.FPDFPageObj_GetType(item) == pdfium.FPDF_PAGEOBJ_TEXT:
                        mode = pdfium.FPDF_TEXTRENDERMODE_INVISIBLE
                        pdfium.FPDFTextObj_SetTextRenderMode(item, mode)
            return _drawn(handle, self._form, *size, has_colours=has_colours), *size
        finally:
            pdfium.FPDF_ClosePage(handle)


def _drawn(page: Any, form: Any, width: int, height: int, *, has_colours: bool) -> bytes:
    kind = pdfium.FPDFBitmap_BGRx if has_colours else pdfium.FPDFBitmap_Gray
    bitmap = pdfium.FPDFBitmap_CreateEx(width, height, kind, None, 0)
    if not bitmap:
        raise MemoryError
    try:
        pdfium.FPDFBitmap_FillRect(bitmap, 0, 0, width, height, 0xFFFFFFFF)
        flags = pdfium.FPDF_ANNOT | (0 if has_colours else pdfium.FPDF_GRAYSCALE)
        pdfium.FPDF_RenderPageBitmap(bitmap, page, 0, 0, width, height, 0, flags)
        if form:
            pdfium.FPDF_FFLDraw(form, bitmap, page, 0, 0, width, height, 0, flags)
        stride = pdfium.FPDFBitmap_GetStride(bitmap)
        rows = ctypes.string_at(pdfium.FPDFBitmap_GetBuffer(bitmap), stride * height)
    finally:
        pdfium.FPDFBitmap_Destroy(bitmap)
    length = width * (4 if has_colours else 1)
    if stride == length:
        return rows
    return b"".join(rows[at : at + length] for at in range(0, stride * height, stride))


@dataclass(slots=True)
class _Style:
    """What all signs of one text object have in common. ``order``: in which it is drawn."""

    direction: int
    is_bold: bool
    is_invisible: bool
    is_white: bool
    colour: tuple[int, int, int] | None = None
    order: float = math.inf


@dataclass(slots=True)
class _Cover:
    """A filled area that hides words: those drawn before it, and those of its colour."""

    box: Box
    order: float
    colour: tuple[int, int, int] | None = None
    is_picture: bool = False

    def may_hide(self, style: _Style) -> bool:
        """Whether words of this style are not seen where it lies."""
        if self.order > style.order:
            return True
        if self.colour is None or style.colour is None:
            return False
        pairs = zip(self.colour, style.colour, strict=True)
        return all(abs(one - other) < FAINT for one, other in pairs)


class _Reader:
    """One open page."""

    def __init__(self, page: Any, form: Any) -> None:
        self._page = page
        self._form = form
        self._text: Any = None
        self._has_to_left = False
        self._styles = dict[int, _Style]()
        self._inks = list[tuple[Word, _Style]]()
        self._covers = list[_Cover]()
        self._orders = dict[int | None, int]()  # of text objects, by their addresses
        self._rect = pdfium.FS_RECTF()
        self._rect_address = ctypes.addressof(self._rect)
        self._text_address: int | None = None
        bounds = pdfium.FS_RECTF()
        pdfium.FPDF_GetPageBoundingBox(page, bounds)
        self._bounds = Box(bounds.left, bounds.top, bounds.right, bounds.bottom)

    def page(self) -> Page:
        bounds = self._bounds
        found = Page(abs(bounds.width), abs(bounds.height), (bounds.left, bounds.bottom))
        self._look_at_objects(found)
        self._text = pdfium.FPDFText_LoadPage(self._page)
        if self._text:
            self._text_address = ctypes.cast(self._text, ctypes.c_void_p).value
            try:
                self._read_words(found)
            finally:
                pdfium.FPDFText_ClosePage(self._text)
        self._read_annotations(found)
        self._hide_covered(found)
        return found

    # ------------------------------------------------------------------------------------ words

    def _read_words(self, found: Page) -> None:
        text = self._characters(found)
        found.unmapped = len(_UNMAPPED.findall(text))
        self._has_to_left = TO_LEFT.search(text) is not None
        for match in _WORD.finditer(text):
            is_cut = match.end() < len(text) and text[match.end()] in _CUT
            pieces = list(self._pieces(text, match.start(), match.end()))
            for style, word in pieces:
                found.words[style.direction].append(word)
            self._inks += [(word, style) for style, word in pieces]
            if is_cut and pieces:
                _, last = pieces[-1]
                last.text += "-"
                last.is_cut = True
        paper = [*found.areas, *found.pictures]
        for direction, words in found.words.items():
            self._hide(found, words, [turned(each, direction) for each in paper], direction)

    def _characters(self, found: Page) -> str:
        total = max(0, pdfium.FPDFText_CountChars(self._text))
        count = min(total, MAX_CHARACTERS)
        found.surplus_characters = total - count
        buffer = (ctypes.c_ushort * (2 * count + 2))()
        taken = pdfium.FPDFText_GetText(self._text, 0, count, buffer)
        raw = bytes(buffer)[: 2 * max(0, taken - 1)]
        text = raw.decode("utf-16-le", errors="replace")
        if len(text) == count:
            return text
        units = (pdfium.FPDFText_GetUnicode(self._text, at) for at in range(count))
        return "".join(chr(unit) if unit < 0x110000 else "\ufffd" for unit in units)

    def _pieces(self, text: str, start: int, end: int) -> Iterator[tuple[_Style, Word]]:
        """A word, or several where its signs do not stand side by side or differ in size."""
        style = self._style(self._handle(start), start)
        first = self._box(start, style.direction)
        last = first if end == start + 1 else self._box(end - 1, style.direction)
        height = max(first.bottom - first.top, 0.1)
        is_plain = (
            abs(first.bottom - last.bottom) < 0.05 * height
            and abs(first.top - last.top) < 0.05 * height
            and first.left - 0.1 <= last.left < first.left + 1.2 * (end - start) * height
            and not (self._has_to_left and TO_LEFT.search(text, start, end))
        )
        if is_plain:
            box = Box(first.left, first.top, last.right, first.bottom)
            yield style, _word(text[start:end], box, style)
            return
        signs = list[tuple[str, Box]]()
        for at in range(start, end):
            handle = self._handle(at)
            next_style = self._style(handle, at) if handle else style
            box = self._box(at, next_style.direction)
            if signs and not _goes_on(signs[-1], box, text[at], style, next_style):
                yield style, _joined(signs, style)
                signs = []
            if not signs:
                style = next_style
            signs.append((text[at], box))
        yield style, _joined(signs, style)

    def _handle(self, at: int) -> int:
        return _text_object(self._text_address, at) or 0

    def _box(self, at: int, direction: int) -> Box:
        if not _char_box(self._text_address, at, self._rect_address):
            return Box(0, 0, 0, 0)
        rect = self._rect
        if direction == 0:
            return Box(rect.left, -rect.top, rect.right, -rect.bottom)
        return turned(Box(rect.left, rect.top, rect.right, rect.bottom), direction)

    def _style(self, handle: int, at: int) -> _Style:
        if handle not in self._styles:
            self._styles[handle] = self._style_of(at)
        return self._styles[handle]

    def _style_of(self, at: int) -> _Style:
        angle = -math.degrees(pdfium.FPDFText_GetCharAngle(self._text, at)) % 360
        quarter = round(angle / 90) % 4
        is_slanted = abs(angle - 90 * round(angle / 90)) > 8
        item = pdfium.FPDFText_GetTextObject(self._text, at)
        if not item:
            return _Style(SLANTED if is_slanted else quarter, False, False, False)
        mode = pdfium.FPDFTextObj_GetTextRenderMode(item)
        return _Style(
            SLANTED if is_slanted else quarter,
            self._is_bold(item),
            mode in INVISIBLE_MODES,
            mode == pdfium.FPDF_TEXTRENDERMODE_FILL and is_white(item),
            colour_of(item),
            self._orders.get(address(item), math.inf),
        )

    def _is_bold(self, item: Any) -> bool:
        font = pdfium.FPDFTextObj_GetFont(item)
        if not font:
            return False
        length = pdfium.FPDFFont_GetBaseFontName(font, None, 0)
        buffer = ctypes.create_string_buffer(min(length, 200))
        pdfium.FPDFFont_GetBaseFontName(font, buffer, len(buffer))
        return bool(_BOLD.search(buffer.value.decode("latin-1")))

    def _hide(self, found: Page, words: list[Word], paper: list[Box], direction: int) -> None:
        """White words stay where something lies below them, invisible ones on a scan (OCR).

        What lies beyond the page's edges is not seen either.
        """
        seen = turned(self._bounds, direction)
        is_scan = found.is_scan
        for word in words:
            if not seen.contains(word):
                word.is_hidden = True
            elif word.confidence == _WHITE:
                word.is_hidden = not any(each.contains(word) for each in paper)
            elif word.confidence == _INVISIBLE:
                word.is_hidden = not is_scan
                found.has_ocr_layer |= is_scan
            word.confidence = 100.0

    def _hide_covered(self, found: Page) -> None:
        """Words below an area that is drawn later, or of its colour, if the page shows no ink.

        Below the picture of a scan lie the words that an OCR found in it.
        """
        is_scan = found.is_scan
        covers = [each for each in self._covers if not (is_scan and each.is_picture)][:MAX_COVERS]
        above = dict[int, list[Box]]()  # what may hide words of a style
        suspects = list[tuple[Word, Box]]()
        for word, style in self._inks:
            if id(style) not in above:
                hiding = (each.box for each in covers if each.may_hide(style))
                above[id(style)] = [turned(box, style.direction) for box in hiding]
            if word.is_hidden or not any(map(str.isalnum, word.text)):
                continue
            core = next(filter(None, (_covered_core(word, box) for box in above[id(style)])), None)
            if core is not None:
                suspects.append((word, unturned(core, style.direction)))
        if not suspects:
            return
        sight = _Sight(self._page, self._form)
        for word, core in suspects:
            if not sight.shows_ink(core):
                word.is_hidden = True
                found.covered += 1

    # ---------------------------------------------------------------------------------- objects

    def _look_at_objects(self, found: Page) -> None:
        for order, (item, matrix) in enumerate(drawn_objects(self._page)):
            kind = pdfium.FPDFPageObj_GetType(item)
            if kind == pdfium.FPDF_PAGEOBJ_TEXT:
                self._orders[address(item)] = order
            elif kind == pdfium.FPDF_PAGEOBJ_PATH:
                self._look_at_path(found, item, matrix, order)
            elif kind == pdfium.FPDF_PAGEOBJ_IMAGE:
                picture = picture_of(item, matrix)
                found.pictures.append(picture)
                self._note_cover(_Cover(picture, order, is_picture=True))
            elif kind == pdfium.FPDF_PAGEOBJ_SHADING:
                found.areas.append(bounds_of(item, matrix))

    def _look_at_path(self, found: Page, item: Any, matrix: tuple[float, ...], order: int) -> None:
        fill, stroke = ctypes.c_int(), ctypes.c_int()
        pdfium.FPDFPath_GetDrawMode(item, fill, stroke)
        if fill.value:
            self._note_cover(_Cover(bounds_of(item, matrix), order, colour_of(item)))
        if not (fill.value or stroke.value) or is_white(item, stroke.value):
            return
        if pdfium.FPDFPath_CountSegments(item) <= SEGMENTS_OF_A_BAR:
            outlines = [bounds_of(item, matrix)]
            lines = list(straight_lines(item, matrix)) if stroke.value else []
        else:
            outlines, lines = outlines_of(item, matrix)
        for box in outlines:
            height = box.top - box.bottom
            if min(box.width, height) <= RULE_WIDTH:
                if max(box.width, height) > 2 * RULE_WIDTH:
                    found.rules.append(box)
            elif fill.value:
                found.areas.append(box)
        if stroke.value:
            found.rules.extend(lines)

    def _note_cover(self, cover: _Cover) -> None:
        box = cover.box
        if min(box.width, box.top - box.bottom) >= LEAST_COVER:
            self._covers.append(cover)

    # ------------------------------------------------------------------------------ annotations

    def _read_annotations(self, found: Page) -> None:
        total = max(0, pdfium.FPDFPage_GetAnnotCount(self._page))
        count = min(total, MAX_ANNOTATIONS)
        found.surplus_annotations = total - count
        for at in range(count):
            annotation = pdfium.FPDFPage_GetAnnot(self._page, at)
            if not annotation:
                continue
            try:
                self._read_annotation(found, annotation)
            finally:
                pdfium.FPDFPage_CloseAnnot(annotation)

    def _read_annotation(self, found: Page, annotation: Any) -> None:
        kind = pdfium.FPDFAnnot_GetSubtype(annotation)
        if pdfium.FPDFAnnot_GetFlags(annotation) & pdfium.FPDF_ANNOT_FLAG_HIDDEN:
            return
        if kind in _DRAWN_OVER and (box := _annotation_box(annotation)):
            self._note_cover(_Cover(box, math.inf))
        if kind == pdfium.FPDF_ANNOT_FILEATTACHMENT:
            found.attachments += 1
        elif kind == pdfium.FPDF_ANNOT_WIDGET and self._form:
            self._read_field(found, annotation)
        elif kind not in (pdfium.FPDF_ANNOT_LINK, pdfium.FPDF_ANNOT_POPUP):
            words = _wide(lambda *to: pdfium.FPDFAnnot_GetStringValue(annotation, b"Contents", *to))
            if words.strip():
                found.notes.append(words)

    def _read_field(self, found: Page, annotation: Any) -> None:
        form = self._form
        kind = pdfium.FPDFAnnot_GetFormFieldType(form, annotation)
        box = _annotation_box(annotation)
        if box is None:
            return
        name = _wide(
            lambda *to: pdfium.FPDFAnnot_GetFormFieldAlternateName(form, annotation, *to)
        ) or _wide(lambda *to: pdfium.FPDFAnnot_GetFormFieldName(form, annotation, *to))
        if kind in (pdfium.FPDF_FORMFIELD_CHECKBOX, pdfium.FPDF_FORMFIELD_RADIOBUTTON):
            state = _wide(lambda *to: pdfium.FPDFAnnot_GetStringValue(annotation, b"AS", *to))
            is_ticked = bool(pdfium.FPDFAnnot_IsChecked(form, annotation))
            found.fields.append(Field(box, name, "", is_ticked or state not in ("", "Off")))
        elif kind in _WITH_VALUE:
            value = _wide(lambda *to: pdfium.FPDFAnnot_GetFormFieldValue(form, annotation, *to))
            if kind != pdfium.FPDF_FORMFIELD_TEXTFIELD:
                value = self._selected(annotation) or value
            is_secret = (
                kind == pdfium.FPDF_FORMFIELD_TEXTFIELD
                and pdfium.FPDFAnnot_GetFormFieldFlags(form, annotation)
                & pdfium.FPDF_FORMFLAG_TEXT_PASSWORD
            )
            if value.strip() and not is_secret:
                found.fields.append(Field(box, name, value))

    def _selected(self, annotation: Any) -> str:
        count = min(pdfium.FPDFAnnot_GetOptionCount(self._form, annotation), MAX_ANNOTATIONS)
        is_selected = partial(pdfium.FPDFAnnot_IsOptionSelected, self._form, annotation)
        labels = [self._option(annotation, at) for at in filter(is_selected, range(count))]
        return ", ".join(labels)

    def _option(self, annotation: Any, at: int) -> str:
        form = self._form
        return _wide(lambda *to: pdfium.FPDFAnnot_GetOptionLabel(form, annotation, at, *to))


class _Sight:
    """A page as it is seen, in grey."""

    def __init__(self, page: Any, form: Any) -> None:
        self._page = page
        across = max(1.0, pdfium.FPDF_GetPageWidthF(page))
        down = max(1.0, pdfium.FPDF_GetPageHeightF(page))
        scale = min(COVER_SCALE, math.sqrt(MOST_COVER_PIXELS / (across * down)))
        self._width, self._height = max(1, round(across * scale)), max(1, round(down * scale))
        self._pixels = _drawn(page, form, self._width, self._height, has_colours=False)

    def shows_ink(self, box: Box) -> bool:
        """Whether a box in PDF's coordinates has light and dark in it; True for less than that."""
        (x, y), (u, v) = self._pixel(box.left, box.top), self._pixel(box.right, box.bottom)
        left, right = max(0, min(x, u)), min(self._width, max(x, u) + 1)
        top, bottom = max(0, min(y, v)), min(self._height, max(y, v) + 1)
        rows = (self._pixels[row * self._width :][left:right] for row in range(top, bottom))
        signs = b"".join(rows)
        return not signs or max(signs) - min(signs) >= FAINT

    def _pixel(self, x: float, y: float) -> tuple[int, int]:
        across, down = ctypes.c_int(), ctypes.c_int()
        size = (0, 0, self._width, self._height)
        pdfium.FPDF_PageToDevice(self._page, *size, 0, x, y, across, down)
        return across.value, down.value


def _covered_core(word: Word, cover: Box) -> Box | None:
    """The part of a word in which all letters have ink, where an area covers most of it."""
    if cover.left > word.right or cover.right < word.left or cover.top > word.bottom:
        return None
    left, right = max(word.left, cover.left), min(word.right, cover.right)
    top = max(word.top + 0.3 * word.height, cover.top)
    bottom = min(word.bottom - 0.25 * word.height, cover.bottom)
    is_most = right - left > 0.5 * word.width and bottom - top > 0.25 * word.height
    margin = 1 / COVER_SCALE
    if not is_most or right - left <= 2 * margin or bottom - top <= 2 * margin:
        return None
    return Box(left + margin, top + margin, right - margin, bottom - margin)


def _annotation_box(annotation: Any) -> Box | None:
    """Where it stands; its corners may be stated in any order."""
    rect = pdfium.FS_RECTF()
    if not pdfium.FPDFAnnot_GetRect(annotation, rect):
        return None
    bottom, top = sorted((rect.bottom, rect.top))
    return Box(rect.left, top, rect.right, bottom)


_DRAWN_OVER = frozenset(  # kinds of annotations that may cover words
    (
        pdfium.FPDF_ANNOT_CIRCLE,
        pdfium.FPDF_ANNOT_FREETEXT,
        pdfium.FPDF_ANNOT_HIGHLIGHT,
        pdfium.FPDF_ANNOT_INK,
        pdfium.FPDF_ANNOT_LINE,
        pdfium.FPDF_ANNOT_POLYGON,
        pdfium.FPDF_ANNOT_REDACT,
        pdfium.FPDF_ANNOT_SQUARE,
        pdfium.FPDF_ANNOT_STAMP,
    )
)
_WITH_VALUE = (
    pdfium.FPDF_FORMFIELD_TEXTFIELD,
    pdfium.FPDF_FORMFIELD_COMBOBOX,
    pdfium.FPDF_FORMFIELD_LISTBOX,
)
_WHITE, _INVISIBLE = -1.0, -2.0  # in ``confidence`` until the page's areas are compared


def _wide(call: Any) -> str:
    """A string of UTF-16 that PDFium writes into a buffer whose length in bytes it states."""
    length = call(None, 0)
    if length <= 2:
        return ""
    buffer = ctypes.create_string_buffer(length)
    call(ctypes.cast(buffer, ctypes.POINTER(ctypes.c_ushort)), length)
    return buffer.raw[: length - 2].decode("utf-16-le", errors="replace")


def _goes_on(
    before: tuple[str, Box], box: Box, sign: str, style: _Style, next_style: _Style
) -> bool:
    """Whether a sign belongs to the same word as the one that PDFium has before it."""
    other = before[1]
    if style.direction != next_style.direction or style.is_invisible != next_style.is_invisible:
        return False
    if box.width == 0 or unicodedata.combining(sign):
        return True
    height = max(box.height, other.height, 0.1)
    if min(box.height, other.height) < 0.8 * height:  # a superscript
        return False
    if abs(box.bottom - other.bottom) > 0.25 * height:
        return False
    gap = max(box.left - other.right, other.left - box.right)
    return gap < 0.35 * height


def _joined(signs: list[tuple[str, Box]], style: _Style) -> Word:
    boxes = [box for _, box in signs if box.width > 0] or [box for _, box in signs]
    left, right = min(box.left for box in boxes), max(box.right for box in boxes)
    top, bottom = min(box.top for box in boxes), max(box.bottom for box in boxes)
    text = "".join(sign for sign, _ in signs)
    if any(map(is_right_to_left, text)):
        text = _logical(signs)
    return _word(text, Box(left, top, right, bottom), style)


def _logical(signs: list[tuple[str, Box]]) -> str:
    """The signs of a right-to-left word as they are written; digits run to the right."""
    runs = list[list[tuple[str, Box]]]()
    is_before = None
    from_the_right = signs[::-1]  # signs of one glyph have one box, and PDFium turns them round
    from_the_right.sort(key=lambda each: -each[1].right)
    for sign, box in from_the_right:
        is_left = sign.isdigit() or (sign.isalpha() and not is_right_to_left(sign))
        if is_left and is_before:
            runs[-1].append((sign, box))
        else:
            runs.append([(sign, box)])
        is_before = is_left
    ordered = (reversed(run) for run in runs)
    return "".join(sign for run in ordered for sign, _ in run)


def _word(text: str, box: Box, style: _Style) -> Word:
    state = _INVISIBLE if style.is_invisible else _WHITE if style.is_white else 100.0
    return Word(
        box.left,
        box.top,
        box.right,
        box.bottom,
        text=text,
        size=max(box.height, 0.1),
        is_bold=style.is_bold,
        confidence=state,
    )
