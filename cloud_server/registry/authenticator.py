"""Which edge stands behind a request: implements ``shared.http.doorkeeper.EdgeAuthenticator``."""

from __future__ import annotations

import asyncio

from fastapi import Request

from cloud_server.registry.keys import KeyStore
from cloud_server.registry.nonces import Nonces
from shared.errors import Unauthenticated
from shared.http.access import Caller
from shared.identity import key_id
from shared.ports import Clock
from shared.signing import ANY_CLOUD, Claims, SignedRequest, check_digest, check_time, claims_of, message_of, verify


class EdgeAuthenticator:
    """Checks key, audience, time, signature and nonce, in this order, from the headers alone."""

    def __init__(self, keys: KeyStore, nonces: Nonces, clock: Clock, *, audience: str, skew_s: float) -> None:
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
