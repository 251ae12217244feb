"""A browser's session at the console: an API key shown once, then a cookie; and the token that every change carries (goal S2).

The cookie holds 256 random bits, and of who has signed in a mark of the service's run. The service keeps only their hash, with the id of
the key. The key is looked at anew for every request, so a revoked key ends its sessions. A restart of the service ends them all, unless
they are kept in a store that several services share.
"""

from __future__ import annotations

import asyncio
import hmac
import re
import secrets
import threading
from collections import OrderedDict
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Protocol

from fastapi import Request, Response

from shared.errors import Forbidden
from shared.http.access import Caller
from shared.http.keyring import KeyRing
from shared.ports import Clock

IDLE_S = 12 * 3600.0  # a session ends when nobody asked for anything so long; what a page asks for by itself, for ever, is nobody's
OLDEST_S = 7 * 86_400.0  # … and when it began so long ago
MOST = 1_000  # sessions at once; the one that was used longest ago ends first
MOST_OF_KEY = 20  # the same for one key, so that nobody ends the sessions of others
CSRF_HEADER = "x-csrf-token"
POLL_HEADER = "x-poll"  # of a request that a page makes every few seconds by itself
SESSION = re.compile(r"(?:[A-Za-z0-9_-]{8}\.)?[A-Za-z0-9_-]{43}")
RESTARTED = "The service was started again. Sign in once more."
OVER = "Your session is over: nobody used it for 12 hours, or it was 7 days old. Sign in once more."


class SessionStore(Protocol):
    """Who has signed in; sessions are named by the hash of what the cookie holds. One that is over is none."""

    def key_of(self, session: str, *, is_use: bool) -> str | None:
        """The id of the key that a session was begun with; None: there is none. ``is_use``: it goes on from now."""

    def add(self, session: str, key_id: str) -> None:
        """Begin one; where there are too many of the key, or at all, the ones that were used longest ago end."""

    def end(self, session: str) -> None:
        """End one, if there is one."""


@dataclass(frozen=True, slots=True)
class _Session:
    key_id: str
    began: float  # monotonic seconds
    used: float  # the same


class LocalSessions:
    """In memory, for a service that is one process. Implements ``SessionStore``."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._open = OrderedDict[str, _Session]()  # least recently used first
        self._lock = threading.Lock()

    def key_of(self, session: str, *, is_use: bool) -> str | None:
        """As the port says."""
        now = self._clock.monotonic()
        with self._lock:
            known = self._open.get(session)
            if known is None or now - known.used > IDLE_S or now - known.began > OLDEST_S:
                self._open.pop(session, None)
                return None
            if is_use:
                self._open[session] = replace(known, used=now)
                self._open.move_to_end(session)
            return known.key_id

    def add(self, session: str, key_id: str) -> None:
        """As the port says."""
        now = self._clock.monotonic()
        with self._lock:
            own = [name for name, known in self._open.items() if known.key_id == key_id]
            for name in own[: max(0, len(own) + 1 - MOST_OF_KEY)]:
                del self._open[name]
            self._open[session] = _Session(key_id, began=now, used=now)
            while len(self._open) > MOST:
                self._open.popitem(last=False)

    def end(self, session: str) -> None:
        """As the port says."""
        with self._lock:
            self._open.pop(session, None)


@dataclass(frozen=True, slots=True)
class SharedSignIn:
    """What makes the sessions of several services one: their store, and the secret of which each page's token is made."""

    store: SessionStore
    secret: bytes


class Sessions:
    """The sessions of one service. A visitor without a key has a cookie too, so that the form to sign in has its token.

    cookie: its name, no other service's: browsers share the cookies of all ports of a host. secure: over TLS only. shared: with other
    services; None: with nobody, and only while this process runs.
    """

    def __init__(self, keys: KeyRing, clock: Clock, *, cookie: str, secure: bool, shared: SharedSignIn | None = None) -> None:
        self._keys = keys
        self._clock = clock
        self._cookie = cookie
        self._secure = secure
        self._secret = shared.secret if shared else secrets.token_bytes(32)
        self._run = sha256(b"run" + self._secret).hexdigest()[:8]
        self._open = shared.store if shared else LocalSessions(clock)

    def id_of(self, request: Request) -> str:
        """What the cookie of a request holds; fresh bits where it holds nothing of ours. The same at each call."""
        if not hasattr(request.state, "session"):
            sent = request.cookies.get(self._cookie, "")
            request.state.session = sent if SESSION.fullmatch(sent) else secrets.token_urlsafe(32)
        return str(request.state.session)

    def token_of(self, request: Request) -> str:
        """What each change that a page of this session asks for must bring along."""
        return hmac.new(self._secret, self.id_of(request).encode(), sha256).hexdigest()

    def check_token(self, request: Request) -> None:
        """Raises Forbidden for a change that no page of this session asks for."""
        if not hmac.compare_digest(request.headers.get(CSRF_HEADER, "").encode(), self.token_of(request).encode()):
            raise Forbidden("this page is older than its session", next_step="load the page again, and repeat what you did")

    async def caller_of(self, request: Request) -> Caller | None:
        """Who has signed in with this session; None: nobody. Raises Unauthenticated where the key has ended."""
        session, is_use = _hash(self.id_of(request)), POLL_HEADER not in request.headers
        if (key_id := await asyncio.to_thread(self._open.key_of, session, is_use=is_use)) is None:
            return None
        return await asyncio.to_thread(self._keys.caller_with, key_id, now=self._clock.now())

    def why_over(self, request: Request) -> str:
        """Why a browser that is not signed in has to sign in again, as a sentence; "": it had not signed in before."""
        run, had_signed_in, _ = self.id_of(request).rpartition(".")
        if not had_signed_in:
            return ""
        return OVER if run == self._run else RESTARTED

    async def key_of(self, token: str) -> str:
        """The id of the API key that a token is. Raises Unauthenticated."""
        await asyncio.to_thread(self._keys.caller_of, token, now=self._clock.now())
        return self._keys.id_of(token)

    async def begin(self, request: Request, key_id: str) -> None:
        """Sign in who has shown a key; the cookie gets new bits, so that nobody has chosen them before."""
        await self.end(request)
        request.state.session = f"{self._run}.{secrets.token_urlsafe(32)}"
        await asyncio.to_thread(self._open.add, _hash(self.id_of(request)), key_id)

    async def end(self, request: Request) -> None:
        """Sign out: the session that the cookie names is over, and the browser gets a visitor's cookie."""
        await asyncio.to_thread(self._open.end, _hash(self.id_of(request)))
        request.state.session = secrets.token_urlsafe(32)

    def is_withheld(self, request: Request) -> bool:
        """Whether the browser has sent no cookie because a page of another site led here."""
        return request.headers.get("sec-fetch-site") == "cross-site" and self._cookie not in request.cookies

    def keep(self, request: Request, response: Response) -> None:
        """Give the browser its cookie, where it does not have it yet. No script can read it, and no other site's page sends it."""
        session = self.id_of(request)
        if request.cookies.get(self._cookie) != session and not self.is_withheld(request):
            response.set_cookie(self._cookie, session, httponly=True, samesite="strict", secure=self._secure, path="/")


def _hash(session: str) -> str:
    return sha256(session.encode()).hexdigest()
