"""Tokens of an OpenID Connect issuer: what is sound comes in, with its role and labels; what is not, does not, nor anything unchecked."""

import asyncio
import base64
import hashlib
import hmac
import json
import time
import warnings

import pytest
from joserfc.jwk import OctKey, RSAKey

from shared.errors import Forbidden, IssuerAway, Overloaded, SettingsError, Unauthenticated
from shared.http.issuer import BETWEEN_S, FRESH_S, Tokens
from shared.http.keyring import KeyRing
from shared.settings import OidcSettings
from tests.support.issuer import AUDIENCE, made_key, running_issuer
from tests.support.raw_asgi import send
from tests.support.running_cloud import running_cloud
from tests.support.running_edge import running_edge
from tests.support.waiting import until


class Hands:
    """A clock that a test moves, from now on."""

    def __init__(self):
        self.passed = 0.0

    def now(self):
        return time.time() + self.passed

    def monotonic(self):
        return self.passed


@pytest.fixture(scope="module")
def issuer():
    with running_issuer() as issuer:
        yield issuer


@pytest.fixture
def hands():
    return Hands()


@pytest.fixture
def tokens(issuer, hands):
    issuer.asked, issuer.is_away, issuer.names_itself = [], False, None
    return tokens_of(issuer, hands)


def tokens_of(issuer, hands, **settings):
    return Tokens.of(OidcSettings(oidc_issuer=issuer.url, oidc_audience=AUDIENCE, **settings), hands)


def part(value):
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def mac(issuer, secret, key_id):
    """A token whose signature everybody can make who has the secret, which the library refuses to make of a public key."""
    signed = f"{part({'alg': 'HS256', 'kid': key_id, 'typ': 'JWT'})}.{part(issuer.claims())}"
    made = hmac.new(secret, signed.encode(), hashlib.sha256).digest()
    return f"{signed}.{base64.urlsafe_b64encode(made).rstrip(b'=').decode()}"


def changed(token, **claims):
    """The same token with other claims, and the signature of before."""
    head, payload, signature = token.split(".")
    said = json.loads(base64.urlsafe_b64decode(payload + "=="))
    return f"{head}.{part(said | claims)}.{signature}"


def forged(issuer):
    """(what it is, a token that must open nothing)."""
    now, sound = int(time.time()), issuer.token()
    public_pem = issuer.keys["rsa"].as_pem(private=False)
    yield "expired", issuer.token(exp=now - 61)
    yield "not yet valid", issuer.token(nbf=now + 90)
    yield "issued in the future", issuer.token(iat=now + 90)
    yield "for another service", issuer.token(aud="bank")
    yield "for others", issuer.token(aud=["bank", "ward-edge-2"])
    yield "of another issuer", issuer.token(iss="https://evil.example")
    yield "of an issuer with a slash more", issuer.token(iss=issuer.url + "/")
    for claim in ("iss", "aud", "exp", "sub"):
        yield f"without {claim}", issuer.token(**{claim: None})
    yield "an exp that is a text", issuer.token(exp="tomorrow")
    yield "an exp that is true", issuer.token(exp=True)
    yield "a subject with a line end", issuer.token(sub="ann\nadmin")
    for none in ("none", "None", "NONE", ""):
        yield f"alg={none!r}", f"{part({'alg': none, 'kid': 'rsa', 'typ': 'JWT'})}.{part(issuer.claims())}."
    yield "alg=none with a signature", f"{part({'alg': 'none', 'kid': 'rsa'})}.{part(issuer.claims())}.{sound.split('.')[2]}"
    for secret in (public_pem, public_pem.strip(), issuer.keys["rsa"].as_der(private=False)):
        yield "HS256 with the public key", mac(issuer, secret, "rsa")
    yield "HS256 with a secret that is published", issuer.token("oct", key=OctKey.generate_key(256))
    yield "unknown key", issuer.token("stranger", key=made_key("RS256", "stranger"))
    yield "a stranger's key under a known id", issuer.token("rsa", key=made_key("RS256", "rsa"))
    yield "a key of another kind under a known id", issuer.token("rsa", key=issuer.keys["ec"])
    yield "without a key's id", issuer.token(header={"kid": ""})
    own = made_key("ES256", "new")
    yield "a key that it brings along", issuer.token("new", key=own, header={"jwk": own.as_dict(private=False)})
    yield "an address of keys", issuer.token("new", key=own, header={"jku": "http://127.0.0.1:1/keys"})
    yield "RS512", issuer.token(header={"alg": "RS512"})
    yield "another kind of token", issuer.token(header={"typ": "logout+jwt"})
    for name, odd in [("alg", (["RS256"], {"a": 1}, 7, None)), ("kid", (["rsa"], 7)), ("typ", (["JWT"], None))]:
        for value in odd:
            head = {"alg": "RS256", "kid": "rsa", "typ": "JWT", name: value}
            yield f"{name}={value!r}", ".".join([part(head), *sound.split(".")[1:]])
    for deep in ("[" * 2_900, "[" * 1_400 + "]" * 1_400):
        head = base64.urlsafe_b64encode(deep.encode()).rstrip(b"=").decode()
        yield "lists within lists", ".".join([head, *sound.split(".")[1:]])
    yield "tampered", changed(sound, sub="bo")
    yield "swapped labels", changed(sound, dgrag_labels=["*"])
    yield "raised role", changed(sound, roles=["dgrag-admin"])
    yield "payload and signature of two tokens", ".".join([*sound.split(".")[:2], issuer.token(sub="bo").split(".")[2]])
    yield "no signature", ".".join([*sound.split(".")[:2], ""])
    yield "encrypted", f"{part({'alg': 'dir', 'enc': 'A256GCM', 'kid': 'rsa'})}..AAAA.AAAA.AAAA"
    for text in ("", ".", "..", "a.b.c", "null", "x" * 20_000, "é.é.é", f"{part([])}.{part({})}.AAAA", f"{part({})}.{part({})}.AAAA"):
        yield f"malformed {text[:9]!r}", text


@pytest.mark.parametrize("key_id", ["rsa", "ec", "ed"])
async def test_a_sound_token_comes_in_with_its_role_and_labels(issuer, tokens, key_id):
    caller = await tokens.caller_of(issuer.token(key_id, aud=["other", AUDIENCE]))
    assert (caller.name, caller.roles, caller.labels) == ("oidc:ann", {"read"}, {"hr"})


async def test_what_is_forged_expired_or_for_others_opens_nothing(issuer, tokens):
    for what, token in forged(issuer):
        with pytest.raises(Unauthenticated) as error:
            pytest.fail(f"{what}: {await tokens.caller_of(token)}")
        assert (error.value.code, bool(error.value.next_step)) == ("bad_token", True), what


async def test_null_control_the_same_makings_open_where_nothing_is_forged(issuer, tokens):
    now = int(time.time())
    for token in (issuer.token(exp=now - 30), issuer.token(nbf=now + 30), issuer.token(header={"typ": "at+jwt"}), issuer.token(sub="bo")):
        assert await tokens.caller_of(token)
    strange = made_key("RS256", "stranger")
    issuer.keys["stranger"] = strange
    try:
        assert await tokens_of(issuer, Hands()).caller_of(issuer.token("stranger", key=strange))
    finally:
        del issuer.keys["stranger"]


async def test_no_labels_claim_is_no_label_and_a_claim_of_another_form_is_none(issuer, tokens):
    for labels in (None, [], {"hr": True}, 7, ["hr", 7], True):
        assert (await tokens.caller_of(issuer.token(dgrag_labels=labels))).labels == frozenset(), labels
    assert (await tokens.caller_of(issuer.token(dgrag_labels=["hr", "*"]))).labels is None
    assert (await tokens.caller_of(issuer.token(roles=["admin", "superuser"]))).roles == frozenset()


AT = {"typ": "at+jwt"}
NO_ACCESS_TOKENS = [  # of the same issuer, client and audience, and with a sound signature
    {"nonce": "n-0S6_WzA2Mj"},
    {"at_hash": "77QmUPtjPfzWtF2AnpK9RQ", "auth_time": 1},
    {"c_hash": "LDktKdoQak3Pk0cnXxCltA"},
    {"s_hash": "bOhtX8F73IMjSPeVAqxyTQ"},
    {"events": {"http://schemas.openid.net/event/backchannel-logout": {}}},
    {"typ": "ID"},
    {"typ": "Refresh", "nonce": "n"},
    {"token_use": "id"},
]


@pytest.mark.parametrize("claims", NO_ACCESS_TOKENS, ids=str)
@pytest.mark.parametrize("header", [{}, {"typ": "JWT"}], ids=str)
async def test_a_token_for_another_end_opens_nothing_though_issuer_and_audience_fit(issuer, tokens, header, claims):
    with pytest.raises(Unauthenticated, match="access token") as error:
        await tokens.caller_of(issuer.token(header=header, **claims))
    assert "access token" in error.value.next_step


async def test_access_tokens_that_say_what_they_are_may_say_more(issuer, tokens):
    for header, claims in [
        (AT, {"nonce": "n"}),
        ({}, {"typ": "Bearer", "nonce": "n"}),
        ({}, {"token_use": "access"}),
        ({}, {"azp": "any"}),
    ]:
        assert await tokens.caller_of(issuer.token(header=header, **claims)), claims


async def test_tokens_of_clients_that_are_not_named_open_nothing(issuer, hands):
    tokens = tokens_of(issuer, hands, oidc_clients="ward-chat, ward-batch")
    for claims in (
        {"azp": "ward-chat"},
        {"client_id": "ward-batch"},
        {"appid": "ward-chat"},
        {"azp": "ward-chat", "client_id": "ward-chat"},
    ):
        assert await tokens.caller_of(issuer.token(**claims)), claims
    for claims in (
        {},
        {"azp": "shop"},
        {"client_id": "ward-chat2"},
        {"azp": "ward-chat", "client_id": "shop"},
        {"azp": ["ward-chat"]},
        {"azp": 7},
    ):
        with pytest.raises(Unauthenticated, match="made for a program"):
            pytest.fail(f"{claims}: {await tokens.caller_of(issuer.token(**claims))}")
        assert await tokens_of(issuer, hands).caller_of(issuer.token(**claims))  # null control: by default any client's


OVERAGES = [
    {"_claim_names": {"groups": "src1"}, "_claim_sources": {"src1": {"endpoint": "https://graph.example/me/getMemberObjects"}}},
    {"hasgroups": True},
    {"hasgroups": "true", "groups": []},
]


@pytest.mark.parametrize("claims", OVERAGES, ids=str)
@pytest.mark.parametrize("names", [{"oidc_label_claim": "groups"}, {"oidc_role_claim": "groups"}], ids=str)
async def test_a_token_whose_groups_are_too_many_says_so(issuer, hands, names, claims):
    tokens = tokens_of(issuer, hands, **names)
    with pytest.raises(Forbidden, match="too many for a token") as error:
        await tokens.caller_of(issuer.token(**claims))
    assert (error.value.code, "groups assigned to this application" in error.value.next_step) == ("claim_overage", True)
    assert await tokens.caller_of(issuer.token(**claims | {"groups": ["hr"]}))
    assert await tokens_of(issuer, hands).caller_of(issuer.token(**claims))  # of nobody's concern where groups give nothing


async def test_who_has_too_many_groups_is_told_by_the_edge_and_shut_out_by_nobody(issuer, tokens, tmp_path):
    async with running_edge(
        tmp_path, oidc_issuer=issuer.url, oidc_audience=AUDIENCE, oidc_label_claim="groups", requests_per_minute=3
    ) as edge:
        for _ in range(3):
            reply = await edge.http.get("/v1/documents", headers=bearer(issuer.token(**OVERAGES[0])))
            assert (reply.status_code, reply.json()["code"]) == (403, "claim_overage")
        assert (await edge.http.get("/v1/documents", headers=bearer(issuer.token(groups=["hr"])))).status_code == 200


async def test_algorithms_that_the_settings_leave_out_are_refused(issuer, hands):
    tokens = tokens_of(issuer, hands, oidc_algorithms="ES256")
    assert await tokens.caller_of(issuer.token("ec"))
    with pytest.raises(Unauthenticated, match="ES256"):
        await tokens.caller_of(issuer.token("rsa"))


async def test_a_short_rsa_key_is_not_believed(issuer, tokens):
    with warnings.catch_warnings(action="ignore"):  # the library's, of such keys
        issuer.keys["short"] = RSAKey.generate_key(1024, {"kid": "short", "use": "sig"})
    try:
        with pytest.raises(Unauthenticated):
            await tokens.caller_of(issuer.token("short"))
    finally:
        del issuer.keys["short"]


async def test_a_new_key_is_fetched_when_a_token_has_it_and_not_more_often_than_allowed(issuer, tokens, hands):
    await tokens.caller_of(issuer.token())
    issuer.keys["next"] = made_key("ES256", "next")
    try:
        hands.passed += BETWEEN_S
        assert await tokens.caller_of(issuer.token("next"))
        assert issuer.asked.count("/keys") == 2
        for n in range(50):
            with pytest.raises(Unauthenticated, match="does not have"):
                await tokens.caller_of(issuer.token(f"made-up-{n}", key=issuer.keys["ec"]))
        assert issuer.asked.count("/keys") == 2
    finally:
        del issuer.keys["next"]
    hands.passed += FRESH_S + 1
    await tokens.caller_of(issuer.token(exp=int(hands.now()) + 60))
    await until(lambda: issuer.asked.count("/keys") == 3 and "next" not in tokens._keys._kept.keys)
    with pytest.raises(Unauthenticated, match="does not have"):  # it has taken the key back
        await tokens.caller_of(issuer.token("next", key=made_key("ES256", "next")))


@pytest.mark.parametrize(("settings", "stale_s"), [({}, FRESH_S + 1), ({"oidc_keys_s": 600}, 301)])
async def test_nobody_with_a_known_key_waits_for_an_issuer_that_hangs(issuer, hands, monkeypatch, settings, stale_s):
    tokens = tokens_of(issuer, hands, **settings)
    await tokens.caller_of(issuer.token())
    asked, may_answer, ended = [], asyncio.Event(), asyncio.Event()

    async def hangs():
        asked.append(hands.passed)
        try:
            await may_answer.wait()
        finally:
            ended.set()
        return {"ec": issuer.keys["ec"]}

    monkeypatch.setattr(tokens._keys, "_fetched", hangs)
    hands.passed += stale_s
    for _ in range(3):
        assert await tokens.caller_of(issuer.token(exp=int(hands.now()) + 60))
        await asyncio.sleep(0)
    assert len(asked) == 1
    may_answer.set()
    await until(lambda: list(tokens._keys._kept.keys) == ["ec"])
    may_answer.clear()
    ended.clear()
    hands.passed += stale_s
    assert await tokens.caller_of(issuer.token("ec", exp=int(hands.now()) + 60))
    await until(lambda: len(asked) == 2)
    tokens.close()
    await ended.wait()  # nothing goes on behind a service that stops


async def test_without_the_issuer_known_keys_serve_for_the_stated_time_and_then_nobody_comes_in(issuer, tokens, hands):
    await tokens.caller_of(issuer.token())
    issuer.is_away = True
    hands.passed += FRESH_S + 1
    assert await tokens.caller_of(issuer.token(exp=int(hands.now()) + 60, iat=None, nbf=None))
    hands.passed += 86_400
    with pytest.raises(IssuerAway) as error:
        await tokens.caller_of(issuer.token(exp=int(hands.now()) + 60))
    assert isinstance(error.value, Overloaded)
    assert (error.value.of_caller, error.value.retry_after_s) == (False, BETWEEN_S)
    issuer.is_away = False
    hands.passed += BETWEEN_S
    assert await tokens.caller_of(issuer.token(exp=int(hands.now()) + 60))


async def test_an_issuer_that_was_never_there_lets_nobody_in(issuer, tokens):
    issuer.is_away = True
    for _ in range(3):
        with pytest.raises(IssuerAway):
            await tokens.caller_of(issuer.token())
    assert len(issuer.asked) == 1


async def test_a_discovery_document_of_another_issuer_is_not_believed(issuer, tokens):
    issuer.names_itself = "https://id.example"
    with pytest.raises(IssuerAway, match="another issuer"):
        await tokens.caller_of(issuer.token())


def test_an_issuer_in_clear_on_another_machine_and_one_without_audience_are_refused_at_the_start(hands):
    with pytest.raises(SettingsError, match="in clear"):
        Tokens.of(OidcSettings(oidc_issuer="http://id.example", oidc_audience="x"), hands)
    with pytest.raises(ValueError, match="oidc_audience"):
        OidcSettings(oidc_issuer="https://id.example")


def bearer(text):
    return {"authorization": f"Bearer {text}"}


async def test_an_edge_that_knows_an_issuer_takes_its_tokens_beside_keys_and_is_open_to_nobody(issuer, tokens, tmp_path):
    ring = KeyRing(tmp_path)
    key = ring.add("ops", "admin", now=0.0)
    ring.close()
    async with running_edge(tmp_path, oidc_issuer=issuer.url, oidc_audience=AUDIENCE) as edge:

        async def got(path, headers):
            return await edge.http.get(path, headers=headers)

        refused = await got("/v1/documents", {})
        assert (refused.status_code, refused.json()["code"], refused.headers["www-authenticate"]) == (401, "no_credentials", "Bearer")
        issuer.is_away = True
        away = await got("/v1/documents", bearer(issuer.token()))
        assert (away.status_code, away.json()["code"], away.headers["retry-after"]) == (503, "issuer_away", "30")
        assert "API key" in away.json()["next_step"]
        assert (await got("/v1/status", bearer(key))).status_code == 200  # keys need no issuer
        assert not edge.http._transport.app.state.guard.is_open()


async def test_a_token_opens_what_its_role_opens_and_says_what_is_wrong_else(issuer, tokens, tmp_path):
    async with running_edge(tmp_path, oidc_issuer=issuer.url, oidc_audience=AUDIENCE) as edge:
        said = [
            ("/v1/documents", issuer.token(), 200, ""),
            ("/v1/documents", issuer.token(roles=["nobody"]), 403, "it takes the role read"),
            ("/v1/policy", issuer.token(), 403, "it takes the role admin"),
            ("/v1/policy", issuer.token(roles=["dgrag-admin"], dgrag_labels=["*"]), 200, ""),
            ("/v1/status", issuer.token(roles=["dgrag-admin"]), 403, "you may read some only"),
            ("/v1/documents", issuer.token(exp=1), 401, "the token has expired"),
            ("/v1/documents", issuer.token(aud="bank"), 401, "the token is for another service"),
            ("/v1/documents", "dgk_" + "0" * 12 + "_" + "A" * 43, 401, "does not know that API key"),
        ]
        for path, token, status, why in said:
            reply = await edge.http.get(path, headers=bearer(token))
            assert (reply.status_code, why in reply.text) == (status, True), (path, why, reply.text)
            assert status == 200 or reply.json()["next_step"]
        caller = (await edge.http.get("/v1/caller", headers=bearer(issuer.token()))).json()
        assert caller == {"edge": "ward", "name": "oidc:ann", "roles": ["read"], "labels": ["hr"]}


async def test_a_cloud_takes_tokens_too_and_knows_no_labels(issuer, tokens, tmp_path):
    async with running_cloud(tmp_path, oidc_issuer=issuer.url, oidc_audience=AUDIENCE) as service:
        host = ("host", "127.0.0.1")
        for token, status in ((issuer.token(), 200), (issuer.token(roles=[]), 403), (issuer.token(exp=1), 401), ("", 401)):
            got = await send(service.app, "GET", "/v1/edges", headers=[host, *bearer(token).items()])
            assert got.status == status
