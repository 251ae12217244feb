"""HTTP message signatures (RFC 9421) between an edge and the cloud: what is covered, how it is made, how it is checked."""

from __future__ import annotations

import re
import secrets
from collections.abc import Generator
from dataclasses import dataclass, field
from datetime import UTC, datetime

import httpx2
from http_message_signatures import (
    ContentDigest,
    HTTPMessageSigner,
    HTTPMessageVerifier,
    InvalidSignature,
    MappingKeyResolver,
)
from http_message_signatures.algorithms import ED25519

from shared.errors import Unauthenticated
from shared.identity import Identity, key_id, public_key_of
from shared.ports import Clock, SystemClock
from shared.wire import AUDIENCE_HEADER, DEADLINE_HEADER

LABEL = "dgrag"
TAG = "dgrag-1"
ANY_CLOUD = "any"  # audience of a request to join: the edge does not know the cloud's key yet
COVERED = ("@method", "@path", "@query", "content-digest", AUDIENCE_HEADER, DEADLINE_HEADER)  # always; and content-type where it is set
NONCE_BYTES = 16
DEFAULT_DEADLINE_MS = 30_000
SINGLE = ("signature-input", "signature", "content-digest", AUDIENCE_HEADER, DEADLINE_HEADER)  # headers that a request has exactly once

# one form only, the one that Signature writes: what can be written in two ways would have to be compared in two ways
INPUT = re.compile(
    rf"{LABEL}=\(" + " ".join(f'"{part}"' for part in COVERED) + r'(?P<typed> "content-type")?\);created=(?P<created>[0-9]{1,11})'
    rf';keyid="(?P<key_id>[0-9a-f]{{32}})";alg="ed25519";nonce="(?P<nonce>[A-Za-z0-9_-]{{22}})";tag="{TAG}"'
)
SIGNATURE = re.compile(rf"{LABEL}=:[A-Za-z0-9+/]{{85}}[AQgw]==:")  # 64 bytes; any other last digit says the same, and is refused


@dataclass(frozen=True, slots=True)
class SignedRequest:
    """A request as its signature sees it; ``url`` is absolute and encoded, with the path and the query as they were sent."""

    method: str
    url: str
    headers: dict[str, str] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Claims:
    """What a request says of its signature; nothing of it is proven before ``verify``."""

    key_id: str
    created: int  # seconds since the epoch
    nonce: str
    audience: str


class Signature(httpx2.Auth):
    """Signs every request of a client: ``httpx2.AsyncClient(auth=Signature(identity, audience))``.

    ``audience`` is the key id of the cloud that the requests are for, or ANY_CLOUD.
    """

    requires_request_body = True

    def __init__(self, identity: Identity, audience: str, clock: Clock = SystemClock()) -> None:  # noqa: B008 - it has no state
        self._identity = identity
        self._audience = audience
        self._clock = clock

    def auth_flow(self, request: httpx2.Request) -> Generator[httpx2.Request, httpx2.Response, None]:
        """Add the digest, the audience and the signature; a request without a deadline gets one of 30 s."""
        request.headers[AUDIENCE_HEADER] = self._audience
        request.headers.setdefault(DEADLINE_HEADER, str(DEFAULT_DEADLINE_MS))
        request.headers["content-digest"] = ContentDigest.create(request.content)
        HTTPMessageSigner(
            signature_algorithm=ED25519,
            key_resolver=MappingKeyResolver(public_keys={}, private_keys={self._identity.key_id: self._identity.private}),
        ).sign(
            request,
            key_id=self._identity.key_id,
            created=datetime.fromtimestamp(self._clock.now(), tz=UTC),
            nonce=secrets.token_urlsafe(NONCE_BYTES),
            label=LABEL,
            tag=TAG,
            use_existing_digest=True,
            covered_component_ids=(*COVERED, "content-type") if "content-type" in request.headers else COVERED,
        )
        yield request


def message_of(method: str, target: str, headers: list[tuple[str, str]]) -> SignedRequest:
    """The message of a received request: ``target`` as it came (path and query), headers with lower-case names.

    Raises Unauthenticated when a header that counts is missing or comes twice.
    """
    kept: dict[str, str] = {}
    for name, value in headers:
        if name in SINGLE or name == "content-type":
            if name in kept:
                raise _bad(f"the header {name} comes twice")
            kept[name] = value
    if "signature" not in kept and "signature-input" not in kept:
        raise Unauthenticated("the request is not signed", code="no_credentials", next_step="an edge joins with `dgrag edge join`")
    if missing := [name for name in SINGLE if name not in kept]:
        raise _bad(f"the header {missing[0]} is missing")
    return SignedRequest(method, f"http://cloud{target}", kept)


def claims_of(message: SignedRequest) -> Claims:
    """What the message says of its signature. Raises Unauthenticated for a form other than ours, or one that leaves something uncovered."""
    found = INPUT.fullmatch(message.headers["signature-input"])
    if found is None or SIGNATURE.fullmatch(message.headers["signature"]) is None:
        raise _bad("the signature is not of the agreed form")
    if bool(found["typed"]) != ("content-type" in message.headers):
        raise _bad("the signature does not cover the content-type")
    return Claims(found["key_id"], int(found["created"]), found["nonce"], message.headers[AUDIENCE_HEADER])


def check_time(created: int, *, now: float, skew_s: float) -> None:
    """Raises Unauthenticated (``clock``) for a request that was made more than ``skew_s`` seconds before or after ``now``.

    >>> check_time(1000, now=1060.0, skew_s=60)
    >>> check_time(1000, now=1062.0, skew_s=60)
    Traceback (most recent call last):
    shared.errors.Unauthenticated: the edge's clock says 1970-01-01 00:16:40 UTC, the cloud's 1970-01-01 00:17:42 UTC
    """
    if abs(created - now) > skew_s:
        raise Unauthenticated(
            f"the edge's clock says {_told(created)}, the cloud's {_told(now)}",
            code="clock",
            next_step=f"set both clocks (NTP): they may differ by {skew_s:.0f} s",
        )


def verify(message: SignedRequest, *, public_key: str) -> None:
    """Check the signature with a public key in base64. Raises Unauthenticated."""
    try:
        resolver = MappingKeyResolver(public_keys={key_id(public_key): public_key_of(public_key)}, private_keys={})
        _Verifier(signature_algorithm=ED25519, key_resolver=resolver).verify(
            message, max_age=None, expect_tag=TAG, require_components=COVERED
        )
    except (InvalidSignature, ValueError) as error:
        raise _bad("the signature does not fit the request") from error


def check_digest(message_digest: str, body: bytes) -> None:
    """Compare a body with the digest that the signature covers. Raises Unauthenticated."""
    try:
        ContentDigest.verify(message_digest, body)
    except InvalidSignature as error:
        raise _bad("the body does not fit its digest") from error


def rotation_message(edge: str, present_key_id: str) -> bytes:
    """What a new key signs to take the place of the present one.

    >>> rotation_message("ward", "ab12")
    b'dgrag-rotation:ward:ab12'
    """
    return f"dgrag-rotation:{edge}:{present_key_id}".encode()


class _Verifier(HTTPMessageVerifier):
    """The library looks at the system's clock; ours is an argument (``check_time``)."""

    def validate_created_and_expires(self, sig_input: object, max_age: object = None) -> None:
        """Nothing: done before."""


def _bad(message: str) -> Unauthenticated:
    return Unauthenticated(message, code="bad_signature", next_step="is there a proxy that changes requests on the way?")


def _told(seconds: float) -> str:
    """A moment for a person; one that no calendar holds stays a number."""
    return datetime.fromtimestamp(min(seconds, 2**37), tz=UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
