"""What every corpus can do, how its files are found and read line by line, and how an edge gets its part of one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol

import orjson

from benchmarks.errors import BenchmarkError
from benchmarks.records import Question, SourceDocument, Split
from benchmarks.systems import CENTRAL


class DatasetError(BenchmarkError):
    """Data that cannot be used."""

    code = "dataset_error"


class Corpus(Protocol):
    """Documents and questions. Texts of documents are not held: they pass by in ``rows``."""

    def documents(self) -> tuple[SourceDocument, ...]:
        """All documents, in file order; the same one twice where two domains share it."""

    def questions(self) -> tuple[Question, ...]:
        """All questions, in file order."""

    def rows(self, ids: Collection[str]) -> Iterator[tuple[str, bytes]]:
        """Yield (document id, the first source line that holds it, unchanged) of each document that is asked for."""

    def skipped(self) -> tuple[str, ...]:
        """A line ``file:number: reason`` for each row that could not be used."""


def matching(root: Path, patterns: Sequence[str]) -> tuple[Path, ...]:
    """Files below ``root`` that match the glob patterns: pattern by pattern, sorted, each once. Raises DatasetError for none."""
    if not root.is_dir():
        raise DatasetError(f"there is no folder {root} with evaluation data", next_step="say where it is with --data")
    found: dict[Path, None] = {}
    for pattern in patterns:
        files = sorted(file for file in root.glob(pattern) if file.is_file())
        if not files:
            raise DatasetError(
                f"no file matches {pattern!r} below {root}", next_step="mend the configuration, or say where the data is with --data"
            )
        found.update(dict.fromkeys(files))
    return tuple(found)


def lines_of(file: Path) -> Iterator[tuple[str, bytes]]:
    """Yield (``name:number``, line) of each line that is not blank; one line is in memory at a time. Raises DatasetError."""
    try:
        with file.open("rb") as stream:
            for number, line in enumerate(stream, start=1):
                if line.strip():
                    yield f"{file.name}:{number}", line
    except OSError as error:
        raise DatasetError(f"cannot read {file}: {error.strerror}") from error


def parsed(line: bytes) -> dict[str, Any]:
    """A line as a JSON object. Raises DatasetError."""
    try:
        row = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise DatasetError(f"is not JSON: {error}") from error
    if not isinstance(row, dict):
        raise DatasetError("is not a JSON object")
    return row


def text_of(row: dict[str, Any], field: str) -> str:
    """A field that must hold words. Raises DatasetError."""
    value = row.get(field)
    if not isinstance(value, str) or not value.strip():
        raise DatasetError(f"`{field}` is missing, blank or no text")
    return value


def texts_of(row: dict[str, Any], field: str) -> tuple[str, ...]:
    """A field that must hold a list of texts, blank ones left out. Raises DatasetError."""
    value = row.get(field)
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise DatasetError(f"`{field}` is no list of texts")
    return tuple(text for text in value if text.strip())


def contents(corpus: Corpus) -> str:
    """A hash of all documents as they are in their source; it takes a pass over the files."""
    digest = sha256()
    for document_id, line in corpus.rows({document.document_id for document in corpus.documents()}):
        for part in (document_id.encode(), line.strip()):
            digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()


def write_data(split: Split, corpus: Corpus, folder: Path) -> dict[str, Path]:
    """Write each edge's documents to ``<folder>/<edge>.jsonl`` and all to ``central.jsonl``, rows as in their source, in one pass.

    Returns the files by edge. They appear under their names when they are whole; where all do, nothing is read. Raises DatasetError for
    a document that is not in the corpus, or an edge of the name that all documents go under.
    """
    if CENTRAL in split.documents:
        raise DatasetError(f"split {split.name!r}: an edge cannot be called {CENTRAL!r}", next_step="rename the data's file")
    files = {edge: folder / f"{edge}.jsonl" for edge in (*split.documents, CENTRAL)}
    if not all(file.exists() for file in files.values()):
        folder.mkdir(parents=True, exist_ok=True)
        _write_rows(split, corpus, files)
    return files


def _write_rows(split: Split, corpus: Corpus, files: dict[str, Path]) -> None:
    owners: dict[str, list[str]] = defaultdict(lambda: [CENTRAL])
    for edge, ids in split.documents.items():
        for document_id in dict.fromkeys(ids):
            owners[document_id].append(edge)
    drafts = {edge: file.with_suffix(".part") for edge, file in files.items()}
    missing = set(owners)
    with ExitStack() as stack:
        streams = {edge: stack.enter_context(draft.open("wb")) for edge, draft in drafts.items()}
        for document_id, line in corpus.rows(set(owners)):
            missing.discard(document_id)
            for edge in owners[document_id]:
                streams[edge].write(line.rstrip(b"\r\n") + b"\n")
    if missing:
        raise DatasetError(f"split {split.name!r}: {len(missing)} documents are not in the corpus, e.g. {min(missing)!r}")
    for edge, draft in drafts.items():
        draft.replace(files[edge])
