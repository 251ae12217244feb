"""Archives (.zip, .tar, .gz) of documents: each part is read as if it stood alone."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from functools import partial

from edge_node.documents.blocks import ParsedDocument
from edge_node.documents.parsers import Parser
from edge_node.documents.text import stem, too_large
from edge_node.documents.unzipping import DAMAGED, MAX_UNZIPPED_BYTES, check_unzipped
from edge_node.plugins.parsers.charset_guess import guessed_encoding
from edge_node.plugins.parsers.package import left_out
from edge_node.plugins.parsers.parts import Inside, Parts
from shared.errors import UnreadableDocument

MAX_PARTS = 2_000
TAR_MAGIC = (257, b"ustar")  # where it stands
_UTF8_NAME = 0x800  # flags of a part of a .zip
_ENCRYPTED = 0x1
_OF_SYSTEMS = {"__macosx", ".ds_store", "thumbs.db", "desktop.ini", ".localized"}


def parse_zip(name: str, data: bytes, inside: Inside) -> ParsedDocument:
    """The texts of an archive's documents; those that cannot be read are shortfalls.

    Raises UnreadableDocument: ``encrypted``, ``bad_archive``, ``too_large``, or why the first part
    cannot be read if none can.
    """
    parts = Parts(name)
    try:
        check_unzipped(name, data)
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            infos = [info for info in archive.infolist() if not info.is_dir()]
            if infos and all(info.flag_bits & _ENCRYPTED for info in infos):
                step = "zip it without a password"
                raise UnreadableDocument(name, "encrypted", "is behind a password", next_step=step)
            names = _shown_names(infos)
            for info, shown in _chosen(parts, list(zip(infos, names, strict=True))):
                parts.add_part(shown, partial(_parsed, archive, info, shown, inside))
    except DAMAGED as error:
        raise _damaged(name) from error
    return parts.document(stem(name))


def _damaged(name: str) -> UnreadableDocument:
    message = "is not a readable archive"
    return UnreadableDocument(name, "bad_archive", message, next_step="zip it again")


def _parsed(
    archive: zipfile.ZipFile, info: zipfile.ZipInfo, shown: str, inside: Inside
) -> ParsedDocument:
    """One part. Raises UnreadableDocument."""
    if info.flag_bits & _ENCRYPTED:
        step = "zip it without a password"
        raise UnreadableDocument(shown, "encrypted", "is behind a password", next_step=step)
    try:
        data = archive.read(info)
    except DAMAGED as error:
        message = "is damaged in the archive"
        raise UnreadableDocument(shown, "bad_archive", message, next_step="zip it again") from error
    return inside(shown, data)


def _shown_names(infos: list[zipfile.ZipInfo]) -> list[str]:
    """The parts' names as whoever packed them saw them, of old programs in a code page."""
    raw = [b"" if info.flag_bits & _UTF8_NAME else _raw_name(info) for info in infos]
    encoding = _encoding_of(raw)
    pairs = zip(infos, raw, strict=True)
    return [_clean(old.decode(encoding, "replace") or info.filename) for info, old in pairs]


def _raw_name(info: zipfile.ZipInfo) -> bytes:
    try:
        return info.filename.encode("cp437")
    except UnicodeEncodeError:
        return b""


def _encoding_of(names: list[bytes]) -> str:
    lines = b"\n".join(names)
    try:
        lines.decode("utf-8")
    except UnicodeDecodeError:
        return guessed_encoding(lines) or "cp437"
    return "utf-8"


def _clean(path: str) -> str:
    """A path of folders and a name, without steps to where the archive would be unpacked."""
    steps = path.replace("\\", "/").split("/")
    return "/".join(step for step in steps if step not in ("", ".", ".."))


def _chosen(
    parts: Parts, infos: list[tuple[zipfile.ZipInfo, str]]
) -> Iterator[tuple[zipfile.ZipInfo, str]]:
    """Those that people see; raises UnreadableDocument (``too_large``) for too many of them."""
    seen = [(info, shown) for info, shown in infos if not _is_of_system(shown)]
    visible = [(info, shown) for info, shown in seen if not _is_hidden(shown)]
    _check_count(parts.name, len(visible))
    _report_hidden(parts, len(seen) - len(visible))
    yield from visible


def _is_of_system(path: str) -> bool:
    steps = path.lower().split("/")
    return any(step in _OF_SYSTEMS or step.startswith("._") for step in steps)


def _is_hidden(path: str) -> bool:
    return any(step.startswith(".") for step in path.split("/"))


def _check_count(name: str, count: int) -> None:
    if count > MAX_PARTS:
        raise too_large(name, f"holds more than {MAX_PARTS} files")


def _report_hidden(parts: Parts, count: int) -> None:
    parts.shortfalls += left_out((count, "hidden file", "hidden files"), code="part_unread")


def parse_tar(name: str, data: bytes, inside: Inside) -> ParsedDocument:
    """The texts of a .tar's files. Raises as ``parse_zip``."""
    parts = Parts(name)
    hidden = count = total = 0
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
            for member in archive:
                shown = _clean(member.name)
                if not member.isreg() or _is_of_system(shown):
                    continue
                if _is_hidden(shown):
                    hidden += 1
                    continue
                count += 1
                total += member.size
                _check_count(name, count)
                _check_size(name, total)
                file = archive.extractfile(member)
                content = file.read() if file else b""
                parts.add_part(shown, partial(inside, shown, content))
    except (tarfile.TarError, *DAMAGED) as error:
        raise _damaged(name) from error
    _report_hidden(parts, hidden)
    return parts.document(stem(name))


def _check_size(name: str, size: int) -> None:
    if size > MAX_UNZIPPED_BYTES:
        raise too_large(name, f"unfolds to more than {MAX_UNZIPPED_BYTES} bytes")


def parse_gzip(name: str, data: bytes, inside: Inside) -> ParsedDocument:
    """The file that was packed; a .tar in it is an archive. Raises as ``parse_zip``."""
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            content = file.read(MAX_UNZIPPED_BYTES + 1)
    except (EOFError, OSError, zlib.error) as error:
        raise _damaged(name) from error
    _check_size(name, len(content))
    start, magic = TAR_MAGIC
    if content[start:].startswith(magic):
        return parse_tar(f"{stem(name).removesuffix('.tar')}.tar", content, inside)
    return inside(stem(name), content)


GZIP = Parser(
    "gzip",
    1,
    parse_parts=parse_gzip,
    heads=(b"\x1f\x8b",),
    media_types={
        ".gz": "application/gzip",
        ".tgz": "application/gzip",
    },
)
TAR = Parser("tar", 1, parse_parts=parse_tar, media_types={".tar": "application/x-tar"})
ZIP = Parser("zip", 2, parse_parts=parse_zip, media_types={".zip": "application/zip"})
