"""An edge's documents, policy and settings in one file, without secrets: for another release, machine or site.

It is a zip: each document as it came, beside ``manifest.json``, which tells what belongs to it. Nothing is ever unpacked to a path that
the file names.
"""

from __future__ import annotations

import hashlib
import io
import re
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from shared.errors import InputError
from shared.wire import MAX_NAME_CHARS

MANIFEST = "manifest.json"
POLICY = "policy.toml"
SETTINGS = "settings.env"
KIND = "dgrag-archive"
VERSION = 1
MOST_MANIFEST_BYTES = 2**28  # some hundred thousand documents
MOST_DOCUMENT_BYTES = 2**30  # an edge takes 32 MiB, unless it is set otherwise
PIECE_BYTES = 2**20
ENCRYPTED = 1  # flag of a member
BROKEN = (BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError, RuntimeError, ValueError, OverflowError, OSError)
ANEW = "make the archive anew with `dgrag export`"
_ODD = re.compile(r"[^\w.-]+", re.ASCII)
FILE = r"^documents/\d{6,9}[\w.-]{0,81}$"
Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class ArchivedDocument(BaseModel):
    """A document in an archive: the member with its bytes, and what it was given with.

    ``created_at``: when it came to its edge; ``source``: the sync that put it there, "" for none and in archives of older releases.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    file: Annotated[str, Field(pattern=FILE)]
    sha256: Digest
    bytes: Annotated[int, Field(ge=0, le=MOST_DOCUMENT_BYTES)]
    name: Annotated[str, Field(min_length=1, max_length=MAX_NAME_CHARS)]
    title: str
    labels: tuple[str, ...]
    reader: str  # as in ``Offered``
    created_at: Annotated[float, Field(ge=0)]
    source: Annotated[str, Field(max_length=MAX_NAME_CHARS)] = ""


class Manifest(BaseModel):
    """What an archive is of. ``left_out``: names of documents whose files were damaged, or no longer kept."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    kind: Literal["dgrag-archive"] = "dgrag-archive"
    version: Literal[1] = 1
    release: str  # of dgrag
    edge: str
    made_at: float  # seconds since the epoch
    texts: dict[Literal["policy.toml", "settings.env"], Digest]
    documents: tuple[ArchivedDocument, ...]
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Original:
    """A document as it came. ``raw`` None: it is damaged on the disk, or no longer kept."""

    name: str
    title: str
    labels: tuple[str, ...]
    reader: str
    created_at: float
    raw: bytes | None
    source: str = ""


class _Pipe(io.RawIOBase):
    """Takes what a zip writes, in order, until somebody fetches it."""

    def __init__(self) -> None:
        super().__init__()
        self._pieces = list[bytes]()

    def writable(self) -> bool:
        """It is; it cannot be sought in."""
        return True

    def write(self, piece: object) -> int:
        """Keep it."""
        self._pieces.append(bytes(piece))  # type: ignore[call-overload]
        return len(self._pieces[-1])

    def fetched(self) -> bytes:
        """What has come since the last time."""
        fetched, self._pieces = b"".join(self._pieces), []
        return fetched


def archive_of(originals: Iterable[Original], texts: Mapping[str, str], *, release: str, edge: str, made_at: float) -> Iterator[bytes]:
    """An archive, in pieces: one document at a time is held. ``texts``: by the name of their member."""
    pipe, listed, left_out = _Pipe(), list[ArchivedDocument](), list[str]()
    with ZipFile(pipe, "w", ZIP_DEFLATED) as zipped:
        for original in originals:
            if original.raw is None:
                left_out.append(original.name)
                continue
            listed.append(_listed(original, original.raw, len(listed) + 1))
            zipped.writestr(_member(listed[-1].file), original.raw)
            yield pipe.fetched()
        hashes = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in texts.items()}
        for name, text in texts.items():
            zipped.writestr(_member(name), text)
        head = {"release": release, "edge": edge, "made_at": made_at, "texts": hashes, "left_out": left_out}
        manifest = Manifest.model_validate({**head, "documents": listed})
        zipped.writestr(_member(MANIFEST), manifest.model_dump_json(indent=1))
    yield pipe.fetched()


def _listed(original: Original, raw: bytes, number: int) -> ArchivedDocument:
    file = f"documents/{number:06}-{_ODD.sub('_', original.name)[-80:]}"
    given = {name: getattr(original, name) for name in ("name", "title", "labels", "reader", "created_at", "source")}
    return ArchivedDocument(file=file, sha256=hashlib.sha256(raw).hexdigest(), bytes=len(raw), **given)


def _member(name: str) -> ZipInfo:
    member = ZipInfo(name)  # of no time: the same documents are the same members
    member.compress_type = ZIP_DEFLATED
    member.external_attr = 0o600 << 16
    return member


class Archive:
    """One that was checked: every byte that its manifest tells of is there, and no other."""

    def __init__(self, zipped: ZipFile, manifest: Manifest) -> None:
        self._zipped = zipped
        self.manifest = manifest

    def raw(self, document: ArchivedDocument) -> bytes:
        """A document's bytes."""
        return self._zipped.read(document.file)

    def text(self, name: str) -> str:
        """One of the texts; "" where the archive has none of that name."""
        return self._zipped.read(name).decode() if name in self.manifest.texts else ""


@contextmanager
def checked_archive(path: Path) -> Iterator[Archive]:
    """Open an archive once all of it is read and found whole.

    Raises InputError for what is none, or not whole, or of another version, and OSError for a file that cannot be opened.
    """
    with ExitStack() as opened:
        file = opened.enter_context(path.open("rb"))
        try:
            archive = _checked(opened.enter_context(ZipFile(file)))
        except BROKEN as error:
            raise InputError(f"{path} is no whole archive: {error}", next_step=ANEW) from error
        yield archive


def _checked(zipped: ZipFile) -> Archive:
    members = {member.filename: member for member in zipped.infolist()}
    if len(members) < len(zipped.infolist()):
        raise BadZipFile("two of its files have one name")
    for member in members.values():
        if member.flag_bits & ENCRYPTED or member.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
            raise BadZipFile(f"{member.filename[:80]!r} is written in another way than dgrag writes")
    if MANIFEST not in members or members[MANIFEST].file_size > MOST_MANIFEST_BYTES:
        raise BadZipFile("it has no manifest of dgrag's")
    manifest = _manifest(zipped.read(MANIFEST))
    sizes = {one.file: one.bytes for one in manifest.documents}
    hashes = {one.file: one.sha256 for one in manifest.documents} | manifest.texts
    if len(sizes) < len(manifest.documents) or len({one.name for one in manifest.documents}) < len(manifest.documents):
        raise BadZipFile("its manifest names a document twice")
    if odd := sorted(members.keys() ^ {MANIFEST, *hashes}):
        raise BadZipFile(f"its manifest and its files differ, as in {odd[0][:80]!r}")
    for name, digest in hashes.items():
        if members[name].file_size > sizes.get(name, MOST_MANIFEST_BYTES):
            raise BadZipFile(f"{name!r} is larger than its manifest says")
        if _digest(zipped, name) != digest:
            raise BadZipFile(f"{name!r} is not what its manifest says")
    return Archive(zipped, manifest)


def _manifest(written: bytes) -> Manifest:
    told = orjson.loads(written)
    if not isinstance(told, dict) or told.get("kind") != KIND:
        raise BadZipFile("its manifest is not one of dgrag's")
    if (version := told.get("version")) != VERSION:
        raise BadZipFile(f"it has version {str(version)[:20]}, and this release of dgrag reads version {VERSION}")
    try:
        return Manifest.model_validate_json(written)
    except ValidationError as error:
        where = ".".join(map(str, error.errors()[0]["loc"]))
        raise BadZipFile(f"its manifest cannot be read at {where[:80]}: {error.errors()[0]['msg']}") from error


def _digest(zipped: ZipFile, name: str) -> str:
    digest = hashlib.sha256()
    with zipped.open(name) as member:
        while piece := member.read(PIECE_BYTES):
            digest.update(piece)
    return digest.hexdigest()
