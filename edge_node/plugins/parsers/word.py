"""Word documents (.docx, .docm): what Word shows with all changes accepted.

ECMA-376, part 1, §17. Text is read in whatever it lies; what is skipped is listed in ``_SKIPPED``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, partial

from edge_node.documents.blocks import Block, ParsedDocument, TextBlock
from edge_node.documents.grid_cells import GridCell
from edge_node.documents.grids import EMPTY, Grid, laid_out
from edge_node.documents.parsers import Parser
from edge_node.plugins.parsers.cells import Merge, cell_heights, cell_text, with_row_name
from edge_node.plugins.parsers.drawings import (
    CHART,
    CHARTEX,
    COMPATIBILITY,
    DIAGRAM,
    LARGE,
    centimetres,
    chart_blocks,
    chosen_alternative,
    described,
    diagram_blocks,
    is_large,
)
from edge_node.plugins.parsers.equations import OMML, linear_omml
from edge_node.plugins.parsers.form_fields import choice, tick
from edge_node.plugins.parsers.numbering import VAL, Numbering, W, lists_of_word
from edge_node.plugins.parsers.package import (
    BAD_PACKAGE,
    RELATIONSHIPS,
    Element,
    Package,
    Relation,
    is_true,
    left_out,
)
from edge_node.plugins.parsers.page_margins import counts_pages, margin_blocks
from edge_node.plugins.parsers.struck import mark_struck
from edge_node.plugins.parsers.superscripts import raised
from edge_node.plugins.parsers.symbols import is_symbol_font, unicode_symbols
from shared.errors import UnreadableDocument

_VML = "{urn:schemas-microsoft-com:vml}"
_VML_SIZE = re.compile(r"(?:^|;)\s*(width|height)\s*:\s*([^;\s]+)")
_OFFICE = "{urn:schemas-microsoft-com:office:office}"
_PICTURE = "{http://schemas.openxmlformats.org/drawingml/2006/picture}pic"
_PLACED = "{http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing}"
_MOST_STYLES_ABOVE = 20  # each is based on the next
_MOST_SPAN = 1_000
_MOST_LAYOUTS = 3  # of the rows of a table; one that has more is a form, without names of columns
_MOST_HEADING_CHARS = 300  # a paragraph that is longer is none, whatever its style
_SKIPPED = frozenset(
    f"{W}{name}"
    for name in (
        *(
            "del",
            "moveFrom",
            "delText",
            "instrText",
            "delInstrText",
            "pPr",
            "rPr",
            "sdtPr",
            "sdtEndPr",
        ),
        *(
            "tblPr",
            "tblGrid",
            "trPr",
            "tcPr",
            "sectPr",
            "rt",
            "customXmlPr",
            "smartTagPr",
            "softHyphen",
        ),
    )
)
_SIGNS = {
    f"{W}tab": "\t",
    f"{W}ptab": "\t",
    f"{W}br": "\n",
    f"{W}cr": "\n",
    f"{W}noBreakHyphen": "-",  # as one writes it in a search
}
_STRIKES = (f"{W}strike", f"{W}dstrike")
_DELETED = (f"{W}del", f"{W}cellDel")
_NOTES = {f"{W}footnoteReference": "footnotes", f"{W}endnoteReference": "endnotes"}


@dataclass(frozen=True, slots=True)
class _Style:
    """What a paragraph or run gets from its style and the styles that it is based on."""

    name: str = ""
    outline: str = ""
    number: str = ""
    level: str = ""
    is_hidden: bool = False
    is_struck: bool = False


@dataclass(slots=True)
class _Flow:
    """One flow of text: the body, a cell, a text box.

    ``part``: where it lies. ``fields``: of each complex field that is open, whether its code is
    being read. ``carried``: text whose paragraph goes on in the next.
    """

    part: str
    fields: list[bool] = field(default_factory=list)
    carried: str = ""

    def rest(self) -> Iterator[Block]:
        """What was carried where no paragraph goes on with it: before a table, at the end."""
        text, self.carried = self.carried, ""
        if text.strip():
            yield TextBlock("paragraph", text)


@dataclass(slots=True)
class _Line:
    """A paragraph's text, and what belongs behind it: text boxes, notes, comments, charts."""

    pieces: list[str] = field(default_factory=list)
    after: list[Block] = field(default_factory=list)
    is_struck: bool = False  # by the paragraph's style


def parse_word(name: str, data: bytes) -> ParsedDocument:
    """A Word document's blocks. Raises UnreadableDocument: ``bad_docx``, ``too_large``."""
    try:
        package = Package(name, data)
        reading = _Reading(package)
        return ParsedDocument(tuple(reading.blocks()), package.stated_title(), reading.shortfalls())
    except BAD_PACKAGE as error:
        step = "open it and save it as .docx or PDF again"
        raise UnreadableDocument(
            name, "bad_docx", "is not a readable Word document", next_step=step
        ) from error


class _Reading:
    """One document while it is read."""

    def __init__(self, package: Package) -> None:
        self.package = package
        self.main = package.related("", "officeDocument") or "word/document.xml"
        self.left_out = Counter[str]()
        self._relations = cache(package.relations)
        styles = _styles(package.tree(package.related(self.main, "styles")))
        self._style = cache(partial(_resolved, styles))
        numbering = package.tree(package.related(self.main, "numbering"))
        lists = lists_of_word(numbering, lambda style: self._style(style).number)
        self._numbering = Numbering(lists)
        self._notes = {kind: self._notes_of(kind) for kind in ("footnotes", "endnotes", "comments")}
        self._marks = Counter[str]()

    def shortfalls(self) -> tuple[tuple[str, str], ...]:
        """What of the document is not in the text."""
        return left_out(
            (self.left_out["hidden"], "hidden passage", "hidden passages"),
            (self.left_out["embedded"], "embedded document", "embedded documents"),
            (self.left_out["control"], "form control", "form controls"),
            (self.left_out["picture"], "large picture", "large pictures"),
        )

    def blocks(self) -> Iterator[Block]:
        """The whole document: headers, text, footers."""
        tree = self.package.tree(self.main)
        body = tree.find(f"{W}body") if tree is not None else None
        if body is None:
            raise ValueError("no body")
        yield from self._margins(body, "headerReference")
        yield from self._story(body, self.main)
        yield from self._margins(body, "footerReference")

    def _margins(self, body: Element, kind: str) -> Iterator[Block]:
        """Headers or footers, each text once."""
        seen = set[str]()
        for reference in body.iter(f"{W}{kind}"):
            relation = self._relation(self.main, reference.get(f"{RELATIONSHIPS}id", ""))
            tree = self.package.tree(relation.target) if relation else None
            if relation is None or tree is None or relation.target in seen:
                continue
            seen.add(relation.target)
            blocks = self._story(tree, relation.target)
            codes = [each.text or "" for each in tree.iter(f"{W}instrText")]
            codes += [each.get(f"{W}instr", "") for each in tree.iter(f"{W}fldSimple")]
            has_number = any(map(counts_pages, codes))
            yield from margin_blocks(blocks, seen, has_page_number=has_number)

    def _story(self, container: Element, part: str) -> Iterator[Block]:
        """The blocks of a whole flow of text."""
        flow = _Flow(part)
        yield from self._blocks(container, flow)
        yield from flow.rest()

    def _blocks(self, container: Element, flow: _Flow) -> Iterator[Block]:
        for child in container:
            tag = child.tag
            if tag == f"{W}p":
                yield from self._paragraph(child, flow)
            elif tag == f"{W}tbl":
                yield from flow.rest()
                yield from self._table(child, flow)
            elif tag == f"{COMPATIBILITY}AlternateContent":
                chosen = chosen_alternative(child)
                yield from self._blocks(chosen, flow) if chosen is not None else ()
            elif tag == f"{W}altChunk":
                self.left_out["embedded"] += 1
            elif tag in (f"{OMML}oMathPara", f"{OMML}oMath"):
                yield TextBlock("paragraph", linear_omml(child))
            elif isinstance(tag, str) and tag not in _SKIPPED:
                yield from self._blocks(child, flow)

    # Paragraphs

    def _paragraph(self, element: Element, flow: _Flow) -> Iterator[Block]:
        properties = element.find(f"{W}pPr")
        line = _Line([flow.carried])
        flow.carried = ""
        style_id = _property(properties, "pStyle")
        style = self._style(style_id)
        if style.is_hidden:
            self.left_out["hidden"] += 1
            return
        line.is_struck = style.is_struck
        self._inline(element, flow, line)
        text = "".join(line.pieces).strip("\n")
        mark = properties.find(f"{W}rPr") if properties is not None else None
        is_joined = mark is not None and any(
            mark.find(f"{W}{name}") is not None for name in ("del", "moveFrom")
        )
        if is_joined:  # the end of the paragraph is deleted: the next one goes on with it
            flow.carried = text
        else:
            block = self._block(text, properties, style_id, style)
            yield from [block] if block.text.strip() else []
        yield from line.after

    def _block(
        self, text: str, properties: Element | None, style_id: str, style: _Style
    ) -> TextBlock:
        number, level = self._list_of(properties, style_id, style)
        label = self._numbering.next_label(number, level) if number else None
        outline = _property(properties, "outlineLvl") or style.outline
        shown = f"{label} {text}" if label and text.strip() else text
        is_short = len(text) <= _MOST_HEADING_CHARS
        if style.name == "title" and is_short:
            return TextBlock("heading", shown, 1)
        if outline.isdecimal() and int(outline) < 9 and is_short:
            return TextBlock("heading", shown, int(outline) + 1)
        if label is not None:
            return TextBlock("item", shown, level)
        return TextBlock("caption" if style.name == "caption" else "paragraph", shown)

    def _list_of(self, properties: Element | None, style_id: str, style: _Style) -> tuple[str, int]:
        """Identifier of the list that a paragraph stands in, or "", and how deep."""
        direct = properties.find(f"{W}numPr") if properties is not None else None
        number, level = _property(direct, "numId"), _property(direct, "ilvl")
        if not number and style.number:
            number = style.number
            level = level or style.level
            level = level or str(self._numbering.level_of_style(number, style_id))
        return ("" if number == "0" else number), int(level) if level.isdecimal() else 0

    # Within a line

    def _inline(self, element: Element, flow: _Flow, line: _Line) -> None:
        for child in element:
            tag = child.tag
            if tag == f"{W}r":
                self._run(child, flow, line)
            elif handler := _HANDLERS.get(tag):
                handler(self, child, flow, line)
            elif isinstance(tag, str) and tag not in _SKIPPED:
                self._inline(child, flow, line)

    def _run(self, element: Element, flow: _Flow, line: _Line) -> None:
        properties = element.find(f"{W}rPr")
        if properties is None:
            start = len(line.pieces)
            self._inline(element, flow, line)
            if line.is_struck:
                mark_struck(line.pieces, start)
            return
        vanish = properties.find(f"{W}vanish")
        style = self._style(_property(properties, "rStyle"))
        if is_true(vanish, VAL) or (vanish is None and style.is_hidden):
            hidden = _Line()
            self._inline(element, flow, hidden)
            self.left_out["hidden"] += any(map(str.strip, hidden.pieces))
            return
        start = len(line.pieces)
        self._inline(element, flow, line)
        if _property(properties, "vertAlign") == "superscript":
            before = "".join(line.pieces[max(0, start - 3) : start])
            line.pieces[start:] = [raised("".join(line.pieces[start:]), before)]
        fonts = properties.find(f"{W}rFonts")
        if fonts is not None:
            names = [fonts.get(f"{W}{script}", "") for script in ("ascii", "hAnsi", "cs")]
            font = next(filter(is_symbol_font, names), "")
            line.pieces[start:] = [unicode_symbols(piece, font) for piece in line.pieces[start:]]
        marks = [each for name in _STRIKES if (each := properties.find(name)) is not None]
        is_struck = style.is_struck or line.is_struck
        if any(is_true(mark, VAL) for mark in marks) if marks else is_struck:
            mark_struck(line.pieces, start)

    def _text(self, element: Element, flow: _Flow, line: _Line) -> None:
        if element.text and True not in flow.fields:
            line.pieces.append(element.text)

    def _sign(self, element: Element, flow: _Flow, line: _Line) -> None:
        if True not in flow.fields:
            line.pieces.append(_SIGNS[element.tag])

    def _symbol(self, element: Element, _flow: _Flow, line: _Line) -> None:
        code, font = element.get(f"{W}char", ""), element.get(f"{W}font", "")
        try:
            line.pieces.append(unicode_symbols(chr(int(code, 16)), font))
        except (ValueError, OverflowError):
            return

    def _field(self, element: Element, flow: _Flow, line: _Line) -> None:
        match element.get(f"{W}fldCharType"):
            case "begin":
                flow.fields.append(True)
                line.pieces.append(_form_value(element))
            case "separate" if flow.fields:
                flow.fields[-1] = False
            case "end" if flow.fields:
                flow.fields.pop()

    def _equation(self, element: Element, _flow: _Flow, line: _Line) -> None:
        before = element.getprevious()
        gap = "; " if before is not None and before.tag == element.tag else ""
        line.pieces.append(gap + linear_omml(element))

    def _alternative(self, element: Element, flow: _Flow, line: _Line) -> None:
        chosen = chosen_alternative(element)
        if chosen is not None:
            self._inline(chosen, flow, line)

    def _note(self, element: Element, _flow: _Flow, line: _Line) -> None:
        kind = _NOTES[element.tag]
        note = self._notes[kind].pop(element.get(f"{W}id", ""), None)
        if note is None:
            return
        self._marks[kind] += 1
        number = self._marks[kind]
        mark = f"[^{number}]" if kind == "footnotes" else f"[^e{number}]"
        line.pieces.append(mark)
        line.after += self._notes_blocks(note, kind, f"{mark}: ")

    def _comment(self, element: Element, _flow: _Flow, line: _Line) -> None:
        comment = self._notes["comments"].pop(element.get(f"{W}id", ""), None)
        if comment is not None:
            author = comment.get(f"{W}author", "").strip()
            begin = f"Comment by {author}: " if author else "Comment: "
            line.after += self._notes_blocks(comment, "comments", begin)

    def _notes_blocks(self, note: Element, kind: str, begin: str) -> Iterator[Block]:
        """A note's texts as one block that begins so; its tables behind it."""
        text, rest = cell_text(self._story(note, self.package.related(self.main, kind)))
        if text:
            yield TextBlock("note", begin + text)
        yield from rest

    def _notes_of(self, kind: str) -> dict[str, Element]:
        """Notes by identifier; separators have a type."""
        tree = self.package.tree(self.package.related(self.main, kind))
        notes = () if tree is None else tree
        plain = (note for note in notes if note.get(f"{W}type", "normal") == "normal")
        return {note.get(f"{W}id", ""): note for note in plain}

    # What is drawn

    def _text_box(self, element: Element, flow: _Flow, line: _Line) -> None:
        line.after += self._story(element, flow.part)

    def _drawing(self, element: Element, flow: _Flow, line: _Line) -> None:
        if element.find(f".//{_PICTURE}") is not None:
            about = element.find(f".//{_PLACED}docPr")
            blocks = list(described(about.get("descr") if about is not None else ""))
            line.after += blocks
            self.left_out["picture"] += not blocks and is_large(element.find(f".//{_PLACED}extent"))
        self._inline(element, flow, line)

    def _old_picture(self, element: Element, _flow: _Flow, line: _Line) -> None:
        """A picture of VML; that of an embedded document only shows what is counted as one."""
        if next(element.iterancestors(f"{W}object"), None) is not None:
            return
        frame = element.getparent()
        blocks = list(described(frame.get("alt")))
        line.after += blocks
        sizes = dict(_VML_SIZE.findall(frame.get("style", "")))
        width, height = (centimetres(sizes.get(side)) or 0 for side in ("width", "height"))
        self.left_out["picture"] += not blocks and width * height >= LARGE

    def _chart(self, element: Element, flow: _Flow, line: _Line) -> None:
        if relation := self._relation(flow.part, element.get(f"{RELATIONSHIPS}id", "")):
            line.after += chart_blocks(self.package, relation.target)

    def _diagram(self, element: Element, flow: _Flow, line: _Line) -> None:
        if relation := self._relation(flow.part, element.get(f"{RELATIONSHIPS}dm", "")):
            line.after += diagram_blocks(self.package, relation.target)

    def _embedded(self, _element: Element, _flow: _Flow, _line: _Line) -> None:
        self.left_out["embedded"] += 1

    def _control(self, _element: Element, _flow: _Flow, _line: _Line) -> None:
        """A control of ActiveX, whose value is stored as its program likes."""
        self.left_out["control"] += 1

    def _art(self, element: Element, _flow: _Flow, line: _Line) -> None:
        if text := element.get("string", "").strip():
            line.after.append(TextBlock("paragraph", text))

    def _relation(self, part: str, identifier: str) -> Relation | None:
        relation = self._relations(part).get(identifier)
        return None if relation is None or relation.is_external else relation

    # Tables

    def _table(self, element: Element, flow: _Flow) -> Iterator[Block]:
        """A grid, and behind it what no cell can hold; one of a single column is but a frame."""
        lines = [(line, list(_cells(line))) for line in _inside(element, "tr", "trPr")]
        if all(len(cells) <= 1 for _, cells in lines):
            for _, cells in lines:
                for cell in cells:
                    yield from self._story(cell, flow.part)
            return
        rest = list[Block]()
        yield self._grid(lines, flow, rest)
        yield from rest

    def _grid(
        self, lines: list[tuple[Element, list[Element]]], flow: _Flow, rest: list[Block]
    ) -> Grid:
        placed = [_placed(line, cells) for line, cells in lines]
        heights = cell_heights([{column: merge for column, _, merge, _ in row} for row in placed])
        rows = list[list[GridCell]]()
        for at, (line, _) in enumerate(lines):
            is_heading = is_true(line.find(f"{W}trPr/{W}tblHeader"), VAL)
            cells = list[GridCell]()
            for column, width, _, cell in placed[at]:
                height = heights[at][column]
                if cell is None:
                    cells.append(GridCell("", columns=width))
                elif height:
                    text, others = cell_text(self._story(cell, flow.part))
                    cells.append(GridCell(text, None, width, height, is_heading))
                    rest += with_row_name(cells[0].text, others)
            rows.append(cells or [EMPTY])
        layouts = {tuple((column, width) for column, width, _, _ in row) for row in placed}
        is_form = len(layouts) > _MOST_LAYOUTS
        has_tables = any(isinstance(block, Grid) for block in rest)
        has_equation = bool(lines) and lines[0][0].find(f".//{OMML}oMath") is not None
        return laid_out(rows, needs_proof=is_form or has_tables or has_equation)


_HANDLERS: dict[str, Callable[[_Reading, Element, _Flow, _Line], None]] = {
    f"{W}t": _Reading._text,
    f"{W}sym": _Reading._symbol,
    f"{W}fldChar": _Reading._field,
    f"{W}footnoteReference": _Reading._note,
    f"{W}endnoteReference": _Reading._note,
    f"{W}commentReference": _Reading._comment,
    f"{W}txbxContent": _Reading._text_box,
    f"{W}drawing": _Reading._drawing,
    f"{COMPATIBILITY}AlternateContent": _Reading._alternative,
    f"{OMML}oMath": _Reading._equation,
    f"{OMML}oMathPara": _Reading._equation,
    f"{CHART}chart": _Reading._chart,
    f"{CHARTEX}chart": _Reading._chart,
    f"{DIAGRAM}relIds": _Reading._diagram,
    f"{_OFFICE}OLEObject": _Reading._embedded,
    f"{W}control": _Reading._control,
    f"{_VML}textpath": _Reading._art,
    f"{_VML}imagedata": _Reading._old_picture,
    **dict.fromkeys(_SIGNS, _Reading._sign),
}


def _styles(tree: Element | None) -> dict[str, Element]:
    styles = () if tree is None else tree.iter(f"{W}style")
    return {style.get(f"{W}styleId", ""): style for style in styles}


def _resolved(styles: dict[str, Element], identifier: str) -> _Style:
    chain = list[Element]()
    while identifier in styles and len(chain) < _MOST_STYLES_ABOVE:
        chain.append(styles[identifier])
        identifier = _property(chain[-1], "basedOn")
    if not chain:
        return _Style()

    def first(path: str) -> str:
        values = (each.find(path) for each in chain)
        return next((each.get(VAL, "") for each in values if each is not None), "")

    def is_set(name: str) -> bool:
        marks = (each.find(f"{W}rPr/{name}") for each in chain)
        return is_true(next((mark for mark in marks if mark is not None), None), VAL)

    return _Style(
        _property(chain[0], "name").lower(),
        first(f"{W}pPr/{W}outlineLvl"),
        first(f"{W}pPr/{W}numPr/{W}numId"),
        first(f"{W}pPr/{W}numPr/{W}ilvl"),
        is_set(f"{W}vanish"),
        any(map(is_set, _STRIKES)),
    )


def _property(properties: Element | None, name: str) -> str:
    child = None if properties is None else properties.find(f"{W}{name}")
    return "" if child is None else child.get(VAL, "")


def _form_value(element: Element) -> str:
    """What an old form field shows, where that is no text: its tick or its choice."""
    data = element.find(f"{W}ffData")
    if data is None:
        return ""
    box = data.find(f"{W}checkBox")
    if box is not None:
        ticks = (box.find(f"{W}{name}") for name in ("checked", "default"))
        return tick(is_true(next((each for each in ticks if each is not None), None), VAL))
    choices = data.find(f"{W}ddList")
    if choices is None:
        return ""
    entries = [entry.get(VAL, "") for entry in choices.findall(f"{W}listEntry")]
    at = _property(choices, "result") or _property(choices, "default") or "0"
    return choice(entries, int(at)) if at.isdecimal() else ""


def _inside(element: Element, name: str, properties: str) -> Iterator[Element]:
    """Rows of a table or cells of a row, in whatever they lie, without those that are deleted."""
    for child in element:
        tag = child.tag
        if tag == f"{W}{name}":
            stated = child.find(f"{W}{properties}")
            if stated is None or not any(stated.find(each) is not None for each in _DELETED):
                yield child
        elif isinstance(tag, str) and tag not in _SKIPPED:
            yield from _inside(child, name, properties)


def _cells(line: Element) -> Iterator[Element]:
    return _inside(line, "tc", "tcPr")


_PlacedCell = tuple[int, int, Merge, Element | None]  # column, columns, merge, the cell


def _placed(line: Element, cells: Iterable[Element]) -> list[_PlacedCell]:
    """The cells of a row with their columns; cells that are merged with the one before widen it."""
    placed = list[_PlacedCell]()
    column = _span(line.find(f"{W}trPr"), "gridBefore", 0)
    if column:
        placed.append((0, column, "", None))
    for cell in cells:
        properties = cell.find(f"{W}tcPr")
        width = _span(properties, "gridSpan", 1)
        merge = properties.find(f"{W}vMerge") if properties is not None else None
        kind: Merge = "" if merge is None else "continue"
        if merge is not None and merge.get(VAL) == "restart":
            kind = "restart"
        if _is_merged_before(properties) and placed and placed[-1][3] is not None:
            start, before, kind_before, owner = placed.pop()
            placed.append((start, before + width, kind_before, owner))
        else:
            placed.append((column, width, kind, cell))
        column += width
    return placed


def _is_merged_before(properties: Element | None) -> bool:
    merge = properties.find(f"{W}hMerge") if properties is not None else None
    return merge is not None and merge.get(VAL, "continue") == "continue"


def _span(properties: Element | None, name: str, default: int) -> int:
    text = _property(properties, name)
    return min(max(int(text), default), _MOST_SPAN) if text.isdecimal() else default


WORD = Parser(
    "word",
    4,
    parse_word,
    members=("word/document.xml",),
    media_types={
        ".docm": "application/vnd.ms-word.document.macroenabled.12",
        ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        ".dotm": "application/vnd.ms-word.template.macroenabled.12",
        ".dotx": "application/vnd.openxmlformats-officedocument.wordprocessingml.template",
    },
)
