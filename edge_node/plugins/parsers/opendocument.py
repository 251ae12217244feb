"""OpenDocument texts (.odt) and presentations (.odp) (OASIS OpenDocument 1.3)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from edge_node.documents.blocks import Block, ParsedDocument, Place, TextBlock, TextKind
from edge_node.documents.grid_cells import GridCell
from edge_node.documents.grids import EMPTY, laid_out
from edge_node.documents.parsers import Parser
from edge_node.documents.text import check_pages
from edge_node.plugins.parsers.cells import cell_text, with_row_name
from edge_node.plugins.parsers.drawings import LARGE, centimetres, described
from edge_node.plugins.parsers.equations import linear_mathml
from edge_node.plugins.parsers.form_fields import (
    FIELD,
    open_controls,
    open_field,
    open_value,
)
from edge_node.plugins.parsers.numbering import formatted_number
from edge_node.plugins.parsers.package import (
    BAD_PACKAGE,
    DUBLIN_CORE,
    Element,
    Package,
    left_out,
    resolved,
    usable_title,
)
from edge_node.plugins.parsers.page_margins import margin_blocks
from edge_node.plugins.parsers.reading_order import Box, reading_order
from edge_node.plugins.parsers.struck import mark_struck
from edge_node.plugins.parsers.superscripts import raised
from shared.errors import UnreadableDocument

_URN = "{{urn:oasis:names:tc:opendocument:xmlns:{}:1.0}}".format
OFFICE, TEXT, TABLE, DRAW = _URN("office"), _URN("text"), _URN("table"), _URN("drawing")
STYLE, SHOW, CHART, SVG = _URN("style"), _URN("presentation"), _URN("chart"), _URN("svg-compatible")
MATH = "{http://www.w3.org/1998/Math/MathML}math"
_HREF = "{http://www.w3.org/1999/xlink}href"
_MOST_OBJECTS_DEEP = 3  # a chart in a sheet in a text
_MOST_REPEATED = 64  # cells or rows that are stated once
_MOST_SPACES = 100
_MOST_STYLES_ABOVE = 20
_LEVELS = 10
_SKIPPED = frozenset(
    [
        f"{OFFICE}forms",
        f"{OFFICE}annotation-end",
        f"{STYLE}table-properties",
        f"{TABLE}shapes",
        *(f"{SVG}{name}" for name in ("title", "desc")),
        *(
            f"{TEXT}{name}"
            for name in (
                *("tracked-changes", "sequence-decls", "variable-decls", "user-field-decls"),
                *("ruby-text", "script", "soft-page-break", "table-of-content-source"),
                *("alphabetical-index-source", "illustration-index-source", "object-index-source"),
                *("table-index-source", "user-index-source", "bibliography-source"),
            )
        ),
    ]
)
_UNREAD_FRAMES = frozenset({"header", "page-number", "page"})
_FOOTERS = ("footer", "date-time")
_DAYS = (f"{TEXT}date", f"{TEXT}time", f"{SHOW}date-time")
_PAGE_NUMBERS = (f"{TEXT}page-number", f"{TEXT}page-count")
_KINDS = {
    "1": "decimal",
    "a": "lowerLetter",
    "A": "upperLetter",
    "i": "lowerRoman",
    "I": "upperRoman",
}
_SPACE = re.compile(r"[ \t\r\n]+")


@dataclass(slots=True)
class _Line:
    """A paragraph's text, and what belongs behind it: notes, comments, text boxes, charts."""

    pieces: list[str] = field(default_factory=list)
    after: list[Block] = field(default_factory=list)

    @property
    def text(self) -> str:
        """What was read so far."""
        return "".join(self.pieces)


@dataclass(frozen=True, slots=True)
class _Level:
    """One level of a list style.

    ``kind``: as in ``numbering``; ``shown``: how many levels its number shows.
    """

    kind: str = "bullet"
    before: str = ""
    behind: str = ""
    start: int = 1
    shown: int = 1


_ListStyle = dict[int, _Level]


def parse_open_text(name: str, data: bytes) -> ParsedDocument:
    """The blocks of an .odt file.

    Raises UnreadableDocument: ``encrypted``, ``bad_office``, ``too_large``.
    """
    return _parsed(name, data, ".odt", _Reading.text_blocks)


def parse_open_slides(name: str, data: bytes) -> ParsedDocument:
    """The blocks of an .odp file, each slide a place. Raises as ``parse_open_text``."""
    return _parsed(name, data, ".odp", _Reading.slide_blocks)


def parse_open_drawing(name: str, data: bytes) -> ParsedDocument:
    """The blocks of an .odg file, each page a place. Raises as ``parse_open_text``."""
    return _parsed(name, data, ".odg", _Reading.drawing_blocks)


def _parsed(
    name: str, data: bytes, kind: str, blocks: Callable[[_Reading], Iterator[Block]]
) -> ParsedDocument:
    try:
        reading = _Reading(name, Package(name, data))
        return ParsedDocument(tuple(blocks(reading)), reading.title(), reading.shortfalls())
    except BAD_PACKAGE as error:
        message = f"is not a readable {kind} file"
        raise UnreadableDocument(
            name, "bad_office", message, next_step="save it again, or as PDF"
        ) from error


class _Reading:
    """One document while it is read."""

    def __init__(self, name: str, package: Package) -> None:
        if b"encryption-data" in (package.content("META-INF/manifest.xml") or b""):
            step = "save it without a password"
            raise UnreadableDocument(name, "encrypted", "is behind a password", next_step=step)
        self.name, self.package = name, package
        content, self.common = package.tree("content.xml"), package.tree("styles.xml")
        if content is None:
            raise ValueError("no content.xml")
        self.content: Element = content
        trees = [content] if self.common is None else [self.common, content]
        self._styles = _Styles(trees)
        self._left_out = Counter[str]()
        self._controls = open_controls(content)
        self._notes = 0
        self._counters = dict[str, list[int]]()
        self._depth = 0
        self._footers = set[str]()

    def title(self) -> str:
        """The stated title."""
        tree = self.package.tree("meta.xml")
        return usable_title(tree.findtext(f".//{DUBLIN_CORE}title")) if tree is not None else ""

    def shortfalls(self) -> tuple[tuple[str, str], ...]:
        """What of the document is not in the text."""
        return left_out(
            (self._left_out["hidden"], "hidden passage", "hidden passages"),
            (self._left_out["row"], "hidden row", "hidden rows"),
            (self._left_out["slide"], "hidden slide", "hidden slides"),
            (self._left_out["embedded"], "embedded document", "embedded documents"),
            (self._left_out["picture"], "large picture", "large pictures"),
        )

    def text_blocks(self) -> Iterator[Block]:
        """Headers, the text, footers."""
        yield from self._margins("header")
        for body in self.content.iter(f"{OFFICE}text"):
            yield from self._blocks(body)
        yield from self._margins("footer")

    def slide_blocks(self) -> Iterator[Block]:
        """Slide by slide in the file's order, hidden ones left out."""
        yield from self._pages("slide")

    def drawing_blocks(self) -> Iterator[Block]:
        """Page by page."""
        yield from self._pages("page")

    def _pages(self, unit: str) -> Iterator[Block]:
        pages = list(self.content.iter(f"{DRAW}page"))
        check_pages(self.name, len(pages), unit=f"{unit}s")
        for number, page in enumerate(pages, start=1):
            if page.get(f"{DRAW}style-name") in self._styles.hidden_pages:
                self._left_out["slide"] += 1
                continue
            yield Place(f"{unit} {number}")
            yield from self._slide(page)

    def _margins(self, kind: str) -> Iterator[Block]:
        """Headers or footers of all page styles, each text once."""
        if self.common is None:
            return
        seen = set[str]()
        for margin in self.common.iter(*(f"{STYLE}{kind}{end}" for end in ("", "-left", "-first"))):
            if margin.get(f"{STYLE}display") == "false":
                continue
            has_number = next(margin.iter(*_PAGE_NUMBERS), None) is not None
            yield from margin_blocks(self._blocks(margin), seen, has_page_number=has_number)

    # Slides

    def _slide(self, page: Element) -> Iterator[Block]:
        shapes = [child for child in page if child.tag != f"{SHOW}notes"]
        titles = [shape for shape in shapes if shape.get(f"{SHOW}class") == "title"]
        for title in titles:
            text, rest = cell_text(self._blocks(title))
            if text:
                yield TextBlock("heading", " ".join(text.split()), 1)
            yield from rest
        others = [shape for shape in shapes if shape not in titles]
        yield from self._in_order(others)
        for kind in _FOOTERS:
            yield from self._declared(page, kind)
        for notes in page.iterchildren(f"{SHOW}notes"):
            for frame in notes:
                if frame.get(f"{SHOW}class") in (*_UNREAD_FRAMES, *_FOOTERS):
                    continue
                text, rest = cell_text(self._blocks([frame]))
                if text:
                    yield TextBlock("note", text)
                yield from rest

    def _in_order(self, shapes: list[Element]) -> Iterator[Block]:
        """Shapes with a place by that place, the others behind them."""
        read = [shape for shape in shapes if shape.get(f"{SHOW}class") not in _UNREAD_FRAMES]
        boxes = [_box(shape) for shape in read]
        placed = [at for at, box in enumerate(boxes) if box is not None]
        order = [placed[at] for at in reading_order([box for box in boxes if box is not None])]
        for at in [*order, *(at for at in range(len(read)) if boxes[at] is None)]:
            blocks = self._blocks([read[at]])
            if read[at].get(f"{SHOW}class") in _FOOTERS:
                is_automatic = next(read[at].iter(*_DAYS), None) is not None
                blocks = iter(()) if is_automatic else self._new_footers(blocks)
            yield from blocks

    def _declared(self, page: Element, kind: str) -> Iterator[Block]:
        """The footer or day that a slide takes from the presentation."""
        name = page.get(f"{SHOW}use-{kind}-name")
        style = page.get(f"{DRAW}style-name", "")
        if name is None or (style, kind) in self._styles.without_footer:
            return
        for declared in self.content.iter(f"{SHOW}{kind}-decl"):
            is_fixed = declared.get(f"{SHOW}source", "fixed") == "fixed"
            if declared.get(f"{SHOW}name") == name and is_fixed:
                blocks = [TextBlock("paragraph", "".join(declared.itertext()).strip())]
                yield from self._new_footers(blocks)

    def _new_footers(self, blocks: Iterable[Block]) -> Iterator[Block]:
        return margin_blocks(blocks, self._footers, has_page_number=False)

    # Blocks

    def _blocks(
        self, container: Element | list[Element], style: _ListStyle | None = None, level: int = -1
    ) -> Iterator[Block]:
        """``level``: how deep in lists the blocks stand, -1 outside; ``style``: of that list."""
        for child in container:
            tag = child.tag
            if tag in (f"{TEXT}p", f"{TEXT}h"):
                yield from self._paragraph(child, level, "")
            elif tag in (f"{TEXT}list", f"{TEXT}numbered-paragraph"):
                yield from self._list(child, style, level + 1)
            elif tag == f"{TABLE}table":
                yield from self._table(child)
            elif tag == f"{TEXT}section" and _is_hidden_section(child):
                self._left_out["hidden"] += 1
            elif handler := _HANDLERS.get(tag):
                line = _Line()
                handler(self, child, line)
                if text := line.text.strip():
                    yield TextBlock("paragraph", text)
                yield from line.after
            elif isinstance(tag, str) and tag not in _SKIPPED:
                yield from self._blocks(child, style, level)

    def _paragraph(self, element: Element, level: int, label: str) -> Iterator[Block]:
        style = element.get(f"{TEXT}style-name", "")
        fields = element.iter(f"{TEXT}hidden-paragraph")
        is_hidden = any(each.get(f"{TEXT}is-hidden") == "true" for each in fields)
        if is_hidden or style in self._styles.hidden:
            self._left_out["hidden"] += 1
            return
        line = _Line()
        self._inline(element, line)
        if self._styles.is_struck(style):
            mark_struck(line.pieces)
        text = line.text.strip(" \n")
        if element.tag == f"{TEXT}h":
            outline = _count(element, "outline-level", TEXT)
            if level < 0 and text and element.get(f"{TEXT}is-list-header") != "true":
                label = self._label(self._styles.outline, "", outline - 1)
            if text:
                yield TextBlock("heading", f"{label} {text}".strip(), outline)
        elif text and level >= 0:
            yield TextBlock("item", " ".join(f"{label} {text}".split()), level)
        elif text:
            yield TextBlock(self._styles.kind(style), text, 1)
        yield from line.after

    def _list(self, element: Element, style: _ListStyle | None, level: int) -> Iterator[Block]:
        level = min(level, _LEVELS - 1)
        name = element.get(f"{TEXT}style-name", "")
        style = self._styles.lists.get(name, style) or self._styles.list_within(element)
        continues = element.get(f"{TEXT}continue-numbering") == "true"
        if level == 0 and not continues and element.get(f"{TEXT}continue-list") is None:
            self._counters.pop(name, None)
        items = [element] if element.tag == f"{TEXT}numbered-paragraph" else element
        for item in items:
            is_numbered = item.tag in (f"{TEXT}list-item", f"{TEXT}numbered-paragraph")
            first = next((each for each in item if each.tag in (f"{TEXT}p", f"{TEXT}h")), None)
            start = item.get(f"{TEXT}start-value", "")
            for child in item:
                if child is first:
                    label = self._label(style, name, level, start) if is_numbered else ""
                    yield from self._paragraph(child, level, label)
                else:
                    yield from self._blocks([child], style, level)

    def _label(self, style: _ListStyle | None, name: str, level: int, start: str = "") -> str:
        """Count one item of a list, and return the number that it shows."""
        if style is None or level not in style:
            return ""
        shown = style[level]
        key = name if style is not self._styles.outline else "outline of headings"
        counters = self._counters.setdefault(key, [])
        while len(counters) <= level:
            above = style.get(len(counters), _Level())
            counters.append(above.start - (len(counters) == level))
        del counters[level + 1 :]
        counters[level] = (
            int(start) if start.isdecimal() and len(start) < 10 else counters[level] + 1
        )
        if shown.kind == "bullet":
            return ""
        numbers = list[str]()
        for at in range(max(0, level + 1 - shown.shown), level + 1):
            kind = style.get(at, _Level()).kind
            numbers += filter(None, [formatted_number(counters[at], kind)])
        return f"{shown.before}{'.'.join(numbers)}{shown.behind}".strip()

    # Within a line

    def _inline(self, element: Element, line: _Line) -> None:
        line.pieces.append(_SPACE.sub(" ", element.text or ""))
        for child in element:
            tag = child.tag
            if handler := _HANDLERS.get(tag):
                handler(self, child, line)
            elif isinstance(tag, str) and tag not in _SKIPPED:
                if tag.startswith(DRAW):
                    line.after += self._blocks([child])
                else:
                    self._inline(child, line)
            line.pieces.append(_SPACE.sub(" ", child.tail or ""))

    def _span(self, element: Element, line: _Line) -> None:
        style = element.get(f"{TEXT}style-name", "")
        if style in self._styles.hidden:
            self._left_out["hidden"] += 1
            return
        start = len(line.pieces)
        if style in self._styles.superscript:
            inside = _Line()
            self._inline(element, inside)
            line.pieces.append(raised(inside.text, "".join(line.pieces[-3:])))
            line.after += inside.after
        else:
            self._inline(element, line)
        if self._styles.is_struck(style):
            mark_struck(line.pieces, start)

    def _spaces(self, element: Element, line: _Line) -> None:
        count = element.get(f"{TEXT}c", "1")
        line.pieces.append(" " * (min(int(count), _MOST_SPACES) if count.isdecimal() else 1))

    def _tab(self, _element: Element, line: _Line) -> None:
        line.pieces.append("\t")

    def _line_break(self, _element: Element, line: _Line) -> None:
        line.pieces.append("\n")

    def _hidden_text(self, element: Element, line: _Line) -> None:
        if element.get(f"{TEXT}is-hidden") == "true":
            self._left_out["hidden"] += 1
        else:
            self._inline(element, line)

    def _note(self, element: Element, line: _Line) -> None:
        body = element.find(f"{TEXT}note-body")
        text, rest = cell_text(self._blocks(body)) if body is not None else ("", [])
        if text:
            self._notes += 1
            mark = f"[^{self._notes}]"
            line.pieces.append(mark)
            line.after.append(TextBlock("note", f"{mark}: {text}"))
        line.after += rest

    def _annotation(self, element: Element, line: _Line) -> None:
        author = (element.findtext(f"{DUBLIN_CORE}creator") or "").strip()
        words = [child for child in element if child.tag.startswith(TEXT)]
        text, rest = cell_text(self._blocks(words))
        if text:
            begin = f"Comment by {author}: " if author else "Comment: "
            line.after.append(TextBlock("note", begin + text))
        line.after += rest

    def _frame(self, element: Element, line: _Line) -> None:
        """A frame holds one thing in several forms, the best first; its texts are all read."""
        for child in element:
            if child.tag in (f"{DRAW}text-box", f"{TABLE}table"):
                line.after += self._blocks([child])
            elif child.tag in (f"{DRAW}object", f"{DRAW}object-ole"):
                self._object(child, line)
                return
            elif child.tag == f"{DRAW}image":
                words = (element.findtext(f"{SVG}{name}") for name in ("desc", "title"))
                caption = list(described(next(filter(None, words), "")))
                line.after += caption
                width, height = (
                    centimetres(element.get(f"{SVG}{side}")) for side in ("width", "height")
                )
                is_large = (width or 0) * (height or 0) >= LARGE
                self._left_out["picture"] += not caption and is_large
                return

    def _control(self, element: Element, line: _Line) -> None:
        control = self._controls.get(element.get(f"{DRAW}control", ""))
        if control is not None:
            line.pieces.append(open_value(control))

    def _form_field(self, element: Element, line: _Line) -> None:
        line.pieces.append(open_field(element))

    def _object(self, element: Element, line: _Line) -> None:
        """An embedded formula, chart, sheet or text."""
        inside = element.find(MATH)
        folder = resolved("", element.get(_HREF, ""))
        tree = inside if inside is not None else self._embedded(folder)
        if tree is None or self._depth >= _MOST_OBJECTS_DEEP:
            self._left_out["embedded"] += 1
        elif tree.tag == MATH or tree.tag == "math":
            line.pieces.append(linear_mathml(tree))
        else:
            self._depth += 1
            body = tree.find(f"{OFFICE}body")
            line.after += self._blocks(body) if body is not None else ()
            self._depth -= 1

    def _embedded(self, folder: str) -> Element | None:
        try:
            return self.package.tree(f"{folder}/content.xml") if folder else None
        except SyntaxError:
            return None

    def _chart_title(self, element: Element, line: _Line) -> None:
        text, _ = cell_text(self._blocks(element))
        if text:
            line.after.append(TextBlock("caption", f"Chart: {' '.join(text.split())}"))

    # Tables

    def _table(self, element: Element) -> Iterator[Block]:
        """A grid, and behind it what no cell can hold; one of a single column is but a frame."""
        lines = list(self._rows(element, is_heading=False))
        if all(len(cells) <= 1 for cells, _, _ in lines):
            for cells, _, _ in lines:
                for cell in cells:
                    yield from self._blocks(cell)
            return
        rest = list[Block]()
        rows = list[list[GridCell]]()
        for cells, is_heading, count in lines:
            line = list[GridCell]()
            for cell in cells:
                others = list[Block]()
                line += self._grid_cells(cell, is_heading, others)
                rest += with_row_name(line[0].text, others)
            is_blank = not any(cell.text for cell in line)
            rows += [line or [EMPTY]] * (1 if is_blank else count)
        if element.get(f"{TABLE}name") == "local-table" and not rows[0][0].text:  # of a chart
            rows[0] = [GridCell("Category", is_heading=True), *rows[0][1:]]
        yield laid_out(rows)
        yield from rest

    def _rows(
        self, element: Element, *, is_heading: bool
    ) -> Iterator[tuple[list[Element], bool, int]]:
        """Of each row its own cells, whether it is a heading, and how often it stands there."""
        for child in element:
            if child.tag == f"{TABLE}table-row":
                cells = [cell for cell in child if cell.tag == f"{TABLE}table-cell"]
                if child.get(f"{TABLE}visibility", "visible") == "visible":
                    repeated = min(_count(child, "number-rows-repeated"), _MOST_REPEATED)
                    yield cells, is_heading, repeated
                else:
                    self._left_out["row"] += any(map(str.strip, child.itertext()))
            elif child.tag in _ROW_GROUPS:
                inside = is_heading or child.tag == f"{TABLE}table-header-rows"
                yield from self._rows(child, is_heading=inside)

    def _grid_cells(self, cell: Element, is_heading: bool, rest: list[Block]) -> list[GridCell]:
        text, others = cell_text(self._blocks(cell))
        rest += others
        columns = _count(cell, "number-columns-spanned")
        rows = _count(cell, "number-rows-spanned")
        made = GridCell(text, _cell_value(cell), columns, rows, is_heading)
        return [made] * min(_count(cell, "number-columns-repeated"), _MOST_REPEATED)


_HANDLERS: dict[str, Callable[[_Reading, Element, _Line], None]] = {
    f"{TEXT}span": _Reading._span,
    f"{TEXT}s": _Reading._spaces,
    f"{TEXT}tab": _Reading._tab,
    f"{TEXT}line-break": _Reading._line_break,
    f"{TEXT}hidden-text": _Reading._hidden_text,
    f"{TEXT}note": _Reading._note,
    f"{OFFICE}annotation": _Reading._annotation,
    f"{DRAW}frame": _Reading._frame,
    f"{DRAW}control": _Reading._control,
    f"{FIELD}fieldmark": _Reading._form_field,
    f"{CHART}title": _Reading._chart_title,
}


class _Styles:
    """What styles say that matters for a text, of all parts of a document."""

    def __init__(self, trees: list[Element]) -> None:
        self.hidden, self.superscript, self.hidden_pages = set[str](), set[str](), set[str]()
        self.without_footer = set[tuple[str, str]]()  # style of a slide, and which of _FOOTERS
        self.lists = dict[str, _ListStyle]()
        self._strikes = dict[str, str]()
        self.outline: _ListStyle = {}
        self._parents, self._list_names = dict[str, str](), dict[str, str]()
        for tree in trees:
            for style in tree.iter(f"{STYLE}style"):
                self._add(style)
            for style in tree.iter(f"{TEXT}list-style"):
                self.lists[style.get(f"{STYLE}name", "")] = _levels(style)
            for style in tree.iter(f"{TEXT}outline-style"):
                self.outline = _levels(style)

    def _add(self, style: Element) -> None:
        name = style.get(f"{STYLE}name", "")
        self._parents[name] = style.get(f"{STYLE}parent-style-name", "")
        self._list_names[name] = style.get(f"{STYLE}list-style-name", "")
        for properties in style:
            if properties.get(f"{TEXT}display") == "none":
                self.hidden.add(name)
            if stroke := properties.get(f"{STYLE}text-line-through-style"):
                self._strikes[name] = stroke
            if properties.get(f"{STYLE}text-position", "").startswith("super"):
                self.superscript.add(name)
            for kind in _FOOTERS:
                if properties.get(f"{SHOW}display-{kind}") == "false":
                    self.without_footer.add((name, kind))
            if properties.get(f"{SHOW}visibility") == "hidden":
                self.hidden_pages.add(name)

    def is_struck(self, name: str) -> bool:
        """Whether a style, or the nearest above it that says so, strikes its text through."""
        for _ in range(_MOST_STYLES_ABOVE):
            if name in self._strikes or not name:
                break
            name = self._parents.get(name, "")
        return self._strikes.get(name, "none") != "none"

    def kind(self, name: str) -> TextKind:
        """Kind of a paragraph of a style."""
        names = {name, self._parents.get(name, "")}
        if "Title" in names:
            return "heading"
        return "caption" if names & {"Caption", "Illustration", "Figure"} else "paragraph"

    def list_within(self, element: Element) -> _ListStyle | None:
        """The style of a list that names none: that of its first paragraph's style."""
        paragraph = element.find(f"{TEXT}list-item/{TEXT}p")
        name = "" if paragraph is None else paragraph.get(f"{TEXT}style-name", "")
        own = self._list_names.get(name) or self._list_names.get(self._parents.get(name, ""))
        return self.lists.get(own or "")


def _levels(style: Element) -> _ListStyle:
    levels = _ListStyle()
    for element in style:
        at = element.get(f"{TEXT}level", "")
        if not at.isdecimal() or not 0 < int(at) <= _LEVELS:
            continue
        is_number = element.tag in (f"{TEXT}list-level-style-number", f"{TEXT}outline-level-style")
        kind = _KINDS.get(element.get(f"{STYLE}num-format", ""), "none")
        levels[int(at) - 1] = _Level(
            kind if is_number and kind != "none" else "bullet",
            element.get(f"{STYLE}num-prefix", ""),
            element.get(f"{STYLE}num-suffix", ""),
            _count(element, "start-value", TEXT),
            _count(element, "display-levels", TEXT),
        )
    return levels


_ROW_GROUPS = frozenset(
    f"{TABLE}{name}" for name in ("table-header-rows", "table-rows", "table-row-group")
)


def _is_hidden_section(section: Element) -> bool:
    display = section.get(f"{TEXT}display", "true")
    is_met = section.get(f"{TEXT}is-hidden") == "true"
    return bool(display == "none" or (display == "condition" and is_met))


def _count(element: Element, name: str, namespace: str = TABLE) -> int:
    text = element.get(f"{namespace}{name}", "1")
    return max(int(text), 1) if text.isdecimal() and len(text) < 10 else 1


def _cell_value(cell: Element) -> float | None:
    try:
        return float(cell.get(f"{OFFICE}value", ""))
    except ValueError:
        return None


def _box(shape: Element) -> Box | None:
    """Where a shape lies; a group lies where its parts do."""
    if shape.tag == f"{DRAW}g":
        boxes = [box for each in shape if (box := _box(each))]
        if not boxes:
            return None
        lefts, tops = [box.left for box in boxes], [box.top for box in boxes]
        rights, bottoms = [box.right for box in boxes], [box.bottom for box in boxes]
        return Box(min(lefts), min(tops), max(rights), max(bottoms))
    left, top = centimetres(shape.get(f"{SVG}x")), centimetres(shape.get(f"{SVG}y"))
    width, height = centimetres(shape.get(f"{SVG}width")), centimetres(shape.get(f"{SVG}height"))
    if left is None or top is None:
        return None
    return Box(left, top, left + (width or 0), top + (height or 0))


OPEN_DRAWING = Parser(
    "odg",
    1,
    parse_open_drawing,
    mimetype=b"graphics",
    media_types={
        ".odg": "application/vnd.oasis.opendocument.graphics",
        ".otg": "application/vnd.oasis.opendocument.graphics-template",
    },
)
OPEN_SLIDES = Parser(
    "odp",
    4,
    parse_open_slides,
    mimetype=b"presentation",
    media_types={
        ".odp": "application/vnd.oasis.opendocument.presentation",
        ".otp": "application/vnd.oasis.opendocument.presentation-template",
    },
)
OPEN_TEXT = Parser(
    "odt",
    4,
    parse_open_text,
    mimetype=b"opendocument",
    media_types={
        ".odt": "application/vnd.oasis.opendocument.text",
        ".ott": "application/vnd.oasis.opendocument.text-template",
    },
)
