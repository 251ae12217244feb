"""Which edge stands behind a request: implements ``shared.http.doorkeeper.EdgeAuthenticator``."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

from fastapi import Request

from cloud_server.registry.keys import KeyStore
from shared.errors import Unauthenticated
from shared.http.access import Caller
from shared.identity import key_id
from shared.ports import Clock
from shared.signing import ANY_CLOUD, Claims, SignedRequest, check_digest, check_time, claims_of, message_of, verify
from shared.sqlite import Database

SCHEMA = """
CREATE TABLE IF NOT EXISTS nonces (
    key_id  TEXT NOT NULL,
    nonce   TEXT NOT NULL,
    expires REAL NOT NULL,  -- seconds since the epoch: from then on the request's time is refused anyway
    PRIMARY KEY (key_id, nonce)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS nonces_expires ON nonces (expires);
"""
FORGOTTEN = """
CREATE TABLE forgotten (until REAL NOT NULL);  -- the latest of the times that were deleted: a clock that goes back does not bring them back
INSERT INTO forgotten VALUES (0);
"""


class NonceStore:
    """A file of its own: a request must not wait until the eraser has written the whole store anew."""

    def __init__(self, path: Path) -> None:
        self._database = Database(path, migrations=[SCHEMA, FORGOTTEN])

    def remember(self, key_id: str, nonce: str, *, expires: float, now: float) -> None:
        """Take a request; on disk when this returns.

        Raises Unauthenticated: ``replayed`` for one that was taken before; ``clock`` where that is not known any more, because the
        cloud's clock was ahead of what it says now.
        """
        with self._database.write() as tx:
            (until,) = tx.execute(
                "SELECT max(until, coalesce((SELECT max(expires) FROM nonces WHERE expires < ?), 0)) FROM forgotten", (now,)
            ).fetchone()
            if expires <= until:
                raise Unauthenticated(
                    "the cloud's clock has gone back behind this request", code="clock", next_step="sign each request anew"
                )
            if tx.execute("DELETE FROM nonces WHERE expires < ?", (now,)).rowcount:
                tx.execute("UPDATE forgotten SET until = ?", (until,))
            try:
                tx.execute("INSERT INTO nonces VALUES (?, ?, ?)", (key_id, nonce, expires))
            except sqlite3.IntegrityError as error:
                raise Unauthenticated("this request was taken before", code="replayed", next_step="sign each request anew") from error

    def close(self) -> None:
        """Close the file."""
        self._database.close()


class EdgeAuthenticator:
    """Checks key, audience, time, signature and nonce, in this order, from the headers alone."""

    def __init__(self, keys: KeyStore, nonces: NonceStore, clock: Clock, *, audience: str, skew_s: float) -> None:
        self._keys = keys
        self._nonces = nonces
        self._clock = clock
        self._audience = audience
        self._skew_s = skew_s

    async def authenticate(self, request: Request) -> Caller:
        """The edge; its request cannot be sent again. Raises Unauthenticated, Expelled."""
        edge = await asyncio.to_thread(self.edge_of, received(request))
        return Caller(edge, frozenset({"edge"}))

    def check_body(self, request: Request, body: bytes) -> None:
        """Compare the body with the digest that was signed. Raises Unauthenticated."""
        check_digest(request.headers["content-digest"], body)

    async def check_joining(self, request: Request, *, public_key: str) -> None:
        """Let a request to join pass whose body holds the key that signed it. Raises Unauthenticated.

        Its nonce is not kept, or strangers could fill the disk: to join twice with one key is to join once.
        """
        message = received(request)
        await asyncio.to_thread(self._check_joining, message, public_key)
        self.check_body(request, await request.body())

    def edge_of(self, message: SignedRequest) -> str:
        """As ``authenticate``; reads and writes the store, so it belongs off the event loop."""
        claims = claims_of(message)
        key = self._keys.find(claims.key_id)
        self._check(message, claims, audience=self._audience, public_key=key.public_key)
        self._nonces.remember(claims.key_id, claims.nonce, expires=claims.created + self._skew_s, now=self._clock.now())
        return key.edge

    def _check_joining(self, message: SignedRequest, public_key: str) -> None:
        claims = claims_of(message)
        if claims.key_id != key_id(public_key):
            raise Unauthenticated("the request is not signed with the key that it brings", code="bad_signature")
        self._check(message, claims, audience=ANY_CLOUD, public_key=public_key)

    def _check(self, message: SignedRequest, claims: Claims, *, audience: str, public_key: str) -> None:
        if claims.audience != audience:
            raise Unauthenticated(
                "the request is for another cloud", code="wrong_audience", next_step="the cloud has another key now: `dgrag edge join`"
            )
        check_time(claims.created, now=self._clock.now(), skew_s=self._skew_s)
        verify(message, public_key=public_key)


def received(request: Request) -> SignedRequest:
    """The message as it came over the wire: the path is not decoded. Raises Unauthenticated as ``message_of``."""
    query = request.scope["query_string"].decode("latin-1")
    target = request.scope["raw_path"].decode("latin-1") + (f"?{query}" if query else "")
    headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in request.scope["headers"]]
    return message_of(request.method, target, headers)
