"""How the sheets of an Office Open XML workbook (.xlsx) look."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from html import unescape

from edge_node.plugins.parsers.drawings import described, drawing_text, is_large
from edge_node.plugins.parsers.number_formats import BUILT_IN, is_plain
from edge_node.plugins.parsers.package import Element, Package, Relation, is_true
from edge_node.plugins.parsers.sheet_view import CellFormat, SheetView, column_number

MAX_PARTS = 5_000  # that are read beside the sheets: comments, drawings, charts, relations
MAX_NOTES = 10_000
LEGACY_THREAD = "[Threaded comment]"  # stands for a thread in programs that know none
_CELL = rb'<(?:\w+:)?c\b(?=[^<>]*\ss="(%s)")[^<>]*?\sr="([A-Z]{1,3})(\d{1,7})"'
_ROW = re.compile(rb"<(?:\w+:)?row\b([^<>]*)>")
_COLUMN = re.compile(rb"<(?:\w+:)?col\b([^<>]*)>")
_ATTRIBUTE = re.compile(rb'\s([A-Za-z]+)="([^"<>]*)"')
_ERROR = re.compile(rb'<(?:\w+:)?c\b[^<>]*\st="e"')
_FORMULA = re.compile(rb"<(?:\w+:)?f\b")
_UNCOMPUTED = re.compile(
    rb'<(?:\w+:)?c\b(?![^<>]*\st="(?:str|e)")[^<>]*>\s*+<(?:\w+:)?f\b'
    rb"(?:[^<>]*/>|[^<>]*>[^<>]*</(?:\w+:)?f>)\s*+"
    rb"(?:<(?:\w+:)?v\s*+/>|<(?:\w+:)?v></(?:\w+:)?v>)?\s*+</(?:\w+:)?c>"
)
_MARGIN = re.compile(rb"<(?:\w+:)?(odd|even|first)(?:Header|Footer)>([^<]*)<")
_MARGIN_CODE = re.compile(r'&(?:"[^"]*"|K[0-9A-F]{6}|\d+|.)', re.DOTALL)
_PAGES = re.compile("&[PN]")  # of a page, of all pages
_SHEET_PART = re.compile(r"worksheets?/[^/]+\.xml$")


def xlsx_views(name: str, data: bytes) -> dict[str, SheetView]:
    """The view of each sheet by its name; none of an .xlsb workbook, whose parts are no XML.

    Raises as ``Package``.
    """
    book = _Book(Package(name, data))
    return {sheet: book.view(part) for sheet, part in book.sheets()}


@dataclass(slots=True)
class _Styles:
    """What the styles of cells say, by their numbers: codes of formats, and which are struck."""

    codes: dict[str, str] = field(default_factory=dict)
    struck: list[str] = field(default_factory=list)


class _Book:
    """A workbook's parts that say how it looks."""

    def __init__(self, package: Package) -> None:
        self._package = package
        self._styles: _Styles | None = None
        self._views: dict[str, SheetView] = {}  # by part: many sheets may name one
        self._parts_left = MAX_PARTS
        self._unread_parts = 0

    def sheets(self) -> Iterator[tuple[str, str]]:
        """Each sheet's name and part."""
        book = self._tree("xl/workbook.xml")
        relations = self._relations("xl/workbook.xml")
        for sheet in book.iter("{*}sheet") if book is not None else ():
            idents = [value for key, value in sheet.items() if key.endswith("}id")]
            relation = relations.get(idents[0] if idents else "")
            if relation is not None and _SHEET_PART.search(relation.target):
                yield sheet.get("name", ""), relation.target

    def view(self, part: str) -> SheetView:
        """What one sheet's part and its relations say."""
        if part not in self._views:
            self._views[part] = self._read_view(part)
        return self._views[part]

    def _read_view(self, part: str) -> SheetView:
        xml = self._package.content(part) or b""
        unread = self._unread_parts
        view = SheetView()
        view.hidden_rows = set(_hidden_rows(xml))
        view.hidden_columns = set(_hidden_columns(xml))
        view.errors = len(_ERROR.findall(xml)) if b't="e"' in xml else 0
        view.uncomputed = len(_UNCOMPUTED.findall(xml)) if _FORMULA.search(xml) else 0
        styles = self._all_styles()
        if styles.codes:
            view.formats = partial(_formats, xml, styles.codes)
        for cell in _cells(xml, styles.struck):
            view.struck.setdefault(int(cell[3]) - 1, set()).add(column_number(cell[2].decode()))
        view.margins = sum(map(_has_words, _MARGIN.findall(xml)))
        for relation in self._relations(part).values():
            self._add_related(view, relation.kind, relation.target)
        view.unread_parts = self._unread_parts - unread
        return view

    def _add_related(self, view: SheetView, kind: str, target: str) -> None:
        match kind:
            case "comments":
                view.notes += self._notes(target, "comment")
            case "threadedComment":
                view.notes += self._notes(target, "threadedComment")
            case "drawing":
                self._add_drawing(view, target)
            case "oleObject" | "package":
                view.embedded += 1

    def _notes(self, part: str, tag: str) -> Iterator[tuple[str, str]]:
        tree = self._tree(part)
        notes = tree.iter(f"{{*}}{tag}") if tree is not None else ()
        for at, note in enumerate(notes):
            texts = [text.text or "" for text in note.iter("{*}t")]
            texts = texts or [text.text or "" for text in note.iter("{*}text")]
            words = " ".join("".join(texts).split())
            if words and not words.startswith(LEGACY_THREAD) and at < MAX_NOTES:
                yield note.get("ref", ""), words

    def _add_drawing(self, view: SheetView, part: str) -> None:
        """The words of text boxes, a shape each; then pictures and the titles of charts."""
        tree = self._tree(part)
        if tree is None:
            return
        view.texts += filter(None, map(drawing_text, tree.iter("{*}txBody")))
        for picture in tree.iter("{*}pic"):
            about, size = picture.find("{*}nvPicPr/{*}cNvPr"), picture.find(".//{*}xfrm/{*}ext")
            caption = list(described("" if about is None else about.get("descr")))
            view.texts += [block.text for block in caption]
            view.pictures += not caption and is_large(size)
        for relation in self._relations(part).values():
            chart = self._tree(relation.target) if relation.kind == "chart" else None
            title = chart.find(".//{*}chart/{*}title") if chart is not None else None
            if title is not None:
                view.texts.append(drawing_text(title))

    def _relations(self, part: str) -> dict[str, Relation]:
        """What a part refers to within the file; nothing where that is damaged, which counts."""
        try:
            relations = self._package.relations(part)
        except SyntaxError:
            self._unread_parts += 1
            return {}
        return {ident: each for ident, each in relations.items() if not each.is_external}

    def _all_styles(self) -> _Styles:
        if self._styles is None:
            self._styles = _styles(self._tree("xl/styles.xml"))
        return self._styles

    def _tree(self, part: str) -> Element | None:
        """A part's root; None where there is none. A damaged one, or one too many, counts."""
        if part.lower() not in self._package.parts:
            return None
        self._parts_left -= 1
        if self._parts_left >= 0:
            with suppress(SyntaxError):
                return self._package.tree(part)
        self._unread_parts += 1
        return None


def _has_words(margin: tuple[bytes, bytes]) -> bool:
    """Whether a header or footer says more than names, days and numbers of pages."""
    codes = unescape(margin[1].decode("utf-8", "replace"))
    return not _PAGES.search(codes) and any(map(str.isalpha, _MARGIN_CODE.sub("", codes)))


def _styles(tree: Element | None) -> _Styles:
    """Those that matter, without format codes that change nothing."""
    styles = _Styles()
    if tree is None:
        return styles
    codes = {str(number): code for number, code in BUILT_IN.items()}
    for own in tree.iter("{*}numFmt"):
        codes[own.get("numFmtId", "")] = own.get("formatCode", "")
    strikes = dict[str, bool]()
    for number, font in enumerate(tree.iterfind("{*}fonts/{*}font")):
        strikes[str(number)] = is_true(font.find("{*}strike"), "val")
    for at, style in enumerate(tree.iterfind("{*}cellXfs/{*}xf")):
        code = codes.get(style.get("numFmtId", ""), "")
        if code and not is_plain(code):
            styles.codes[str(at)] = code
        if strikes.get(style.get("fontId", "")):
            styles.struck.append(str(at))
    return styles


def _cells(xml: bytes, styles: Collection[str]) -> Iterator[re.Match[bytes]]:
    """The cells of some styles: style, letters of the column, number of the row."""
    if not styles:
        return iter(())
    return re.finditer(_CELL % b"|".join(style.encode() for style in styles), xml)


def _formats(xml: bytes, codes: dict[str, str]) -> Iterable[CellFormat]:
    for cell in _cells(xml, codes):
        letters = cell[2].decode()
        yield int(cell[3]) - 1, column_number(letters), codes[cell[1].decode()]


def _attributes(tag: bytes) -> dict[str, str]:
    pairs = _ATTRIBUTE.findall(tag)
    return {key.decode(): value.decode("utf-8", "replace") for key, value in pairs}


def _is_hidden(attributes: dict[str, str], size: str) -> bool:
    return attributes.get("hidden") in ("1", "true") or attributes.get(size) == "0"


def _hidden_rows(xml: bytes) -> Iterator[int]:
    if b"hidden=" not in xml and b'ht="0"' not in xml:
        return
    for tag in _ROW.finditer(xml):
        attributes = _attributes(tag[1])
        if _is_hidden(attributes, "ht") and attributes.get("r", "").isdecimal():
            yield int(attributes["r"]) - 1


def _hidden_columns(xml: bytes) -> Iterator[int]:
    for tag in _COLUMN.finditer(xml, 0, max(0, xml.find(b"sheetData"))):
        attributes = _attributes(tag[1])
        ends = [attributes.get(key, "") for key in ("min", "max")]
        if _is_hidden(attributes, "width") and all(end.isdecimal() for end in ends):
            first, last = map(int, ends)
            yield from range(first - 1, min(last, first + 20_000))
