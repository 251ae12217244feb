"""What is said of a folder's files, and of the documents that an edge has of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from shared.records import DocumentId

TWIN = "another file here has a name that looks the same; give one of them another name"
DAMAGED = "damaged"  # code of a document whose bytes, or name, are damaged on an edge's disk


@dataclass(frozen=True, slots=True)
class Entry:
    """One file as a listing tells of it; ``place``: where its source finds it."""

    name: str  # of the document
    place: str
    size: int  # bytes
    mark: str  # as long as it is the same, so is the content; "": nothing can be told from it


@dataclass(frozen=True, slots=True)
class Problem:
    """A file, or a folder, that is not in step, and why."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Survey:
    """All that is there. ``unseen``: beginnings of names that could not be listed, so what was there before counts as there."""

    entries: tuple[Entry, ...]
    problems: tuple[Problem, ...] = ()
    unseen: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()  # files that no reader knows


def survey_of(entries: Iterable[Entry], problems: Iterable[Problem], unseen: Iterable[str] = (), left_out: Iterable[str] = ()) -> Survey:
    """A survey in the order of names; of files whose names look the same, the first by its place is in step."""
    listed = dict[str, Entry]()
    refused = list(problems)
    for entry in sorted(entries, key=lambda entry: (entry.name, entry.place)):
        if entry.name in listed:
            refused.append(Problem(entry.name, TWIN))
        listed.setdefault(entry.name, entry)
    return Survey(tuple(listed.values()), tuple(refused), tuple(unseen), tuple(sorted(left_out)))


@dataclass(frozen=True, slots=True)
class Found:
    """One file with the id that its document has; ``was``: the name under which the edge has the same content of a file that is gone."""

    entry: Entry
    document_id: DocumentId
    was: str = ""


@dataclass(frozen=True, slots=True)
class Held:
    """What an edge has under one name: its newest version, and ``older`` ones that are still served."""

    name: str
    document_id: DocumentId
    size: int  # bytes
    source: str
    labels: frozenset[str]
    is_damaged: bool = False
    older: tuple[DocumentId, ...] = ()


@dataclass(frozen=True, slots=True)
class Wishes:
    """How an edge is to follow a source."""

    source: str  # the sync's name: it deletes what came under it
    labels: tuple[str, ...] | None = None  # of all its documents; None: as they are
    keep_deleted: bool = False
    force: bool = False  # delete, however many are gone
    adopt: bool = False  # documents of the same names that came another way become this sync's


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why an edge did not take a document. ``is_of_content``: it would not take the same content a second time either."""

    reason: str
    is_of_content: bool


class Source(Protocol):
    """A folder or a bucket."""

    def survey(self) -> Survey:
        """What is there now. Raises InputError where the source itself cannot be listed."""
        ...

    def read(self, entry: Entry) -> bytes:
        """The content of a file. Raises OSError."""
        ...


class Target(Protocol):
    """An edge, over REST or in this process. It changes only what is the sync's at that moment; what is gone is left to the next run."""

    async def held(self) -> Mapping[str, Held]:
        """All its documents, by name."""
        ...

    async def send(self, name: str, raw: bytes, wishes: Wishes) -> Refusal | None:
        """Give it a document; returns why it refuses this one."""
        ...

    async def rename(self, identity: DocumentId, name: str, wishes: Wishes) -> str:
        """Let a document have another name; returns why not, "" where it has."""
        ...

    async def relabel(self, identity: DocumentId, wishes: Wishes) -> str:
        """Give a document the labels wished for; returns why not, "" where it has them."""
        ...

    async def remove(self, identity: DocumentId, wishes: Wishes) -> str:
        """Delete a document; returns why not, "" where it is gone."""
        ...


def held_of(views: Iterable[Mapping[str, Any]]) -> dict[str, Held]:
    """The documents of a listing by name; versions of one name follow each other, the newest last.

    >>> view = {"name": "a", "document_id": "1", "bytes": 5, "source": "", "labels": ["x"], "code": ""}
    >>> held_of([view, view | {"document_id": "2"}])["a"]
    Held(name='a', document_id='2', size=5, source='', labels=frozenset({'x'}), is_damaged=False, older=('1',))
    """
    found = dict[str, Held]()
    for view in views:
        labels, damaged = frozenset(view["labels"]), view["code"] == DAMAGED
        held = Held(view["name"], DocumentId(view["document_id"]), view["bytes"], view["source"], labels, damaged)
        if before := found.get(held.name):
            held = replace(held, older=(*before.older, before.document_id))
        found[held.name] = held
    return found
