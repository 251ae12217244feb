"""Two clients of an edge, with the same methods: one waits, the other is awaited."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Sequence
from copy import copy
from functools import update_wrapper
from inspect import Parameter, signature
from pathlib import Path
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar

import httpx2

from shared.client import calls
from shared.client.access import CALLER, entrance
from shared.client.calls import Call
from shared.client.errors import ServiceError, unreachable
from shared.client.hearing import News, aevents, events, news_of
from shared.client.replies import Document, DocumentPage, Job, Receipt, RetrieveReply, Sites, Status
from shared.client.tries import Tries
from shared.errors import DeadlinePassed
from shared.limits import Deadline
from shared.records import Answer, EdgeReport
from shared.tls import check_plain_http, client_context

P = ParamSpec("P")
T = TypeVar("T")
Method = TypeVar("Method", bound=Callable[..., Any])
Http = TypeVar("Http", httpx2.Client, httpx2.AsyncClient)
RETRIES = 3
POLL_S = 0.5  # between two looks at a job
WAIT_S = 600.0
PAGE = 100
MOST_SITES = 100  # that are remembered of answers


class _Common(Generic[Http]):
    """What both clients know."""

    def __init__(self, http: Http, retries: int, deadline_s: float | None) -> None:
        self._http: Http = http
        self._retries = retries
        self._deadline_s = deadline_s
        self._others = dict[str, EdgeReport]()  # other sites, as the last answers saw them

    def within(self, deadline_s: float) -> Self:
        """The same client with a deadline for each call, all its tries and the waits between them included; the connections are shared.

        >>> client.within(20).ask("Which ward reported the failure?").answered
        True
        """
        other = copy(self)
        other._deadline_s = deadline_s
        return other

    def _deadline(self, seconds: float) -> Deadline:
        return Deadline(seconds if self._deadline_s is None else self._deadline_s)

    def _tries(self, call: Call[Any]) -> Tries:
        return Tries(self._deadline(call.deadline_s), more=self._retries, repeatable=call.repeatable)

    def _noted(self, told: T) -> T:
        if isinstance(told, Answer | RetrieveReply):
            self._others.update((one.edge, one) for one in told.edges)
            while len(self._others) > MOST_SITES:
                del self._others[next(iter(self._others))]
        return told

    def _sites(self, home: Status) -> Sites:
        return Sites(home.edge, home.documents.get("indexed", 0), home.cloud, tuple(self._others.values()))


def _pause_s(deadline: Deadline) -> float:
    if not deadline.left_s():
        raise DeadlinePassed(deadline_s=deadline.seconds)
    return min(POLL_S, deadline.left_s())


def _named(make: Callable[..., Any], method: Method, returns: str = "") -> Method:
    """A method with the name, the words and the arguments of what it was made of; it returns what its call replies, or ``returns``."""
    told = signature(make)
    parameters = [Parameter("self", Parameter.POSITIONAL_OR_KEYWORD), *told.parameters.values()]
    replied = str(told.return_annotation).removeprefix("Call[").removesuffix("]")
    vars(update_wrapper(method, make))["__signature__"] = told.replace(parameters=parameters, return_annotation=returns or replied)
    return method


def _waiting(make: Callable[P, Call[T]]) -> Callable[Concatenate[Client, P], T]:
    def method(self: Client, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self.send(make(*args, **kwargs))

    return _named(make, method)


def _awaited(make: Callable[P, Call[T]]) -> Callable[Concatenate[AsyncClient, P], Coroutine[Any, Any, T]]:
    async def method(self: AsyncClient, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.send(make(*args, **kwargs))

    return _named(make, method)


def _heard(make: Callable[P, Call[Answer]]) -> Callable[Concatenate[Client, P], Iterator[News]]:
    def method(self: Client, /, *args: P.args, **kwargs: P.kwargs) -> Iterator[News]:
        return self.hear(make(*args, **kwargs))

    return _named(make, method, "Iterator[News]")


def _aheard(make: Callable[P, Call[Answer]]) -> Callable[Concatenate[AsyncClient, P], AsyncIterator[News]]:
    def method(self: AsyncClient, /, *args: P.args, **kwargs: P.kwargs) -> AsyncIterator[News]:
        return self.hear(make(*args, **kwargs))

    return _named(make, method, "AsyncIterator[News]")


class Client(_Common[httpx2.Client]):
    """A client of the edge at ``url``, for one program; its methods may be called from several threads.

    ``api_key``: where it is None, DGRAG_API_KEY of the environment; it goes to other machines over https:// alone. ``ca``: PEM file of
    a private authority; None: the system's are trusted. ``retries``: how often a call is repeated that may be; the time that the
    service asks for is kept. ``deadline_s``: for each call; None: 30 s, 2 min for a document, 10 min for an answer. ``http``: a client
    of httpx2 of your own instead, with an address and an access of its own. Raises SettingsError.

    >>> with Client(EDGE) as edge:
    ...     edge.ask("Which ward reported the failure?").answer
    'Juniper Ward reported it [1].'
    """

    def __init__(
        self,
        url: str,
        *,
        api_key: str | None = None,
        ca: Path | None = None,
        retries: int = RETRIES,
        deadline_s: float | None = None,
        http: httpx2.Client | None = None,
    ) -> None:
        check_plain_http(url, allowed=True, setting="")
        own = http or httpx2.Client(base_url=url, headers=CALLER, auth=entrance(api_key), trust_env=False, verify=client_context(ca))
        super().__init__(own, retries, deadline_s)

    ask = _waiting(calls.ask)
    overview = _waiting(calls.overview)
    retrieve = _waiting(calls.retrieve)
    add_document = _waiting(calls.add_document)
    job = _waiting(calls.job)
    document_page = _waiting(calls.document_page)
    document = _waiting(calls.document)
    document_text = _waiting(calls.document_text)
    original = _waiting(calls.original)
    page_image = _waiting(calls.page_image)
    label = _waiting(calls.label)
    delete_document = _waiting(calls.delete_document)
    receipts = _waiting(calls.receipts)
    entity = _waiting(calls.entity)
    feedback = _waiting(calls.feedback)
    status = _waiting(calls.status)
    health = _waiting(calls.health)
    ask_stream = _heard(calls.ask)
    overview_stream = _heard(calls.overview)

    def send(self, call: Call[T]) -> T:
        """The reply to one call. Raises ServiceError, Unreachable, BadReply, DeadlinePassed."""
        tries = self._tries(call)
        while True:
            try:
                return self._noted(call.read(self._http.request(**call.request(tries.left_s()))))
            except ServiceError as error:
                wait_s = tries.wait_s(error)
            except httpx2.RequestError as error:
                wait_s = tries.wait_s(unreachable(error))
            time.sleep(wait_s)

    def hear(self, call: Call[Answer]) -> Iterator[News]:
        """An answer while it is made: steps as they end, pieces of its text, and last the Answer. Raises as ``send``.

        >>> *news, answer = client.ask_stream("Which ward reported the failure?")
        >>> "".join(piece for piece in news if isinstance(piece, str)) == answer.answer
        True
        """
        asked, deadline = calls.given(call.body or {}), self._deadline(call.deadline_s)
        try:
            for event in events(self._http, call.path, asked, calls.timeout(deadline.left_s()), deadline):
                if (news := news_of(event)) is not None:
                    yield self._noted(news)
        except httpx2.RequestError as error:
            raise unreachable(error) from error

    def document_pages(self, *, status: str = "", name: str = "", page_size: int = PAGE) -> Iterator[DocumentPage]:
        """The pages of all documents, by name; each is asked for when it is wanted."""
        after: str | None = ""
        while after is not None:
            page = self.document_page(after=after, limit=page_size, status=status, name=name)
            yield page
            after = page.next

    def documents(self, *, status: str = "", name: str = "", page_size: int = PAGE) -> Iterator[Document]:
        """All documents by name, page by page; ``status``: queued, running, indexed or parked.

        >>> [one.name for one in client.documents()]
        ['report.md']
        """
        return (one for page in self.document_pages(status=status, name=name, page_size=page_size) for one in page.documents)

    def add_documents(self, files: Iterable[Path | str], *, labels: Sequence[str] | None = None) -> list[Receipt]:
        """Add files by their paths, one after the other, each under its own name."""
        return [self.add_document(file.name, file.read_bytes(), labels=labels) for file in map(Path, files)]

    def wait(self, *receipts: Receipt, deadline_s: float = WAIT_S) -> list[Job]:
        """Wait until documents are indexed, or parked with a reason.

        Raises DeadlinePassed, and NotFound where one was deleted, or replaced by a later version.
        """
        deadline = Deadline(deadline_s)
        return [self._ended(one.job_id, deadline) for one in receipts]

    def _ended(self, job_id: str, deadline: Deadline) -> Job:
        while (job := self.job(job_id)).ended_at is None:
            time.sleep(_pause_s(deadline))
        return job

    def sites(self) -> Sites:
        """The own site, its line to the cloud, and the other sites that the answers to this client asked.

        >>> client.sites().home
        'ward'
        """
        return self._sites(self.status())

    def close(self) -> None:
        """End the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


class AsyncClient(_Common[httpx2.AsyncClient]):
    """As ``Client``, to be awaited; what iterates there is for ``async for`` here.

    >>> async def main():
    ...     async with AsyncClient(EDGE) as edge:
    ...         names = [one.name async for one in edge.documents()]
    ...         return names, (await edge.ask("Which ward reported the failure?")).answer
    >>> asyncio.run(main())
    (['report.md'], 'Juniper Ward reported it [1].')
    """

    def __init__(
        self,
        url: str,
        *,
        api_key: str | None = None,
        ca: Path | None = None,
        retries: int = RETRIES,
        deadline_s: float | None = None,
        http: httpx2.AsyncClient | None = None,
    ) -> None:
        check_plain_http(url, allowed=True, setting="")
        own = http or httpx2.AsyncClient(base_url=url, headers=CALLER, auth=entrance(api_key), trust_env=False, verify=client_context(ca))
        super().__init__(own, retries, deadline_s)

    ask = _awaited(calls.ask)
    overview = _awaited(calls.overview)
    retrieve = _awaited(calls.retrieve)
    add_document = _awaited(calls.add_document)
    job = _awaited(calls.job)
    document_page = _awaited(calls.document_page)
    document = _awaited(calls.document)
    document_text = _awaited(calls.document_text)
    original = _awaited(calls.original)
    page_image = _awaited(calls.page_image)
    label = _awaited(calls.label)
    delete_document = _awaited(calls.delete_document)
    receipts = _awaited(calls.receipts)
    entity = _awaited(calls.entity)
    feedback = _awaited(calls.feedback)
    status = _awaited(calls.status)
    health = _awaited(calls.health)
    ask_stream = _aheard(calls.ask)
    overview_stream = _aheard(calls.overview)

    async def send(self, call: Call[T]) -> T:
        """The reply to one call. Raises ServiceError, Unreachable, BadReply, DeadlinePassed."""
        tries = self._tries(call)
        while True:
            try:
                return self._noted(call.read(await self._http.request(**call.request(tries.left_s()))))
            except ServiceError as error:
                wait_s = tries.wait_s(error)
            except httpx2.RequestError as error:
                wait_s = tries.wait_s(unreachable(error))
            await asyncio.sleep(wait_s)

    async def hear(self, call: Call[Answer]) -> AsyncIterator[News]:
        """An answer while it is made: steps as they end, pieces of its text, and last the Answer. Raises as ``send``."""
        asked, deadline = calls.given(call.body or {}), self._deadline(call.deadline_s)
        try:
            async for event in aevents(self._http, call.path, asked, calls.timeout(deadline.left_s()), deadline):
                if (news := news_of(event)) is not None:
                    yield self._noted(news)
        except httpx2.RequestError as error:
            raise unreachable(error) from error

    async def document_pages(self, *, status: str = "", name: str = "", page_size: int = PAGE) -> AsyncIterator[DocumentPage]:
        """The pages of all documents, by name; each is asked for when it is wanted."""
        after: str | None = ""
        while after is not None:
            page = await self.document_page(after=after, limit=page_size, status=status, name=name)
            yield page
            after = page.next

    async def documents(self, *, status: str = "", name: str = "", page_size: int = PAGE) -> AsyncIterator[Document]:
        """All documents by name, page by page; ``status``: queued, running, indexed or parked."""
        async for page in self.document_pages(status=status, name=name, page_size=page_size):
            for one in page.documents:
                yield one

    async def add_documents(self, files: Iterable[Path | str], *, labels: Sequence[str] | None = None) -> list[Receipt]:
        """Add files by their paths, one after the other, each under its own name."""
        return [await self.add_document(file.name, await asyncio.to_thread(file.read_bytes), labels=labels) for file in map(Path, files)]

    async def wait(self, *receipts: Receipt, deadline_s: float = WAIT_S) -> list[Job]:
        """Wait until documents are indexed, or parked with a reason.

        Raises DeadlinePassed, and NotFound where one was deleted, or replaced by a later version.
        """
        deadline = Deadline(deadline_s)
        return [await self._ended(one.job_id, deadline) for one in receipts]

    async def _ended(self, job_id: str, deadline: Deadline) -> Job:
        while (job := await self.job(job_id)).ended_at is None:  # noqa: ASYNC110 - it ends elsewhere
            await asyncio.sleep(_pause_s(deadline))
        return job

    async def sites(self) -> Sites:
        """The own site, its line to the cloud, and the other sites that the answers to this client asked."""
        return self._sites(await self.status())

    async def close(self) -> None:
        """End the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()
