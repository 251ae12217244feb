"""Documents' bytes to text: pure functions, one file a family of formats."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from functools import partial

from edge_node.documents.readers.archive import DAMAGED
from edge_node.documents.readers.json_text import read_json, read_json_lines
from edge_node.documents.readers.markdown import read_markdown
from edge_node.documents.readers.plain import read_plain, read_table
from edge_node.documents.readers.text import (
    MAX_TEXT_CHARS,
    OLE_MAGIC,
    ReadText,
    is_noise,
    normalised,
    not_text,
    one_line,
    stem,
    suffix,
    too_large,
)
from shared.errors import UnreadableDocument

__all__ = ["FORMAT_READERS", "MAX_TEXT_CHARS", "SUFFIXES", "FormatReader", "ReadText", "load_all", "normalised", "read"]

FormatReader = Callable[[str, bytes], ReadText]
MAX_DEPTH = 3  # of documents in documents: a mail with an archive of mails


# The libraries of these belong to the extra `edge` and are loaded when first needed: the `dgrag` command runs without them.
def _read_html(name: str, data: bytes) -> ReadText:
    from edge_node.documents.readers.web import read_html

    return read_html(name, data)


def _read_pdf(name: str, data: bytes) -> ReadText:
    from edge_node.documents.readers.pdf import read_pdf

    return read_pdf(name, data)


def _read_word(name: str, data: bytes) -> ReadText:
    from edge_node.documents.readers.word import read_word

    return read_word(name, data)


def _read_sheet(name: str, data: bytes) -> ReadText:
    from edge_node.documents.readers.sheet import read_sheet

    return read_sheet(name, data)


def _read_image(name: str, data: bytes) -> ReadText:
    from edge_node.documents.readers.recognition import read_image

    return read_image(name, data)


def _read_office(kind: str, name: str, data: bytes) -> ReadText:
    from edge_node.documents.readers.office import read_office

    return read_office(name, data, kind)


def _read_slides(name: str, data: bytes) -> ReadText:
    from edge_node.documents.readers.slides import read_slides

    return read_slides(name, data)


def _read_old_office(kind: str, name: str, data: bytes) -> ReadText:
    from edge_node.documents.readers.office import read_old_office

    return read_old_office(name, data, kind)


def _read_msg(name: str, data: bytes, depth: int = 0) -> ReadText:
    from edge_node.documents.readers.mail import read_msg

    return read_msg(name, data, partial(_inside, depth=depth + 1))


def _read_mail(name: str, data: bytes, depth: int = 0) -> ReadText:
    from edge_node.documents.readers.mail import read_mail

    return read_mail(name, data, partial(_inside, depth=depth + 1))


def _read_zip(name: str, data: bytes, depth: int = 0) -> ReadText:
    from edge_node.documents.readers.archive import read_zip

    return read_zip(name, data, partial(_inside, depth=depth + 1))


FORMAT_READERS: dict[str, FormatReader] = {
    ".csv": read_table,
    ".doc": partial(_read_old_office, ".doc"),
    ".docx": _read_word,
    ".eml": _read_mail,
    ".epub": partial(_read_office, ".epub"),
    ".htm": _read_html,
    ".html": _read_html,
    ".jpeg": _read_image,
    ".jpg": _read_image,
    ".json": read_json,
    ".jsonl": read_json_lines,
    ".markdown": read_markdown,
    ".md": read_markdown,
    ".msg": _read_msg,
    ".ndjson": read_json_lines,
    ".ods": _read_sheet,
    ".odp": _read_slides,
    ".odt": partial(_read_office, ".odt"),
    ".pdf": _read_pdf,
    ".png": _read_image,
    ".ppt": partial(_read_old_office, ".ppt"),
    ".pptx": partial(_read_office, ".pptx"),
    ".rtf": partial(_read_office, ".rtf"),
    ".text": read_plain,
    ".tif": _read_image,
    ".tiff": _read_image,
    ".tsv": read_table,
    ".txt": read_plain,
    ".xhtml": _read_html,
    ".xls": _read_sheet,
    ".xlsx": _read_sheet,
    ".zip": _read_zip,
}
SUFFIXES = tuple(FORMAT_READERS)
_HEADS = (  # first bytes, which tell more than a name does
    (b"{\\rtf", ".rtf"),
    (b"\x89PNG\r\n", ".png"),
    (b"\xff\xd8\xff", ".jpg"),
    (b"II*\0", ".tif"),
    (b"MM\0*", ".tif"),
    (b"II+\0", ".tif"),
    (b"MM\0+", ".tif"),
)
_PARTS = (  # of an archive: what it is
    ("word/document.xml", ".docx"),
    ("xl/workbook.xml", ".xlsx"),
    ("xl/workbook.bin", ".xlsx"),
    ("ppt/presentation.xml", ".pptx"),
    ("META-INF/container.xml", ".epub"),
)
_OPEN = ((b"spreadsheet", ".ods"), (b"presentation", ".odp"))  # OpenDocument's kinds; the others are texts
_OLE = (  # names of streams in a file of Microsoft's programs before 2007, or of one behind a password
    ("WordDocument", ".doc"),
    ("PowerPoint Document", ".ppt"),
    ("Workbook", ".xls"),
    ("__substg1.0_", ".msg"),
)

_NEWER = {".doc": ".docx", ".docx": ".docx", ".xls": ".xlsx", ".xlsx": ".xlsx", ".ppt": ".pptx", ".pptx": ".pptx", ".msg": ".eml"}


def load_all() -> None:
    """Import the readers that are otherwise loaded when first needed."""
    from edge_node.documents.readers import archive, mail, office, pdf, recognition, sheet, slides, web, word  # noqa: F401


def read(name: str, data: bytes) -> ReadText:
    r"""Return a document's title and normalised text; ``name`` chooses the reader by its suffix, where the first bytes do not tell.

    Raises UnreadableDocument, whose reason is one of ``empty``, ``not_text``, ``encrypted``, ``no_text``, ``bad_pdf``, ``bad_docx``,
    ``bad_html``, ``bad_table``, ``bad_sheet``, ``bad_office``, ``bad_mail``, ``bad_json``, ``bad_image``, ``bad_archive``, ``too_large``.

    >>> read('ward.md', b'# Juniper Ward\r\n\r\nIt has **28** beds.').text
    '# Juniper Ward\n\nIt has 28 beds.'
    """
    return _inside(name, data, depth=0)


def _inside(name: str, data: bytes, *, depth: int) -> ReadText:
    if depth > MAX_DEPTH:
        raise UnreadableDocument(name, "bad_archive", f"lies more than {MAX_DEPTH} deep in others", next_step="unpack it and add the parts")
    if not data.strip():
        raise _empty(name)
    reader = _reader(name, data)
    found = reader(name, data) if reader not in (_read_mail, _read_msg, _read_zip) else partial(reader, depth=depth)(name, data)
    if len(found.text) > MAX_TEXT_CHARS:
        raise too_large(name, f"holds more than {MAX_TEXT_CHARS} characters of text")
    if is_noise(found.text):
        raise not_text(name)
    text = found.text if found.places else normalised(found.text)
    if not any(character.isalnum() for character in text):
        raise _empty(name)
    return ReadText(one_line(found.title) or one_line(stem(name)), text, found.places, found.shortfalls, found.tables)


def _reader(name: str, data: bytes) -> FormatReader:
    """Return the reader by the file's first bytes if they are telling, else by its suffix, else by a look for HTML."""
    head = data[:1024].lstrip().lower()
    if head.startswith(b"%pdf-"):
        return _read_pdf
    if data.startswith(b"PK\x03\x04"):
        return _packed(name, data)
    if data.startswith(OLE_MAGIC):
        return _of_ole(name, data)
    if kind := next((kind for begins, kind in _HEADS if data.startswith(begins)), None):
        return FORMAT_READERS[kind]
    if known := FORMAT_READERS.get(suffix(name)):
        return known
    return _read_html if head.startswith((b"<!doctype html", b"<html")) else read_plain


def _packed(name: str, data: bytes) -> FormatReader:
    """The reader of an archive, by what it holds; of a damaged one, by its name."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            parts = set(archive.namelist())
            if kind := next((kind for part, kind in _PARTS if part in parts), None):
                return FORMAT_READERS[kind]
            mime = b""
            if "mimetype" in parts:
                with archive.open("mimetype") as told:
                    mime = told.read(100)
    except DAMAGED:
        return FORMAT_READERS.get(suffix(name), _read_zip)
    if b"opendocument" in mime:
        return next((FORMAT_READERS[kind] for said, kind in _OPEN if said in mime), FORMAT_READERS[".odt"])
    return FORMAT_READERS[named] if (named := suffix(name)) in (".docx", ".xlsx", ".pptx", ".epub", ".odp", ".odt", ".ods") else _read_zip


def _of_ole(name: str, data: bytes) -> FormatReader:
    """The reader of a compound file, by what stands at its top, of a damaged one by any stream; of others, one that says why not."""
    from edge_node.documents.readers.outlook import names_of

    names = names_of(data)

    def holds(stream: str) -> bool:
        return any(name.startswith(stream) for name in names) if names else stream.encode("utf-16-le") in data

    if holds("EncryptedPackage"):
        raise UnreadableDocument(name, "encrypted", "is behind a password", next_step="save it without a password")
    if kind := next((kind for stream, kind in _OLE if holds(stream)), ""):
        return FORMAT_READERS[kind]
    target = _NEWER.get(suffix(name), "PDF")
    step = f"open it and save it as {target} without a password"
    raise UnreadableDocument(name, "bad_sheet" if target == ".xlsx" else "bad_office", "is damaged, or behind a password", next_step=step)


def _empty(name: str) -> UnreadableDocument:
    return UnreadableDocument(name, "empty", "has no text in it", next_step="add a document that has words in it")
