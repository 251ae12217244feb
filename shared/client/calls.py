"""The calls that a client makes, each with the types of what goes and what comes. ``Client`` and ``AsyncClient`` have them as methods.

The examples run in the tests, against an edge with a small report; there ``client`` is a ``Client`` of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from http import HTTPStatus
from typing import Any, Generic, Literal, TypedDict, TypeVar, cast
from urllib.parse import quote

import httpx2
from pydantic import TypeAdapter, ValidationError

from shared.client.errors import BadReply, body
from shared.client.replies import (
    Deletion,
    Deletions,
    Document,
    DocumentPage,
    DocumentText,
    Health,
    Job,
    Labelled,
    Neighbourhood,
    Receipt,
    RetrieveReply,
    Status,
    Verdict,
)
from shared.errors import InputError
from shared.records import Answer, Level

T = TypeVar("T")
MayLeave = Literal["yes", "no", "ask"]  # None: as the site's policy says; "ask": the answer shows in ``would_ask`` what would leave
ANSWER_S = 600.0  # an edge has its own, shorter deadline
UPLOAD_S = 120.0
CALL_S = 30.0
CONNECT_S = 5.0
reader: Callable[[Any], TypeAdapter[Any]] = cache(TypeAdapter)  # of the replies of a type


class Filters(TypedDict, total=False):
    """Only documents of the site to which all of these apply; of several labels, languages or paths one must. Nothing leaves then.

    ``label``: the document has it. ``language``: the most of it is in that ("de"). ``since``, ``until``: it came to the site then or later,
    or before ("2026-01-31", a whole day in UTC, or with a time). ``path``: its name, with ``*`` and ``?``, or a folder that it is in.
    """

    label: str | Sequence[str]
    language: str | Sequence[str]
    since: str
    until: str
    path: str | Sequence[str]


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """One call, and what is made of its reply. A call that is ``repeatable`` changes nothing more when it is made twice."""

    method: str
    path: str
    reply: type[T]
    query: Mapping[str, str | int | None] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None
    file: tuple[str, bytes] | None = None
    form: Mapping[str, str] | None = None
    deadline_s: float = CALL_S
    repeatable: bool = False
    also: int = 0  # a status that comes with a reply too

    def request(self, left_s: float) -> dict[str, Any]:
        """What httpx2 sends, with the seconds that are left; what is None is left out."""
        files = None if self.file is None else {"file": self.file}
        sent = {"method": self.method, "url": self.path, "params": given(self.query), "files": files, "data": self.form}
        return sent | {"json": None if self.body is None else given(self.body), "timeout": timeout(left_s)}

    def read(self, response: httpx2.Response) -> T:
        """The reply. Raises ServiceError, and BadReply where it is not of the agreed form."""
        if response.status_code == self.also:
            response.status_code = HTTPStatus.OK
        if self.reply is bytes and response.is_success:
            return cast("T", response.content)
        value = body(response)
        try:
            read: T = reader(self.reply).validate_python(value)
        except ValidationError as error:
            raise BadReply(f"{response.url} does not answer as agreed: {error.error_count()} faults", next_step="is it an edge?") from error
        return read


def given(values: Mapping[str, Any]) -> dict[str, Any]:
    """Those that are not None."""
    return {name: value for name, value in values.items() if value is not None}


def timeout(left_s: float) -> httpx2.Timeout:
    """How long each wait on a connection may be."""
    return httpx2.Timeout(left_s, connect=min(CONNECT_S, left_s))


def part(identity: str) -> str:
    """An id as a part of a path."""
    return quote(identity, safe="")


def ask(
    question: str,
    *,
    mode: Literal["auto", "local", "cloud", "global"] = "auto",
    may_leave: MayLeave | None = None,
    purpose: str | None = None,
    memory: bool | None = None,
    n: int | None = None,
    level: Level | None = None,
    earlier: Sequence[tuple[str, str]] = (),
    filters: Filters | None = None,
) -> Call[Answer]:
    """Answer a question from this site's documents or, where they do not suffice, from other sites'. It is never repeated by itself.

    ``mode``: local, nothing leaves; cloud, other sites are asked anyhow; global, see ``overview``. ``purpose`` is told to the sites that
    are asked, ``memory=False`` wants a fresh answer, ``n`` is how many answers are compared. ``earlier`` are the questions of the
    conversation so far, each with its answer; a question that goes on with it is completed from it by the model. ``filters`` are of the
    documents that it is about; with them nothing leaves.

    >>> answer = client.ask("Which ward reported the failure?")
    >>> answer.answer, answer.route
    ('Juniper Ward reported it [1].', 'local')
    >>> answer.citations[0].document, answer.citations[0].quote
    ('report.md', 'Juniper Ward reported the failure of four infusion pumps.')
    """
    asked = {"question": question, "mode": mode, "allow_escalation": may_leave, "purpose": purpose, "memory": memory, "n": n}
    said = [{"question": before, "answer": answer} for before, answer in earlier] or None
    return Call("POST", "/v1/query", Answer, body={**asked, "level": level, "earlier": said, "filters": filters}, deadline_s=ANSWER_S)


def overview(
    question: str,
    *,
    level: Level | None = None,
    may_leave: MayLeave | None = None,
    purpose: str | None = None,
    filters: Filters | None = None,
) -> Call[Answer]:
    """Answer a question about all documents together, as "What are the main risks?"; takes minutes. ``level`` 0 reads the broadest reports.

    >>> client.overview("What is reported?").route
    'global'
    """
    return ask(question, mode="global", level=level, may_leave=may_leave, purpose=purpose, filters=filters)


def retrieve(
    question: str,
    *,
    top_k: int | None = None,
    budget_tokens: int | None = None,
    mode: Literal["local", "cloud"] = "local",
    may_leave: MayLeave | None = None,
    purpose: str | None = None,
    filters: Filters | None = None,
) -> Call[RetrieveReply]:
    """The passages nearest a question, for a model of your own; with ``mode="cloud"`` those of all sites that may know and let them go.

    ``filters``, with ``mode="local"``: only from the documents to which they apply.

    >>> [passage.text for passage in client.retrieve("Which ward reported the failure?", top_k=1).evidence]
    ['Juniper Ward reported the failure of four infusion pumps. The pumps stopped at night.']
    >>> client.retrieve("Which ward reported the failure?", filters={"path": "minutes/*"}).evidence
    ()
    """
    asked = {"question": question, "top_k": top_k, "budget_tokens": budget_tokens, "mode": mode, "filters": filters}
    leaving = {"allow_escalation": may_leave, "purpose": purpose}
    return Call("POST", "/v1/retrieve", RetrieveReply, body=asked | leaving, deadline_s=ANSWER_S, repeatable=mode == "local")


def add_document(name: str, content: str | bytes, *, title: str = "", labels: Sequence[str] | None = None) -> Call[Receipt]:
    """Add a text, or the bytes of a file whose name tells its kind. It is stored when this returns, and indexed soon after: ``wait``.

    The same name again is a new version; the same bytes again are a duplicate. ``labels`` None: as they are, and none of a new document.
    Raises InputError for a file with a title, which is read from the file, and for a label with a comma, which stands between two.

    >>> receipt = client.add_document("minutes.md", "The pumps were mended in May.", labels=["public"])
    >>> client.wait(receipt)[0].status
    'indexed'
    """
    if isinstance(content, str):
        sent = {"name": name, "text": content, "title": title, "labels": None if labels is None else list(labels)}
        return Call("POST", "/v1/documents", Receipt, body=sent, deadline_s=UPLOAD_S, repeatable=True)
    if title:
        raise InputError(f"{name} is a file, whose title is read from it", next_step="send its text, or leave the title out")
    if wrong := next((one for one in labels or () if "," in one), ""):
        raise InputError(f"the label {wrong!r} has a comma, which stands between two", next_step="name it otherwise, or give two labels")
    form = None if labels is None else {"labels": ",".join(labels)}
    return Call("POST", "/v1/documents", Receipt, file=(name, content), form=form, deadline_s=UPLOAD_S, repeatable=True)


def job(job_id: str) -> Call[Job]:
    """How far the indexing of a document is, and what it has cost. Raises NotFound where the document was deleted or replaced.

    >>> receipt = client.add_document("minutes.md", "The pumps were mended in May.")
    >>> client.job(receipt.job_id).name
    'minutes.md'
    """
    return Call("GET", f"/v1/jobs/{part(job_id)}", Job, repeatable=True)


def document_page(*, after: str = "", limit: int = 100, status: str = "", name: str = "") -> Call[DocumentPage]:
    """A page of documents by name, behind the name ``after``; ``documents`` goes through all pages.

    >>> client.document_page(limit=1).counts["indexed"]
    1
    """
    return Call("GET", "/v1/documents", DocumentPage, {"after": after, "limit": limit, "status": status, "name": name}, repeatable=True)


def document(document_id: str) -> Call[Document]:
    """One document, by its id or the one that citations of other sites have. Raises NotFound.

    >>> [found] = client.documents()
    >>> client.document(found.document_id).chunks
    1
    """
    return Call("GET", f"/v1/documents/{part(document_id)}", Document, repeatable=True)


def document_text(document_id: str, *, start: int = 0, end: int | None = None) -> Call[DocumentText]:
    """Characters of a document, as a citation's ``span`` has them; 20,000 at most, and ``end`` says where the next part begins.

    >>> citation = client.ask("Which ward reported the failure?").citations[0]
    >>> client.document_text(citation.document_id, start=citation.span[0], end=citation.span[1]).text
    'Juniper Ward reported the failure of four infusion pumps.'
    """
    return Call("GET", f"/v1/documents/{part(document_id)}/text", DocumentText, {"start": start, "end": end}, repeatable=True)


def original(document_id: str) -> Call[bytes]:
    """A document's file as it came. Raises ServiceError (410 ``original_dropped``) where the site no longer keeps it.

    >>> [found] = client.documents()
    >>> client.original(found.document_id)[:12]
    b'Juniper Ward'
    """
    return Call("GET", f"/v1/documents/{part(document_id)}/original", bytes, repeatable=True)


def page_image(document_id: str, page: int, *, span: tuple[int, int] | None = None, width: int = 1_000) -> Call[bytes]:
    """A page of a PDF or of a scan as PNG; characters [start, end) of the document's text marked."""
    marked = f"{span[0]}-{span[1]}" if span else ""
    path = f"/v1/documents/{part(document_id)}/pages/{page}.png"
    return Call("GET", path, bytes, {"span": marked, "width": width}, repeatable=True)


def label(document_id: str, labels: Sequence[str]) -> Call[Labelled]:
    """Give a document other labels, in the place of those that it has. They count from the next question on.

    >>> [found] = client.documents()
    >>> client.label(found.document_id, ["public"]).labels
    ('public',)
    """
    return Call("PUT", f"/v1/documents/{part(document_id)}/labels", Labelled, body={"labels": list(labels)}, repeatable=True)


def delete_document(document_id: str) -> Call[Deletion]:
    """Delete a document with all that came from it. It is not repeated by itself: where its reply is lost, ``receipts`` has it.

    >>> [found] = client.documents()
    >>> client.delete_document(found.document_id).erased
    True
    >>> list(client.documents())
    []
    """
    return Call("DELETE", f"/v1/documents/{part(document_id)}", Deletion, deadline_s=ANSWER_S)


def receipts(document_id: str) -> Call[Deletions]:
    """The receipts of a document that was deleted, newest first.

    >>> client.receipts("5e1f").receipts
    ()
    """
    return Call("GET", "/v1/receipts", Deletions, {"document_id": document_id}, repeatable=True)


def entity(name: str, *, hops: int = 1, limit: int = 100) -> Call[Neighbourhood]:
    """What the knowledge graph has of a person, place or thing, and how it relates to others; "": the names that most is known of.

    >>> client.entity("Juniper Ward").entities[0].description
    'Juniper Ward reported the failure of four infusion pumps.'
    """
    return Call("GET", "/v1/graph", Neighbourhood, {"entity": name, "hops": hops, "limit": limit}, repeatable=True)


def feedback(query_id: str, *, right: bool) -> Call[Verdict]:
    """Say whether an answer was right; what is right may be remembered. An edge takes one verdict on each answer.

    >>> answer = client.ask("Which ward reported the failure?")
    >>> client.feedback(answer.query_id, right=True).outcome
    'learned'
    """
    verdict = {"verdict": "right" if right else "wrong"}
    return Call("POST", f"/v1/queries/{part(query_id)}/feedback", Verdict, body=verdict)


def status() -> Call[Status]:
    """Counts and progress of the edge.

    >>> client.status().documents["indexed"]
    1
    """
    return Call("GET", "/v1/status", Status, repeatable=True)


def health() -> Call[Health]:
    """Whether questions can come. Raises Unreachable where nobody answers.

    >>> client.health()
    Health(ready=True, reason='', next_step='', faults=())
    """
    return Call("GET", "/ready", Health, repeatable=True, also=HTTPStatus.SERVICE_UNAVAILABLE)
