"""Markdown by CommonMark's rules: the words stay, less the signs that are there for a renderer."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice, takewhile
from typing import Any

import yaml
from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_block.reference import reference
from markdown_it.rules_inline import StateInline
from markdown_it.rules_inline.emphasis import tokenize
from markdown_it.token import Token

from edge_node.documents.blocks import Block, ParsedDocument, TextBlock
from edge_node.documents.grid_cells import GridCell
from edge_node.documents.grids import laid_out
from edge_node.documents.parsers import Parser
from edge_node.plugins.parsers.charsets import decoded
from edge_node.plugins.parsers.html import left_out_of, parse_source
from edge_node.plugins.parsers.json_lines import flat_pairs
from edge_node.plugins.parsers.plain import paragraphs
from edge_node.plugins.parsers.struck import STRUCK
from edge_node.plugins.parsers.wrapping import unwrapped
from shared.errors import UnreadableDocument

MAX_LEVEL = 120  # of lists and quotes in others
MAX_FRONT_VALUES = 200  # with what aliases repeat
_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.{0,20000}?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_DEFINITION = re.compile(r"\[((?:[^\[\]\\\n]|\\.){1,500})\]:\s*(\S+)")
_ADDRESS = re.compile(
    r"<\S*>$|#|\.{0,2}/|[a-z][a-z0-9+.-]*:|[\w.-]+/|[\w-]+(?:\.[\w-]+)*\.[a-z]{2,10}\b",
    re.IGNORECASE,
)
_LABEL = re.compile(r"(?<!\\)\[((?:[^\[\]\\\n]|\\.){1,500})\](?!:)")
_CLOSING = re.compile(r"</([A-Za-z][A-Za-z0-9-]*)")
_BAR = re.compile(r"(?<!\\)\|")
_MARKUP = re.compile(r"[\\`*_\[<&!]")
_PREFIX = re.compile(r"^\s*(?:>\s?)*\s*")
_BAR_LINE = re.compile(r"\|.*\|$")
_RULE_SIGNS = frozenset("|:- \t")
_PAIRED = re.compile(r"[\[\]*_]")
MOST_PAIRED = 5_000  # in a paragraph: pairing them takes time with their square
_TAG = re.compile(r"</?([A-Za-z][A-Za-z0-9-]*+)([^<>]*+)>")
_COMMENT = re.compile(  # each ends before the next one: the search takes time in line with the text
    r"<!--(?:(?!<!--).)*?-->|<\?(?:(?!<\?).)*?\?>|<!\[CDATA\[|\]\]>|<![A-Za-z][^<>]*>", re.DOTALL
)
_FAR_EAST = "\u2e80"  # from here on words stand without blanks between them
_BREAK = "\x1e"  # a line's end that the writer meant
# Elements of HTML; of those of the second set, a tag is one even where nothing closes it.
_NAMES = """
a abbr acronym address article aside audio b bdi bdo big blockquote body button canvas caption
center cite code data datalist dd del details dfn dialog div dl dt em fieldset figcaption figure
font footer form h1 h2 h3 h4 h5 h6 head header hgroup html i iframe ins kbd label legend main map
mark menu meter nav noscript object ol optgroup option output picture pre progress q rp rt ruby s
samp script section select small span strike strong style sub summary sup svg table tbody td
template textarea tfoot th thead time title tr tt u ul var video
"""
_ELEMENTS = frozenset(_NAMES.split())
_VOID_NAMES = """
area base br col colgroup dd dt embed hr img input li link meta option p source tbody td tfoot th
thead tr track wbr
"""
_VOID = frozenset(_VOID_NAMES.split())


def parse_markdown(name: str, data: bytes) -> ParsedDocument:
    """Markdown without link targets, emphasis and rulers; tables are grids.

    The title is the front matter's, else the first heading. Raises UnreadableDocument
    (``not_text``).
    """
    source = decoded(name, data)
    text = source.text.replace("\r\n", "\n").replace("\r", "\n").replace(_BREAK, " ")
    front = _FRONT_MATTER.match(text)
    title, values = _front_matter(front.group(1)) if front else ("", [])
    left_out = Counter[str]()
    blocks = [*values, *markdown_blocks(text[front.end() :] if front else text, left_out)]
    return ParsedDocument(tuple(blocks), title, (*source.shortfalls, *left_out_of(left_out)))


def _front_matter(source: str) -> tuple[str, list[Block]]:
    """The title, and all other values as one paragraph; as they are written if they are many."""
    try:
        value = yaml.BaseLoader(source).get_single_data()  # words only: 12:30 is no number
    except (yaml.YAMLError, RecursionError, ValueError):
        return "", [TextBlock("paragraph", source)]
    if not isinstance(value, dict):
        return "", [TextBlock("paragraph", source)]
    stated = [str(each) for key, each in value.items() if str(key).lower() == "title"]
    others = {str(key): each for key, each in value.items() if str(key).lower() != "title"}
    pairs = list(islice(flat_pairs(others, ""), MAX_FRONT_VALUES + 1))
    if len(pairs) > MAX_FRONT_VALUES:
        return "".join(stated[:1]), [TextBlock("paragraph", source)]
    lines = [f"{key}: {each}" for key, each in pairs if each]
    return "".join(stated[:1]), [TextBlock("paragraph", "\n".join(lines))] if lines else []


def markdown_blocks(text: str, left_out: Counter[str]) -> Iterator[Block]:
    r"""The blocks of Markdown; as plain text what is nested too deep or has too many signs.

    ``left_out`` counts what its HTML does not show.

    >>> source = "# A\n\n[Mira]: here is *it* &amp; all."
    >>> [block.text for block in markdown_blocks(source, Counter())]
    ['A', '[Mira]: here is it & all.']
    """
    if any(len(_PAIRED.findall(paragraph)) > MOST_PAIRED for paragraph in text.split("\n\n")):
        return paragraphs(text)
    walk = _Walk(text, left_out)
    return paragraphs(text) if walk.is_too_deep else walk.blocks()


def _label(text: str) -> str:
    return " ".join(text.split()).casefold()


def _definition(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """CommonMark's link definition, if something refers to it and its target may be one."""
    line = state.src[state.bMarks[start] + state.tShift[start] : state.eMarks[start]]
    found = _DEFINITION.match(line)
    if found is None or found.group(1).startswith("^"):
        return False
    is_one = _label(found.group(1)) in state.env["labels"] and _ADDRESS.match(found.group(2))
    return bool(is_one) and reference(state, start, end, silent)


def _emphasis(state: StateInline, silent: bool) -> bool:
    """CommonMark's, but for signs between words or figures: 5*10*2 is a product."""
    start, count = state.pos, len(state.delimiters)
    if not tokenize(state, silent):
        return False
    before, after = state.src[max(start - 1, 0) : start], state.src[state.pos : state.pos + 1]
    if all(side.isalnum() and side < _FAR_EAST for side in (before, after)):
        is_figure = before.isdigit() or after.isdigit()
        for delimiter in state.delimiters[count:]:
            delimiter.open = False
            is_strong = delimiter.length > 1  # **N**ational
            delimiter.close = delimiter.close and is_strong and not is_figure
    return True


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": True, "maxNesting": MAX_LEVEL}).enable("table")
    parser.block.ruler.at("reference", _definition)
    parser.inline.ruler.at("emphasis", _emphasis)
    return parser


_MARKDOWN = _parser()


class _Walk:
    """The blocks of one text, from its first token to its last."""

    def __init__(self, text: str, left_out: Counter[str]) -> None:
        self._left_out = left_out
        self._lines = text.split("\n")
        self._closed = {name.lower() for name in _CLOSING.findall(text)}
        self._env = dict[str, Any](labels={_label(label) for label in _LABEL.findall(text)})
        self._tokens = _MARKDOWN.parse(text, self._env)
        self._at = 0
        self._depth = 0  # of open lists
        self._item = ""  # what stands before the text of an item that has just begun

    @property
    def is_too_deep(self) -> bool:
        """Whether the parser left out what lies deeper."""
        return any(token.level >= MAX_LEVEL - 1 for token in self._tokens)

    def blocks(self) -> Iterator[Block]:
        while self._at < len(self._tokens):
            token = self._tokens[self._at]
            self._at += 1
            if handler := _HANDLERS.get(token.type):
                yield from handler(self, token)

    def open_list(self, _: Token) -> Iterator[Block]:
        self._depth += 1
        return iter(())

    def close_list(self, _: Token) -> Iterator[Block]:
        self._depth -= 1
        return iter(())

    def open_item(self, token: Token) -> Iterator[Block]:
        """With the number that stands there: the next of "12. May" may be "19. May"."""
        self._item = f"{token.info}{token.markup} " if token.info else "- "
        return iter(())

    def heading(self, token: Token) -> Iterator[Block]:
        inline = self._tokens[self._at]
        self._at += 2  # the inline text, and the end of the heading
        text = self._words(inline).replace(_BREAK, " ")
        yield TextBlock("heading", text, int(token.tag[1:]))

    def paragraph(self, token: Token) -> Iterator[Block]:
        start, end = token.map or (0, 0)
        lines = [_PREFIX.sub("", line) for line in self._lines[start:end]]
        if len(lines) > 1 and all(map(_BAR_LINE.match, lines)):
            yield self._grid(lines, has_header=False)
            return
        text = _unwrapped(self._words(token))
        if self._item:
            number, self._item = self._item.removeprefix("- "), ""
            yield TextBlock("item", f"{number}{text}", self._depth - 1)
        else:
            yield TextBlock("note" if text.startswith("[^") else "paragraph", text)

    def code(self, token: Token) -> Iterator[Block]:
        yield TextBlock("code", token.content.rstrip("\n"))

    def table(self, token: Token) -> Iterator[Block]:
        while self._tokens[self._at].type != "table_close":
            self._at += 1
        start, end = token.map or (0, 0)
        lines = [_PREFIX.sub("", line) for line in self._lines[start:end]]
        rows = list(takewhile(_BAR.search, lines))
        yield self._grid(rows, has_header=True)
        below = "\n".join(lines[len(rows) :])  # a text that no blank line parts from it
        yield from markdown_blocks(below, self._left_out)

    def _grid(self, lines: list[str], *, has_header: bool) -> Block:
        """A table with all its cells: a renderer leaves out those that have no heading."""
        rows = list[list[GridCell]]()
        for line in lines:
            if _RULE_SIGNS.issuperset(line):
                continue
            bare = line.strip().removeprefix("|")
            bare = bare.removesuffix("|") if not bare.endswith("\\|") else bare
            texts = [self._cell(cell) for cell in _BAR.split(bare)]
            is_heading = has_header and not rows
            rows.append([GridCell(text, is_heading=is_heading) for text in texts])
        return laid_out(rows)

    def _cell(self, source: str) -> str:
        source = source.strip().replace("\\|", "|")
        if not _MARKUP.search(source):
            return source
        (token,) = _MARKDOWN.parseInline(source, self._env)
        return self._words(token).replace(_BREAK, "\n")

    def html(self, token: Token) -> Iterator[Block]:
        source = self._html_source(token)
        source = _COMMENT.sub("", source).replace("<!--", "")
        tags = [tag for tag in _TAG.finditer(source) if self._is_tag(tag)]
        escaped = _TAG.sub(lambda tag: tag[0] if self._is_tag(tag) else f"&lt;{tag[0][1:]}", source)
        if tags:
            yield from html_blocks(escaped, self._left_out)
        elif escaped.strip():
            (inline,) = _MARKDOWN.parseInline(escaped.strip(), self._env)
            yield TextBlock("paragraph", _unwrapped(self._words(inline)))

    def _html_source(self, token: Token) -> str:
        """The source of a block of HTML; of a table with blank lines in it, all of it."""
        opened = token.content.lower()
        if opened.count("<table") <= opened.count("</table"):
            return token.content
        start, end = token.map or (0, 0)
        for at in range(self._at, len(self._tokens)):
            following = self._tokens[at]
            if following.type == "html_block" and "</table" in following.content.lower():
                end = (following.map or (0, end))[1]
                self._at = at + 1
                break
        return "\n".join(self._lines[start:end])

    def _is_tag(self, tag: re.Match[str]) -> bool:
        """Whether it is one of HTML: "<patient name>" is not."""
        name = tag[1].lower()
        if name in _VOID:
            return True
        return name in _ELEMENTS and (name in self._closed or "=" in tag[2])

    def _words(self, token: Token) -> str:
        children = token.children or []
        words = list(map(self._word, children))
        for at, child in enumerate(children[1:-1], start=1):
            is_link = (children[at - 1].type, children[at + 1].type) == ("link_open", "link_close")
            if is_link and child.content.isdigit():
                words[at] = f"[{child.content}]"  # a citation
        return "".join(words)

    def _word(self, token: Token) -> str:
        match token.type:
            case "softbreak":
                return "\n"
            case "hardbreak":
                return _BREAK
            case "image":
                return self._words(token)
            case "html_inline":
                return self._tag_words(token.content)
            case _:
                return token.content

    def _tag_words(self, source: str) -> str:
        tag = _TAG.fullmatch(source)
        if tag is None:  # a comment
            return "" if _COMMENT.fullmatch(source) else source
        if not self._is_tag(tag):
            return source
        if tag[1].lower() == "br":
            return _BREAK
        if tag[1].lower() in ("s", "strike", "del"):
            return STRUCK
        return "^" if tag[1].lower() == "sup" and source[1] != "/" else ""  # 10<sup>3</sup>


_HANDLERS: dict[str, Callable[[_Walk, Token], Iterator[Block]]] = {
    "bullet_list_open": _Walk.open_list,
    "ordered_list_open": _Walk.open_list,
    "bullet_list_close": _Walk.close_list,
    "ordered_list_close": _Walk.close_list,
    "list_item_open": _Walk.open_item,
    "heading_open": _Walk.heading,
    "inline": _Walk.paragraph,
    "fence": _Walk.code,
    "code_block": _Walk.code,
    "table_open": _Walk.table,
    "html_block": _Walk.html,
}


def _unwrapped(text: str) -> str:
    """Wrapped lines as one; a line's end that is meant stays."""
    return "\n".join(map(unwrapped, text.split(_BREAK)))


def html_blocks(source: str, left_out: Counter[str]) -> tuple[Block, ...]:
    """The blocks of a piece of a page; its source where it is nested beyond reason."""
    sound = source.encode("utf-8", errors="replace").decode()
    try:
        blocks, _ = parse_source("block.html", sound, left_out)
    except UnreadableDocument:
        return (TextBlock("paragraph", source),)
    return blocks


MARKDOWN = Parser(
    "markdown",
    4,
    parse_markdown,
    media_types={
        ".markdown": "text/markdown",
        ".md": "text/markdown",
    },
)
