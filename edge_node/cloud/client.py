"""The cloud's routes as methods. The seam is the httpx2 client: production, ASGI in tests, a fault transport in fault tests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar

import httpx2
import orjson
from pydantic import BaseModel, ValidationError

from edge_node.egress.bodies import ReportLevel, always, body_of, chunks_of, question_body, reply_body, search_body, summaries_body
from edge_node.egress.ledger import EgressRecord
from shared.errors import CloudRefused, CloudUnavailable, SettingsError, StoreError, Unrecorded, WireMismatch, Withheld
from shared.evidence import FindLine, Found, checked_found
from shared.limits import Breaker, Deadline, RetryBudget
from shared.records import Answer, EdgeId, Route, SummaryDelta
from shared.reduce import OnText, ignore_text
from shared.telemetry import correlation
from shared.text.citations import checked_answer
from shared.text.inert import inert
from shared.tls import check_plain_http, client_context, is_loopback, trouble
from shared.wire import (
    DEADLINE_HEADER,
    NDJSON,
    WIRE_VERSION,
    AskLine,
    Countersigned,
    Enrolled,
    Enrolment,
    EvidenceReply,
    Head,
    Heads,
    MemoryDelta,
    PollReply,
    Rotation,
)

MAX_BODY_BYTES = 2**20
T = TypeVar("T")
Read = Callable[[bytes], T]
ReadLine = Callable[[bytes], T | str | None]  # a text: a piece of what is still being written; None: a sign of life
Holds = Callable[[], bool]  # whether what is to be sent still may leave
PAUSES_S = (0.1, 0.4, 1.6)  # before an attempt is repeated

Body = TypeVar("Body", bound=BaseModel)
MAX_REASON_CHARS = 300


def check(status: int, content: bytes) -> None:
    """Nothing for a 2xx answer. Raises CloudRefused for 4xx, with the cloud's own words, and CloudUnavailable for the rest."""
    if 200 <= status < 300:
        return
    try:
        problem = orjson.loads(content)
    except orjson.JSONDecodeError:
        problem = None
    raise problem_of(problem if isinstance(problem, dict) else {}, status)


def problem_of(facts: Mapping[str, Any], status: int) -> CloudRefused | CloudUnavailable:
    """The error that a problem document (RFC 9457) tells of.

    >>> problem_of({"detail": "send a snapshot", "code": "resync"}, 409).message
    'send a snapshot'
    >>> problem_of({}, 503).message
    'the cloud answered with status 503'
    """
    said = inert(str(facts.get("detail", "")))[:MAX_REASON_CHARS]
    if 400 <= status < 500:
        return CloudRefused(said or f"status {status}", status=status, reason=str(facts.get("code", ""))[:64])
    return CloudUnavailable(f"the cloud answered with status {status}" + (f": {said}" if said else ""))


def parse(kind: type[Body], content: bytes) -> Body:
    """A body as a record. Raises CloudUnavailable."""
    try:
        return kind.model_validate_json(content)
    except ValidationError as error:
        raise CloudUnavailable(f"the cloud's {kind.__name__} is not of the agreed form") from error


async def lines_of(content_type: str, pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The whole lines of an NDJSON body, as they are complete. Raises CloudUnavailable for any other content type."""
    if content_type.split(";")[0].strip().lower() != NDJSON:
        raise CloudUnavailable("the cloud's answer is not of the agreed form")
    rest = b""
    async for piece in pieces:
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            yield line


def answer_of(line: bytes, *, route: Route = "cloud") -> Answer | str | None:
    """The answer in a line of it, or its next sentences, "" where those so far are not the answer after all; None: a sign of life.

    Raises what a problem says, and CloudUnavailable for anything else.

    >>> answer_of(b'{"text": ""}'), answer_of(b'{"alive": true}')
    ('', None)
    >>> answer_of(b'{"text": "See [the"}'), answer_of(b'{"text": "list](http://x.example)."}')
    ('See [the ', 'list] (x.example). ')
    """
    told = parse(AskLine, line)
    _raise(told.problem)
    if told.answer is not None:
        return checked_answer(told.answer, route=route)
    shown = inert(told.text or "")
    if not shown:
        return "" if told.text == "" else None
    return shown + " " * (not shown[-1].isspace())  # so that no markup is closed by the next one


def found_of(line: bytes) -> Found | None:
    """The passages in a line; otherwise as ``answer_of``."""
    told = parse(FindLine, line)
    _raise(told.problem)
    return None if told.found is None else checked_found(told.found)


def _raise(problem: Mapping[str, str | int] | None) -> None:
    if problem is not None:
        status = problem.get("status", 500)
        raise problem_of(problem, status if isinstance(status, int) else 500)


ENROLLED: Read[Enrolled] = partial(parse, Enrolled)
SIGHT: Read[Countersigned] = partial(parse, Countersigned)
POLLED: Read[PollReply] = partial(parse, PollReply)


def cloud_http(url: str, *, ca: Path | None = None, plain_http: bool = False) -> httpx2.AsyncClient:
    """The client for the cloud at ``url``; one on this machine is never asked through the environment's proxy.

    ``ca``: the authorities to trust (PEM), instead of the system's. Raises SettingsError for http:// to another machine that is not meant.
    """
    check_plain_http(url, allowed=plain_http, setting="DGRAG_EDGE_CLOUD_PLAIN_HTTP")
    return httpx2.AsyncClient(base_url=url, trust_env=not is_loopback(httpx2.URL(url).host), verify=client_context(ca))


class Records(Protocol):
    """The egress ledger, as far as it is needed here."""

    def record(self, departure: EgressRecord) -> object:
        """Returns when the record is on disk. Raises StoreError."""


class CloudClient:
    """Speaks to one cloud for one edge. Every method raises CloudUnavailable, CloudRefused, Unsendable or Unrecorded, and nothing else.

    Those that ask before each attempt whether what they send still ``holds`` raise Withheld where it does not.
    Each body is in the ledger before its first byte leaves, and each attempt to send it is a record.
    """

    def __init__(
        self,
        http: httpx2.AsyncClient,
        edge: EdgeId,
        ledger: Records,
        breaker: Breaker,
        *,
        patience_s: float,
        retries: RetryBudget | None = None,
    ) -> None:
        self._http = http
        self._ledger = ledger
        self._breaker = breaker
        self._retries = retries or RetryBudget()
        self._patience_s = patience_s  # without a sign of life from the cloud
        self._why = ""  # of the last failure
        self.edge = edge
        self.host = http.base_url.host
        self.recipient = str(http.base_url.copy_with(username=None, password=None))

    async def enrol(self, enrolment: Enrolment, *, deadline_s: float = 10.0) -> Enrolled:
        """Join with a key of our own; learn the cloud's key."""
        return await self._send(ENROLLED, "POST", "/v1/edges", EgressRecord("enrolment", self.recipient, body_of(enrolment)), deadline_s)

    async def rotate(self, rotation: Rotation, *, deadline_s: float = 10.0) -> Enrolled:
        """Make a further key known, signed with the present one."""
        departure = EgressRecord("rotation", self.recipient, body_of(rotation))
        return await self._send(ENROLLED, "POST", f"/v1/edges/{self.edge}/keys", departure, deadline_s)

    async def greet(self, *, deadline_s: float = 10.0) -> Enrolled:
        """Learn what the cloud knows of us. CloudRefused(reason="wire_version"): it speaks another version of the protocol."""
        known = await self._send(ENROLLED, "GET", f"/v1/edges/{self.edge}?wire_version={WIRE_VERSION}&titles=true", None, deadline_s)
        if known.wire_version != WIRE_VERSION:  # one of before version 6 does not look at what we say
            mismatch = WireMismatch(edge=WIRE_VERSION, cloud=known.wire_version)
            raise CloudRefused(mismatch.message, status=409, reason=mismatch.code)
        return known

    async def push(self, delta: SummaryDelta, *, rule: str = "", holds: Holds = always, deadline_s: float = 60.0) -> tuple[Enrolled, int]:
        """Send a delta; returns what the cloud knows now, and the bytes sent. CloudRefused(reason="resync") asks for a snapshot."""
        ids = (*(summary.summary_id for summary in delta.upserts), *delta.removals)
        departure = EgressRecord("summaries", self.recipient, summaries_body(delta), rule=rule, subject=str(delta.version), items=ids)
        known = await self._repeat(ENROLLED, "PUT", f"/v1/edges/{self.edge}/summaries", departure, deadline_s, holds)
        return known, len(departure.body)

    async def push_memories(self, delta: MemoryDelta, *, rule: str, holds: Holds, deadline_s: float = 60.0) -> tuple[Enrolled, int]:
        """As ``push``, of memories."""
        ids = (*(memory.memory_id for memory in delta.upserts), *delta.removals)
        departure = EgressRecord("memories", self.recipient, body_of(delta), rule=rule, subject=str(delta.version), items=ids)
        return await self._repeat(ENROLLED, "PUT", f"/v1/edges/{self.edge}/memories", departure, deadline_s, holds), len(departure.body)

    async def poll(self, *, wait_s: float) -> PollReply:
        """Wait for requests, at most ``wait_s`` seconds."""
        return await self._send(POLLED, "POST", f"/v1/edges/{self.edge}/poll?wait_s={wait_s}&traced=true&titled=true", None, wait_s + 10.0)

    async def reply(
        self,
        request_id: str,
        reply: EvidenceReply,
        *,
        requester: str = "",
        purpose: str = "",
        rule: str = "",
        holds: Holds = always,
        deadline_s: float = 30.0,
    ) -> None:
        """Answer a request."""
        departure = EgressRecord(
            "evidence" if reply.evidence else "refusal",
            self.recipient,
            reply_body(reply),
            requester=requester,
            purpose=purpose,
            rule=rule,
            subject=request_id,
            items=tuple(identity for told in reply.evidence for identity in chunks_of(told)),
        )
        await self._repeat(bytes, "POST", f"/v1/edges/{self.edge}/replies/{request_id}", departure, deadline_s, holds, done=(404, 409))

    async def head(self, head: Head, *, deadline_s: float = 10.0) -> Countersigned:
        """Show where our ledger stands. CloudRefused(reason="ledger_fork"): the cloud has seen another record of this number."""
        path, departure = f"/v1/edges/{self.edge}/ledger", EgressRecord("head", self.recipient, body_of(head), subject=str(head.seq))
        return await self._send(SIGHT, "PUT", path, departure, deadline_s)

    async def newest_head(self, *, deadline_s: float = 10.0) -> Countersigned | None:
        """The newest head that the cloud has seen; None: it has seen none."""
        try:
            return await self._send(SIGHT, "GET", f"/v1/edges/{self.edge}/ledger", None, deadline_s)
        except CloudRefused as error:
            if error.status == 404:
                return None
            raise

    async def heads(self, after: Head | None = None, *, deadline_s: float = 10.0) -> list[Countersigned]:
        """The next page of all heads that the cloud has seen, by epoch and number; empty: there are no more."""
        query = httpx2.QueryParams({"epoch": after.epoch, "after": after.seq} if after else {})
        return (await self._send(partial(parse, Heads), "GET", f"/v1/edges/{self.edge}/ledger/heads?{query}", None, deadline_s)).heads

    async def ask(
        self,
        question: str,
        *,
        query_id: str,
        purpose: str = "",
        rule: str = "",
        deadline_s: float,
        level: ReportLevel = None,
        on_text: OnText = ignore_text,
    ) -> tuple[Answer, int, int]:
        """Escalate a question; returns the cloud's answer, bytes sent and bytes received.

        level: of the reports for a question about everything; None: it is any other. ``on_text`` gets the sentences of an answer to the
        former as they come, made inert; only the answer that is returned has been checked as a whole, and counts.
        A cloud that gives no sign of life for ``patience_s`` counts as away, and so does one that lies about what it sends. One that
        has failed several times in a row is left alone for a while: then this fails at once.
        """
        body = question_body(question, query_id=query_id, purpose=purpose, level=level)
        departure = EgressRecord("question", self.recipient, body, purpose=purpose, rule=rule, subject=query_id)
        read = partial(answer_of, route="cloud" if level is None else "global")
        return await self._patiently("/v1/questions", departure, read, deadline_s, on_text)

    async def find(
        self, question: str, *, query_id: str, purpose: str, rule: str, budget_tokens: int, top_k: int, deadline_s: float
    ) -> tuple[Found, int, int]:
        """The passages of all sites that may know; otherwise as ``ask``."""
        body = search_body(question, query_id=query_id, purpose=purpose, budget_tokens=budget_tokens, top_k=top_k)
        departure = EgressRecord("question", self.recipient, body, purpose=purpose, rule=rule, subject=query_id)
        return await self._patiently("/v1/evidence", departure, found_of, deadline_s)

    async def _patiently(
        self, path: str, departure: EgressRecord, read: ReadLine[T], deadline_s: float, on_text: OnText = ignore_text
    ) -> tuple[T, int, int]:
        if not self._breaker.allows():
            raise CloudUnavailable(f"{self._why}; it is tried again in {self._breaker.left_s():.0f} s")
        async with self._watched(deadline_s):
            await self._record(departure)
            async with asyncio.timeout(self._patience_s) as silence:
                said, received = await self._said(path, departure, read, deadline_s, silence, on_text)
        return said, len(departure.body), received

    async def _said(
        self, path: str, departure: EgressRecord, read: ReadLine[T], deadline_s: float, silence: asyncio.Timeout, on_text: OnText
    ) -> tuple[T, int]:
        received = 0
        headers = _headers(departure, deadline_s, NDJSON)
        async with self._http.stream("POST", path, content=departure.body, headers=headers, timeout=None) as response:
            if not response.is_success:
                check(response.status_code, b"".join([piece async for piece in _pieces(response)]))
            async for line in lines_of(response.headers.get("content-type", ""), _pieces(response)):
                received += len(line) + 1
                silence.reschedule(asyncio.get_running_loop().time() + self._patience_s)
                said = await asyncio.to_thread(read, line)  # long ones take long to be made inert
                if isinstance(said, str):
                    on_text(said)
                elif said is not None:
                    return said, received
        raise CloudUnavailable("the cloud ended its answer before it was complete")

    async def _repeat(
        self, read: Read[T], method: str, path: str, departure: EgressRecord, deadline_s: float, holds: Holds, *, done: tuple[int, ...] = ()
    ) -> T:
        """Send until the cloud answers, the time is over, or the budget is spent; ``done``: statuses that tell of an earlier attempt."""
        deadline, repeats = Deadline(deadline_s), iter(PAUSES_S)
        heard: tuple[int, ...] = ()
        while True:
            if not await asyncio.to_thread(holds):
                raise Withheld("the sharing policy has changed meanwhile")
            try:
                return await self._send(read, method, path, departure, deadline.left_s())
            except CloudUnavailable:
                pause_s = next(repeats, deadline_s)
                if pause_s >= deadline.left_s() or not self._retries.take():
                    raise
                await asyncio.sleep(pause_s)
                heard = done
            except CloudRefused as error:
                if error.status in heard:
                    return read(b"")
                raise

    async def _send(self, read: Read[T], method: str, path: str, departure: EgressRecord | None, deadline_s: float) -> T:
        self._retries.attempt()
        content = departure.body if departure else b""
        async with self._watched(deadline_s):  # httpx2 counts between bytes only: a dripping peer would hold us for ever
            if departure is not None:
                await self._record(departure)
            headers = _headers(departure, deadline_s, "application/json")
            async with self._http.stream(method, path, content=content, headers=headers, timeout=deadline_s) as response:
                received = b"".join([piece async for piece in _pieces(response)])
            check(response.status_code, received)
            return read(received)  # here: for the breaker, an answer that cannot be read is none

    async def _record(self, departure: EgressRecord) -> None:
        try:
            await asyncio.to_thread(self._ledger.record, departure)
        except StoreError as error:
            raise Unrecorded(error) from error

    @asynccontextmanager
    async def _watched(self, deadline_s: float) -> AsyncIterator[None]:
        """Put what befalls a call into one of our errors, and tell the breaker how it ended."""
        began = asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(deadline_s):
                yield
        except (TimeoutError, httpx2.HTTPError, httpx2.StreamError, SettingsError, CloudUnavailable) as error:
            told = error if isinstance(error, CloudUnavailable) else _away(error, self.recipient, asyncio.get_running_loop().time() - began)
            self._breaker.failed()
            self._why = told.message
            if told is error:
                raise
            raise told from error
        except CloudRefused:
            self._breaker.succeeded()
            raise
        self._breaker.succeeded()


def _headers(departure: EgressRecord | None, deadline_s: float, accept: str) -> dict[str, str]:
    kind = {} if departure is None else {"content-type": "application/json"}
    return {DEADLINE_HEADER: str(int(deadline_s * 1000)), "accept": accept, "accept-encoding": "identity", **kind, **correlation.headers()}


def _away(error: TimeoutError | httpx2.HTTPError | httpx2.StreamError | SettingsError, url: str, waited_s: float) -> CloudUnavailable:
    if isinstance(error, SettingsError):  # the edge's own key
        return CloudUnavailable(error.message)
    if isinstance(error, TimeoutError):
        return CloudUnavailable(f"the cloud does not answer in time (it was given {waited_s:.1f} s)")
    if why := trouble(error, url):
        return CloudUnavailable(f"the cloud cannot be called: {why}", next_step="")
    return CloudUnavailable(f"the cloud cannot be reached ({type(error).__name__})")


async def _pieces(response: httpx2.Response) -> AsyncIterator[bytes]:
    """The body as it comes, up to the cap. Raises CloudUnavailable beyond it."""
    if response.headers.get("content-encoding", "identity") != "identity":  # a small body could unfold to any size
        raise CloudUnavailable("the cloud sent a compressed body, which was not asked for")
    received = 0
    async for piece in response.aiter_bytes():
        received += len(piece)
        if received > MAX_BODY_BYTES:
            raise CloudUnavailable(f"the cloud sent more than {MAX_BODY_BYTES} bytes")
        yield piece
