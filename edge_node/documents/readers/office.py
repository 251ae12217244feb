"""Slides, OpenDocument texts, e-books and rich text: kreuzberg's Markdown, read as Markdown is."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from functools import partial
from posixpath import basename

from lxml import etree

from edge_node.documents.readers.archive import DAMAGED, check_unzipped
from edge_node.documents.readers.extracted import extracted, paged
from edge_node.documents.readers.markdown import rendered
from edge_node.documents.readers.text import ReadText, capped, check_pages, placed, stem
from shared.errors import UnreadableDocument

SLIDES = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
MIMES = {
    ".epub": "application/epub+zip",
    ".odt": "application/vnd.oasis.opendocument.text",
    ".pptx": SLIDES,
    ".rtf": "application/rtf",
}
OLD_MIMES = {".doc": "application/msword", ".ppt": "application/vnd.ms-powerpoint"}
_SLIDE_RELATIONS = re.compile(r"ppt/slides/_rels/slide(\d{1,6})\.xml\.rels")
_SLIDES, _PRESENTATION = re.compile(r"^ppt/slides/slide\d+\.xml$", re.MULTILINE), "ppt/presentation.xml"
_PARAGRAPH = "{http://schemas.openxmlformats.org/drawingml/2006/main}p"
_SECURE = partial(etree.XMLParser, resolve_entities=False, no_network=True, huge_tree=False)


def read_office(name: str, data: bytes, kind: str) -> ReadText:
    """Return what a file of this ``kind`` (of ``MIMES``) says, slides by number; the title is the stated one, else a heading.

    Raises UnreadableDocument: ``encrypted``, ``bad_office``, ``too_large``.
    """
    bad = UnreadableDocument(name, "bad_office", f"is not a readable {kind} file", next_step="save it again, or as PDF")
    try:
        if kind != ".rtf":
            check_unzipped(name, data)
        if kind == ".pptx":
            check_pages(name, _slide_count(data), unit="slides")
        notes = _notes(data) if kind == ".pptx" else {}
    except (*DAMAGED, SyntaxError) as error:
        raise bad from error
    found = extracted(name, data, MIMES[kind], bad="bad_office", markdown=True)
    pages = {number: "\n".join(rendered(text.split("\n"))) for number, text in paged(found.content).items()}
    body, places = placed(name, _slides(pages, notes), separator="\n\n")
    heading = next((line.lstrip("# ") for line in body.split("\n") if line.startswith("#")), "")
    stated = str(found.metadata.get("title") or "").strip()
    return ReadText(stated or heading or stem(name), body, places if kind == ".pptx" else ())


def read_old_office(name: str, data: bytes, kind: str) -> ReadText:
    """Return what a Word or PowerPoint file of before 2007 says. Raises UnreadableDocument: ``encrypted``, ``bad_office``."""
    step = f"open it and save it as {kind}x without a password"
    found = extracted(name, data, OLD_MIMES[kind], bad="bad_office", said="is damaged, or behind a password", next_step=step)
    body = capped(name, (text for text in paged(found.content).values()))
    return ReadText(str(found.metadata.get("title") or "").strip() or stem(name), body.replace("\t\t", "\n").replace("\t", " "))


def _slides(pages: dict[int, str], notes: dict[int, str]) -> Iterator[tuple[str, str]]:
    for number in sorted(pages.keys() | notes.keys()):
        yield f"slide {number}", "\n\n".join(filter(None, (pages.get(number, ""), notes.get(number, ""))))


def _slide_count(data: bytes) -> int:
    """Slides that a presentation names, one that it names again too."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        listed = archive.read(_PRESENTATION) if _PRESENTATION in archive.namelist() else b""
        return max(listed.count(b"sldId "), len(_SLIDES.findall("\n".join(archive.namelist()))))


def _notes(data: bytes) -> dict[int, str]:
    """What the speaker's notes say, by the number of the slide; kreuzberg takes the number of their file for that."""
    found = {}
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        names = set(archive.namelist())
        for path in names:
            if not (slide := _SLIDE_RELATIONS.fullmatch(path)):
                continue
            targets = re.findall(rb"notesSlides/[\w.-]{1,80}", archive.read(path))
            part = f"ppt/notesSlides/{basename(targets[0].decode())}" if targets else ""
            if part in names:
                tree = etree.fromstring(archive.read(part), _SECURE())
                lines = ("".join(line.itertext()).strip() for line in tree.iter(_PARAGRAPH))
                found[int(slide[1])] = "\n".join(line for line in lines if line and not line.isdecimal())
    return found
