"""Archives (.zip) of documents, and what bounds every format that is one inside."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace

from edge_node.documents.readers.text import ReadText, capped, normalised, stem, too_large
from edge_node.records import Table
from shared.errors import UnreadableDocument
from shared.records import Mark

MAX_UNZIPPED_BYTES = 128_000_000
MAX_PARTS = 2_000
MAX_SAID = 20  # parts that could not be read and are named
MAX_SAID_CHARS = 300
Inner = Callable[[str, bytes], ReadText]  # reads what is inside, one level deeper
DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, LookupError, ValueError, OSError, NotImplementedError, RuntimeError)


def check_unzipped(name: str, data: bytes) -> None:
    """Raises UnreadableDocument (``too_large``) for an archive that says that it unfolds into too much, and BadZipFile."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        unzipped = sum(part.file_size for part in archive.infolist())  # reading a part stops at its stated size
    if unzipped > MAX_UNZIPPED_BYTES:
        raise too_large(name, f"unfolds to {unzipped} bytes, over the limit of {MAX_UNZIPPED_BYTES}")


def read_zip(name: str, data: bytes, inner: Inner) -> ReadText:
    """Return the texts of an archive's documents, each below its name; those that cannot be read are shortfalls.

    Raises UnreadableDocument: ``encrypted``, ``bad_archive``, ``too_large``, or why the first part cannot be read if none can.
    """
    try:
        check_unzipped(name, data)
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            parts = [part for part in archive.infolist() if not part.is_dir() and not _is_hidden(part.filename)]
            if any(part.flag_bits & 1 for part in parts):
                raise UnreadableDocument(name, "encrypted", "is behind a password", next_step="zip it without a password")
            if len(parts) > MAX_PARTS:
                raise too_large(name, f"holds more than {MAX_PARTS} files")
            return joined(name, stem(name), "", ((part.filename, archive.read(part)) for part in parts), inner)
    except DAMAGED as error:
        raise UnreadableDocument(name, "bad_archive", "is not a readable archive", next_step="zip it again") from error


def _is_hidden(path: str) -> bool:
    return any(part.startswith((".", "__MACOSX")) for part in path.split("/"))


@dataclass
class _Joining:
    """Texts that are put one below the other, and where each of their places begins."""

    texts: list[str] = field(default_factory=list)
    places: list[Mark] = field(default_factory=list)
    shortfalls: list[tuple[str, str]] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    length: int = 0

    def add(self, text: str, places: Iterable[Mark]) -> None:
        self.places += [(self.length + at, label) for at, label in places]
        self.texts.append(text)
        self.length += len(text) + 2


def joined(name: str, title: str, text: str, parts: Iterable[tuple[str, bytes]], inner: Inner) -> ReadText:
    """A text with what is attached to it, each part below its name; that is also its place. Raises as ``read_zip``."""
    made, failed = _Joining(), list[UnreadableDocument]()
    if kept := normalised(text):
        made.add(kept, [(0, "")])
    for part, data in parts:
        try:
            found = inner(part, data)
        except UnreadableDocument as error:
            failed.append(error)
            continue
        part = " ".join(normalised(part).split())
        heading = f"# {part}\n\n"
        marks = found.places or ((0, ""),)
        inside = [(len(heading) + at if at else 0, f"{part}, {label}" if label else part) for at, label in marks]
        made.add(heading + found.text, inside)
        made.shortfalls += found.shortfalls
        made.tables += [replace(table, name=f"{part}, {table.name}" if table.name else part) for table in found.tables]
        capped(name, made.texts, separator="\n\n")
    if not made.texts and failed:
        raise UnreadableDocument(name, failed[0].reason, failed[0].message[:MAX_SAID_CHARS], next_step=failed[0].next_step)
    shortfalls = (*made.shortfalls, *_unread(failed))
    return ReadText(title, "\n\n".join(made.texts), tuple(made.places), shortfalls, tuple(made.tables))


def _unread(failed: list[UnreadableDocument]) -> Iterator[tuple[str, str]]:
    for error in failed[:MAX_SAID]:
        yield "part_unread", f"{error.message}"[:MAX_SAID_CHARS]
    if len(failed) > MAX_SAID:
        yield "part_unread", f"and {len(failed) - MAX_SAID} more parts could not be read"
