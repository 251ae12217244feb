"""Documents to an edge, and how they end there."""

from __future__ import annotations

import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, Literal

import httpx2
from pydantic import TypeAdapter

from deploy.cluster.errors import ClusterError
from edge_node.documents.collections import BadRow, CollectionDocument, holds_documents, is_collection, iter_collection, lines_of
from edge_node.documents.parsers import SUFFIXES
from edge_node.folders.files import Folder
from shared.client.errors import ServiceError, body
from shared.errors import ReaderUnavailable
from shared.limits import retry_after_s
from shared.ports import SystemClock
from shared.text.document_names import document_name

UPLOAD_TIMEOUT = httpx2.Timeout(120.0, connect=5.0)
POLL_S = 0.5
MAX_SILENCES = 10  # timeouts in a row, of 30 s each, until an edge counts as hanging
NOT_FOUND = 404
MAX_WAITS = 20  # for one document, each as long as the edge asks for

READABLE = ", ".join(sorted(SUFFIXES))


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file; ``name`` is its path below the folder that was given, so that equal file names in two folders stay two documents."""

    name: str
    path: Path
    folder: Path | None = None  # in which it has to be, when it is opened; None: it was given itself

    def open(self) -> BinaryIO:
        """Its content. Raises OSError: it cannot be read, or leads out of its folder now."""
        if self.folder is None:
            return self.path.open("rb")
        return _folder(self.folder).open(self.path.relative_to(self.folder).as_posix())

    def size(self) -> int:
        """Bytes; 0 where it cannot be read."""
        try:
            return self.path.stat().st_size
        except OSError:
            return 0


@dataclass(frozen=True, slots=True)
class Refused:
    """One file, document or row that never became a document."""

    name: str
    kind: Literal["refused", "skipped"]  # by the edge; by the reader of a folder or a collection
    reason: str


@dataclass(frozen=True, slots=True)
class Listing:
    """The files of the paths given, and those of their folders that do not go to an edge."""

    files: tuple[SourceFile, ...]
    refused: tuple[Refused, ...] = ()
    left_out: tuple[str, ...] = ()  # that no reader knows, as pictures


def listing(paths: Sequence[Path]) -> Listing:
    """The files of the paths given: a file is taken whatever it is called, of a folder those that ``dgrag sync`` would take.

    Where two paths have files of one name, their names begin with their folders. Raises ClusterError for a path that is not there, or a
    folder without a readable file.
    """
    parts = [_below(path) for path in paths]
    files = chain.from_iterable(distinct_names(paths, [part.files for part in parts]))
    refused = chain.from_iterable(part.refused for part in parts)
    left_out = chain.from_iterable(part.left_out for part in parts)
    return Listing(tuple(files), tuple(refused), tuple(left_out))


def distinct_names(paths: Sequence[Path], parts: Sequence[Sequence[SourceFile]]) -> list[list[SourceFile]]:
    """The files of each path, with as much of the path in their names as no two files then share one."""
    places = [(path if path.is_dir() else path.parent).resolve() for path in paths]
    depths = [0] * len(places)
    while True:
        named = [_behind(place, depth, part) for place, depth, part in zip(places, depths, parts, strict=True)]
        owners = defaultdict[str, set[Path]](set)
        for file in chain.from_iterable(named):
            owners[file.name].add(file.path.resolve())
        shared = {name for name, files in owners.items() if len(files) > 1}
        deeper = [
            depth < len(place.parts) and any(file.name in shared for file in part)
            for place, depth, part in zip(places, depths, named, strict=True)
        ]
        if not any(deeper):
            return named
        depths = [depth + more for depth, more in zip(depths, deeper, strict=True)]


def _behind(place: Path, depth: int, files: Iterable[SourceFile]) -> list[SourceFile]:
    folders = place.parts[1:][-depth:] if depth else ()
    return [replace(file, name="/".join((*folders, file.name))) for file in files]


def _folder(path: Path) -> Folder:
    return Folder(path, SystemClock(), most_bytes=sys.maxsize)  # the edge has a limit of its own


def _below(path: Path) -> Listing:
    if path.is_file():
        return Listing((SourceFile(document_name(path.name), path),))
    if not path.is_dir():
        raise ClusterError(f"there is no file or folder {path}", next_step="check the path")
    survey = _folder(path).survey()
    if not survey.entries and not survey.problems:
        raise ClusterError(f"{path} holds no readable file", next_step=f"readable are {READABLE}")
    files = tuple(SourceFile(entry.name, path / entry.place, path) for entry in survey.entries)
    refused = tuple(Refused(problem.name, "skipped", problem.reason) for problem in survey.problems)
    return Listing(files, refused, survey.left_out)


def is_corpus(file: SourceFile) -> bool:
    """Whether each row of a file becomes a document; JSON lines of another kind are one document, as at the console. Raises OSError."""
    with file.open() as stream:
        return is_collection(file.name) and holds_documents(lines_of(stream))


def rows(file: SourceFile, advance: Callable[[int], None]) -> Iterator[CollectionDocument | BadRow]:
    """The rows of a collection, streamed; ``advance`` hears of the bytes read."""
    with file.open() as stream:
        yield from iter_collection(_counted(lines_of(stream), advance), name=file.name)


def _counted(lines: Iterable[bytes], advance: Callable[[int], None]) -> Iterator[bytes]:
    for line in lines:
        yield line
        advance(len(line))


def size(files: Sequence[SourceFile]) -> int:
    """Bytes of all files."""
    return sum(file.size() for file in files)


@dataclass(frozen=True, slots=True)
class SentDocument:
    """One document that the edge took, with what became of it."""

    name: str
    document_id: str
    duplicate: bool = False
    status: str = "queued"
    code: str = ""  # a stable word for the reason
    reason: str = ""
    next_step: str = ""
    labels: tuple[str, ...] = ()
    served: bool = False  # passages of it are in use: a parked one has some where a former round was indexed
    share: str = ""  # how much of it may leave, as the edge's policy is now
    unnamed_labels: tuple[str, ...] = ()  # that the policy does not name
    replaces: bool = False  # other content of the same name

    @property
    def is_stuck(self) -> bool:
        """Parked, or waiting until the edge can read such files again: it is not indexed, and has a reason."""
        return self.status == "parked" or (self.status == "queued" and self.code == ReaderUnavailable.code)


@dataclass(frozen=True, slots=True)
class EdgeStatus:
    """``GET /v1/status`` of an edge, as far as it is shown."""

    edge: str
    settled: bool = False
    failed: str = ""  # why it does not work; "starting" until it does
    strategy: str = ""
    documents: Mapping[str, int] = field(default_factory=dict)  # by status
    chunks: int = 0
    entities: int = 0
    relations: int = 0
    subgraphs: int = 0
    summaries: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    model_calls: int = 0
    progress: Mapping[str, Any] | None = None
    memory: Mapping[str, Any] = field(default_factory=dict)  # memories by kind, and how many questions they answered
    policy: Mapping[str, Any] = field(default_factory=dict)  # the sharing policy in force, and what it keeps back
    languages: Sequence[Mapping[str, Any]] = ()  # passages by language, and the pack that reads them
    ocr: Mapping[str, Sequence[str]] = field(default_factory=dict)  # languages of text in images: those used, those wanted and missing
    readers: Mapping[str, Any] = field(default_factory=dict)  # kinds of documents that cannot be read now, and how many wait for that
    outdated: int = 0  # documents that newer parsers would read anew
    shortfalls: Mapping[str, int] = field(default_factory=dict)  # documents by the code of what of them was not read
    embedding: Mapping[str, Any] = field(default_factory=dict)  # the model, by its fingerprint
    folders: Sequence[Mapping[str, Any]] = ()  # that it keeps itself in step with
    model: Mapping[str, Any] = field(default_factory=dict)  # the language model: its name, and what its server lacks
    calibration: Mapping[str, Any] = field(default_factory=dict)  # thresholds that were set from its documents, and whether they are used

    @property
    def total(self) -> int:
        """All documents."""
        return sum(self.documents.values())

    @property
    def ended(self) -> int:
        """Documents that are indexed or parked."""
        return self.documents.get("indexed", 0) + self.documents.get("parked", 0)

    @property
    def step(self) -> str:
        """What the edge does now, with its own count where it has one."""
        progress = self.progress or {}
        name = str(progress.get("step") or ("ready" if self.settled else "waiting"))
        return f"{name} {progress['done']}/{progress['total']}" if progress.get("total") else name


def send(
    http: httpx2.Client, url: str, files: Sequence[SourceFile], labels: Sequence[str] | None, advance: Callable[[int], None]
) -> Iterator[SentDocument | Refused]:
    """Post every document, in order; ``advance`` hears of bytes. A refused one does not stop the rest. Labels None: as they are.

    Raises httpx2.TransportError when the edge is gone, ServiceError when it refuses everything (401, 403).
    """
    for file in files:
        try:
            by_rows = is_corpus(file)
        except OSError as error:
            yield Refused(file.name, "skipped", f"it cannot be read: {error.strerror or error}")
            advance(file.size())
            continue
        if by_rows:
            yield from _send_rows(http, url, file, labels, advance)
        else:
            yield _send_file(http, url, file, labels)
            advance(file.size())


def _send_rows(
    http: httpx2.Client, url: str, file: SourceFile, labels: Sequence[str] | None, advance: Callable[[int], None]
) -> Iterator[SentDocument | Refused]:
    for row in rows(file, advance):
        if isinstance(row, BadRow):
            yield Refused(f"{file.name}, line {row.line}", "skipped", row.message)
            continue
        marks = [*row.labels, *(labels or ())]
        document = {"name": row.name, "title": row.title, "text": row.text, "labels": None if labels is None and not marks else marks}
        yield _receipt(row.name, patiently(partial(http.post, f"{url}/v1/documents", json=document, timeout=UPLOAD_TIMEOUT)))


def _send_file(http: httpx2.Client, url: str, file: SourceFile, labels: Sequence[str] | None) -> SentDocument | Refused:
    data = None if labels is None else {"labels": ",".join(labels)}

    def post() -> httpx2.Response:
        with file.open() as content:
            return http.post(f"{url}/v1/documents", files={"file": (file.name, content)}, data=data, timeout=UPLOAD_TIMEOUT)

    try:
        return _receipt(file.name, patiently(post))
    except (httpx2.WriteError, httpx2.RemoteProtocolError):
        if not http.get(f"{url}/health").is_success:
            raise
        return Refused(file.name, "refused", "the edge closed the connection: the file is over its limit")


def patiently(post: Callable[[], httpx2.Response], sleep: Callable[[float], None] = time.sleep) -> httpx2.Response:
    """Post again as long as the edge names a time to wait, as it does to a key that sends too fast; its last answer counts."""
    for _ in range(MAX_WAITS):
        response = post()
        wait_s = retry_after_s(response.headers.get("retry-after", ""), date=response.headers.get("date", ""))
        if response.status_code not in {429, 503} or wait_s is None:
            return response
        sleep(wait_s)
    return post()


def _receipt(name: str, response: httpx2.Response) -> SentDocument | Refused:
    try:
        receipt = body(response)
    except ServiceError as problem:
        if problem.status in {401, 403}:
            raise
        return Refused(name, "refused", problem.message)
    return SentDocument(
        name,
        str(receipt["document_id"]),
        bool(receipt.get("duplicate", False)),
        labels=tuple(receipt.get("labels", ())),
        share=str(receipt.get("share", "")),
        unnamed_labels=tuple(receipt.get("unnamed_labels", ())),
        replaces=bool(receipt.get("replaces", False)),
    )


def status_of(http: httpx2.Client, url: str) -> EdgeStatus:
    """How far an edge is."""
    return TypeAdapter(EdgeStatus).validate_python(body(http.get(f"{url}/v1/status")))


def wait_settled(
    http: httpx2.Client, urls: Iterable[str], show: Callable[[EdgeStatus], None], check: Callable[[], None]
) -> dict[str, EdgeStatus]:
    """Return each edge's status once all are settled; ``check`` may end the wait by raising.

    An edge that is too busy to answer one question is asked again. Raises ClusterError when an edge has failed, or is silent.
    """
    waiting, settled = list(urls), dict[str, EdgeStatus]()
    silences = dict.fromkeys(waiting, 0)  # timeouts in a row
    while waiting:
        check()
        for url in list(waiting):
            try:
                status = status_of(http, url)
            except httpx2.TransportError as error:
                silences[url] += 1
                if isinstance(error, httpx2.TimeoutException) and silences[url] < MAX_SILENCES:
                    continue
                check()  # a crash says more
                raise ClusterError(f"the edge at {url} stopped answering", next_step="see `dgrag status`, and the edge's log") from error
            silences[url] = 0
            if status.failed not in {"", "starting"}:
                raise ClusterError(f"edge {status.edge} has failed: {status.failed}", next_step="see the edge's log, then start it again")
            show(status)
            if status.settled:
                waiting.remove(url)
                settled[url] = status
        time.sleep(POLL_S if waiting else 0)
    return settled


def outcomes(http: httpx2.Client, url: str, sent: Iterable[SentDocument]) -> list[SentDocument]:
    """What became of each document."""
    return [_outcome(http, url, document) for document in sent]


def _outcome(http: httpx2.Client, url: str, sent: SentDocument) -> SentDocument:
    try:
        view = body(http.get(f"{url}/v1/documents/{sent.document_id}"))
    except ServiceError as problem:
        if problem.status != NOT_FOUND:
            raise
        return replace(sent, status="replaced")  # by a later document of the same name
    reason, next_step = str(view.get("reason") or ""), str(view.get("next_step") or "")
    said = replace(sent, status=str(view["status"]), code=str(view.get("code") or ""), reason=reason, next_step=next_step)
    return replace(said, served=bool(view.get("served")))
