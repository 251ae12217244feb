"""Presentations of PowerPoint (.pptx), slide by slide (ECMA-376, part 1, §19 and §21)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache

from edge_node.documents.blocks import Block, ParsedDocument, Place, TextBlock
from edge_node.documents.grid_cells import GridCell
from edge_node.documents.grids import Grid, laid_out
from edge_node.documents.parsers import Parser
from edge_node.documents.text import check_pages
from edge_node.plugins.parsers.drawings import (
    CHART,
    CHARTEX,
    COMPATIBILITY,
    DIAGRAM,
    DRAWING,
    EMU,
    LARGE,
    chart_blocks,
    chosen_alternative,
    described,
    diagram_blocks,
    drawing_text,
)
from edge_node.plugins.parsers.equations import OMML, linear_omml
from edge_node.plugins.parsers.numbering import formatted_number
from edge_node.plugins.parsers.package import (
    BAD_PACKAGE,
    RELATIONSHIPS,
    Element,
    Package,
    Relation,
    left_out,
)
from edge_node.plugins.parsers.reading_order import Box, reading_order
from edge_node.plugins.parsers.struck import mark_struck
from edge_node.plugins.parsers.superscripts import raised
from edge_node.plugins.parsers.symbols import unicode_symbols
from shared.errors import UnreadableDocument

_SLIDES = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_THREADED = "{http://schemas.microsoft.com/office/powerpoint/2018/8/main}"
_TITLES = frozenset({"title", "ctrTitle"})
_TEXTS = frozenset({"body", "obj", ""})  # placeholders whose paragraphs are points
_UNREAD = frozenset({"sldNum", "hdr", "sldImg"})
_FOOTERS = frozenset({"ftr", "dt"})
_SHAPES = frozenset(f"{_SLIDES}{name}" for name in ("sp", "pic", "graphicFrame", "cxnSp"))
_NUMBERS = {  # of a:buAutoNum: how a number is shown
    "arabic": "decimal",
    "alphaLc": "lowerLetter",
    "alphaUc": "upperLetter",
    "romanLc": "lowerRoman",
    "romanUc": "upperRoman",
}
_MOST_SPAN = 1_000
_DEEPEST_GROUP = 30

_Scale = tuple[float, float, float, float]  # of a group: x and y are multiplied, then moved
_WHOLE: _Scale = (1.0, 0.0, 1.0, 0.0)


@dataclass(frozen=True, slots=True)
class _Shape:
    """A shape and its place on the slide; ``kind``: of its placeholder, or None."""

    element: Element
    kind: str | None
    box: Box | None


def parse_slides(name: str, data: bytes) -> ParsedDocument:
    """A presentation's blocks, each slide a place.

    Raises UnreadableDocument: ``bad_office``, ``too_large``.
    """
    try:
        reading = _Reading(name, Package(name, data))
        blocks = tuple(reading.blocks())
        return ParsedDocument(blocks, reading.package.stated_title(), reading.shortfalls())
    except BAD_PACKAGE as error:
        message, step = "is not a readable presentation", "save it as .pptx or PDF again"
        raise UnreadableDocument(name, "bad_office", message, next_step=step) from error


class _Reading:
    """One presentation while it is read."""

    def __init__(self, name: str, package: Package) -> None:
        self.name, self.package = name, package
        self._left_out = Counter[str]()
        self._relations = cache(package.relations)
        self._layouts = cache(self._boxes_of_layout)
        self._footers = set[str]()

    def shortfalls(self) -> tuple[tuple[str, str], ...]:
        """What of the presentation is not in the text."""
        return left_out(
            (self._left_out["slide"], "hidden slide", "hidden slides"),
            (self._left_out["shape"], "hidden shape", "hidden shapes"),
            (self._left_out["embedded"], "embedded document", "embedded documents"),
            (self._left_out["picture"], "large picture", "large pictures"),
        )

    def blocks(self) -> Iterator[Block]:
        """All slides in the order in which they are shown; hidden ones count, too."""
        main = self.package.related("", "officeDocument") or "ppt/presentation.xml"
        tree = self.package.tree(main)
        if tree is None:
            raise ValueError("no presentation")
        listed = list(tree.iterfind(f"{_SLIDES}sldIdLst/{_SLIDES}sldId"))
        check_pages(self.name, len(listed), unit="slides")
        relations = self._relations(main)
        authors = self._authors(relations.values())
        for number, entry in enumerate(listed, start=1):
            relation = relations.get(entry.get(f"{RELATIONSHIPS}id", ""))
            slide = self.package.tree(relation.target) if relation else None
            if relation is None or slide is None:
                continue
            if slide.get("show") in ("0", "false"):
                self._left_out["slide"] += 1
                continue
            yield Place(f"slide {number}")
            yield from _Slide(self, relation.target, slide).blocks()
            yield from self._notes(relation.target)
            yield from self._comments(relation.target, authors)

    # What stands beside a slide

    def _notes(self, part: str) -> Iterator[Block]:
        tree = self.package.tree(self._related(part, "notesSlide"))
        if tree is None:
            return
        for shape in tree.iter(f"{_SLIDES}sp"):
            kind = _placeholder(shape)
            text = _text(shape).strip()
            if kind in ("body", None) and text:
                yield TextBlock("note", text)

    def _comments(self, part: str, authors: dict[str, str]) -> Iterator[Block]:
        for relation in self._relations(part).values():
            if relation.kind != "comments" or relation.is_external:
                continue
            tree = self.package.tree(relation.target)
            for comment in () if tree is None else tree.iter(*_COMMENTS):
                author = authors.get(comment.get("authorId", ""), "")
                text = (comment.findtext(f"{_SLIDES}text") or "").strip()
                body = comment.find(f"{_THREADED}txBody")
                text = text or ("" if body is None else drawing_text(body))
                if text:
                    begin = f"Comment by {author}: " if author else "Comment: "
                    yield TextBlock("note", begin + text)

    def _authors(self, relations: Iterable[Relation]) -> dict[str, str]:
        authors = dict[str, str]()
        for relation in relations:
            if relation.kind in ("commentAuthors", "authors"):
                tree = self.package.tree(relation.target)
                for author in () if tree is None else tree:
                    authors[author.get("id", "")] = author.get("name", "").strip()
        return authors

    def _related(self, part: str, kind: str) -> str:
        targets = (each.target for each in self._relations(part).values() if each.kind == kind)
        return next(targets, "")

    # What a slide inherits from its layout

    def inherited_box(self, part: str, element: Element) -> Box | None:
        """Where a placeholder lies that says nothing of its place itself."""
        layout = self._related(part, "slideLayout")
        for source in (layout, self._related(layout, "slideMaster") if layout else ""):
            boxes = self._layouts(source) if source else {}
            mark = element.find(f".//{_SLIDES}ph")
            keys = (
                []
                if mark is None
                else [("idx", mark.get("idx")), ("type", mark.get("type", "body"))]
            )
            for key in keys:
                if key in boxes:
                    return boxes[key]
        return None

    def _boxes_of_layout(self, part: str) -> dict[tuple[str, str | None], Box]:
        boxes = dict[tuple[str, str | None], Box]()
        tree = self.package.tree(part)
        for shape in () if tree is None else tree.iter(f"{_SLIDES}sp"):
            mark, box = shape.find(f".//{_SLIDES}ph"), _own_box(shape, _WHOLE)
            if mark is None or box is None:
                continue
            if mark.get("idx"):
                boxes.setdefault(("idx", mark.get("idx")), box)
            boxes.setdefault(("type", mark.get("type", "body")), box)
        return boxes

    # What a frame refers to

    def target(self, part: str, identifier: str | None) -> str:
        """The part that an identifier of a slide's part names, or ``""``."""
        relation = self._relations(part).get(identifier or "")
        return "" if relation is None or relation.is_external else relation.target

    def leave_out(self, kind: str) -> None:
        """Count something that is not in the text."""
        self._left_out[kind] += 1

    def is_new_footer(self, text: str) -> bool:
        """Whether no slide before had this footer."""
        is_new = text not in self._footers
        self._footers.add(text)
        return is_new


_COMMENTS = (f"{_SLIDES}cm", f"{_THREADED}cm", f"{_THREADED}reply")


@dataclass(slots=True)
class _Slide:
    """One slide: its title, then its shapes as one reads them."""

    reading: _Reading
    part: str
    tree: Element
    shapes: list[_Shape] = field(default_factory=list)

    def blocks(self) -> Iterator[Block]:
        shapes = self.tree.find(f"{_SLIDES}cSld/{_SLIDES}spTree")
        if shapes is not None:
            self._collect(shapes, _WHOLE, 0)
        titles = [shape for shape in self.shapes if shape.kind in _TITLES]
        others = [shape for shape in self.shapes if shape.kind not in _TITLES | _UNREAD]
        for shape in titles:
            text = " ".join(_text(shape.element).split())
            if text:
                yield TextBlock("heading", text, 1)
        placed = [(shape, shape.box) for shape in others if shape.box is not None]
        for at in reading_order([box for _, box in placed]):
            yield from self._shape(placed[at][0])
        for shape in others:
            if shape.box is None:
                yield from self._shape(shape)

    def _collect(self, container: Element, scale: _Scale, depth: int) -> None:
        for child in container:
            if _is_hidden(child):
                if _has_content(child):
                    self.reading.leave_out("shape")
            elif child.tag in _SHAPES:
                box = _own_box(child, scale)
                kind = _placeholder(child)
                if box is None and kind is not None:
                    box = self.reading.inherited_box(self.part, child)
                self.shapes.append(_Shape(child, kind, box))
            elif child.tag == f"{_SLIDES}grpSp" and depth < _DEEPEST_GROUP:
                self._collect(child, _scale_of_group(child, scale), depth + 1)
            elif child.tag == f"{COMPATIBILITY}AlternateContent":
                chosen = chosen_alternative(child)
                if chosen is not None:
                    self._collect(chosen, scale, depth)

    def _shape(self, shape: _Shape) -> Iterator[Block]:
        element = shape.element
        if element.tag == f"{_SLIDES}graphicFrame":
            yield from self._frame(element)
            return
        text = element.find(f"{_SLIDES}txBody")
        if text is not None:
            if shape.kind in _FOOTERS and not self._is_footer_to_read(text):
                return
            yield from _paragraphs(text, are_points=shape.kind in _TEXTS)
        if element.tag == f"{_SLIDES}pic":
            about = element.find(f"./*/{_SLIDES}cNvPr")
            caption = list(described("" if about is None else about.get("descr")))
            yield from caption
            if not caption and shape.box and _area(shape.box) >= LARGE * EMU**2:
                self.reading.leave_out("picture")

    def _is_footer_to_read(self, text: Element) -> bool:
        """Whether no slide before had it; a day that PowerPoint puts in is none of the text."""
        fields = [each.get("type", "") for each in text.iter(f"{DRAWING}fld")]
        is_automatic = any(kind.startswith("datetime") for kind in fields)
        return not is_automatic and self.reading.is_new_footer(drawing_text(text))

    def _frame(self, element: Element) -> Iterator[Block]:
        for child in element.iter():
            target = ""
            if child.tag == f"{DRAWING}tbl":
                yield _grid(child)
            elif child.tag in (f"{CHART}chart", f"{CHARTEX}chart"):
                target = self.reading.target(self.part, child.get(f"{RELATIONSHIPS}id"))
                yield from chart_blocks(self.reading.package, target)
            elif child.tag == f"{DIAGRAM}relIds":
                target = self.reading.target(self.part, child.get(f"{RELATIONSHIPS}dm"))
                yield from diagram_blocks(self.reading.package, target)
            elif child.tag == f"{_SLIDES}oleObj":
                self.reading.leave_out("embedded")
                return


def _text(element: Element) -> str:
    return "\n".join(filter(str.strip, map(_line, element.iter(f"{DRAWING}p"))))


def _paragraphs(text: Element, *, are_points: bool) -> Iterator[TextBlock]:
    """The paragraphs of a shape; those of a list with their numbers."""
    paragraphs = [(each, _line(each)) for each in text.iterchildren(f"{DRAWING}p")]
    paragraphs = [(each, line) for each, line in paragraphs if line.strip()]
    numbers = dict[int, int]()
    for paragraph, line in paragraphs:
        properties = paragraph.find(f"{DRAWING}pPr")
        stated = "" if properties is None else properties.get("lvl", "0")
        level = int(stated) if stated.isdecimal() and len(stated) < 3 else 0
        label = _number(properties, level, numbers)
        has_bullet = properties is not None and properties.find(f"{DRAWING}buChar") is not None
        has_none = properties is not None and properties.find(f"{DRAWING}buNone") is not None
        is_point = are_points and len(paragraphs) > 1 and not has_none
        if label or has_bullet or is_point:
            yield TextBlock("item", " ".join(f"{label} {line}".split()), level)
        else:
            yield TextBlock("paragraph", line.strip())


def _number(properties: Element | None, level: int, numbers: dict[int, int]) -> str:
    """The number that a paragraph shows, or ``""``.

    ``numbers``: by level, how far its list has counted.
    """
    for deeper in [each for each in numbers if each > level]:
        del numbers[deeper]
    bullet = None if properties is None else properties.find(f"{DRAWING}buAutoNum")
    if bullet is None:
        numbers.pop(level, None)
        return ""
    start = bullet.get("startAt", "1")
    first = int(start) if start.isdecimal() and len(start) < 6 else 1
    numbers[level] = numbers.get(level, first - 1) + 1
    kind = bullet.get("type", "arabicPeriod")
    shown = next((each for name, each in _NUMBERS.items() if kind.startswith(name)), "decimal")
    number = formatted_number(numbers[level], shown)
    if kind.endswith("ParenBoth"):
        return f"({number})"
    return f"{number})" if kind.endswith("ParenR") else f"{number}."


def _line(paragraph: Element) -> str:
    """A paragraph's text with its breaks and equations, without the slide's number."""
    line = list[str]()
    for child in paragraph:
        if child.tag == f"{DRAWING}r":
            text = child.findtext(f"{DRAWING}t") or ""
            properties = child.find(f"{DRAWING}rPr")
            font = child.find(f"{DRAWING}rPr/{DRAWING}sym")
            if font is not None:
                text = unicode_symbols(text, font.get("typeface", ""))
            baseline = "" if properties is None else properties.get("baseline", "")
            is_raised = baseline.rstrip("%").isdecimal() and baseline not in ("0", "0%")
            line.append(raised(text, "".join(line[-3:])) if is_raised else text)
            if properties is not None and properties.get("strike", "noStrike") != "noStrike":
                mark_struck(line, len(line) - 1)
        elif child.tag == f"{DRAWING}br":
            line.append("\n")
        elif child.tag == f"{DRAWING}fld":
            is_number = child.get("type") == "slidenum"
            line.append("" if is_number else child.findtext(f"{DRAWING}t") or "")
        elif isinstance(child.tag, str):
            chosen = chosen_alternative(child) if child.tag.startswith(COMPATIBILITY) else child
            equations = () if chosen is None else chosen.iter(f"{OMML}oMath")
            line.append("; ".join(linear_omml(each) for each in equations))
    return "".join(line).replace("\v", "\n")


def _grid(table: Element) -> Grid:
    properties = table.find(f"{DRAWING}tblPr")
    has_heading = properties is not None and properties.get("firstRow") in ("1", "true")
    rows = list[list[GridCell]]()
    for number, line in enumerate(table.iterchildren(f"{DRAWING}tr")):
        cells = list[GridCell]()
        for cell in line.iterchildren(f"{DRAWING}tc"):
            if cell.get("hMerge") in ("1", "true") or cell.get("vMerge") in ("1", "true"):
                continue
            text = _text(cell)
            columns, height = _span(cell, "gridSpan"), _span(cell, "rowSpan")
            cells.append(GridCell(text, None, columns, height, has_heading and number == 0))
        rows.append(cells)
    return laid_out(rows)


def _span(cell: Element, name: str) -> int:
    text = cell.get(name, "1")
    return min(max(int(text), 1), _MOST_SPAN) if text.isdecimal() and len(text) < 10 else 1


def _placeholder(shape: Element) -> str | None:
    """The kind of a placeholder, "" where it does not say; None of another shape."""
    for child in shape:
        if child.tag.endswith(("nvSpPr", "nvPicPr", "nvGraphicFramePr")):
            mark = child.find(f"{_SLIDES}nvPr/{_SLIDES}ph")
            return None if mark is None else mark.get("type", "")
    return None


def _is_hidden(shape: Element) -> bool:
    about = shape.find(f"./*/{_SLIDES}cNvPr")
    return about is not None and about.get("hidden") in ("1", "true")


def _has_content(shape: Element) -> bool:
    """Whether there is more in a shape than its form."""
    if shape.tag in (f"{_SLIDES}pic", f"{_SLIDES}graphicFrame"):
        return True
    return bool(drawing_text(shape)) or any(map(_has_content, shape.iterchildren(*_SHAPES)))


def _own_box(shape: Element, scale: _Scale) -> Box | None:
    frame = shape.find(f"{_SLIDES}xfrm")
    frame = frame if frame is not None else shape.find(f"{_SLIDES}spPr/{DRAWING}xfrm")
    numbers = None if frame is None else _numbers(frame, "off", "ext")
    if numbers is None:
        return None
    left, top, width, height = numbers
    by_x, to_x, by_y, to_y = scale
    return Box(
        left * by_x + to_x,
        top * by_y + to_y,
        (left + width) * by_x + to_x,
        (top + height) * by_y + to_y,
    )


def _numbers(frame: Element, offset: str, extent: str) -> tuple[int, int, int, int] | None:
    start, size = frame.find(f"{DRAWING}{offset}"), frame.find(f"{DRAWING}{extent}")
    if start is None or size is None:
        return None
    try:
        left, top = int(start.get("x", "")), int(start.get("y", ""))
        return left, top, int(size.get("cx", "")), int(size.get("cy", ""))
    except ValueError:
        return None


def _scale_of_group(group: Element, outer: _Scale) -> _Scale:
    """How the coordinates within a group become those of the slide."""
    frame = group.find(f"{_SLIDES}grpSpPr/{DRAWING}xfrm")
    shown = None if frame is None else _numbers(frame, "off", "ext")
    inside = None if frame is None else _numbers(frame, "chOff", "chExt")
    if shown is None or inside is None or not inside[2] or not inside[3]:
        return outer
    by_x, by_y = shown[2] / inside[2], shown[3] / inside[3]
    to_x, to_y = shown[0] - inside[0] * by_x, shown[1] - inside[1] * by_y
    outer_x, move_x, outer_y, move_y = outer
    return by_x * outer_x, to_x * outer_x + move_x, by_y * outer_y, to_y * outer_y + move_y


def _area(box: Box) -> float:
    return (box.right - box.left) * (box.bottom - box.top)


SLIDES = Parser(
    "pptx",
    4,
    parse_slides,
    members=("ppt/presentation.xml",),
    media_types={
        ".potm": "application/vnd.ms-powerpoint.template.macroenabled.12",
        ".potx": "application/vnd.openxmlformats-officedocument.presentationml.template",
        ".ppsm": "application/vnd.ms-powerpoint.slideshow.macroenabled.12",
        ".ppsx": "application/vnd.openxmlformats-officedocument.presentationml.slideshow",
        ".pptm": "application/vnd.ms-powerpoint.presentation.macroenabled.12",
        ".pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    },
)
