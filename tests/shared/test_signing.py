import base64

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.errors import Unauthenticated
from shared.identity import make_identity
from shared.signing import COVERED, Signature, SignedRequest, check_digest, check_time, claims_of, message_of, verify

IDENTITY = make_identity()
AUDIENCE = "ab" * 16
BODY = b'{"version": 3}'


class At:
    def __init__(self, seconds):
        self.now = lambda: seconds


def signed(url="http://cloud/v1/edges/ward/poll?wait_s=2.5", content=BODY, now=1000.0, identity=IDENTITY, **headers):
    typed = {"content-type": "application/json"} if content else {}
    request = httpx2.Request("POST", url, content=content, headers={"deadline-ms": "5000", **typed, **headers})
    return next(Signature(identity, AUDIENCE, At(now)).auth_flow(request))


def received(request):
    return message_of(request.method, request.url.raw_path.decode(), [(k.lower(), v) for k, v in request.headers.items()])


def refused(message):
    try:
        claims_of(message)
        verify(message, public_key=IDENTITY.public_key)
    except Unauthenticated as error:
        return error.code == "bad_signature"
    return False


def test_what_was_signed_is_taken_and_tells_who_when_and_for_whom():
    message = received(signed())
    claims = claims_of(message)
    verify(message, public_key=IDENTITY.public_key)
    assert (claims.key_id, claims.created, claims.audience) == (IDENTITY.key_id, 1000, AUDIENCE)
    check_digest(message.headers["content-digest"], BODY)


def test_a_request_without_a_body_is_signed_without_a_type():
    message = received(signed(content=b""))
    verify(message, public_key=IDENTITY.public_key)
    check_digest(message.headers["content-digest"], b"")
    assert "content-type" not in message.headers["signature-input"]


def test_all_that_must_be_covered_is():
    message = received(signed())
    assert all(f'"{part}"' in message.headers["signature-input"] for part in (*COVERED, "content-type"))


def test_two_requests_have_two_nonces():
    assert claims_of(received(signed())).nonce != claims_of(received(signed())).nonce


def test_a_request_that_is_sent_again_by_its_client_is_signed_again():
    request = signed()
    first = request.headers["signature"]
    next(Signature(IDENTITY, AUDIENCE, At(1001.0)).auth_flow(request))
    assert request.headers["signature"] != first
    verify(received(request), public_key=IDENTITY.public_key)


def test_another_key_does_not_fit():
    message = received(signed())
    with pytest.raises(Unauthenticated):
        verify(message, public_key=make_identity().public_key)


PARTS = ("method", "path", "query", "content-digest", "dgrag-audience", "deadline-ms", "content-type", "signature", "signature-input")
GENUINE = received(signed())


@given(part=st.sampled_from(PARTS), place=st.integers(min_value=0, max_value=10_000), put=st.integers(min_value=33, max_value=126))
def test_any_changed_byte_of_a_covered_part_is_refused(part, place, put):
    path, _, query = GENUINE.url.removeprefix("http://cloud").partition("?")
    values = {"method": GENUINE.method, "path": path, "query": query, **GENUINE.headers}
    old = values[part]
    at = place % len(old)
    new = old[:at] + chr(put) + old[at + 1 :]
    if new == old:
        return
    values[part] = new
    headers = {name: values[name] for name in GENUINE.headers}
    assert refused(SignedRequest(values["method"], f"http://cloud{values['path']}?{values['query']}", headers))


@given(body=st.binary(max_size=64))
def test_any_other_body_is_refused(body):
    if body == BODY:
        return
    with pytest.raises(Unauthenticated):
        check_digest(GENUINE.headers["content-digest"], body)


@pytest.mark.parametrize("name", ["signature-input", "signature", "content-digest", "dgrag-audience", "deadline-ms"])
def test_a_header_that_is_missing_or_comes_twice_is_refused(name):
    request = signed()
    pairs = [(k.lower(), v) for k, v in request.headers.items()]
    with pytest.raises(Unauthenticated):
        message_of("POST", "/v1/edges/ward/poll?wait_s=2.5", [pair for pair in pairs if pair[0] != name])
    with pytest.raises(Unauthenticated):
        message_of("POST", "/v1/edges/ward/poll?wait_s=2.5", [*pairs, (name, request.headers[name])])


def test_a_content_type_that_is_not_covered_or_was_taken_away_is_refused():
    bare = received(signed(content=b""))
    assert refused(SignedRequest(bare.method, bare.url, {**bare.headers, "content-type": "text/html"}))
    typed = received(signed())
    assert refused(SignedRequest(typed.method, typed.url, {k: v for k, v in typed.headers.items() if k != "content-type"}))


def test_a_signature_that_says_the_same_in_other_digits_is_refused():
    """86 digits of base64 have 4 bits to spare: 16 texts decode to the same 64 bytes."""
    value = GENUINE.headers["signature"]
    last = value[-4]
    twin = chr(ord(last) + 1)
    assert base64.b64decode(f"{value[7:-4]}{twin}==") == base64.b64decode(value[7:-1])
    assert refused(SignedRequest(GENUINE.method, GENUINE.url, {**GENUINE.headers, "signature": f"{value[:-4]}{twin}==:"}))


@pytest.mark.parametrize("created", [940, 1060])
def test_a_minute_on_both_sides_is_in_time(created):
    check_time(created, now=1000.0, skew_s=60)


@pytest.mark.parametrize("created", [939, 1061, 99_999_999_999, 0])
def test_more_than_a_minute_is_refused_with_both_times(created):
    with pytest.raises(Unauthenticated, match="cloud's 1970-01-01 00:16:40 UTC") as told:
        check_time(created, now=1000.0, skew_s=60)
    assert told.value.code == "clock"
