"""What a path on this machine holds: files as they are, and the rows of JSONL collections, one at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from deploy.cluster.errors import ClusterError
from edge_node.ingest.collections import BadRow, CollectionDocument, is_collection, iter_collection, lines_of
from edge_node.ingest.readers import SUFFIXES

READABLE = f"{', '.join(sorted(SUFFIXES))} and .jsonl"


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file; ``name`` is its path below the folder that was given, so that equal file names in two folders stay two documents."""

    name: str
    path: Path


def files_in(paths: Sequence[Path]) -> list[SourceFile]:
    """The files of the paths given: a file is taken whatever it is called, of a folder those that a reader knows.

    Hidden files are left out. Raises ClusterError for a path that is not there, or a folder without a readable file.
    """
    return [file for path in paths for file in _below(path)]


def left_out(paths: Sequence[Path]) -> list[str]:
    """The files that ``files_in`` leaves out of folders since no reader knows them, as pictures; hidden ones are not told."""
    names = [found.relative_to(path) for path in paths if path.is_dir() for found in sorted(path.rglob("*")) if found.is_file()]
    return [name.as_posix() for name in names if not _is_readable(name) and not _is_hidden(name)]


def _below(path: Path) -> list[SourceFile]:
    if path.is_file():
        return [SourceFile(path.name, path)]
    if not path.is_dir():
        raise ClusterError(f"there is no file or folder {path}", next_step="check the path")
    names = sorted(found.relative_to(path) for found in path.rglob("*") if found.is_file())
    readable = [name for name in names if _is_readable(name)]
    if not readable:
        raise ClusterError(f"{path} holds no readable file", next_step=f"readable are {READABLE}")
    return [SourceFile(name.as_posix(), path / name) for name in readable]


def _is_readable(name: Path) -> bool:
    return not _is_hidden(name) and (name.suffix.lower() in SUFFIXES or is_collection(name.name))


def _is_hidden(name: Path) -> bool:
    return any(part.startswith(".") for part in name.parts)


def rows(file: SourceFile, advance: Callable[[int], None]) -> Iterator[CollectionDocument | BadRow]:
    """The rows of a collection, streamed; ``advance`` hears of the bytes read."""
    with file.path.open("rb") as stream:
        yield from iter_collection(_counted(lines_of(stream), advance), name=file.name)


def _counted(lines: Iterable[bytes], advance: Callable[[int], None]) -> Iterator[bytes]:
    for line in lines:
        yield line
        advance(len(line))


def size(files: Sequence[SourceFile]) -> int:
    """Bytes of all files."""
    return sum(file.path.stat().st_size for file in files)
