"""Documents that are archives of XML parts: the parts as trees, and how they relate."""

from __future__ import annotations

import io
import posixpath
import re
import zipfile
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias
from urllib.parse import unquote

from lxml import etree

from edge_node.documents.unzipping import DAMAGED, check_unzipped

Element: TypeAlias = Any  # of lxml, which has no types of its own
BAD_PACKAGE = (*DAMAGED, SyntaxError)  # lxml reports bad XML as SyntaxError
RELATIONSHIPS = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
DUBLIN_CORE = "{http://purl.org/dc/elements/1.1/}"
_RELATION = "{http://schemas.openxmlformats.org/package/2006/relationships}Relationship"
_STRICT = re.compile(rb"http://purl\.oclc\.org/ooxml/(\w+)/")
_STRICT_MARK = b"http://purl.oclc.org/ooxml/"
_USUAL = rb"http://schemas.openxmlformats.org/\1/2006/"
_parser = partial(
    etree.XMLParser,
    resolve_entities=False,
    no_network=True,
    huge_tree=False,
    remove_comments=True,
    remove_pis=True,
)
_PLACEHOLDER_TITLES = re.compile(
    r"(microsoft )?(word|powerpoint|office)( -.*| ?doc\w*)?|untitled.*|(power)?point.presentation"
    r"|powerpoint[- ]pr\w+|(document|dokument|presentation) ?\d*|(title|slide) ?1"
    r"|\S+\.(doc|docx|dot|dotx|odt|ppt|pptx|odp|rtf)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Relation:
    """What a part refers to. ``kind``: the end of the relation's type, such as ``footnotes``."""

    kind: str
    target: str
    is_external: bool


def parsed_xml(data: bytes) -> Element:
    """The root of an XML text, in which no entity is resolved.

    Namespaces of "Strict Open XML" become the usual ones.
    Raises SyntaxError.
    """
    usual = _STRICT.sub(_USUAL, data) if _STRICT_MARK in data else data
    return etree.fromstring(usual, _parser())


class Package:
    """An archive of XML parts.

    Raises UnreadableDocument (``too_large``) or one of ``BAD_PACKAGE``.
    """

    def __init__(self, name: str, data: bytes) -> None:
        check_unzipped(name, data)
        self._archive = zipfile.ZipFile(io.BytesIO(data))
        self.parts = {part.lower(): part for part in self._archive.namelist()}

    def content(self, part: str) -> bytes | None:
        """A part's bytes; its name is compared without case, as Open Packaging does."""
        stored = self.parts.get(part.lower())
        return None if stored is None else self._archive.read(stored)

    def tree(self, part: str) -> Element | None:
        """The root of an XML part; None where there is no such part."""
        content = self.content(part) if part else None
        return parsed_xml(content) if content else None

    def relations(self, part: str) -> dict[str, Relation]:
        """What a part refers to, by identifier. The package itself is the part ``""``."""
        folder, base = posixpath.split(part)
        tree = self.tree(posixpath.join(folder, "_rels", f"{base}.rels"))
        if tree is None:
            return {}
        return {each.get("Id", ""): _relation(folder, each) for each in tree.iter(_RELATION)}

    def related(self, part: str, kind: str) -> str:
        """The first part of a kind that a part refers to, or ``""``."""
        targets = (each.target for each in self.relations(part).values() if each.kind == kind)
        return next(targets, "")

    def stated_title(self) -> str:
        """The title in the document's properties, where a person may have written it."""
        tree = self.tree("docProps/core.xml")
        return usable_title(tree.findtext(f".//{DUBLIN_CORE}title") if tree is not None else "")


def _relation(folder: str, element: Element) -> Relation:
    kind = posixpath.basename(element.get("Type", ""))
    target = element.get("Target", "")
    if element.get("TargetMode") == "External":
        return Relation(kind, target, True)
    return Relation(kind, resolved(folder, target), False)


def resolved(folder: str, reference: str) -> str:
    """The part that a reference from a folder's part names.

    >>> resolved('ppt/slides', '../media/a%20b.png'), resolved('word', '/word/styles.xml')
    ('ppt/media/a b.png', 'word/styles.xml')
    """
    path = unquote(reference.partition("#")[0])
    return posixpath.normpath(posixpath.join("/", folder, path)).lstrip("/")


def usable_title(stated: str | None) -> str:
    """A stated title, unless a program wrote it because nobody did.

    >>> usable_title(' Ward rules '), usable_title('PowerPoint Presentation')
    ('Ward rules', '')
    """
    title = " ".join((stated or "").split())
    return "" if _PLACEHOLDER_TITLES.fullmatch(title) else title


def is_true(element: Element | None, attribute: str) -> bool:
    """Whether a property of Open XML is there and not switched off."""
    return element is not None and element.get(attribute, "1") not in ("0", "false", "off")


def left_out(*counts: tuple[int, str, str], code: str = "left_out") -> tuple[tuple[str, str], ...]:
    """Shortfalls of (count, singular, plural): one sentence for each that is not zero.

    >>> left_out((2, "comment", "comments"), (0, "picture", "pictures"))
    (('left_out', '2 comments are not in the text.'),)
    """
    return tuple(
        (
            code,
            f"1 {singular} is not in the text."
            if count == 1
            else f"{count} {plural} are not in the text.",
        )
        for count, singular, plural in counts
        if count
    )
