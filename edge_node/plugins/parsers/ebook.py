"""E-books (.epub): chapters in the order of the spine (EPUB 3.3), each a place."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from posixpath import dirname

from lxml import etree

from edge_node.documents.blocks import Block, ParsedDocument, Place, TextBlock
from edge_node.documents.parsers import Parser
from edge_node.documents.text import check_pages
from edge_node.plugins.parsers.html import parse_html
from edge_node.plugins.parsers.package import (
    BAD_PACKAGE,
    DUBLIN_CORE,
    Element,
    Package,
    parsed_xml,
    resolved,
    usable_title,
)
from shared.errors import UnreadableDocument

_CONTAINER = "{urn:oasis:names:tc:opendocument:xmlns:container}"
_BOOK = "{http://www.idpf.org/2007/opf}"
_ENTITY = re.compile(rb"&([A-Za-z][A-Za-z0-9]{1,31});")
_OWN_ENTITIES = frozenset((b"amp", b"lt", b"gt", b"quot", b"apos"))


def parse_ebook(name: str, data: bytes) -> ParsedDocument:
    """An e-book's blocks.

    Raises UnreadableDocument: ``encrypted``, ``bad_office``, ``too_large``.
    """
    try:
        package = Package(name, data)
        part = _book_part(package)
        book = package.tree(part)
        if book is None:
            raise ValueError("no package document")
        title = usable_title(book.findtext(f"{_BOOK}metadata/{DUBLIN_CORE}title"))
        chapters = list(_chapters(name, package, book, dirname(part)))
    except BAD_PACKAGE as error:
        message, step = "is not a readable .epub file", "save it again, or as PDF"
        raise UnreadableDocument(name, "bad_office", message, next_step=step) from error
    blocks = list[Block]()
    shortfalls = list[tuple[str, str]]()
    for chapter in chapters:
        blocks += _placed(chapter)
        shortfalls += chapter.shortfalls
    return ParsedDocument(tuple(blocks), title, tuple(dict.fromkeys(shortfalls)))


def _book_part(package: Package) -> str:
    tree = package.tree("META-INF/container.xml")
    root = None if tree is None else tree.find(f".//{_CONTAINER}rootfile")
    return resolved("", root.get("full-path", "")) if root is not None else ""


def _chapters(name: str, package: Package, book: Element, folder: str) -> Iterator[ParsedDocument]:
    files = {each.get("id"): each.get("href", "") for each in book.iter(f"{_BOOK}item")}
    spine = [files.get(each.get("idref"), "") for each in book.iter(f"{_BOOK}itemref")]
    check_pages(name, len(spine), unit="chapters")
    locked = package.content("META-INF/encryption.xml") or b""
    for reference in filter(None, spine):
        part = resolved(folder, reference)
        if f'"{part}"'.encode() in locked:
            step = "add a copy without copy protection"
            raise UnreadableDocument(name, "encrypted", "is copy-protected", next_step=step)
        if content := package.content(part):
            yield parse_html(name, _as_html(content))


def _placed(chapter: ParsedDocument) -> Iterator[Block]:
    """A chapter's blocks, whose place is its heading."""
    texts = [each for each in chapter.blocks if isinstance(each, TextBlock)]
    heading = next((each.text for each in texts if each.kind == "heading"), "")
    yield from [Place(" ".join(heading.split()))] if heading else []
    yield from chapter.blocks


def _as_html(content: bytes) -> bytes:
    """XHTML as HTML, where no empty element closes itself; what is no XML stays as it is."""
    try:
        root = parsed_xml(_ENTITY.sub(_character, content))
    except SyntaxError:
        return content
    for element in root.iter():
        if isinstance(element.tag, str):
            name = element.tag.rpartition("}")[2]
            element.tag = "div" if name in ("header", "footer") else name  # not of a web site
    return bytes(etree.tostring(root, method="html", encoding="utf-8"))


def _character(entity: re.Match[bytes]) -> bytes:
    """An entity of HTML as its number: XML knows five names only."""
    if entity[1] in _OWN_ENTITIES:
        return entity[0]
    return "".join(f"&#{ord(sign)};" for sign in html.unescape(entity[0].decode())).encode()


EBOOK = Parser(
    "epub",
    2,
    parse_ebook,
    members=("META-INF/container.xml",),
    media_types={".epub": "application/epub+zip"},
)
