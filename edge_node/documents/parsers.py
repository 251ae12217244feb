"""The seam of formats: what a parser declares, and which of those installed reads a document.

A distribution adds one by an entry point of the group ``dgrag.parsers``, whose name is the suffix
without its dot::

    [project.entry-points."dgrag.parsers"]
    docx = "edge_node.plugins.parsers.word:WORD"
"""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol, TypeAlias

from edge_node.documents.blocks import ParsedDocument, raw_texts, to_text
from edge_node.documents.text import (
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
from edge_node.documents.unzipping import DAMAGED, MAX_UNZIPPED_BYTES
from shared.errors import NotInstalled, ReaderUnavailable, SettingsError, UnreadableDocument
from shared.plugins import Plugins

GROUP = "dgrag.parsers"
MAX_DEPTH = 3  # of documents in documents: a mail with an archive of mails
MAX_PARTS = 20_000  # of all documents in one: a mailbox of 2,000 mails with what is attached
HEAD_BYTES = 1_024
SAMPLE_CHARS = 65_536  # of a part: enough to see whether it is text
ZIP_HEAD = b"PK\x03\x04"
TEXT = "txt"  # reads what no other parser claims
_CONTROLS = bytes(code for code in range(32) if code not in b"\t\n\r\f")
DAMAGED_OLE = (
    struct.error,
    OSError,
    LookupError,
    ValueError,
    TypeError,
    AttributeError,
    RecursionError,
)

Parse: TypeAlias = Callable[[str, bytes], ParsedDocument]
Inside: TypeAlias = Parse  # parses a part that has words, one level deeper
ParseParts: TypeAlias = Callable[[str, bytes, Inside], ParsedDocument]


class PageImage(Protocol):
    """Draws one page. Raises UnreadableDocument; ``no_page`` where there is none of that number."""

    def __call__(self, data: bytes, page: int, mark: str = "", width: int = 0) -> bytes:
        """A PNG of page ``page``, from 1, ``width`` pixels wide, the words of ``mark`` marked."""


@dataclass(frozen=True, slots=True)
class Parser:
    """How one kind of file becomes blocks; its suffixes are the names of its entry points.

    ``version``: to be raised when the same bytes become another text, so that documents can be
    read again. ``parse``: ``(name, data)``, or ``parse_parts``: ``(name, data, inside)`` where
    files lie in the file. Both raise UnreadableDocument, and ReaderUnavailable where a part of the
    installation is missing.

    What shows the kind whatever the name: ``heads``, the first bytes; ``members``, one of the files
    in a ZIP; ``mimetype``, words in that member of an OpenDocument; ``streams``, how a stream of an
    OLE file begins. Where neither these nor the name tell, ``guess`` looks at the first bytes;
    it does too where the name is that of such a ZIP or OLE file, and the content is neither.

    ``media_types``: by suffix, with its dot, as what a file is handed out (RFC 6838).
    """

    name: str
    version: int
    parse: Parse | None = None
    parse_parts: ParseParts | None = None
    heads: tuple[bytes, ...] = ()
    members: tuple[str, ...] = ()
    mimetype: bytes = b""
    streams: tuple[str, ...] = ()
    guess: Callable[[bytes], bool] | None = None
    media_types: Mapping[str, str] = field(default_factory=dict, hash=False)
    max_bytes: int = 2**31
    page_image: PageImage | None = None

    @property
    def version_tag(self) -> str:
        """Name and version, as it is noted with a document."""
        return f"{self.name} {self.version}"

    @property
    def is_zipped(self) -> bool:
        """Whether its files are ZIP archives of known members."""
        return bool(self.members or self.mimetype)


class Registry:
    """The installed parsers."""

    def __init__(self, plugins: Plugins) -> None:
        self._plugins = plugins

    @property
    def suffixes(self) -> tuple[str, ...]:
        """Those that some parser reads, with their dots; no parser is loaded for them.

        Raises SettingsError where there is none.
        """
        if TEXT not in self._plugins.names:
            step = "install dgrag again (in a clone: pip install --editable .)"
            message = "the installation of dgrag declares no parsers of documents"
            raise SettingsError(message, next_step=step)
        return tuple(f".{name}" for name in self._plugins.names)

    @cached_property
    def loaded(self) -> dict[str, Parser]:
        """All that can be loaded, by suffix. What misses a package is left out."""
        return dict(self._load_all())

    def _load_all(self) -> Iterator[tuple[str, Parser]]:
        for each in self.suffixes:
            try:
                yield each, self._plugins.load(each[1:])
            except NotInstalled:
                continue  # by_suffix says so, where a document is of that format

    def load_all(self) -> None:
        """Import all that can be, which a process does that children are forked from."""
        assert self.loaded

    @cached_property
    def media_types(self) -> dict[str, str]:
        """The media type of each suffix whose parser can be loaded and declares one."""
        pairs = ((each, parser.media_types.get(each, "")) for each, parser in self.loaded.items())
        return {suffix_: media_type for suffix_, media_type in pairs if media_type}

    @cached_property
    def versions(self) -> frozenset[str]:
        """The version tags of all that can be loaded."""
        return frozenset(parser.version_tag for parser in self.loaded.values())

    def by_suffix(self, suffix_: str) -> Parser:
        """Raises KeyError, and ReaderUnavailable where it is declared and misses a package."""
        if suffix_ in self.loaded or suffix_ not in self.suffixes:
            return self.loaded[suffix_]
        try:
            return self._plugins.load(suffix_[1:])  # type: ignore[no-any-return]
        except NotInstalled as error:
            raise ReaderUnavailable(
                f"{suffix_} files cannot be read here",
                detail=error.message,
                next_step=error.next_step,
            ) from error

    def choose(self, name: str, data: bytes) -> Parser:
        """The parser for a document: by its content where that tells, else by its name.

        Raises UnreadableDocument for an OLE file that no parser knows, and as ``by_suffix``.
        """
        if data.startswith(ZIP_HEAD):
            return self._in_zip(name, data)
        if data.startswith(OLE_MAGIC):
            return self._in_ole(name, data)
        start = data[:HEAD_BYTES].lstrip()
        if parser := self._first(lambda parser: start.startswith(parser.heads)):
            return parser
        named = self.by_suffix(suffix(name)) if suffix(name) in self.suffixes else None
        if named and not (named.is_zipped or named.streams):
            return named
        if guessed := self._first(lambda each: each.guess is not None and each.guess(start)):
            return guessed
        is_text = len(start) == len(start.translate(None, _CONTROLS))
        return self.by_suffix(f".{TEXT}") if named is None or is_text else named

    def _first(self, condition: Callable[[Parser], bool]) -> Parser | None:
        return next(filter(condition, self.loaded.values()), None)

    def _in_zip(self, name: str, data: bytes) -> Parser:
        """By what the archive holds; a damaged one by its name."""
        try:
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                members, mimetype = frozenset(archive.namelist()), b""
                if "mimetype" in members:
                    with archive.open("mimetype") as member:
                        mimetype = member.read(100)
        except DAMAGED:
            return self.by_suffix(suffix(name) if suffix(name) in self.suffixes else ".zip")
        by_member = self._first(lambda parser: not members.isdisjoint(parser.members))
        by_mimetype = self._first(lambda each: each.mimetype != b"" and each.mimetype in mimetype)
        if parser := by_member or by_mimetype:
            return parser
        named = self.by_suffix(suffix(name)) if suffix(name) in self.suffixes else None
        return named if named and named.is_zipped else self.by_suffix(".zip")

    def _in_ole(self, name: str, data: bytes) -> Parser:
        """By what stands at the top of the file; of a damaged one, by what stands anywhere."""
        names = _ole_entries(data)

        def has(stream: str) -> bool:
            if not names:
                return stream.encode("utf-16-le") in data
            return any(entry.startswith(stream) for entry in names)

        if has("EncryptedPackage"):
            step = "save it without a password"
            raise UnreadableDocument(name, "encrypted", "is behind a password", next_step=step)
        if parser := self._first(lambda parser: any(map(has, parser.streams))):
            return parser
        is_sheet = suffix(name) in (".xls", ".xlsx")
        target = NEWER.get(suffix(name), "PDF")
        step = f"open it and save it as {target} without a password"
        reason = "bad_sheet" if is_sheet else "bad_office"
        raise UnreadableDocument(name, reason, "is damaged, or behind a password", next_step=step)

    def read(self, name: str, data: bytes) -> ReadText:
        """A document's title and normalised text, by the parser of its content or else of its name.

        Raises ReaderUnavailable, and UnreadableDocument, whose reason is one of ``empty``,
        ``not_text``, ``encrypted``, ``no_text``, ``bad_pdf``, ``bad_docx``, ``bad_html``,
        ``bad_table``, ``bad_sheet``, ``bad_office``, ``bad_mail``, ``bad_json``, ``bad_image``,
        ``bad_archive``, ``too_large``.
        """
        tags = set[str]()
        budget = _Budget()
        parsed = self._parse(name, data, 0, tags, budget)
        if budget.is_spent:
            raise budget.error(name)
        return replace(checked(name, to_text(name, parsed)), parsers=tuple(sorted(tags)))

    def page_image(self, name: str, data: bytes, page: int, *, mark: str = "", width: int = 0) -> bytes:
        """As ``PageImage``, by the document's parser. Raises UnreadableDocument (``no_pages``)."""
        parser = self.choose(name, data)
        if parser.page_image is None:
            step = "open the document itself"
            message = "has no pages that can be shown as pictures"
            raise UnreadableDocument(name, "no_pages", message, next_step=step)
        return parser.page_image(data, page, mark=mark, width=width)

    def _parse(self, name: str, data: bytes, depth: int, tags: set[str], budget: _Budget) -> ParsedDocument:
        """``tags``: gets the version tags of all parsers that take part."""
        if depth > MAX_DEPTH:
            step = "unpack it and add the parts"
            message = f"lies more than {MAX_DEPTH} deep in others"
            raise UnreadableDocument(name, "bad_archive", message, next_step=step)
        if not data.strip():
            raise _empty(name)
        parser = self.choose(name, data)
        if len(data) > parser.max_bytes:
            raise too_large(name, f"has more than {parser.max_bytes} bytes")
        tags.add(parser.version_tag)
        if parser.parse_parts is None:
            assert parser.parse is not None
            parsed = parser.parse(name, data)
            if depth:
                _check_part(name, parsed, has_parts=False)
            return parsed

        def inside(part: str, content: bytes) -> ParsedDocument:
            budget.spend(part, len(content))
            return self._parse(part, content, depth + 1, tags, budget)

        parsed = parser.parse_parts(name, data, inside)
        if depth:
            _check_part(name, parsed, has_parts=True)
        return parsed


@dataclass(slots=True)
class _Budget:
    """What may lie in a document and in the documents in it, together."""

    parts: int = MAX_PARTS
    bytes: int = MAX_UNZIPPED_BYTES

    @property
    def is_spent(self) -> bool:
        """Whether more was in it."""
        return self.parts < 0 or self.bytes < 0

    def spend(self, part: str, size: int) -> None:
        """Count a part. Raises UnreadableDocument for one too many, and for all behind it."""
        self.parts -= 1
        self.bytes -= size
        if self.is_spent:
            raise self.error(part)

    def error(self, name: str) -> UnreadableDocument:
        """What a document of too many parts says."""
        limits = f"{MAX_PARTS:,} files or {MAX_UNZIPPED_BYTES:,} bytes"
        return too_large(name, f"unfolds to more than {limits}")


def _check_part(name: str, parsed: ParsedDocument, *, has_parts: bool) -> None:
    """Raises UnreadableDocument for a part without words, or with too many; no text is made.

    ``has_parts``: it was made of parts, which were checked each.
    """
    has_words = False
    sample = list[str]()
    length = 0
    for text in raw_texts(parsed.blocks):
        has_words = has_words or any(map(str.isalnum, text))
        if length < SAMPLE_CHARS:
            sample.append(text)
        length += len(text)
        if length > MAX_TEXT_CHARS:
            raise too_large(name, f"holds more than {MAX_TEXT_CHARS} characters of text")
        if has_parts and has_words and length > SAMPLE_CHARS:
            break
    if is_noise("".join(sample)):
        raise not_text(name)
    if not has_words:
        raise _empty(name)


def checked(name: str, found: ReadText) -> ReadText:
    """A text that words stand in, normalised, with a title. Raises UnreadableDocument."""
    if is_noise(found.text):
        raise not_text(name)
    text = found.text if found.places else normalised(found.text)
    if not any(character.isalnum() for character in text):
        raise _empty(name)
    return replace(found, title=one_line(found.title) or one_line(stem(name)), text=text)


def _ole_entries(data: bytes) -> frozenset[str]:
    """What stands at the top of a compound file; nothing of a damaged one."""
    from olefile import OleFileIO  # of the extra ``edge``

    try:
        with OleFileIO(io.BytesIO(data)) as file:
            return frozenset(path[0] for path in file.listdir(storages=True))
    except DAMAGED_OLE:
        return frozenset()


def _empty(name: str) -> UnreadableDocument:
    step = "add a document that has words in it"
    return UnreadableDocument(name, "empty", "has no text in it", next_step=step)


NEWER = {  # what to save a file of an old program as
    ".doc": ".docx",
    ".docx": ".docx",
    ".xls": ".xlsx",
    ".xlsx": ".xlsx",
    ".ppt": ".pptx",
    ".pptx": ".pptx",
    ".msg": ".eml",
}

PARSERS = Registry(Plugins(GROUP, extra="edge"))
SUFFIXES = PARSERS.suffixes


def read(name: str, data: bytes) -> ReadText:
    r"""As ``Registry.read``, with the parsers that are installed.

    >>> read('ward.md', b'# Juniper Ward\r\n\r\nIt has **28** beds.').text
    '# Juniper Ward\n\nIt has 28 beds.'
    """
    return PARSERS.read(name, data)
