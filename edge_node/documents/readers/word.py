"""Word documents (.docx): paragraphs and tables in document order."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Iterator
from typing import Any

import docx
from docx.opc.exceptions import OpcError
from docx.table import Table

from edge_node.documents.readers.archive import check_unzipped
from edge_node.documents.readers.text import ReadText, capped, stem, table_sentences
from shared.errors import UnreadableDocument

# lxml reports bad XML as SyntaxError; the others are what python-docx ends in when parts or attributes are missing.
_DAMAGED = (
    OpcError,
    SyntaxError,
    zipfile.BadZipFile,
    zlib.error,
    LookupError,
    ValueError,
    AttributeError,
    TypeError,
    OSError,
    RuntimeError,
)


def read_word(name: str, data: bytes) -> ReadText:
    """Return a .docx file's paragraphs and tables; the title is the stated one, else the first heading.

    Raises UnreadableDocument: ``bad_docx``, ``too_large`` before anything is unzipped.
    """
    try:
        check_unzipped(name, data)
        document = docx.Document(io.BytesIO(data))
        body = capped(name, _blocks(document), separator="\n\n")
        stated = document.core_properties.title or ""
    except _DAMAGED as error:
        raise UnreadableDocument(name, "bad_docx", "is not a readable Word document", next_step="save it as .docx or PDF again") from error
    heading = next((line.lstrip("# ") for line in body.split("\n") if line.startswith("#")), "")
    return ReadText(stated.strip() or heading or stem(name), body)


def _blocks(document: Any) -> Iterator[str]:
    styles = {style.style_id: style.name or "" for style in document.styles}  # once: python-docx searches them for every paragraph
    items: list[str] = []  # list items stand together, without blank lines
    for block in document.iter_inner_content():
        text = _table(block) if isinstance(block, Table) else _paragraph(block.text.strip(), styles.get(block._p.style, ""))
        if text.startswith("- "):
            items.append(text)
            continue
        if items:
            yield "\n".join(items)
            items = []
        if text:
            yield text
    if items:
        yield "\n".join(items)


def _paragraph(text: str, style: str) -> str:
    if not text:
        return ""
    if style == "Title":
        return f"# {text}"
    if style.startswith("Heading "):
        return f"{'#' * min(6, int(style[8:]))} {text}" if style[8:].isdecimal() else text
    return f"- {text}" if style.startswith("List ") else text


def _table(table: Table) -> str:
    # The XML's own cells: a merged cell comes once, and a stated span of a million columns costs nothing.
    rows = [[" ".join(paragraph.text for paragraph in cell.p_lst) for cell in row.tc_lst] for row in table._tbl.tr_lst]
    return "\n".join(table_sentences(rows))
