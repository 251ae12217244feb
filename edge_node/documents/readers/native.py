"""PDFium, which kreuzberg carries in its own module: unpacked into a private folder and loaded before documents are read.

Kreuzberg would unpack it at the first PDF, into the system's temporary folder, and load whatever has its size there. That folder
may be shared, mounted ``noexec`` or emptied, and a child that reads may not write.

``python -m edge_node.documents.readers.native`` unpacks it beside the installed packages; images do so when they are built.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import stat
import subprocess
import sys
import time
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

from platformdirs import user_cache_path

from edge_node.documents.readers.controls import CONTROL_PDF
from shared.errors import ReaderUnavailable

BUILT = Path(sys.prefix, "share", "dgrag", "readers")  # filled when an image is built, and never written by an edge
LIBRARIES = {"darwin": "libpdfium.dylib", "win32": "pdfium.dll"}
LIBRARY = Path("kreuzberg-pdfium", LIBRARIES.get(sys.platform, "libpdfium.so"))  # below TMPDIR; kreuzberg chose it
OCR_CACHE = Path(".cache", "kreuzberg", "ocr")  # below HOME; without it kreuzberg registers no Tesseract
DIGEST = LIBRARY.with_suffix(".sha256")  # of the library as it was unpacked: one that was cut since is not loaded
UNPACK_S = 20.0
REST = 9  # after a failure: so many times as long as it took
OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH


@dataclass(frozen=True, slots=True)
class _File:
    """What tells one file from another that took its place."""

    path: Path
    state: tuple[int, int, int, int]

    @classmethod
    def at(cls, path: Path) -> _File:
        """Raises OSError where there is none."""
        found = path.stat()
        return cls(path, (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns))

    def is_in_place(self) -> bool:
        """Whether the path still leads to this file."""
        try:
            return _File.at(self.path) == self
        except OSError:
            return False


@dataclass(slots=True)
class Library:
    """The library of one process, and of the children that it forks; ``folders``: where it may lie, the default ones if none."""

    folders: tuple[Path, ...] = ()
    _file: _File | None = None
    _code: ctypes.CDLL | None = None
    _fault: ReaderUnavailable | None = None
    _not_before: float = 0.0

    def load(self) -> None:
        """Load it from the first folder that can hold it, unless the loaded one is still in its place.

        From then on this process and its children read PDF files and text in images. A failure is kept for ``require``; after one that
        took long nothing is tried for a while.
        """
        started = time.monotonic()
        if started < self._not_before or (self._file is not None and self._file.is_in_place()):
            return
        faults = []
        for folder in self.folders or default_folders():
            try:
                self._file, self._code = _load(folder)
                self._fault = None
            except (OSError, ReaderUnavailable, subprocess.TimeoutExpired) as error:
                faults.append(f"{folder}: {error}")
            else:
                return
        self._not_before = time.monotonic() + REST * (time.monotonic() - started)
        self._file = None
        self._fault = ReaderUnavailable(
            "the library that reads PDF files cannot be loaded",
            detail="; ".join(faults),
            next_step="give the edge a state folder that it may write and that is not mounted noexec",
        )

    def require(self) -> None:
        """Load it where this process and its parent have not tried. Raises ReaderUnavailable where it is not loaded."""
        if self._file is None and self._fault is None:
            self._load_here()
        if self._fault is not None:
            raise self._fault

    def page_count(self, data: bytes) -> int:
        """Pages of a PDF, as the reader will go through them, before any is read; 0 where it cannot be opened.

        Raises as ``require``.
        """
        self.require()
        assert self._code is not None
        self._code.FPDF_InitLibrary()  # once for a process, and kreuzberg does it too
        document = self._code.FPDF_LoadMemDocument64(data, len(data), None)
        if not document:
            return 0
        pages = int(self._code.FPDF_GetPageCount(document))
        self._code.FPDF_CloseDocument(document)
        return pages

    def _load_here(self) -> None:
        """Load it in a process that does other work too: kreuzberg takes it up at once, and programs that are started have its HOME."""
        try:
            self.load()
            if self._fault is None:
                _read_control()
        finally:
            for name in ("HOME", "TMPDIR"):
                if name in os.environ:
                    os.putenv(name, os.environ[name])
                else:
                    os.unsetenv(name)


pdfium = Library()


def default_folders() -> tuple[Path, ...]:
    """Where the library is looked for when a process names no folder of its own."""
    return with_built(user_cache_path("dgrag") / "readers")


def with_built(folder: Path) -> tuple[Path, ...]:
    """The folder that came with an image, where there is one, and then ``folder``."""
    return (BUILT, folder) if BUILT.is_dir() else (folder,)


def prepare(folder: Path) -> Path:
    """Unpack the library into ``folder`` unless it is there and whole; returns its path.

    The folder belongs to this user or to root, and nobody else may write it. Raises OSError, ReaderUnavailable.
    """
    if is_prepared(folder):
        return folder / LIBRARY
    for each in (folder, folder / LIBRARY.parent, folder / OCR_CACHE):
        each.mkdir(mode=0o700, parents=True, exist_ok=True)
    _require_private(folder, folder / LIBRARY.parent)
    with TemporaryDirectory(prefix="unpacking-", dir=folder) as place:
        fresh = Path(place)
        _unpack(fresh)
        if not (fresh / LIBRARY).is_file():
            raise ReaderUnavailable("kreuzberg unpacked nothing")
        data = (fresh / LIBRARY).read_bytes()
        if not _is_of_package(data):
            raise ReaderUnavailable("kreuzberg unpacked other bytes than the installed package holds")
        (fresh / LIBRARY).chmod(0o500)
        (fresh / DIGEST).write_text(sha256(data).hexdigest(), encoding="ascii")
        for part in (LIBRARY, DIGEST):
            (fresh / part).replace(folder / part)
    return folder / LIBRARY


def is_prepared(folder: Path) -> bool:
    """Whether the library lies there as it was unpacked from the package that is installed now.

    Raises ReaderUnavailable where others may change it, OSError where it cannot be read.
    """
    library, digest = folder / LIBRARY, folder / DIGEST
    if not (library.is_file() and digest.is_file()):
        return False
    _require_private(folder, library.parent, library, digest)
    data = library.read_bytes()
    return digest.read_bytes() == sha256(data).hexdigest().encode() and _is_of_package(data)


def _load(folder: Path) -> tuple[_File, ctypes.CDLL]:
    if folder == BUILT and not is_prepared(folder):
        raise ReaderUnavailable("it holds no whole library of the installed package")
    library = prepare(folder)
    code = ctypes.CDLL(str(library))  # fails where the folder is mounted noexec; kreuzberg gets this one
    code.FPDF_LoadMemDocument64.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p]
    code.FPDF_LoadMemDocument64.restype = ctypes.c_void_p
    for function in (code.FPDF_GetPageCount, code.FPDF_CloseDocument):
        function.argtypes = [ctypes.c_void_p]
    os.putenv("TMPDIR", str(folder))
    os.putenv("HOME", str(folder))
    return _File.at(library), code


def _read_control() -> None:
    import kreuzberg

    kreuzberg.extract_bytes_sync(CONTROL_PDF, "application/pdf", config=kreuzberg.ExtractionConfig(use_cache=False))


def _require_private(*paths: Path) -> None:
    """Raises ReaderUnavailable for a path that another user owns, may write, or has put a link at."""
    for path in paths:
        found = path.lstat()
        if stat.S_ISLNK(found.st_mode) or found.st_uid not in (0, os.geteuid()) or found.st_mode & OTHERS_MAY_WRITE:
            raise ReaderUnavailable(f"other users may change {path}")


def _unpack(folder: Path) -> None:
    """Let kreuzberg do it, in a process of its own that has the folder for its temporary files."""
    environment = {"TMPDIR": str(folder), "HOME": str(folder)}
    command = [sys.executable, "-I", "-c", _UNPACKER]
    done = subprocess.run(  # noqa: S603 - our own words
        command, input=CONTROL_PDF, env=environment, capture_output=True, timeout=UNPACK_S, check=False
    )
    if done.returncode:
        last_line = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        raise ReaderUnavailable(f"it cannot be unpacked ({last_line[:300]})")


_UNPACKER = """
import sys, kreuzberg
data = sys.stdin.buffer.read()
kreuzberg.extract_bytes_sync(data, "application/pdf", config=kreuzberg.ExtractionConfig(use_cache=False))
"""


def _is_of_package(data: bytes) -> bool:
    """Whether kreuzberg's installed module holds exactly these bytes."""
    from kreuzberg import _internal_bindings

    with Path(_internal_bindings.__file__).open("rb") as module, mmap.mmap(module.fileno(), 0, access=mmap.ACCESS_READ) as whole:
        return bool(data) and whole.find(data) >= 0


if __name__ == "__main__":
    prepare(BUILT)
    for path in (BUILT, *BUILT.rglob("*")):
        path.chmod(0o755)  # an image's service runs as another user than the one that builds it
