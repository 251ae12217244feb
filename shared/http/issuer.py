"""An OpenID Connect issuer's keys, fetched when they are needed and kept for a while, and who holds a token of it (OpenID Discovery §4)."""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import httpx2
import orjson
from joserfc.errors import JoseError
from joserfc.jwk import import_key

from shared.errors import IssuerAway, SettingsError, Unauthenticated
from shared.http.access import Caller
from shared.http.tokens import Key, TokenRules, caller_of, presented, verified
from shared.ports import Clock
from shared.settings import OidcSettings
from shared.tls import check_plain_http, client_context, is_loopback

log = logging.getLogger("dgrag.oidc")
DISCOVERY = "/.well-known/openid-configuration"
FRESH_S = 3_600.0  # keys are asked for again once somebody comes after so long, behind the back of who has one: the issuer may hang
BETWEEN_S = 30.0  # at least, between two times that the issuer is asked, whatever tokens come
WAIT_S = 5.0  # for one answer of the issuer
MAX_BYTES = 512 * 2**10  # of one
MIN_RSA_CHARS = 342  # of a modulus of 2,048 bits, in base64url: the library warns of shorter ones, which are not taken
SETTING = "oidc_issuer"


class _Unusable(Exception):
    """What an issuer answers cannot be used, in words."""


@dataclass(frozen=True, slots=True)
class _Kept:
    keys: Mapping[str, Key]
    since: float  # monotonic seconds


class IssuerKeys:
    """The public keys of one issuer, by id. Whatever comes, the issuer is asked once in ``BETWEEN_S`` at most, by one at a time."""

    def __init__(self, issuer: str, clock: Clock, *, keep_s: float, trust: ssl.SSLContext) -> None:
        """``keep_s``: so long keys are used while the issuer cannot be asked."""
        self._issuer = issuer
        self._clock = clock
        self._keep_s = keep_s
        self._fresh_s = min(FRESH_S, keep_s / 2)
        self._trust = trust
        self._kept: _Kept | None = None
        self._asked = float("-inf")  # monotonic seconds
        self._trouble = "it was not asked yet"
        self._asking = asyncio.Lock()
        self._behind: asyncio.Task[_Kept | None] | None = None

    def close(self) -> None:
        """Ask for nothing any more."""
        if self._behind is not None:
            self._behind.cancel()

    async def key(self, key_id: str) -> Key:
        """A key of the issuer's. Raises Unauthenticated where it has none of that id, and IssuerAway."""
        kept = self._kept
        if kept is None or key_id not in kept.keys or self._age(kept) > self._keep_s:
            kept = await self._renewed(key_id)
        elif self._age(kept) > self._fresh_s and self._wait_s() <= 0 and (self._behind is None or self._behind.done()):
            self._behind = asyncio.create_task(self._renewed(key_id), name="issuer's keys")
        if kept is None or self._age(kept) > self._keep_s:
            raise IssuerAway(self._trouble, retry_after_s=max(1.0, self._wait_s()))
        if key_id not in kept.keys:
            step = f"ask the issuer for a new token; its keys are looked at again in {max(1.0, self._wait_s()):.0f} s"
            raise Unauthenticated("the token is signed with a key that the issuer does not have", code="bad_token", next_step=step)
        return kept.keys[key_id]

    async def _renewed(self, key_id: str) -> _Kept | None:
        """The keys as they are after the issuer was asked, if it is time to; as they were where it cannot be."""
        async with self._asking:
            kept = self._kept
            is_there = kept is not None and key_id in kept.keys and self._age(kept) <= self._fresh_s  # another one has asked meanwhile
            if is_there or self._wait_s() > 0:
                return kept
            self._asked = self._clock.monotonic()
            try:
                self._kept = _Kept(await self._fetched(), self._clock.monotonic())
                self._trouble = ""
            except (httpx2.HTTPError, _Unusable, SettingsError, TimeoutError) as error:
                self._trouble = str(error) if isinstance(error, _Unusable) else type(error).__name__
                log.warning("the issuer of tokens cannot be asked for its keys: %s", self._trouble)
            return self._kept

    def _age(self, kept: _Kept) -> float:
        return self._clock.monotonic() - kept.since

    def _wait_s(self) -> float:
        return self._asked + BETWEEN_S - self._clock.monotonic()

    async def _fetched(self) -> dict[str, Key]:
        """All keys that can be used. Raises _Unusable, SettingsError for an address that may not be called, and as httpx2."""
        trust_env = not is_loopback(httpx2.URL(self._issuer).host)
        async with asyncio.timeout(2 * WAIT_S), httpx2.AsyncClient(verify=self._trust, trust_env=trust_env, timeout=WAIT_S) as http:
            found = await _object(http, self._issuer.rstrip("/") + DISCOVERY)
            if found.get("issuer") != self._issuer:
                raise _Unusable("its discovery document names another issuer")
            address = found.get("jwks_uri")
            check_plain_http(address if isinstance(address, str) else "", allowed=False, setting=SETTING)
            listed = (await _object(http, str(address))).get("keys")
        if not isinstance(listed, list):
            raise _Unusable("its list of keys cannot be read")
        return {key_id: key for each in listed if isinstance(each, dict) and (key := _key(each)) and (key_id := _id_of(each))}


def _id_of(jwk: Mapping[str, Any]) -> str:
    return str(jwk["kid"]) if isinstance(jwk.get("kid"), str) else ""


def _key(jwk: dict[str, Any]) -> Key | None:
    """A public key; None for what is a secret that two share, or no key that we know."""
    if jwk.get("kty") not in ("RSA", "EC", "OKP") or (jwk["kty"] == "RSA" and len(str(jwk.get("n"))) < MIN_RSA_CHARS):
        return None
    try:
        return import_key({name: value for name, value in jwk.items() if name != "d"})  # type: ignore[return-value]
    except (JoseError, ValueError, TypeError, KeyError):
        return None


async def _object(http: httpx2.AsyncClient, url: str) -> dict[str, Any]:
    """What stands at an address; redirects are not followed. Raises _Unusable, and as httpx2."""
    async with http.stream("GET", url, headers={"accept": "application/json"}) as reply:
        if reply.status_code != httpx2.codes.OK:
            raise _Unusable(f"HTTP {reply.status_code}")
        read = b""
        async for piece in reply.aiter_bytes():
            read += piece
            if len(read) > MAX_BYTES:
                raise _Unusable("its answer is too long")
    try:
        value = orjson.loads(read)
    except orjson.JSONDecodeError as error:
        raise _Unusable("its answer is not JSON") from error
    if not isinstance(value, dict):
        raise _Unusable("its answer is no object")
    return value


class Tokens:
    """Implements ``shared.http.doorkeeper.TokenReader``. A token is looked at anew for every request, as a key is."""

    def __init__(self, rules: TokenRules, keys: IssuerKeys, clock: Clock) -> None:
        self._rules = rules
        self._keys = keys
        self._clock = clock

    @classmethod
    def of(cls, front: OidcSettings, clock: Clock) -> Self:
        """Those that the settings allow. Raises SettingsError for http:// to another machine, and an authority that cannot be read."""
        check_plain_http(front.oidc_issuer, allowed=False, setting=SETTING)
        keys = IssuerKeys(front.oidc_issuer, clock, keep_s=front.oidc_keys_s, trust=client_context(front.oidc_ca))
        return cls(TokenRules.of(front), keys, clock)

    def close(self) -> None:
        """Ask the issuer for nothing any more."""
        self._keys.close()

    async def caller_of(self, token: str) -> Caller:
        """Who holds this token. Raises Unauthenticated, ClaimOverage, and IssuerAway: nobody comes in whose token cannot be checked."""
        shown = presented(token, self._rules)
        key = await self._keys.key(shown.key_id)
        return caller_of(verified(shown, key, self._rules, now=self._clock.now()), self._rules)
