"""How the sheets of an Office Open XML workbook (.xlsx) look."""

from __future__ import annotations

import io
import posixpath
import re
import zipfile
from collections.abc import Iterable, Iterator
from functools import partial

from lxml import etree

from edge_node.plugins.parsers.number_formats import BUILT_IN, is_plain
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
_SHEET_PART = re.compile(r"worksheets?/[^/]+\.xml$")


def xlsx_views(data: bytes) -> dict[str, SheetView]:
    """The view of each sheet by its name. Raises what ``zipfile`` and ``lxml`` raise."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        book = _Book(archive)
        return {name: book.view(part) for name, part in book.sheets()}


class _Book:
    """A workbook's parts that say how it looks."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._parts = {name.casefold(): name for name in archive.namelist()}
        self._codes: dict[str, str] | None = None  # by the number of a cell's style
        self._views: dict[str, SheetView] = {}  # by part: many sheets may name one
        self._parts_left = MAX_PARTS
        self._unread_parts = 0

    def sheets(self) -> Iterator[tuple[str, str]]:
        """Each sheet's name and part."""
        book = self._tree("xl/workbook.xml")
        targets = {ident: target for ident, _, target in self._relations("xl/workbook.xml")}
        for sheet in book.iter("{*}sheet") if book is not None else ():
            idents = [value for key, value in sheet.items() if key.endswith("}id")]
            part = targets.get(idents[0] if idents else "", "")
            if _SHEET_PART.search(part) and part.casefold() in self._parts:
                yield sheet.get("name", ""), part

    def view(self, part: str) -> SheetView:
        """What one sheet's part and its relations say."""
        if part not in self._views:
            self._views[part] = self._read_view(part)
        return self._views[part]

    def _read_view(self, part: str) -> SheetView:
        xml = self._archive.read(self._parts[part.casefold()])
        unread = self._unread_parts
        view = SheetView()
        view.hidden_rows = set(_hidden_rows(xml))
        view.hidden_columns = set(_hidden_columns(xml))
        view.errors = len(_ERROR.findall(xml)) if b't="e"' in xml else 0
        view.uncomputed = len(_UNCOMPUTED.findall(xml)) if _FORMULA.search(xml) else 0
        if codes := self._all_codes():
            view.formats = partial(_formats, xml, codes)
        for _, kind, target in self._relations(part):
            self._add_related(view, kind, target)
        view.unread_parts = self._unread_parts - unread
        return view

    def _add_related(self, view: SheetView, kind: str, target: str) -> None:
        match kind:
            case "comments":
                view.notes += self._notes(target, "comment")
            case "threadedComment":
                view.notes += self._notes(target, "threadedComment")
            case "drawing":
                view.texts += self._drawing_texts(target)

    def _notes(self, part: str, tag: str) -> Iterator[tuple[str, str]]:
        tree = self._tree(part)
        notes = tree.iter(f"{{*}}{tag}") if tree is not None else ()
        for at, note in enumerate(notes):
            texts = [text.text or "" for text in note.iter("{*}t")]
            texts = texts or [text.text or "" for text in note.iter("{*}text")]
            words = " ".join("".join(texts).split())
            if words and not words.startswith(LEGACY_THREAD) and at < MAX_NOTES:
                yield note.get("ref", ""), words

    def _drawing_texts(self, part: str) -> Iterator[str]:
        """The words of text boxes, a shape each; then the titles of charts."""
        tree = self._tree(part)
        for body in tree.iter("{*}txBody") if tree is not None else ():
            yield _words(body)
        for _, kind, target in self._relations(part):
            chart = self._tree(target) if kind == "chart" else None
            title = chart.find(".//{*}chart/{*}title") if chart is not None else None
            if title is not None:
                yield _words(title)

    def _relations(self, part: str) -> Iterator[tuple[str, str, str]]:
        """Name, kind and target of each part that a part refers to."""
        folder, base = posixpath.split(part)
        tree = self._tree(posixpath.join(folder, "_rels", f"{base}.rels"))
        for relation in tree.iter("{*}Relationship") if tree is not None else ():
            if relation.get("TargetMode") != "External":
                target = posixpath.normpath(posixpath.join("/", folder, relation.get("Target", "")))
                kind = relation.get("Type", "").rpartition("/")[2]
                yield relation.get("Id", ""), kind, target.lstrip("/")

    def _all_codes(self) -> dict[str, str]:
        """Format codes by style, but for those that change nothing."""
        if self._codes is None:
            self._codes = dict(self._read_codes())
        return self._codes

    def _read_codes(self) -> Iterator[tuple[str, str]]:
        tree = self._tree("xl/styles.xml")
        if tree is None:
            return
        codes = {str(number): code for number, code in BUILT_IN.items()}
        for own in tree.iter("{*}numFmt"):
            codes[own.get("numFmtId", "")] = own.get("formatCode", "")
        styles = tree.find("{*}cellXfs")
        for at, style in enumerate(styles if styles is not None else ()):
            code = codes.get(style.get("numFmtId", ""), "")
            if code and not is_plain(code):
                yield str(at), code

    def _tree(self, part: str) -> etree._Element | None:
        name = self._parts.get(part.casefold())
        self._parts_left -= name is not None
        if name is None or self._parts_left < 0:
            return None
        parser = etree.XMLParser(
            resolve_entities=False, no_network=True, huge_tree=False, remove_comments=True
        )
        try:
            return etree.fromstring(self._archive.read(name), parser)
        except etree.XMLSyntaxError:
            self._unread_parts += 1
            return None


def _words(element: etree._Element) -> str:
    """The words of a drawing's text, a paragraph a line."""
    lines = list[str]()
    for paragraph in element.iter("{*}p"):
        texts = [text.text or "" for text in paragraph.iter("{*}t")]
        lines.append("".join(texts))
    return "\n".join(lines).strip()


def _formats(xml: bytes, codes: dict[str, str]) -> Iterable[CellFormat]:
    styles = b"|".join(style.encode() for style in codes)
    for cell in re.finditer(_CELL % styles, xml):
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
