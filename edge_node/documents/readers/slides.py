"""OpenDocument presentations (.odp): what each slide says, its tables and the speaker's notes."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from functools import partial
from typing import Any

from lxml import etree

from edge_node.documents.readers.archive import DAMAGED, check_unzipped
from edge_node.documents.readers.text import ReadText, check_pages, placed, stem, table_sentences
from shared.errors import UnreadableDocument

_URN = "{{urn:oasis:names:tc:opendocument:xmlns:{}:1.0}}{}".format
_PAGE, _FRAME = _URN("drawing", "page"), _URN("drawing", "frame")
_TABLE, _ROW, _CELL = _URN("table", "table"), _URN("table", "table-row"), _URN("table", "table-cell")
_PARAGRAPH, _HEADING, _ITEM = _URN("text", "p"), _URN("text", "h"), _URN("text", "list-item")
_BREAKS = frozenset({_URN("text", "line-break"), _URN("text", "tab"), _URN("text", "s")})
_CLASS = _URN("presentation", "class")
_UNSAID = frozenset({"date-time", "footer", "header", "page-number", "page"})  # classes of frames that say nothing of their own
_TITLE = "{http://purl.org/dc/elements/1.1/}title"
_SECURE = partial(etree.XMLParser, resolve_entities=False, no_network=True, huge_tree=False, remove_comments=True, remove_pis=True)


def read_slides(name: str, data: bytes) -> ReadText:
    """Return what an .odp file says, slide by slide, notes below; the title is the stated one, else the first slide's.

    Raises UnreadableDocument: ``encrypted``, ``bad_office``, ``too_large``.
    """
    try:
        check_unzipped(name, data)
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            parts = {
                part: archive.read(part) for part in ("content.xml", "meta.xml", "META-INF/manifest.xml") if part in archive.namelist()
            }
        if b"encryption-data" in parts.get("META-INF/manifest.xml", b""):
            raise UnreadableDocument(name, "encrypted", "is behind a password", next_step="save it without a password")
        found = list(etree.fromstring(parts["content.xml"], _SECURE()).iter(_PAGE))
        check_pages(name, len(found), unit="slides")
        pages = enumerate(found, start=1)
        body, places = placed(name, ((f"slide {number}", _text(page)) for number, page in pages), separator="\n\n")
        stated = etree.fromstring(parts["meta.xml"], _SECURE()).findtext(f".//{_TITLE}") if "meta.xml" in parts else ""
    except (*DAMAGED, SyntaxError) as error:
        raise UnreadableDocument(name, "bad_office", "is not a readable .odp file", next_step="save it again, or as PDF") from error
    heading = next((line.lstrip("# ") for line in body.split("\n") if line.startswith("#")), "")
    return ReadText((stated or "").strip() or heading or stem(name), body, places)


def _text(page: Any) -> str:
    """A slide's lines in the file's order, in which its notes are last; list items stand together."""
    text, before = "", ""
    for line in _lines(page):
        text += ("\n" if line.startswith("- ") and before.startswith("- ") else "\n\n") + line
        before = line
    return text


def _lines(page: Any) -> Iterator[str]:
    for element in page.iter(_TABLE, _PARAGRAPH, _HEADING):
        above = {one.tag: one.get(_CLASS, "") for one in element.iterancestors(_TABLE, _ITEM, _FRAME)}
        if _TABLE in above or (kind := above.get(_FRAME, "")) in _UNSAID:  # a table is told as a whole
            continue
        if element.tag == _TABLE:
            rows = [[" ".join(map(_said, cell.iter(_PARAGRAPH))) for cell in row.iterchildren(_CELL)] for row in element.iter(_ROW)]
            yield "\n".join(table_sentences(rows))
        elif said := _said(element):
            yield f"# {said}" if kind == "title" else f"- {said}" if _ITEM in above else said


def _said(paragraph: Any) -> str:
    words = "".join(f"{' ' if part.tag in _BREAKS else ''}{part.text or ''}{part.tail or ''}" for part in paragraph.iter())
    return " ".join(words.split())
