"""HTML: the words that a reader of the page sees, with its headings, lists, forms and tables."""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from textwrap import dedent

from lxml import etree
from selectolax.lexbor import LexborHTMLParser, LexborNode

from edge_node.documents.blocks import Block, ParsedDocument, TextBlock
from edge_node.documents.grid_cells import GridCell
from edge_node.documents.grids import Grid, laid_out
from edge_node.documents.parsers import Parser
from edge_node.plugins.parsers.cells import inner_text, with_row_name
from edge_node.plugins.parsers.charsets import decoded
from edge_node.plugins.parsers.equations import linear_mathml
from edge_node.plugins.parsers.hidden_html import (
    hidden_nodes,
    is_hidden,
    is_struck,
    struck_nodes,
)
from edge_node.plugins.parsers.package import left_out
from edge_node.plugins.parsers.struck import STRUCK, mark_struck
from shared.errors import UnreadableDocument

MAX_DEPTH = 2_000  # of nested elements: parsing takes time with its square
MAX_TABLE_DEPTH = 20
MAX_CELL_CHARS = 600  # of a table's cell; a longer one is a page's column
MAX_CELL_BLOCKS = 2
BREAK = "\x03"  # stands for a line's end while white space is squeezed
CAPTION_TAGS = {"caption", "figcaption"}
HEADING_TAGS = {f"h{level}": level for level in range(1, 7)}
BLOCK_TAGS = {
    *("p", "div", "section", "article", "main", "aside", "ul", "ol", "menu", "dl", "table", "tr"),
    *("td", "th", "blockquote", "pre", "figure", "address", "form", "fieldset", "legend", "hr"),
    *("details", "summary", "header", "footer", "center", "body", "optgroup", "li", "dt", "dd"),
    *CAPTION_TAGS,
    *HEADING_TAGS,
}
MARGIN_TAGS = ("header", "footer")
LEFT_OUT = {  # what is counted rather than read: one, and several
    "hidden": ("hidden passage", "hidden passages"),
    "del": ("deleted passage", "deleted passages"),
    "svg": ("drawing with words", "drawings with words"),
    "iframe": ("embedded page", "embedded pages"),
    "noscript": ("passage for browsers without scripts", "passages for browsers without scripts"),
    "button": ("button", "buttons"),
}
UNSEEN_TAGS = {
    *("script", "style", "template", "nav", "object", "datalist", "canvas", "audio", "video"),
    *("option", "head", "title", "-comment"),
}
LIST_TAGS = {"ul", "ol", "menu"}
SHOWN_INPUTS = {"date", "datetime-local", "email", "month", "number", "range", "search", "tel"}
SHOWN_INPUTS |= {"", "text", "time", "url", "week"}
STRUCTURE = ("heading", "item", "code")  # blocks that a value in a table does not hold
_VOID = {*("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source")}
_VOID |= {"track", "wbr"}
_MAY_STAY_OPEN = {*_VOID, "p", "li", "dt", "dd", "tr", "td", "th", "thead", "tbody", "tfoot"}
_MAY_STAY_OPEN |= {"option"}
_TAG = re.compile(r"<!--.*?(?:-->|\Z)|<(/?)([a-zA-Z][a-zA-Z0-9]*+)", re.DOTALL)
_ATTRIBUTES = re.compile(  # of a tag, and whether it closes itself; "/" may belong to a value
    r"(?:\s++|/(?!>)|[^\s/>=]++(?:\s*+=\s*+(?:\"[^\"]*+\"|'[^']*+'|[^\s>\"'][^\s>]*+))?+)*+(/>)?"
)
_FOREIGN = ("svg", "math")  # elements in which "/>" ends one, as it does not elsewhere
_META_CHARSET = re.compile(
    rb"<meta[^<>]+charset\s*+=\s*+[\"']?\s*+([A-Za-z0-9_.:-]+)|"
    rb"<\?xml[^<>]+encoding\s*+=\s*+[\"']([A-Za-z0-9_.:-]+)",
    re.IGNORECASE,
)
_PLAIN = re.compile(
    r"[^<]*+(?:</?(?:a|abbr|b|cite|code|em|font|i|span|strong|u)\b[^<>]*+>[^<]*+)*+"
)
_STARTS = (b"<!doctype html", b"<html", b"<head", b"<meta", b"<style", b"<body", b"<table", b"<div")
_FOOTNOTES = re.compile(r"foot-?_?note|endnote", re.IGNORECASE)
_MARKUP = re.compile(r"<[^<>]*+>")
_POWER = re.compile(r"[+\-−–]?\d+")


def parse_html(name: str, data: bytes) -> ParsedDocument:
    """A page without scripts, navigation, headers and footers of links, and what is hidden.

    Raises UnreadableDocument: ``not_text``; ``bad_html`` for elements nested beyond reason.
    """
    label = _META_CHARSET.search(data[:4096])
    stated = (label[1] or label[2]).decode("ascii") if label else ""
    found = decoded(name, data, stated)
    kinds = Counter[str]()
    blocks, title = parse_source(name, found.text, kinds)
    return ParsedDocument(blocks, title, (*found.shortfalls, *left_out_of(kinds)))


def parse_source(name: str, source: str, kinds: Counter[str]) -> tuple[tuple[Block, ...], str]:
    """The blocks of a page, or of a piece of one, and its title; ``kinds`` counts the rest.

    Raises UnreadableDocument (``bad_html``) for elements nested beyond reason.
    """
    source = source.replace(BREAK, " ")
    if _depth(source) > MAX_DEPTH:
        message = f"is nested more than {MAX_DEPTH} deep"
        raise UnreadableDocument(name, "bad_html", message, next_step="save the page as text")
    tree = LexborHTMLParser(source)
    page = _Page(hidden_nodes(tree), struck_nodes(tree), kinds)
    title = tree.css_first("title")
    blocks = tuple(_BlockReader(page).read(tree.body)) if tree.body else ()
    return blocks, " ".join(title.text().split()) if title else ""


def left_out_of(kinds: Counter[str]) -> tuple[tuple[str, str], ...]:
    """What pages report of what is not in their text."""
    counts = [(kinds[kind], *words) for kind, words in LEFT_OUT.items()]
    return (*left_out(counts[0], code="hidden_text"), *left_out(*counts[1:]))


def _depth(source: str) -> int:
    """A bound on how many elements are open at once, but for those that close by themselves."""
    opened: Counter[str] = Counter()
    depth = deepest = 0
    seen = 0  # attributes up to here: what looks like a tag in them is counted as an open one
    for found in _TAG.finditer(source):
        tag = (found.group(2) or "br").lower()
        if tag in _MAY_STAY_OPEN or (found.group(1) and not opened[tag]):
            continue
        if found.end() >= seen and any(opened[each] for each in _FOREIGN):
            attributes = _ATTRIBUTES.match(source, found.end())
            seen = attributes.end() if attributes else seen
            if attributes and attributes[1]:
                continue
        step = -1 if found.group(1) else 1
        opened[tag] += step
        depth += step
        deepest = max(deepest, depth)
    return deepest


@dataclass(slots=True)
class _Page:
    """What holds for all of a page. ``hidden``, ``struck``: elements, by its style sheets."""

    hidden: frozenset[int]
    struck: frozenset[int]
    left_out: Counter[str]
    open_struck: list[int] = field(default_factory=list)  # elements around what is being read

    def begin(self, node: LexborNode, tag: str, attributes: dict[str, str | None]) -> None:
        """Note an element that strikes its text through."""
        if node.mem_id in self.struck or is_struck(tag, attributes):
            self.open_struck.append(node.mem_id)

    def end(self, node: LexborNode) -> None:
        """Note that an element is read."""
        if self.open_struck and self.open_struck[-1] == node.mem_id:
            self.open_struck.pop()

    def leaves_out(self, node: LexborNode, tag: str, attributes: dict[str, str | None]) -> bool:
        """Whether an element is counted rather than read; one without words does not count."""
        kind = tag if tag in LEFT_OUT else ""
        if node.mem_id in self.hidden or is_hidden(node, tag, attributes):
            kind = "hidden"
        if kind:
            self.left_out[kind] += any(map(str.isalnum, _words(node, tag, attributes)))
        return bool(kind)


@dataclass(slots=True)
class _List:
    """A list that is open, and the number of its next item; None where items have none."""

    number: int | None


class _BlockReader:
    """Turns an element's content into blocks; that of a table's cell has a reader of its own."""

    def __init__(self, page: _Page, table_depth: int = 0) -> None:
        self._page = page
        self._table_depth = table_depth
        self._blocks: list[Block] = []
        self._pieces: list[str] = []
        self._lists: list[_List] = []
        self._item_prefix: str | None = None  # of the item that begins with the next words
        self._terms: list[str] = []  # of a definition list
        self._outer_terms: list[list[str]] = []  # of the lists around this one
        self._are_defined = False
        self._is_term = False
        self._pre_depth = 0
        self._margin_depth = 0  # in headers and footers: the outermost says whether they are read

    def read(self, root: LexborNode) -> list[Block]:
        """The blocks of an element's content."""
        stack = [(node, False) for node in _last_first(root)]
        while stack:
            node, is_end = stack.pop()
            if is_end:
                self._leave(node.tag or "")
                self._page.end(node)
            elif node.is_text_node:
                self._add_text(node.text_content or "")
            elif self._enter(node, node.tag or ""):
                stack.append((node, True))
                stack += [(child, False) for child in _last_first(node)]
            else:
                self._page.end(node)
        self._flush()
        return self._blocks

    def _add_text(self, text: str) -> None:
        start = len(self._pieces)
        self._pieces.append(text.replace("\n", BREAK) if self._pre_depth else text)
        self._mark_struck(start)

    def _mark_struck(self, start: int) -> None:
        if self._page.open_struck:
            mark_struck(self._pieces, start)

    def _enter(self, node: LexborNode, tag: str) -> bool:
        """Whether the content of an element is to be read too."""
        if tag in UNSEEN_TAGS:
            return False
        attributes = node.attributes
        if self._page.leaves_out(node, tag, attributes):
            return False
        if tag in MARGIN_TAGS:
            if not self._margin_depth and not _is_content(node, tag, attributes):
                return False
            self._margin_depth += 1
        self._page.begin(node, tag, attributes)
        if tag in BLOCK_TAGS:
            return self._enter_block(node, tag, attributes)
        return self._enter_inline(node, tag, attributes)

    def _enter_block(self, node: LexborNode, tag: str, attributes: dict[str, str | None]) -> bool:
        self._flush()
        if tag in LIST_TAGS:
            start = _number(attributes.get("start"), 1) if tag == "ol" else None
            self._lists.append(_List(start))
        elif tag == "li":
            self._begin_item(attributes)
        elif tag == "dl":
            self._begin_terms()
        elif tag == "dt":
            self._is_term = True
        elif tag == "dd" and self._terms:
            self._item_prefix = f"{', '.join(self._terms)}: "
        elif tag == "pre":
            self._pre_depth += 1
        elif tag == "table" and self._table_depth < MAX_TABLE_DEPTH:
            self._read_table(node, attributes)
            return False
        elif tag == "p" and self._is_plain(node):
            self._add_text(node.text())
            self._flush()
            return False
        return True

    def _is_plain(self, node: LexborNode) -> bool:
        """Whether a paragraph holds words alone, and marks that change none: most do."""
        inner = node.inner_html or ""
        sheets = self._page.hidden or self._page.struck
        has_more = self._pre_depth or sheets or "style=" in inner or "hidden" in inner
        return not has_more and _PLAIN.fullmatch(inner) is not None

    def _begin_item(self, attributes: dict[str, str | None]) -> None:
        self._item_prefix = ""
        if self._lists and self._lists[-1].number is not None:
            number = _number(attributes.get("value"), self._lists[-1].number)
            self._lists[-1].number = number + 1
            self._item_prefix = f"{number}. "

    def _enter_inline(self, node: LexborNode, tag: str, attributes: dict[str, str | None]) -> bool:
        match tag:
            case "br":
                self._pieces.append(BREAK)
            case "img" | "area":
                self._add_words(attributes.get("alt"))
            case "input":
                self._add_words(_input_text(attributes))
            case "textarea":
                self._add_words(node.text())
            case "select":
                self._add_words(_selected(node))
            case "sup":
                self._add_raised(node)
            case "math":
                self._add_words(attributes.get("alttext") or _formula(node))
            case _:
                return True
        return False

    def _add_words(self, words: str | None) -> None:
        if words and words.strip():
            self._pieces.append(f" {words} ")
            self._mark_struck(len(self._pieces) - 1)

    def _add_raised(self, node: LexborNode) -> None:
        """A power as 10^6, a mark of a note as [1], other raised letters as they are."""
        text = "".join(node.text().split())
        before = "".join(self._pieces[-3:]).removesuffix(STRUCK)
        if node.css_first("a") is not None and text.isalnum():
            text = f"[{text}]"
        elif _POWER.fullmatch(text) and before[-1:].isalnum():
            text = f"^{text}"
        self._pieces.append(text)
        self._mark_struck(len(self._pieces) - 1)

    def _leave(self, tag: str) -> None:
        if tag not in BLOCK_TAGS:
            return
        if tag == "dt":
            self._end_term()
            return
        self._flush(HEADING_TAGS.get(tag, 0), is_caption=tag in CAPTION_TAGS)
        self._margin_depth -= tag in MARGIN_TAGS
        if tag in LIST_TAGS and self._lists:
            self._lists.pop()
        elif tag in ("li", "dd"):
            self._item_prefix = None
            self._are_defined = self._are_defined or tag == "dd"
        elif tag == "pre":
            self._pre_depth -= 1
        elif tag == "dl":
            self._end_terms()

    def _end_term(self) -> None:
        self._is_term = False
        if self._are_defined:
            self._terms.clear()
            self._are_defined = False
        if term := self._taken().replace("\n", " ").rstrip(": "):
            self._terms.append(term)

    def _begin_terms(self) -> None:
        """Begin a definition list; one within a definition is below its term."""
        if self._item_prefix and self._terms and not self._are_defined:
            self._blocks.append(TextBlock("item", ", ".join(self._terms)))
        self._item_prefix = None
        self._outer_terms.append(self._terms)
        self._terms = []
        self._are_defined = False

    def _end_terms(self) -> None:
        if not self._are_defined:
            self._blocks += [TextBlock("item", term) for term in self._terms]
        if self._outer_terms:
            self._terms = self._outer_terms.pop()
        self._are_defined = True

    def _taken(self) -> str:
        """The words so far, which are no longer waiting then."""
        text = "".join(self._pieces)
        self._pieces.clear()
        lines = text.split(BREAK)
        if self._pre_depth:
            return dedent("\n".join(line.rstrip() for line in lines)).strip("\n")
        return "\n".join([" ".join(line.split()) for line in lines]).strip("\n")

    def _flush(self, heading_level: int = 0, *, is_caption: bool = False) -> None:
        """Make a block of the words so far, if they are no part of a term."""
        if self._is_term:
            self._pieces.append(" ")
            return
        text = self._taken()
        if self._pre_depth or heading_level:
            self._add_block(text, heading_level, is_caption=False)
            return
        for part in text.split("\n\n"):
            self._add_block(part.strip("\n"), 0, is_caption=is_caption)

    def _add_block(self, text: str, heading_level: int, *, is_caption: bool) -> None:
        if not text:
            return
        level = max(0, len(self._lists) - 1)
        if heading_level:
            self._blocks.append(TextBlock("heading", text, heading_level))
        elif self._item_prefix is not None:
            self._blocks.append(TextBlock("item", self._item_prefix + text, level))
            self._item_prefix = None
        elif is_caption:
            self._blocks.append(TextBlock("caption", text))
        else:
            self._blocks.append(TextBlock("code" if self._pre_depth else "paragraph", text))

    def _read_table(self, table: LexborNode, attributes: dict[str, str | None]) -> None:
        found = _TableReader(self._page, self._table_depth + 1).read(table)
        self._blocks += found.captions
        is_presentation = attributes.get("role") in ("presentation", "none")
        if is_presentation or found.lays_out_page:
            for cell in chain.from_iterable(found.rows):
                self._blocks += cell.blocks
        else:
            found.take_in_small_tables()
            self._blocks.append(found.grid())
            self._blocks += found.inner_grids()


@dataclass(frozen=True, slots=True)
class _HtmlCell:
    """A cell's blocks, and what its tags say."""

    blocks: list[Block]
    columns: int
    rows: int
    is_heading: bool
    is_bold: bool

    @property
    def text(self) -> str:
        """All words outside of tables in it."""
        return " ".join(" ".join(block.text for block in self.texts).split())

    @property
    def texts(self) -> list[TextBlock]:
        """The blocks outside of tables in it."""
        tables = set(map(id, self.tables))
        texts = (block for block in self.blocks if isinstance(block, TextBlock))
        return [block for block in texts if id(block) not in tables]

    @property
    def tables(self) -> list[Block]:
        """The tables in it with the captions right above them."""
        found = list[Block]()
        is_above_table = False
        for block in reversed(self.blocks):
            is_caption = isinstance(block, TextBlock) and block.kind == "caption"
            is_above_table = isinstance(block, Grid) or (is_above_table and is_caption)
            if is_above_table:
                found.append(block)
        found.reverse()
        return found

    @property
    def has_structure(self) -> bool:
        """Whether it holds more than a value."""
        texts = self.texts
        is_long = sum(len(block.text) for block in texts) > MAX_CELL_CHARS
        has_parts = any(block.kind in STRUCTURE for block in texts)
        return is_long or has_parts or len(texts) > MAX_CELL_BLOCKS

    def grid_cell(self, *, is_heading: bool) -> GridCell:
        """As a cell of a grid."""
        marked = is_heading or self.is_heading
        return GridCell(self.text, None, self.columns, self.rows, marked)


class _TableReader:
    """Reads the rows of one table; those of tables in its cells are read with the cells."""

    def __init__(self, page: _Page, depth: int) -> None:
        self._page = page
        self._depth = depth
        self.captions: list[Block] = []
        self.rows: list[list[_HtmlCell]] = []

    def read(self, table: LexborNode) -> _TableReader:
        """Read a table's captions and rows."""
        for node in table.iter():
            if node.tag == "caption":
                blocks = _BlockReader(self._page, self._depth).read(node)
                texts = [block.text for block in blocks if isinstance(block, TextBlock)]
                self.captions.append(TextBlock("caption", " ".join(" ".join(texts).split())))
            elif node.tag == "tr":
                self._add_row(node, 1, is_head=False)
            elif node.tag in ("thead", "tbody", "tfoot") and self._is_shown(node):
                rows = list(node.iter())
                for at, row in enumerate(rows):
                    self._add_row(row, len(rows) - at, is_head=node.tag == "thead")
        return self

    def _is_shown(self, node: LexborNode) -> bool:
        return not self._page.leaves_out(node, node.tag or "", node.attributes)

    def _add_row(self, row: LexborNode, rows_left: int, *, is_head: bool) -> None:
        """``rows_left``: of its group, this one too; a cell that states 0 rows covers them."""
        if not self._is_shown(row):
            return
        cells = list[_HtmlCell]()
        self._page.begin(row, "tr", row.attributes)
        for node in row.iter():
            if node.tag in ("td", "th") and self._is_shown(node):
                self._page.begin(node, node.tag, node.attributes)
                blocks = self._cell_blocks(node)
                columns = _number(node.attributes.get("colspan"), 1)
                stated = node.attributes.get("rowspan")
                rows = rows_left if stated == "0" else _number(stated, 1)
                is_heading = is_head or node.tag == "th"
                self._page.end(node)
                is_bold = len(self.rows) < 2 and _is_bold(node)
                cells.append(_HtmlCell(blocks, columns, rows, is_heading, is_bold))
        self._page.end(row)
        self.rows.append(cells)

    def _cell_blocks(self, cell: LexborNode) -> list[Block]:
        child = cell.first_child
        if child is None:
            return []
        if child.is_text_node and child.next is None and not self._page.open_struck:
            text = " ".join((child.text_content or "").split())
            return [TextBlock("paragraph", text)] if text else []
        return _BlockReader(self._page, self._depth).read(cell)

    @property
    def lays_out_page(self) -> bool:
        """Whether it has no headings, and its cells are a page's parts rather than values."""
        cells = list(chain.from_iterable(self.rows))
        if any(cell.is_heading for cell in cells):
            return False
        widths = [sum(map(bool, (cell.blocks for cell in row))) for row in self.rows]
        return max(widths, default=0) < 2 or any(cell.has_structure for cell in cells)

    def grid(self) -> Grid:
        """The table as a grid; a first row in bold letters, and no other, is its heading."""
        bold = [all(cell.is_bold for cell in row if cell.text) for row in self.rows[:2]]
        has_bold_head = bold == [True, False]
        rows = list[list[GridCell]]()
        for at, row in enumerate(self.rows):
            is_heading = has_bold_head and at == 0
            rows.append([cell.grid_cell(is_heading=is_heading) for cell in row])
        return laid_out(rows, needs_proof=True)

    def take_in_small_tables(self) -> None:
        """Make words of each small table alone in its cell, unless this one lies in another."""
        for cell in chain.from_iterable(self.rows):
            grids = [block for block in cell.blocks if isinstance(block, Grid)]
            if self._depth == 1 and len(grids) == 1 and (words := inner_text(grids[0])):
                cell.blocks[cell.blocks.index(grids[0])] = TextBlock("paragraph", words)

    def inner_grids(self) -> Iterator[Block]:
        """The tables in its cells, each with the name of its row."""
        for row in self.rows:
            for cell in row:
                yield from with_row_name(row[0].text, cell.tables)


def _last_first(node: LexborNode) -> list[LexborNode]:
    children = list(node.iter(include_text=True))
    children.reverse()
    return children


def _is_content(node: LexborNode, tag: str, attributes: dict[str, str | None]) -> bool:
    """Whether a header holds a title, a footer notes, or either more words than links."""
    if tag == "header" and node.css_first("h1") is not None:
        return True
    names = " ".join(attributes.get(key) or "" for key in ("class", "id", "role"))
    if tag == "footer" and _FOOTNOTES.search(names):
        return True
    words: Counter[bool] = Counter()  # by whether they stand in links
    stack = [(node, False)]
    while stack:
        part, is_link = stack.pop()
        if part.is_text_node:
            words[is_link] += len((part.text_content or "").split())
        elif part.tag == "nav" or part.tag not in UNSEEN_TAGS:
            is_link = is_link or part.tag in ("a", "nav")
            stack += [(child, is_link) for child in part.iter(include_text=True)]
    return words[False] > max(1, words[True])


def _words(node: LexborNode, tag: str, attributes: dict[str, str | None]) -> str:
    """What an element would say, without the names of pictograms."""
    if tag == "iframe":
        return _MARKUP.sub(" ", attributes.get("srcdoc") or "")
    if tag == "svg":
        return " ".join(part.text() for part in node.css("text, foreignObject"))
    return node.text()


def _number(text: str | None, default: int) -> int:
    """A whole number from 1 on, as an attribute states it."""
    digits = (text or "").strip()
    return max(1, int(digits)) if digits.isdecimal() and len(digits) < 7 else default


def _is_bold(cell: LexborNode) -> bool:
    bold = cell.css_first("b, strong")
    return bold is not None and bold.text().split() == cell.text().split()


def _input_text(attributes: dict[str, str | None]) -> str:
    """What a field of a form shows; nothing of buttons, passwords and hidden ones."""
    kind = (attributes.get("type") or "").casefold()
    if kind in ("checkbox", "radio"):
        return "[x]" if "checked" in attributes else "[ ]"
    if kind == "image":
        return attributes.get("alt") or ""
    return (attributes.get("value") or "") if kind in SHOWN_INPUTS else ""


def _selected(select: LexborNode) -> str:
    """The chosen options of a list; the first one where none is chosen, as browsers do."""
    chosen = select.css("option[selected]")
    if not chosen and "multiple" not in select.attributes:
        chosen = select.css("option")[:1]
    return ", ".join(" ".join(option.text().split()) for option in chosen)


def _formula(math: LexborNode) -> str:
    """A formula as TeX where the page has it so, else as a line: 1/2, 10^6."""
    for annotation in math.css("annotation"):
        if "tex" in (annotation.attributes.get("encoding") or ""):
            return annotation.text()
    tree = etree.fromstring(math.html or "", etree.HTMLParser()).find(".//math")
    line = "" if tree is None else linear_mathml(tree)
    return line or math.text()  # of one that is nested beyond reason


def _is_html(start: bytes) -> bool:
    start = start.removeprefix(codecs.BOM_UTF8).lstrip().lower()
    return start.startswith(_STARTS) or (start.startswith(b"<?xml") and b"<html" in start)


HTML = Parser(
    "html",
    4,
    parse_html,
    guess=_is_html,
    media_types={
        ".htm": "text/html",
        ".html": "text/html",
        ".xhtml": "application/xhtml+xml",
    },
)
