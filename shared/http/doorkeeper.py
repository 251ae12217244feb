"""The guard of both services: who is there, may they, do they ask too often; only then is the body read (goals S1, S2, S7)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

from fastapi import Request
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from shared.errors import Expelled, Forbidden, MalformedText, Overloaded, TooLarge, Unauthenticated
from shared.http.access import Caller, Role, Rule, is_form
from shared.http.half_characters import holds_half_a_pair
from shared.http.json_shape import check_shape
from shared.http.keyring import PREFIX, TOKEN, KeyRing
from shared.http.open_mode import SAFE, check_local
from shared.limits import Buckets
from shared.ports import Clock

SIGN_INS_PER_MINUTE = 30  # of one key
NO_CREDENTIALS = "no_credentials"
BODY_S = 30.0  # seconds that a body may take
LOCAL = Caller("local", frozenset[Role]({"read", "write", "admin", "metrics"}))
ANYONE = Caller("anyone", frozenset[Role]({"anyone"}))

SMALL_BYTES = 64 * 2**10  # a body that is looked at on the event loop


class EdgeAuthenticator(Protocol):
    """Knows edges by their signatures."""

    async def authenticate(self, request: Request) -> Caller:
        """Who signed, from the headers alone: no body is read. Raises Unauthenticated and Forbidden."""

    def check_body(self, request: Request, body: bytes) -> None:
        """The body is the one that was signed. Raises Unauthenticated."""


class TokenReader(Protocol):
    """Knows people and programs by the tokens of an issuer."""

    async def caller_of(self, token: str) -> Caller:
        """Who holds this token. Raises Unauthenticated, ClaimOverage, and IssuerAway."""

    def close(self) -> None:
        """Ask the issuer for nothing any more."""


class BrowserSessions(Protocol):
    """Knows the browsers that have signed in."""

    async def caller_of(self, request: Request) -> Caller | None:
        """Who has signed in; None: nobody. Raises Unauthenticated where the key has ended."""

    def check_token(self, request: Request) -> None:
        """Raises Forbidden for a change that no page of this session asks for."""


def peer_of(request: Request) -> str:
    """The address that a request's connection comes from."""
    return request.client.host if request.client else ""


def account_of(token: str) -> str:
    """The account that a token names, for counting: a key's id; "" for what names none."""
    match = TOKEN.fullmatch(token.strip())
    return match[1] if match else ""


def _account_in(request: Request) -> str:
    return account_of(request.headers.get("authorization", "").partition(" ")[2])


class Doorkeeper:
    """Implements ``shared.http.access.Guard``.

    ``may_be_open``: the service can be reached from this machine only, so that an empty ring means "anybody here". A caller by key or
    signature has ``per_minute`` requests, refused ones too. Credentials are looked at first, and only wrong ones count against the
    address that they come from, and the account that they name: ``per_minute`` for each, then 429. So nobody shuts out who has the
    right ones. ``address_of``: whose address a request is counted by.
    """

    def __init__(
        self,
        keys: KeyRing,
        clock: Clock,
        *,
        may_be_open: bool,
        per_minute: int,
        sessions: BrowserSessions | None = None,
        edges: EdgeAuthenticator | None = None,
        tokens: TokenReader | None = None,
        body_s: float = BODY_S,
        address_of: Callable[[Request], str] = peer_of,
    ) -> None:
        self._keys = keys
        self._clock = clock
        self._may_be_open = may_be_open
        self._sessions = sessions
        self._edges = edges
        self._tokens = tokens
        self._body_s = body_s
        self._callers = Buckets(per_minute)
        self._address_of = address_of
        self._strangers = Buckets(per_minute)
        self._accounts = Buckets(per_minute)  # a table of their own: made-up names push out no address
        self._sign_ins = Buckets(SIGN_INS_PER_MINUTE)

    def is_open(self) -> bool:
        """Open mode: only this machine can call, nobody has made a key, and no issuer's tokens are taken. Reads the store."""
        return self._may_be_open and self._tokens is None and self._keys.is_empty()

    def opens_to(self, request: Request) -> bool:
        """Whether open mode lets a request in without credentials. Reads the store. Raises Forbidden for one from elsewhere."""
        if not self.is_open():
            return False
        check_local(request)
        return True

    def close(self) -> None:
        """Close the store of the keys, and ask no issuer any more."""
        if self._tokens is not None:
            self._tokens.close()
        self._keys.close()

    async def admit(self, request: Request, rule: Rule) -> Caller:
        """Who calls, with the body read.

        Raises Unauthenticated, Forbidden, Overloaded, TooLarge, MalformedText; HTTPException 408 and 415.
        """
        if "anyone" in rule.roles:
            caller = ANYONE
        else:
            caller = request.state.caller = await self._known(request, rule)  # for a page that says no, too
            if caller is not LOCAL:
                self._count(self._callers, caller.asker, "you ask too often")
            if not rule.roles & caller.roles:
                raise Forbidden(
                    f"{caller.name!r} may not do this: it takes the role {' or '.join(sorted(rule.roles))}", next_step="use another key"
                )
            if caller.labels is not None and not rule.by_label:
                raise Forbidden(
                    "this tells of all documents, and you may read some only", next_step="use an API key, or a token with the label *"
                )
        if rule.is_page and self._sessions is not None and request.method not in SAFE:
            self._sessions.check_token(request)
        if request.headers.get("content-encoding", "identity") != "identity":
            raise HTTPException(415, "a compressed body is not taken")
        if (limit := rule.body_limit(caller)) is not None:
            body = await self._body(request, limit, must_declare="edge" in caller.roles)
            if len(body) <= SMALL_BYTES:
                self._check_body(request, rule, caller, body)
            else:
                await asyncio.to_thread(self._check_body, request, rule, caller, body)
        return caller

    def _check_body(self, request: Request, rule: Rule, caller: Caller, body: bytes) -> None:
        check_shape(body, max_values=rule.max_values)
        if not is_form(request) and holds_half_a_pair(body):
            raise MalformedText
        if self._edges is not None and "edge" in caller.roles:
            self._edges.check_body(request, body)

    async def _known(self, request: Request, rule: Rule) -> Caller:
        try:
            if self._edges is not None and "edge" in rule.roles and "signature-input" in request.headers:
                return await self._edges.authenticate(request)
            if not rule.roles.isdisjoint(LOCAL.roles) and await asyncio.to_thread(self.opens_to, request):
                return LOCAL
            if rule.is_page and self._sessions is not None and (caller := await self._sessions.caller_of(request)) is not None:
                return caller
            return await self._by_token(request)
        except (Unauthenticated, Expelled) as error:
            is_visit = rule.is_page and error.code == NO_CREDENTIALS  # else strangers would keep the form for signing in from everybody
            if not is_visit:
                self.count_failure(request, account=_account_in(request))
            raise

    def count_failure(self, request: Request, *, account: str = "") -> None:
        """Count wrong credentials, by the address and the ``account`` that they name. Raises Overloaded (429) for too many."""
        self.count_stranger(request)
        if account:
            self._count(self._accounts, account, "too many wrong credentials were shown for this account")

    def count_stranger(self, request: Request) -> None:
        """Count a request whose caller is not known, by its address. Raises Overloaded (429) for too many."""
        self._count(self._strangers, self._address_of(request), "too many strangers' requests from your address")

    def count_sign_in(self, key_id: str) -> None:
        """Count that a right key begins a session, which costs one: by the key alone. Raises Overloaded (429) for too many."""
        self._count(self._sign_ins, key_id, "this key signs in too often")

    async def _by_token(self, request: Request) -> Caller:
        """By an API key, or an issuer's token."""
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            raise Unauthenticated("this needs credentials", code=NO_CREDENTIALS, next_step="send an API key: `Authorization: Bearer dgk_…`")
        token = token.strip()
        if self._tokens is not None and not token.startswith(PREFIX):
            return await self._tokens.caller_of(token)
        return await asyncio.to_thread(self._keys.caller_of, token, now=self._clock.now())

    def _count(self, buckets: Buckets, name: str, complaint: str) -> None:
        if wait_s := buckets.take(name, now=self._clock.monotonic()):
            raise Overloaded(complaint, retry_after_s=wait_s, of_caller=True)

    async def _body(self, request: Request, limit: int, *, must_declare: bool) -> bytes:
        """The body, which the route then finds in ``request``. Raises TooLarge, HTTPException 400 and 408.

        ``must_declare``: one without a length counts as too large. Its sender has it whole, and the server reads ahead of what we count.
        """
        declared = request.headers.get("content-length", "0")
        if must_declare and "transfer-encoding" in request.headers:
            raise TooLarge("a request body of undeclared length (Content-Length)", limit=limit)
        if declared.isdecimal() and int(declared[:20]) > limit:
            raise TooLarge("the request body", limit=limit)
        size, pieces = 0, []
        try:
            async with asyncio.timeout(self._body_s):
                async for piece in request.stream():
                    size += len(piece)
                    if size > limit:
                        raise TooLarge("the request body", limit=limit)
                    pieces.append(piece)
        except ClientDisconnect as error:
            raise HTTPException(400, "the request body broke off") from error
        except TimeoutError as error:
            raise HTTPException(408, f"the request body did not come within {self._body_s:.0f} s") from error
        body = request._body = b"".join(pieces)
        return body
