"""HTML: the words a reader of the page sees, with its headings, lists and tables."""

from __future__ import annotations

import re
from collections import Counter

from selectolax.lexbor import LexborHTMLParser, LexborNode

from edge_node.documents.readers.plain import decoded
from edge_node.documents.readers.text import ReadText, capped, stem, table_sentences
from shared.errors import UnreadableDocument

_MAX_DEPTH = 2_000  # of nested elements: parsing takes time with its square
_PARAGRAPH, _LINE = "\x02", "\x03"  # stand for breaks while white space is squeezed
_UNSEEN = "script,style,noscript,template,svg,nav,footer,iframe,button,select,object,[hidden],[aria-hidden=true]"
_BLOCKS = (
    "p,div,section,article,main,aside,ul,ol,dl,dt,dd,table,caption,blockquote,pre,"
    "figure,figcaption,address,form,fieldset,hr,h1,h2,h3,h4,h5,h6"
)
_VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
_MAY_STAY_OPEN = _VOID | {"p", "li", "dt", "dd", "tr", "td", "th", "thead", "tbody", "tfoot", "option"}
_TAG = re.compile(r"<!--.*?(?:-->|\Z)|<(/?)([a-zA-Z][a-zA-Z0-9]*+)", re.DOTALL)
_META_CHARSET = re.compile(rb"<meta[^<>]+charset\s*+=\s*+[\"']?\s*+([A-Za-z0-9_.:-]+)", re.IGNORECASE)


def read_html(name: str, data: bytes) -> ReadText:
    """Return a page's text without scripts, navigation, page header and footer; the title is ``<title>``, else ``<h1>``.

    Raises UnreadableDocument: ``not_text``; ``bad_html`` for elements nested beyond reason.
    """
    source = _characters(name, data).replace(_PARAGRAPH, " ").replace(_LINE, " ")
    if _depth(source) > _MAX_DEPTH:
        raise UnreadableDocument(name, "bad_html", f"is nested more than {_MAX_DEPTH} deep", next_step="save the page as text")
    tree = LexborHTMLParser(source)
    title = _text_of(tree.css_first("title")) or _text_of(tree.css_first("h1")) or stem(name)
    body = tree.body
    if body is None:
        return ReadText(title, "")
    _drop_unseen(body)
    _mark_tables(body)
    _mark_blocks(body)
    blocks = " ".join(body.text(separator="").split()).split(_PARAGRAPH)
    paragraphs = ("\n".join(filter(None, (line.strip() for line in block.split(_LINE)))) for block in blocks)
    return ReadText(title, capped(name, filter(None, paragraphs), separator="\n\n"))


def _characters(name: str, data: bytes) -> str:
    stated = _META_CHARSET.search(data[:4096])
    if stated:
        try:
            return data.decode(stated.group(1).decode("ascii"))
        except (LookupError, UnicodeDecodeError):  # a wrong or unknown label: the bytes themselves tell more
            return decoded(name, data)
    return decoded(name, data)


def _depth(source: str) -> int:
    """Return a bound on how many elements are open at once; those that close by themselves do not count."""
    opened: Counter[str] = Counter()
    depth = deepest = 0
    for found in _TAG.finditer(source):
        tag = (found.group(2) or "br").lower()
        if tag in _MAY_STAY_OPEN or (found.group(1) and not opened[tag]):
            continue
        step = -1 if found.group(1) else 1
        opened[tag] += step
        depth += step
        deepest = max(deepest, depth)
    return deepest


def _text_of(node: LexborNode | None) -> str:
    return " ".join(node.text().split()) if node else ""


def _drop_unseen(body: LexborNode) -> None:
    for node in body.css("header"):
        if not node.css_first("h1"):  # an article's header holds its title, a page's header holds links
            node.decompose()
    for node in body.css(_UNSEEN):
        node.decompose()


def _mark_tables(body: LexborNode) -> None:
    """Turn tables that name their columns into sentences, and the rows of others into lines."""
    for table in body.css("table"):
        if table.css_first("table table") or not table.css_first("th"):
            continue
        rows = [[_text_of(cell) for cell in row.css("th,td")] for row in table.css("tr")]
        caption = _text_of(table.css_first("caption"))
        lines = [caption] * bool(caption) + table_sentences(rows)
        table.replace_with(_PARAGRAPH + _LINE.join(lines) + _PARAGRAPH)
    for row in body.css("tr"):
        row.insert_before(_LINE)
    for cell in body.css("td"):
        cell.insert_after(" ")


def _mark_blocks(body: LexborNode) -> None:
    for node in body.css(_BLOCKS):
        tag = node.tag or ""
        level = int(tag[1]) if len(tag) == 2 and tag[1].isdigit() else 0
        node.insert_before(_PARAGRAPH + "#" * level + " ")
        node.insert_after(_PARAGRAPH)
    for node in body.css("pre"):
        node.replace_with(node.text().replace("\n", _LINE))
    for node in body.css("li"):
        node.insert_before(_LINE + "- ")
    for node in body.css("br"):
        node.insert_before(_LINE)
