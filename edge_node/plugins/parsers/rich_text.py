r"""Rich text (.rtf): text, tables, notes and text boxes (Microsoft's RTF specification 1.9.1).

A group in braces inherits the state of the one around it. A *destination* is a group whose text
goes elsewhere: into a note, a header, a table of fonts. One that is not known and begins with
``\*`` is skipped, as the specification asks.
"""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from xml.etree import ElementTree

from edge_node.documents.blocks import Block, ParsedDocument, TextBlock
from edge_node.documents.grids import Grid
from edge_node.documents.parsers import Parser
from edge_node.plugins.parsers.cells import Merge
from edge_node.plugins.parsers.equations import OMML, OMML_NAMES, linear_omml
from edge_node.plugins.parsers.form_fields import word_field
from edge_node.plugins.parsers.package import Element, left_out, usable_title
from edge_node.plugins.parsers.page_margins import counts_pages, margin_blocks
from edge_node.plugins.parsers.struck import mark_struck
from edge_node.plugins.parsers.superscripts import raised
from edge_node.plugins.parsers.symbols import joined_halves, unicode_symbols
from edge_node.plugins.parsers.table_flow import MOST_LEVELS, Edge, TableFlow
from shared.errors import UnreadableDocument

_TOKEN = re.compile(
    rb"\\([a-zA-Z]{1,32})(-?[0-9]{1,10})? ?|\\'([0-9a-fA-F]{2})|\\([^a-zA-Z])|([{}])|([^\\{}\r\n]+)"
)
_CODE_PAGES = {  # of \fcharset
    77: "mac_roman",
    128: "cp932",
    129: "cp949",
    130: "johab",
    134: "gbk",
    136: "cp950",
    161: "cp1253",
    162: "cp1254",
    163: "cp1258",
    177: "cp1255",
    178: "cp1256",
    186: "cp1257",
    204: "cp1251",
    222: "cp874",
    238: "cp1250",
    254: "cp437",
    255: "cp850",
}
_NAMED_PAGES = {0: "cp1252", 936: "gbk", 1361: "johab", 10000: "mac_roman", 65001: "utf-8"}
_SYMBOL_CHARSET = 2
_SIGNS = {
    "tab": "\t",
    "line": "\n",
    "emdash": "—",
    "endash": "–",
    "bullet": "•",
    "emspace": " ",
    "enspace": " ",
    "qmspace": " ",
    "lquote": "‘",
    "rquote": "’",
    "ldblquote": "“",
    "rdblquote": "”",
    "zwj": "\u200d",
    "zwnj": "\u200c",
}
_CONTROL_SIGNS = {b"~": " ", b"_": "-", b"\\": "\\", b"{": "{", b"}": "}"}
_SKIPPED = frozenset(
    (
        *("colortbl", "filetbl", "revtbl", "pict", "nonshppict", "nonesttables", "sp"),
        *("shprslt", "xe", "tc", "bkmkstart", "bkmkend", "template", "pn", "falt", "panose"),
        *("ftnsep", "ftnsepc", "ftncn", "aftnsep", "aftnsepc", "aftncn", "atnid", "atndate"),
        *("atnref", "keycode", "author", "operator", "comment", "doccomm", "company", "subject"),
        *("manager", "category", "keywords", "hlinkbase", "listtable", "rxe", "txe"),
    )
)
_DEEPEST = 300  # groups, below which elements of an equation are not told apart
_MATH = frozenset(f"m{name}" for name in OMML_NAMES)
_READ = frozenset(
    ("moMathPara", "shpinst", "nesttableprops", "ud", "do", "atnauthor", "annotation", "objdata")
)
_STORIES = frozenset(("footnote", "annotation", "shptxt", "dptxbxtext", "listtext", "pntext"))
_MARGINS = frozenset(f"{kind}{end}" for kind in ("header", "footer") for end in ("", "l", "r", "f"))
_OWN_TEXT = frozenset(("title", "atnauthor"))  # destinations whose text is a value
_CONTROLS = bytes(code for code in range(32) if code not in b"\t\n\r\0")
_MOST_CONTROLS = 0.02  # of all bytes: it is written in ASCII
_MOST_HEADING_CHARS = 300


@dataclass(frozen=True, slots=True)
class _State:
    r"""What a group inherits. ``outer``: where the text of ``\\upr`` goes that is not skipped."""

    destination: str = ""
    outer: str = ""
    page: str = "cp1252"
    font: str = ""  # the name of a font of symbols
    skip: int = 1  # characters that stand for old programs behind each \u
    is_left_out: bool = False
    is_hidden: bool = False
    is_raised: bool = False
    is_struck: bool = False
    math: Element | None = None  # where its text goes in an equation


@dataclass(slots=True)
class _Paragraph:
    r"""Properties of paragraphs, until \\pard."""

    style: int = 0
    outline: int = 9
    level: int = 0
    depth: int = 0  # of the table in which it stands, 0 outside
    label: str | None = None


@dataclass(slots=True)
class _Story:
    """One flow of text, and the pieces of the paragraph that is being read."""

    kind: str = ""
    pieces: list[str] = field(default_factory=list)
    flow: TableFlow = field(default_factory=TableFlow)
    paragraph: _Paragraph = field(default_factory=_Paragraph)


@dataclass(slots=True)
class _Style:
    name: str = ""
    outline: int = 9


@dataclass(slots=True)
class _Font:
    page: str = ""
    name: str = ""
    is_symbol: bool = False


@dataclass(slots=True)
class _FormField:
    """A form field of Word, as ``word_field`` takes it."""

    kind: int = 0
    result: int = 0
    default: int = 0
    entries: list[str] = field(default_factory=list)


def parse_rich_text(name: str, data: bytes) -> ParsedDocument:
    """An .rtf file's blocks. Raises UnreadableDocument (``bad_office``)."""
    controls = len(data) - len(data.translate(None, _CONTROLS))
    is_noise = controls > _MOST_CONTROLS * len(data) and b"\\bin" not in data
    if not data.lstrip().startswith(b"{\\rtf") or is_noise:
        step = "save it again, or as PDF"
        raise UnreadableDocument(name, "bad_office", "is not a readable .rtf file", next_step=step)
    reading = _Reading()
    reading.read(data)
    return ParsedDocument(tuple(reading.all_blocks()), reading.title(), reading.shortfalls())


class _Reading:
    """One file while it is read."""

    def __init__(self) -> None:
        self.state = _State()
        self.stack = list[
            tuple[_State, bool]
        ]()  # the state outside, and whether the group is a story
        self.stories = [_Story("body")]
        self.margins = dict[str, list[Block]]()
        self.numbered_margins = set[str]()
        self.values = dict[str, str]()
        self.left_out = Counter[str]()
        self.fonts, self.styles = dict[int, _Font](), dict[int, _Style]()
        self.font, self.style = _Font(), _Style()
        self.form = _FormField()
        self.default_page, self.default_font = "cp1252", 0
        self.edges: dict[bool, list[Edge]] = {False: [], True: []}  # by: of a nested table
        self.merge: Merge = ""
        self.is_joined = False
        self.equation: Element | None = None
        self.raw = b""
        self.to_skip = 0
        self.is_ignorable = False
        self.notes = 0

    # The result

    def title(self) -> str:
        """The stated title."""
        return usable_title(self.values.get("title", ""))

    def shortfalls(self) -> tuple[tuple[str, str], ...]:
        """What of the file is not in the text."""
        return left_out(
            (self.left_out["hidden"], "hidden passage", "hidden passages"),
            (self.left_out["embedded"], "embedded document", "embedded documents"),
        )

    def all_blocks(self) -> Iterator[Block]:
        """Headers, the text, footers; each text of a margin once."""
        for kind in ("header", "footer"):
            seen = set[str]()
            for name, blocks in sorted(self.margins.items()):
                if name.startswith(kind):
                    has_number = name in self.numbered_margins
                    yield from margin_blocks(blocks, seen, has_page_number=has_number)
            yield from self.stories[0].flow.blocks if kind == "header" else ()

    # Tokens

    def read(self, data: bytes) -> None:
        """Read all tokens; what is left open at the end of the file is closed."""
        at = 0
        while at < len(data):
            token = _TOKEN.match(data, at)
            if token is None:  # a line end, or a backslash that is the last character
                at += 1
                continue
            at = token.end()
            word, number, code, sign, brace, text = token.groups()
            if word == b"bin":
                at += max(0, int(number or 0))
            elif word:
                self._word(word.decode("ascii"), None if number is None else int(number))
            elif code or text:
                self._bytes(bytes.fromhex(code.decode("ascii")) if code else text)
            elif brace:
                self._flush()
                self._open() if brace == b"{" else self._close()
            else:
                self._control(sign)
        while self.stack:
            self._flush()
            self._close()
        self._flush()
        self._finish(self.stories[0])

    def _control(self, sign: bytes) -> None:
        if sign == b"*":
            self.is_ignorable = True
        elif sign in b"\r\n":
            self._flush()
            self._end_paragraph()
        else:
            self._write(_CONTROL_SIGNS.get(sign, ""))

    def _open(self) -> None:
        self.stack.append((self.state, False))
        self.to_skip = 0
        if self.state.destination == "upr":
            self.state = replace(self.state, destination="skip")
        if self.state.destination == "stylesheet":
            self.style = _Style()

    def _close(self) -> None:
        if not self.stack:
            return
        self.is_ignorable = False
        before, is_story = self.stack.pop()
        if is_story:
            self._end_story(self.stories.pop())
        is_code = self.state.destination == "fldinst"
        is_equation = self.state.math is not None and before.math is None
        self.state = before
        if is_equation:
            self._write(linear_omml(self.equation))
        if is_code and before.destination != "fldinst":
            form, self.form = self.form, _FormField()
            self._write(word_field(form.kind, form.result, form.default, form.entries))

    def _flush(self) -> None:
        """Decode the bytes that were collected: characters may have two."""
        raw, self.raw = self.raw, b""
        if not raw:
            return
        if self.state.font:
            text = "".join(chr(0xF000 + byte) if byte > 0x20 else chr(byte) for byte in raw)
            self._write(unicode_symbols(text, self.state.font))
        else:
            self._write(raw.decode(self.state.page, "replace"))

    def _bytes(self, text: bytes) -> None:
        self.is_ignorable = False
        skipped = min(self.to_skip, len(text))
        self.to_skip -= skipped
        if text := text[skipped:]:
            self.raw += text

    def _write(self, text: str) -> None:
        self._flush()
        if self.state.destination:
            self._write_apart(text)
        elif self.state.is_hidden and not self.state.is_left_out:
            self.left_out["hidden"] += bool(text.strip())
        elif not self.state.is_left_out:
            pieces = self.stories[-1].pieces
            before = "".join(pieces[-3:]) if self.state.is_raised else ""
            pieces.append(raised(text, before) if self.state.is_raised else text)
            if self.state.is_struck:
                mark_struck(pieces, len(pieces) - 1)

    def _write_apart(self, text: str) -> None:
        """Text of a destination: of a code, an equation, a font's or style's name, a value."""
        match self.state.destination:
            case "fldinst" if counts_pages(text):
                self.numbered_margins.add(self.stories[-1].kind)
            case "ffl" if self.form.entries:
                self.form.entries[-1] += text
            case "math":
                _write_math(self.state.math, text)
            case "fonttbl":
                self.font.name += text
            case "stylesheet":
                self.style.name += text
            case name if name in _OWN_TEXT:
                self.values[name] = self.values.get(name, "") + text

    def _word(self, word: str, number: int | None) -> None:
        self._flush()
        is_ignorable, self.is_ignorable = self.is_ignorable, False
        if self.to_skip and word != "u":
            self.to_skip -= 1
            return
        if word == "u":
            self._unicode(number or 0)
        elif sign := _SIGNS.get(word):
            self._write(sign)
        elif word == "moMath" or (self.state.math is not None and word in _MATH):
            self._begin_math(word)
        elif handler := _WORDS.get(word):
            handler(self, number)
        elif word in _STORIES or word in _MARGINS:
            self._begin_story(word)
        elif word in _OWN_TEXT or word in ("fonttbl", "stylesheet"):
            self.values.pop(word, None)
            self._destination(word)
        elif word in _SKIPPED or (is_ignorable and word not in _READ):
            self._destination("skip")
        elif word == "objdata":
            self.left_out["embedded"] += 1
            self._destination("skip")

    def _destination(self, name: str) -> None:
        if self.state.destination != "skip":
            self.state = replace(self.state, destination=name)

    def _unicode(self, number: int) -> None:
        code = number + 0x10000 if number < 0 else number
        sign = chr(code) if 0 <= code < 0x110000 else "\ufffd"
        self._write(unicode_symbols(sign, self.state.font))
        self.to_skip = self.state.skip

    # Stories

    def _begin_story(self, kind: str) -> None:
        if self.state.destination or self.state.is_left_out or not self.stack:
            self._destination("skip")
            return
        outside, is_story = self.stack.pop()
        self.stack.append((outside, True))
        if is_story:  # a second destination in one group
            self._end_story(self.stories.pop())
        if kind == "footnote":
            self.notes += 1
            self.stories[-1].pieces.append(f"[^{self.notes}]")
        self.stories.append(_Story(kind))

    def _end_story(self, story: _Story) -> None:
        outside = self.stories[-1]
        if story.kind in ("listtext", "pntext"):
            label = "".join(story.pieces).strip()
            has_number = any(sign.isalnum() for sign in label)
            outside.paragraph.label = label if has_number else ""
            return
        blocks = self._finish(story)
        if story.kind in _MARGINS:
            self.margins.setdefault(story.kind, []).extend(blocks)
        elif story.kind in ("footnote", "annotation"):
            author = self.values.pop("atnauthor", "").strip() if story.kind == "annotation" else ""
            begin = f"Comment by {author}: " if author else "Comment: "
            begin = f"[^{self.notes}]: " if story.kind == "footnote" else begin
            outside.flow.after += _note(begin, blocks)
        else:
            outside.flow.after += blocks

    def _end_paragraph(self) -> None:
        story = self.stories[-1]
        if not self.state.destination and not self.state.is_left_out:
            story.flow.paragraph(self._block(story), story.paragraph.depth)

    def _finish(self, story: _Story) -> list[Block]:
        if any(map(str.strip, story.pieces)):
            story.flow.paragraph(self._block(story), story.paragraph.depth)
        return story.flow.finish()

    def _block(self, story: _Story) -> TextBlock:
        """The paragraph that ends here, by its style."""
        text, paragraph = joined_halves("".join(story.pieces)), story.paragraph
        story.pieces.clear()
        style = self.styles.get(paragraph.style, _Style())
        name = style.name.partition(";")[0].strip().lower()
        heading = re.fullmatch(r"heading ([1-9])", name)
        outline = min(paragraph.outline, style.outline, int(heading[1]) - 1 if heading else 9)
        label, paragraph.label = paragraph.label, None
        text = text.strip()
        shown = f"{label} {text}" if label else text
        if (outline < 9 or name == "title") and len(text) <= _MOST_HEADING_CHARS:
            return TextBlock("heading", shown, 1 if name == "title" else outline + 1)
        if label is not None:
            return TextBlock("item", " ".join(shown.split()), paragraph.level)
        return TextBlock("caption" if name == "caption" else "paragraph", shown)

    # Words that change the state

    def _plain(self, _number: int | None) -> None:
        state = replace(self.state, is_left_out=False, is_hidden=False)
        self.state = replace(state, is_raised=False, is_struck=False)
        self._set_font(self.default_font)

    def _set_font(self, number: int | None) -> None:
        number = number or 0
        if self.state.destination == "fonttbl":
            self.font = self.fonts[number] = _Font()
            return
        font = self.fonts.get(number, _Font())
        symbols = font.name.partition(";")[0].strip() if font.is_symbol else ""
        self.state = replace(self.state, page=font.page or self.default_page, font=symbols)

    def _set_charset(self, number: int | None) -> None:
        self.font.is_symbol = number == _SYMBOL_CHARSET
        self.font.page = _CODE_PAGES.get(number or 0, "")

    def _set_page(self, number: int | None) -> None:
        page = _NAMED_PAGES.get(number or 0, f"cp{number}")
        try:
            codecs.lookup(page)
        except LookupError:
            return
        self.default_page = page
        self.state = replace(self.state, page=page)

    def _set_default_font(self, number: int | None) -> None:
        self.default_font = number or 0

    def _mac(self, _number: int | None) -> None:
        self._set_page(10000)

    def _pc(self, _number: int | None) -> None:
        self._set_page(437)

    def _set_skip(self, number: int | None) -> None:
        self.state = replace(self.state, skip=min(max(number or 0, 0), 16))

    def _deleted(self, number: int | None) -> None:
        self.state = replace(self.state, is_left_out=number != 0)

    def _hidden(self, number: int | None) -> None:
        self.state = replace(self.state, is_hidden=number != 0)

    def _strike(self, number: int | None) -> None:
        self.state = replace(self.state, is_struck=number != 0)

    def _raise(self, number: int | None) -> None:
        self.state = replace(self.state, is_raised=number != 0)

    def _lower(self, _number: int | None) -> None:
        self.state = replace(self.state, is_raised=False)

    def _both_forms(self, _number: int | None) -> None:
        self.state = replace(self.state, outer=self.state.destination)
        self._destination("upr")

    def _unicode_form(self, _number: int | None) -> None:
        self.state = replace(self.state, destination=self.state.outer)

    # Words of fields

    def _field_code(self, _number: int | None) -> None:
        self._destination("fldinst")

    def _form_field(self, _number: int | None) -> None:
        if self.state.destination == "fldinst":
            self.form = _FormField()
            self.state = replace(self.state, destination="formfield")

    def _form_kind(self, number: int | None) -> None:
        self.form.kind = number or 0

    def _form_result(self, number: int | None) -> None:
        self.form.result = number or 0

    def _form_default(self, number: int | None) -> None:
        self.form.default = number or 0

    def _form_entry(self, _number: int | None) -> None:
        if self.state.destination == "formfield":
            self.form.entries.append("")
            self.state = replace(self.state, destination="ffl")

    # Equations

    def _begin_math(self, word: str) -> None:
        """Begin an element of OMML, whose names RTF has behind an "m"."""
        if self.state.math is None:
            if self.state.destination or not self.stack:
                self._destination("skip")
                return
            self.equation = element = ElementTree.Element(f"{OMML}oMath")
        elif len(self.stack) > _DEEPEST:
            return
        else:
            is_property = self.state.math.tag.endswith("Pr")
            stated = {f"{OMML}val": ""} if is_property else {}
            element = ElementTree.SubElement(self.state.math, f"{OMML}{word[1:]}", stated)
        self.state = replace(self.state, destination="math", math=element)

    # Words of paragraphs

    def _reset_paragraph(self, _number: int | None) -> None:
        if not self.state.destination:
            label = self.stories[-1].paragraph.label
            self.stories[-1].paragraph = _Paragraph(label=label)

    def _set_style(self, number: int | None) -> None:
        if self.state.destination == "stylesheet":
            self.styles[number or 0] = self.style
        elif not self.state.destination:
            self.stories[-1].paragraph.style = number or 0

    def _set_outline(self, number: int | None) -> None:
        target = (
            self.style if self.state.destination == "stylesheet" else self.stories[-1].paragraph
        )
        target.outline = 9 if number is None else number

    def _set_level(self, number: int | None) -> None:
        self.stories[-1].paragraph.level = min(max(number or 0, 0), 8)

    def _in_table(self, _number: int | None) -> None:
        paragraph = self.stories[-1].paragraph
        paragraph.depth = max(paragraph.depth, 1)

    def _set_depth(self, number: int | None) -> None:
        self.stories[-1].paragraph.depth = min(max(number or 0, 0), MOST_LEVELS)

    def _paragraph_end(self, _number: int | None) -> None:
        self._end_paragraph()

    # Words of tables

    def _row_begin(self, _number: int | None) -> None:
        self.edges[self._is_nested()] = []
        self.merge, self.is_joined = "", False

    def _is_nested(self) -> bool:
        return self.state.destination == "nested"

    def _nested_row(self, _number: int | None) -> None:
        self._destination("nested")

    def _edge(self, number: int | None) -> None:
        edge = Edge(number or 0, self.merge, self.is_joined)
        self.edges[self._is_nested()].append(edge)
        self.merge, self.is_joined = "", False

    def _join(self, _number: int | None) -> None:
        self.is_joined = True

    def _begin_merge(self, _number: int | None) -> None:
        self.merge = "restart"

    def _go_on(self, _number: int | None) -> None:
        self.merge = "continue"

    def _cell_end(self, _number: int | None) -> None:
        self._end_cell(1)

    def _row_end(self, _number: int | None) -> None:
        self._end_row(1, self.edges[False])

    def _nested_cell_end(self, _number: int | None) -> None:
        self._end_cell(max(self.stories[-1].paragraph.depth, 2))

    def _nested_row_end(self, _number: int | None) -> None:
        self._end_row(max(self.stories[-1].paragraph.depth, 2), self.edges[True])

    def _end_cell(self, depth: int) -> None:
        story = self.stories[-1]
        if self.state.destination in ("", "nested"):
            story.paragraph.depth = depth
            story.flow.end_cell(self._block(story), depth)

    def _end_row(self, depth: int, edges: list[Edge]) -> None:
        if self.state.destination in ("", "nested"):
            self.stories[-1].flow.end_row(depth, edges)


_WORDS: dict[str, Callable[[_Reading, int | None], None]] = {
    "ansicpg": _Reading._set_page,
    "mac": _Reading._mac,
    "pc": _Reading._pc,
    "deff": _Reading._set_default_font,
    "plain": _Reading._plain,
    "f": _Reading._set_font,
    "fcharset": _Reading._set_charset,
    "uc": _Reading._set_skip,
    "deleted": _Reading._deleted,
    "v": _Reading._hidden,
    "strike": _Reading._strike,
    "striked": _Reading._strike,
    "super": _Reading._raise,
    "nosupersub": _Reading._lower,
    "sub": _Reading._lower,
    "upr": _Reading._both_forms,
    "ud": _Reading._unicode_form,
    "fldinst": _Reading._field_code,
    "formfield": _Reading._form_field,
    "fftype": _Reading._form_kind,
    "ffres": _Reading._form_result,
    "ffdefres": _Reading._form_default,
    "ffl": _Reading._form_entry,
    "pard": _Reading._reset_paragraph,
    "s": _Reading._set_style,
    "outlinelevel": _Reading._set_outline,
    "ilvl": _Reading._set_level,
    "intbl": _Reading._in_table,
    "itap": _Reading._set_depth,
    "par": _Reading._paragraph_end,
    "sect": _Reading._paragraph_end,
    "page": _Reading._paragraph_end,
    "trowd": _Reading._row_begin,
    "nesttableprops": _Reading._nested_row,
    "cellx": _Reading._edge,
    "cell": _Reading._cell_end,
    "row": _Reading._row_end,
    "nestcell": _Reading._nested_cell_end,
    "nestrow": _Reading._nested_row_end,
    "clmrg": _Reading._join,
    "clvmgf": _Reading._begin_merge,
    "clvmrg": _Reading._go_on,
}


def _write_math(element: Element, text: str) -> None:
    """Add text to an element of an equation, of a property as its value."""
    value = f"{OMML}val"
    if value in element.attrib:
        element.set(value, element.get(value) + text)
        return
    last = element[-1].text if len(element) else None
    if last and "\ud800" <= last <= "\udbff":
        element[-1].text = joined_halves(last + text)
    else:
        ElementTree.SubElement(element, f"{OMML}t").text = text


def _note(begin: str, blocks: list[Block]) -> Iterator[Block]:
    texts = [block.text for block in blocks if isinstance(block, TextBlock)]
    if texts:
        yield TextBlock("note", begin + "\n".join(texts))
    yield from (block for block in blocks if isinstance(block, Grid))


RICH_TEXT = Parser(
    "rtf", 4, parse_rich_text, heads=(b"{\\rtf",), media_types={".rtf": "application/rtf"}
)
