"""What a signed token must be, and who its claims say calls (RFC 7519, RFC 9068; OpenID Connect Core §3.1.3.7)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from joserfc import jws
from joserfc.errors import ExpiredTokenError, InvalidClaimError, JoseError, MissingClaimError, UnsupportedAlgorithmError
from joserfc.jwa import JWSAlgModel
from joserfc.jwk import ECKey, OKPKey, RSAKey
from joserfc.jwt import JWTClaimsRegistry

from shared.errors import ClaimOverage, Unauthenticated
from shared.http.access import Caller, Role
from shared.http.keyring import ROLES
from shared.settings import Algorithm, KeyRole, OidcSettings

MAX_TOKEN_CHARS = 16_384
MAX_HEADER_BYTES = 4_096
MAX_NAME_CHARS = 255  # of a subject (OpenID Connect Core §2)
MIN_RSA_BITS = 2_048  # RFC 7518 §3.3
KINDS: dict[Algorithm, tuple[str, str]] = {"RS256": ("RSA", ""), "ES256": ("EC", "P-256"), "EdDSA": ("OKP", "Ed25519")}
ACCESS_TYPES = frozenset({"at+jwt", "application/at+jwt"})  # of a header: an access token and nothing else (RFC 9068 §2.1)
TYPES = frozenset({"", "jwt"}) | ACCESS_TYPES
# What only tokens for other ends say: ID tokens (OpenID Connect Core §2, §3.3.2.11) and logout tokens (Back-Channel Logout §2.4).
OTHER_ENDS = ("nonce", "at_hash", "c_hash", "s_hash", "events")
KIND_CLAIMS = ("typ", "token_use")  # Keycloak and Cognito say there what a token is
ACCESS_KINDS = frozenset({"bearer", "access", "at+jwt"})
CLIENT_CLAIMS = ("azp", "client_id", "appid", "cid")  # OpenID Connect, RFC 9068, Entra's first version, Okta
MORE_GROUPS = "hasgroups"  # Entra, of a token that would be too long for a URL
ELSEWHERE = "_claim_names"  # claims that the token leaves out, and that are to be had elsewhere (OpenID Connect Core §5.6.2)
EVERYTHING = "*"  # the label of who reads all documents
ASK_AGAIN = "ask the issuer for a new token"
Key = RSAKey | ECKey | OKPKey
Claims = Mapping[str, Any]


class _Signatures(jws.JWSRegistry):
    """The algorithms that are allowed, and no other. The library would warn of EdDSA, whose name leaves the curve open: see ``KINDS``."""

    max_header_length = MAX_HEADER_BYTES

    def get_alg(self, name: str) -> JWSAlgModel:
        """Raises UnsupportedAlgorithmError."""
        if name not in (self.allowed or ()):
            raise UnsupportedAlgorithmError("not allowed")
        return self.algorithms[name]


@dataclass(frozen=True, slots=True)
class TokenRules:
    """What a token must say, and what its claims mean."""

    issuer: str
    audience: str
    algorithms: frozenset[Algorithm]
    leeway_s: float
    role_claim: str
    roles: Mapping[str, KeyRole]
    label_claim: str  # "": tokens have no labels, and read all documents
    labels: Mapping[str, str]  # empty: the claim's values are the labels
    clients: frozenset[str] = frozenset()  # programs that a token may have been made for; empty: any

    @classmethod
    def of(cls, front: OidcSettings) -> TokenRules:
        """As the settings have it."""
        signed = front.oidc_issuer, front.oidc_audience, front.oidc_algorithms, front.oidc_leeway_s
        return cls(*signed, front.oidc_role_claim, front.oidc_roles, front.oidc_label_claim, front.oidc_labels, front.oidc_clients)


@dataclass(frozen=True, slots=True)
class Presented:
    """A token that somebody shows; nothing of it is checked yet but its form."""

    signed: jws.CompactSignature
    algorithm: Algorithm
    key_id: str


def presented(token: str, rules: TokenRules) -> Presented:
    """A token by its header: which key it claims to be signed with, and how. Raises Unauthenticated.

    Keys that a header brings along, or where it says they are, count for nothing.
    """
    if len(token) > MAX_TOKEN_CHARS:
        raise _bad("the token is too long")
    try:
        signed = jws.extract_compact(token.encode("ascii", "replace"), registry=_Signatures(strict_check_header=False))
    except (JoseError, ValueError, RecursionError) as error:  # the last of a header of a thousand lists within each other
        raise _bad("that is no API key, and no signed token", "send an API key, dgk_…, or an access token of the issuer") from error
    header = signed.headers()
    algorithm, key_id, kind = header.get("alg"), header.get("kid"), header.get("typ", "")
    if not isinstance(algorithm, str) or algorithm not in rules.algorithms:
        raise _bad(f"the token's signature is not one of {', '.join(sorted(rules.algorithms))}", "have the issuer sign with one of these")
    if not isinstance(key_id, str) or not key_id:
        raise _bad("the token does not say which key it is signed with (kid)")
    if not isinstance(kind, str) or kind.lower() not in TYPES or "crit" in header:
        raise _bad("the token is of a kind that opens nothing here (typ, crit)")
    return Presented(signed, algorithm, key_id)


def verified(token: Presented, key: Key, rules: TokenRules, *, now: float) -> Claims:
    """What a token claims, once its signature, issuer, audience and times are checked; ``now`` in epoch seconds. Raises Unauthenticated."""
    if not fits(key, token.algorithm):
        raise _bad("the token's key does not make such signatures")
    try:
        sound = jws.validate_compact(token.signed, key, registry=_Signatures(algorithms=[token.algorithm], strict_check_header=False))
    except (JoseError, ValueError) as error:
        raise _bad("the token's signature is wrong") from error
    if not sound:
        raise _bad("the token's signature is wrong")
    try:
        claims = orjson.loads(token.signed.payload or b"")
    except orjson.JSONDecodeError as error:
        raise _bad("the token holds no claims") from error
    if not isinstance(claims, dict):
        raise _bad("the token holds no claims")
    _check(claims, rules, now=now)
    _check_kind(claims, header_type=str(token.signed.headers().get("typ", "")))
    _check_client(claims, rules.clients)
    return claims


def _check(claims: dict[str, Any], rules: TokenRules, *, now: float) -> None:
    registry = JWTClaimsRegistry(
        now=int(now),
        leeway=int(rules.leeway_s),
        iss={"essential": True, "value": rules.issuer},
        aud={"essential": True, "value": rules.audience},
        exp={"essential": True},
        sub={"essential": True},
    )
    try:
        registry.validate(claims)
    except ExpiredTokenError as error:
        raise _bad("the token has expired") from error
    except MissingClaimError as error:
        raise _bad(f"the token lacks {error.claim}") from error
    except InvalidClaimError as error:
        said = {"iss": "the token is of another issuer", "aud": "the token is for another service", "nbf": "the token is not valid yet"}
        raise _bad(said.get(error.claim, f"the token's {error.claim} cannot be used")) from error
    if len(claims["sub"]) > MAX_NAME_CHARS or not claims["sub"].isprintable():
        raise _bad("the token's sub cannot be used")


def _check_kind(claims: Claims, *, header_type: str) -> None:
    """Let in an access token only: an ID token says who signed in at a client, and gives that client nothing here."""
    said = {str(claims[name]).lower() for name in KIND_CLAIMS if name in claims}
    if said - ACCESS_KINDS - TYPES:
        raise _bad("the token is no access token", "send the access token that the issuer gave beside it")
    is_marked = header_type.lower() in ACCESS_TYPES or not said.isdisjoint(ACCESS_KINDS)
    if not is_marked and any(name in claims for name in OTHER_ENDS):
        raise _bad("the token looks like an ID token: it is not marked as an access token", "send an access token (typ at+jwt)")


def _check_client(claims: Claims, allowed: frozenset[str]) -> None:
    """Let in tokens that were made for one of these programs; each claim that names the program counts."""
    if not allowed:
        return
    named = [claims[name] for name in CLIENT_CLAIMS if name in claims]
    if not named or not all(isinstance(client, str) and client in allowed for client in named):
        raise _bad("the token was made for a program that may not call this service", "ask its operator to allow the program")


def fits(key: Key, algorithm: Algorithm) -> bool:
    """Whether a key of the issuer's makes such signatures, by its kind and curve, and by what is said of it."""
    kind, curve = KINDS[algorithm]
    said = key.as_dict(private=False)
    is_meant = said.get("use", "sig") == "sig" and said.get("alg", algorithm) == algorithm
    is_long = not isinstance(key, RSAKey) or key.raw_value.key_size >= MIN_RSA_BITS
    return is_meant and is_long and said["kty"] == kind and said.get("crv", "") == curve


def caller_of(claims: Claims, rules: TokenRules) -> Caller:
    """Who calls, with the roles and labels that the claims give; a claim that is not there gives nothing.

    Raises ClaimOverage where the issuer has left a claim out because it would be too long.

    >>> rules = TokenRules("https://id", "ward", frozenset(), 0, "realm.roles", {"staff": "read"}, "groups", {"/hr": "hr", "/all": "*"})
    >>> caller = caller_of({"sub": "ann", "realm": {"roles": ["staff", "other"]}, "groups": ["/hr", "/it"]}, rules)
    >>> caller.name, sorted(caller.roles), sorted(caller.labels)
    ('oidc:ann', ['read'], ['hr'])
    >>> caller_of({"sub": "bo", "groups": "/all"}, rules)
    Caller(name='oidc:bo', roles=frozenset(), labels=None)
    >>> caller_of({"sub": "cy"}, rules).labels
    frozenset()
    """
    for name in filter(None, (rules.role_claim, rules.label_claim)):
        _check_overage(claims, name)
    roles = frozenset[Role]().union(*(ROLES[rules.roles[value]] for value in _values(claims, rules.role_claim) if value in rules.roles))
    if not rules.label_claim:
        return Caller(f"oidc:{claims['sub']}", roles)
    said = _values(claims, rules.label_claim)
    labels = frozenset(rules.labels[value] for value in said if value in rules.labels) if rules.labels else frozenset(said)
    return Caller(f"oidc:{claims['sub']}", roles, None if EVERYTHING in labels else labels)


def _check_overage(claims: Claims, name: str) -> None:
    """Raises ClaimOverage where a token would name groups, and has too many: Entra names none beyond 200, and says where they are.

    To go on would show a reader less than they may read, without a word.
    """
    if _values(claims, name):
        return
    elsewhere, claim = claims.get(ELSEWHERE), name.partition(".")[0]
    is_left_out = isinstance(elsewhere, dict) and (name in elsewhere or claim in elsewhere)
    has_more = claim == "groups" and str(claims.get(MORE_GROUPS)).lower() == "true"
    if is_left_out or has_more:
        raise ClaimOverage(claim)


def _values(claims: Claims, name: str) -> list[str]:
    """The texts of a claim, by its name or by a path with dots; none where it holds anything else."""
    found: Any = claims.get(name)
    if found is None:
        found = claims
        for part in name.split("."):
            found = found.get(part) if isinstance(found, dict) else None
    values = [found] if isinstance(found, str) else found
    return values if isinstance(values, list) and all(isinstance(value, str) for value in values) else []


def _bad(message: str, next_step: str = ASK_AGAIN) -> Unauthenticated:
    return Unauthenticated(message, code="bad_token", next_step=next_step)
