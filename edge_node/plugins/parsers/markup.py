"""XML: records and fields of any, workbooks, outlines (.opml) and books (.fb2)."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Iterator
from typing import Any

from lxml import etree

from edge_node.documents.blocks import Block, ParsedDocument, TextBlock
from edge_node.documents.parsers import Parser
from edge_node.documents.text import row_sentence, stem
from edge_node.plugins.parsers.json_lines import value_blocks
from edge_node.plugins.parsers.xml_sheets import is_xml_workbook, workbook_blocks
from shared.errors import UnreadableDocument

MAX_ELEMENTS = 500_000
_HEADINGS = frozenset({"head", "heading", "subtitle", "title"})
_TEXTS = """
TEI abstract article back blockquote body book chapter div footnote front head heading html item
li list listitem lg ol p para paragraph part preface quote sec sect1 sect2 sect3 section simpara
subtitle text title ul v
"""
_OF_TEXTS = frozenset(_TEXTS.split())  # elements of DocBook, TEI, JATS, HTML and the like
_OF_LAYOUT = frozenset("class href id lang n rend role src style type version".split())  # noqa: SIM905


def parse_xml(name: str, data: bytes) -> ParsedDocument:
    """The fields of records by their elements' names; the paragraphs of a text in order.

    Raises UnreadableDocument: ``bad_xml``, ``too_large``.
    """
    root, shortfalls = _root(name, data)
    if is_xml_workbook(root):
        blocks, hidden = workbook_blocks(name, root)
        return ParsedDocument(blocks, stem(name), (*shortfalls, *hidden))
    if _is_text(root):
        return ParsedDocument(tuple(_text_blocks(root, 0)), "", shortfalls)
    value = _value(root)
    path = "" if isinstance(value, dict) else _name(root)
    return ParsedDocument(tuple(value_blocks(value, path)), stem(name), shortfalls)


def parse_outline(name: str, data: bytes) -> ParsedDocument:
    """The items of an outline, with their notes. Raises as ``parse_xml``."""
    root, shortfalls = _root(name, data)
    title = next((_words(each) for each in root.iter("{*}title")), "")
    body = next(root.iter("{*}body"), root)
    return ParsedDocument(tuple(_outline_blocks(body, 0)), title, shortfalls)


def parse_book(name: str, data: bytes) -> ParsedDocument:
    """The text of a book, its sections below their titles. Raises as ``parse_xml``."""
    root, shortfalls = _root(name, data)
    title = next((_words(each) for each in root.iter("{*}book-title")), "")
    blocks: list[Block] = [TextBlock("heading", title, 1)] if title else []
    for author in root.iterfind("{*}description/{*}title-info/{*}author"):
        names = " ".join(map(_words, _children(author)))
        blocks.append(TextBlock("paragraph", f"Author: {names}"))
    for body in root.iterfind("{*}body"):
        blocks += _text_blocks(body, 1)
    return ParsedDocument(tuple(blocks), title, shortfalls)


def _root(name: str, data: bytes) -> tuple[etree._Element, tuple[tuple[str, str], ...]]:
    """The root of a file; of one with errors in it, of what can be read."""
    shortfalls: tuple[tuple[str, str], ...] = ()
    root = _parsed(data, is_lenient=False)
    if root is None:
        root = _parsed(data, is_lenient=True)
        shortfalls = (("part_unread", "The XML has errors: what they hide is not in the text."),)
    if root is None:
        step = "save it as XML or text again"
        raise UnreadableDocument(name, "bad_xml", "is not XML", next_step=step)
    for number, _ in enumerate(root.iter()):
        if number > MAX_ELEMENTS:
            message = f"holds more than {MAX_ELEMENTS} elements"
            step = "split the document and add the parts"
            raise UnreadableDocument(name, "too_large", message, next_step=step)
    return root, shortfalls


def _parsed(data: bytes, *, is_lenient: bool) -> etree._Element | None:
    parser = etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
        recover=is_lenient,
    )
    try:
        return etree.fromstring(data, parser)
    except (etree.XMLSyntaxError, ValueError):
        return None


def _name(element: etree._Element) -> str:
    return str(element.tag).rpartition("}")[2]  # what a lenient parser gives may be no valid name


def _children(element: etree._Element) -> list[etree._Element]:
    return [child for child in element if isinstance(child.tag, str)]


def _words(element: etree._Element) -> str:
    """All words of an element; empty elements, as line breaks, and like neighbours part them."""
    return " ".join("".join(_pieces(element)).split())


def _pieces(element: etree._Element) -> Iterator[str]:
    before: etree._Element | None = None
    for event, part in etree.iterwalk(element, events=("start", "end")):
        if event == "start":
            is_next = before is not None and part.getprevious() is before
            if is_next and before is not None and not before.tail and before.tag == part.tag:
                yield " "
            yield part.text or ("" if len(part) else " ")
        elif part is not element:
            yield part.tail or ""
            before = part


def _is_mixed(element: etree._Element) -> bool:
    """Whether words stand between its elements, as in a paragraph."""
    tails = [child.tail or "" for child in element]
    return len(element) > 0 and bool("".join([element.text or "", *tails]).strip())


def _is_text(root: etree._Element) -> bool:
    """Whether it is a text, with words around elements in paragraphs; a record may have one such.

    Paragraphs have usual names, or follow one another under the same name.
    """
    if _name(root) == "html" or (_is_mixed(root) and not root.attrib):
        return True
    paragraphs = set[tuple[etree._Element | None, str]]()
    for element in filter(_is_mixed, root.iter("*")):
        paragraph = element.getparent(), str(element.tag)
        if _name(element) in _OF_TEXTS or paragraph in paragraphs:
            return True
        paragraphs.add(paragraph)
    return False


def _text_blocks(element: etree._Element, level: int) -> Iterator[Block]:
    """Elements with words in them are paragraphs; ``level`` is that of a title among them.

    Attributes stand in a sentence with the words of their element, or above its elements; not those
    that elements of texts have.
    """
    name = _name(element)
    if name == "binary":  # a picture of a book
        return
    children = _children(element)
    fields = {} if name in _OF_TEXTS else _fields(element)
    if name in _HEADINGS:
        yield TextBlock("heading", _words(element), max(level, 1))
        return
    is_paragraph = not children or _is_mixed(element)
    words = _words(element) if is_paragraph else ""
    if fields:
        words = row_sentence(list(fields), [*fields.values(), words])
    yield TextBlock("paragraph", words)
    if not is_paragraph:
        has_title = any(_name(child) in _HEADINGS for child in children)
        for child in children:
            yield from _text_blocks(child, level + has_title)


def _fields(element: etree._Element) -> dict[str, str]:
    """The attributes of an element that are no matter of layout."""
    pairs = ((str(key), str(value)) for key, value in element.attrib.items())
    return {key: value for key, value in pairs if key[:1] != "{" and key not in _OF_LAYOUT}


def _value(element: etree._Element) -> Any:
    """An element as JSON has it: its attributes and elements by name, else its text."""
    fields = dict[str, Any]()
    for key, value in element.attrib.items():
        fields[str(etree.QName(key).localname)] = str(value)
    is_mixed = _is_mixed(element)
    groups = dict[str, list[Any]]()
    for child in () if is_mixed else _children(element):
        groups.setdefault(_name(child), []).append(_value(child))
    for name, values in groups.items():
        known = [fields[name]] if name in fields else []  # an attribute of the same name
        both = known + values
        fields[name] = both if len(both) > 1 else both[0]
    text = "" if groups else _words(element)
    if not fields:
        return text
    return {**fields, "text": text} if text else fields


def _outline_blocks(element: etree._Element, level: int) -> Iterator[Block]:
    for child in _children(element):
        parts = [child.get(key) for key in ("text", "title", "_note", "url", "xmlUrl")]
        if text := ": ".join(dict.fromkeys(filter(None, parts))):
            yield TextBlock("item", text, level)
        yield from _outline_blocks(child, level + 1)


BOOK = Parser("fictionbook", 2, parse_book, media_types={".fb2": "text/xml"})
OUTLINE = Parser("outline", 1, parse_outline, media_types={".opml": "text/x-opml"})
XML = Parser(
    "xml",
    2,
    parse_xml,
    guess=lambda start: start.removeprefix(BOM_UTF8).startswith(b"<?xml"),
    media_types={".xml": "text/xml"},
)
