"""Documents' bytes to text: pure functions, one file a family of formats."""

from __future__ import annotations

from collections.abc import Callable

from edge_node.documents.readers.markdown import read_markdown
from edge_node.documents.readers.plain import read_plain, read_table
from edge_node.documents.readers.text import MAX_TEXT_CHARS, OLE_MAGIC, ReadText, normalised, one_line, stem, suffix, too_large
from shared.errors import UnreadableDocument

__all__ = ["MAX_TEXT_CHARS", "READERS", "SUFFIXES", "ReadText", "Reader", "load_all", "normalised", "read"]

Reader = Callable[[str, bytes], ReadText]


# The libraries of these three belong to the extra `edge` and are loaded when first needed: the `dgrag` command runs without them.
def _read_html(name: str, data: bytes) -> ReadText:
    from edge_node.documents.readers.web import read_html

    return read_html(name, data)


def _read_pdf(name: str, data: bytes) -> ReadText:
    from edge_node.documents.readers.pdf import read_pdf

    return read_pdf(name, data)


def _read_word(name: str, data: bytes) -> ReadText:
    from edge_node.documents.readers.word import read_word

    return read_word(name, data)


READERS: dict[str, Reader] = {
    ".csv": read_table,
    ".docx": _read_word,
    ".htm": _read_html,
    ".html": _read_html,
    ".markdown": read_markdown,
    ".md": read_markdown,
    ".pdf": _read_pdf,
    ".text": read_plain,
    ".tsv": read_table,
    ".txt": read_plain,
    ".xhtml": _read_html,
}
SUFFIXES = tuple(READERS)


def load_all() -> None:
    """Import the readers that are otherwise loaded when first needed."""
    from edge_node.documents.readers import pdf, web, word  # noqa: F401


def read(name: str, data: bytes) -> ReadText:
    r"""Return a document's title and normalised text; ``name`` chooses the reader by its suffix, PDF and Word show by their bytes.

    Raises UnreadableDocument, whose reason is one of ``empty``, ``not_text``, ``encrypted``, ``bad_pdf``, ``no_text``,
    ``bad_docx``, ``bad_html``, ``bad_table``, ``too_large``.

    >>> read('ward.md', b'# Juniper Ward\r\n\r\nIt has **28** beds.')
    ReadText(title='Juniper Ward', text='# Juniper Ward\n\nIt has 28 beds.')
    """
    if not data.strip():
        raise _empty(name)
    found = _reader(name, data)(name, data)
    if len(found.text) > MAX_TEXT_CHARS:
        raise too_large(name, f"holds more than {MAX_TEXT_CHARS} characters of text")
    text = normalised(found.text)
    if not any(character.isalnum() for character in text):
        raise _empty(name)
    return ReadText(one_line(found.title) or one_line(stem(name)), text)


def _reader(name: str, data: bytes) -> Reader:
    """Return the reader by the file's first bytes if they are telling, else by its suffix, else by a look for HTML."""
    head = data[:1024].lstrip().lower()
    if head.startswith(b"%pdf-"):
        return _read_pdf
    if data.startswith((b"PK\x03\x04", OLE_MAGIC)):
        return _read_word
    if known := READERS.get(suffix(name)):
        return known
    return _read_html if head.startswith((b"<!doctype html", b"<html")) else read_plain


def _empty(name: str) -> UnreadableDocument:
    return UnreadableDocument(name, "empty", "has no text in it", next_step="add a document that has words in it")
