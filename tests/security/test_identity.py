"""Who speaks for an edge: goals S3, S4 and S6, with controls that show what the guards are for."""

import asyncio
import base64
import stat

import httpx2
import pytest
from cryptography.hazmat.primitives import serialization

from cloud_server.api.access import RULES
from cloud_server.registry import authenticator
from cloud_server.registry.nonces import NonceStore
from edge_node.cloud import membership as joining
from edge_node.cloud.client import CloudClient
from edge_node.cloud.membership import Membership
from edge_node.egress.ledger import GuestLedger
from shared.errors import CloudRefused, SettingsError
from shared.http.keyring import KeyRing
from shared.http.open_mode import CALLER
from shared.identity import key_id, make_identity
from shared.limits import Breaker
from shared.ports import SystemClock
from shared.signing import Signature
from shared.wire import EvidenceRequest
from tests.support.running_cloud import ShiftedClock, running_cloud
from tests.support.signed import URL, enrolled, join
from tests.support.waiting import until

HEAD = {"epoch": "e1", "seq": 1, "hash": "0" * 64}
EMPTY = {"epoch": "e1", "base_version": 0, "version": 1}


def code(response):
    return response.status_code, response.json().get("code")


async def recorded(http, method, path, **fields):
    """A request as it was sent, to be sent again by somebody else."""
    request = http.build_request(method, path, **fields)
    response = await http.send(request)
    assert response.is_success, response.text
    return request


def again(request, **changes):
    facts = {"method": request.method, "url": str(request.url), "content": request.content, "headers": request.headers, **changes}
    return httpx2.Request(facts["method"], facts["url"], content=facts["content"], headers=facts["headers"])


async def test_a_thousand_replays_are_refused_and_after_a_restart_too(tmp_path):
    async with running_cloud(tmp_path) as service:
        ward = await enrolled(service.app, "ward")
        request = await recorded(ward, "PUT", "/v1/edges/ward/ledger", json=HEAD)
        answers = [code(await service.http.send(again(request))) for _ in range(1_000)]
        assert set(answers) == {(401, "replayed")}
    async with running_cloud(tmp_path) as service:
        assert code(await service.http.send(again(request))) == (401, "replayed")


async def test_control_without_remembered_nonces_a_replay_is_taken(tmp_path, monkeypatch):
    monkeypatch.setattr(NonceStore, "remember", lambda *_, **__: None)
    async with running_cloud(tmp_path) as service:
        request = await recorded(await enrolled(service.app, "ward"), "GET", "/v1/edges/ward?wire_version=6")
        assert (await service.http.send(again(request))).status_code == 200


CHANGES = {
    "method": {"method": "GET"},
    "path": {"url": f"{URL}/v1/edges/ward/summaries"},
    "query": {"url": f"{URL}/v1/edges/ward/ledger?x=1"},
    "body": {"content": b'{"epoch": "e1", "seq": 2, "hash": "' + b"0" * 64 + b'"}'},
}


async def changed(folder, change, header=None):
    async with running_cloud(folder) as service:
        ward = await enrolled(service.app, "ward")
        request = ward.build_request("PUT", "/v1/edges/ward/ledger", json=HEAD)
        request = next(ward.auth.auth_flow(request))
        if header:
            value = request.headers[header]
            request.headers[header] = value[:-3] + ("A" if value[-3] != "A" else "B") + value[-2:]
        del request.headers["content-length"]
        return await service.http.send(again(request, **change))


@pytest.mark.parametrize("part", CHANGES)
async def test_a_changed_part_is_refused(tmp_path, part):
    assert code(await changed(tmp_path, CHANGES[part])) == (401, "bad_signature")


@pytest.mark.parametrize("header", ["content-digest", "dgrag-audience", "deadline-ms", "content-type", "signature", "signature-input"])
async def test_a_changed_header_is_refused(tmp_path, header):
    assert (await changed(tmp_path, {}, header)).status_code == 401


async def test_control_without_the_check_of_the_signature_a_changed_query_is_taken(tmp_path, monkeypatch):
    monkeypatch.setattr(authenticator, "verify", lambda *_, **__: None)
    assert (await changed(tmp_path, CHANGES["query"])).status_code == 200


@pytest.mark.parametrize("shift_s", [-120.0, -62.0, 62.0, 120.0])
async def test_a_request_of_another_time_is_refused_with_both_times(tmp_path, shift_s):
    clock = ShiftedClock(SystemClock())
    async with running_cloud(tmp_path, clock=clock) as service:
        ward = await enrolled(service.app, "ward")
        clock.shift_s = shift_s
        response = await ward.get("/v1/edges/ward?wire_version=6")
        assert code(response) == (401, "clock")
        assert response.json()["detail"].count("UTC") == 2


@pytest.mark.parametrize("shift_s", [-55.0, 55.0])
async def test_clocks_that_differ_by_less_than_a_minute_are_no_matter(tmp_path, shift_s):
    clock = ShiftedClock(SystemClock())
    async with running_cloud(tmp_path, clock=clock) as service:
        ward = await enrolled(service.app, "ward")
        clock.shift_s = shift_s
        assert (await ward.get("/v1/edges/ward?wire_version=6")).status_code == 200


async def test_a_replay_is_refused_as_long_as_its_time_would_be_taken(tmp_path):
    clock = ShiftedClock(SystemClock())
    async with running_cloud(tmp_path, clock=clock) as service:
        ward = await enrolled(service.app, "ward")
        request = await recorded(ward, "GET", "/v1/edges/ward?wire_version=6")
        for shift_s, why in ((30.0, "replayed"), (55.0, "replayed"), (63.0, "clock")):
            clock.shift_s = shift_s
            assert code(await service.http.send(again(request))) == (401, why)


async def test_a_request_for_another_cloud_is_refused(tmp_path):
    async with running_cloud(tmp_path / "a") as one, running_cloud(tmp_path / "b") as other:
        identity = make_identity()
        ward = await enrolled(one.app, "ward", identity=identity)
        await enrolled(other.app, "ward", identity=identity)
        request = await recorded(ward, "GET", "/v1/edges/ward?wire_version=6")
        assert code(await other.http.send(again(request))) == (401, "wrong_audience")


async def test_an_expulsion_counts_at_the_next_request_and_a_readmitted_edge_needs_to_join_again(tmp_path):
    async with running_cloud(tmp_path) as service:
        ward = await enrolled(service.app, "ward")
        assert (await service.http.delete("/v1/edges/ward")).status_code == 200
        assert code(await ward.get("/v1/edges/ward?wire_version=6")) == (403, "expelled")
        assert (await service.http.post("/v1/edges/ward/readmit")).status_code == 204
        assert code(await ward.get("/v1/edges/ward?wire_version=6")) == (401, "unknown_key")


def client_of(app, folder, edge="ward", transport=None):
    """An edge's side of the line, with its folder."""
    membership = Membership(folder)
    http = httpx2.AsyncClient(headers=CALLER, transport=transport or httpx2.ASGITransport(app), base_url=URL, auth=membership)
    clock = SystemClock()
    return CloudClient(http, edge, GuestLedger(folder, clock), Breaker(3, 1.0, clock), patience_s=5.0), membership


async def test_a_rotation_under_load_loses_no_request(tmp_path):
    async with running_cloud(tmp_path / "cloud") as service:
        client, membership = client_of(service.app, tmp_path / "ward")
        await joining.join(client, membership)
        stop, served = asyncio.Event(), []

        async def load():
            while not stop.is_set():
                served.append(await client.greet())

        working = [asyncio.create_task(load()) for _ in range(4)]
        keys = [membership.identity().key_id]
        for _ in range(3):
            keys.append(await joining.rotate(client, membership))
            await client.greet()
        stop.set()
        await asyncio.gather(*working)
        assert len(served) > 4
        assert membership.identity().key_id == keys[-1]
        assert [key.key_id for key in service.cloud.credentials.keys.live("ward")] == [keys[-1], keys[-2]]


async def test_the_former_key_ends_after_the_grace(tmp_path):
    clock = ShiftedClock(SystemClock())
    async with running_cloud(tmp_path / "cloud", clock=clock, rotation_grace_s=10.0) as service:
        client, membership = client_of(service.app, tmp_path / "ward")
        known = await joining.join(client, membership)
        former = httpx2.AsyncClient(headers=CALLER, transport=httpx2.ASGITransport(service.app), base_url=URL)
        former.auth = Signature(membership.identity(), key_id(known.cloud_key))
        await joining.rotate(client, membership)
        assert (await former.get("/v1/edges/ward?wire_version=6")).status_code == 200
        clock.shift_s = 11.0
        assert code(await former.get("/v1/edges/ward?wire_version=6")) == (401, "unknown_key")
        assert (await client.greet()).edge == "ward"


async def test_a_key_in_its_grace_cannot_bring_another_key(tmp_path):
    """Otherwise whoever stole the former key could throw the edge out."""
    async with running_cloud(tmp_path / "cloud") as service:
        client, membership = client_of(service.app, tmp_path / "ward")
        await joining.join(client, membership)
        stolen = (tmp_path / "ward" / "identity" / "edge.key").read_bytes()
        await joining.rotate(client, membership)
        thief, of_thief = client_of(service.app, tmp_path / "thief")
        of_thief.note("ward", URL, membership.cloud_key())
        of_thief.identity()
        (tmp_path / "thief" / "identity" / "edge.key").write_bytes(stolen)
        with pytest.raises(CloudRefused, match="newer key"):
            await joining.rotate(thief, of_thief)


async def test_a_rotation_that_was_cut_is_finished(tmp_path):
    """The cloud has taken the new key, but the edge has not heard of it; once by hand, once by the edge itself after the grace."""
    async with running_cloud(tmp_path / "cloud", rotation_grace_s=0.0) as service:
        client, membership = client_of(service.app, tmp_path / "ward")
        await joining.join(client, membership)
        present, following = membership.identity(), membership.next_identity()
        service.cloud.credentials.keys.rotate("ward", present=present.key_id, public_key=following.public_key, grace_s=0.0)
        with pytest.raises(CloudRefused):
            await client.greet()
        await joining.rejoin(client, membership)
        assert (await client.greet()).edge == "ward"
        assert membership.identity().key_id == following.key_id


async def invited(service, edge, **fields):
    response = await service.http.post("/v1/invites", json={"edge": edge, **fields})
    assert response.status_code == 201, response.text
    return response.json()["token"]


@pytest.fixture
async def closed(tmp_path):
    """A cloud that takes keys: nobody joins without an invitation."""
    ring = KeyRing(tmp_path)
    token = ring.add("operator", "admin", now=0.0)
    ring.close()
    clock = ShiftedClock(SystemClock())
    async with running_cloud(tmp_path, clock=clock) as service:
        service.http.headers["authorization"] = f"Bearer {token}"
        service.clock = clock
        service.stranger = httpx2.AsyncClient(headers=CALLER, transport=httpx2.ASGITransport(service.app), base_url=URL)
        yield service


async def test_an_invitation_lets_one_edge_in_once(closed):
    token = await invited(closed, "ward")
    assert token.startswith("inv_")
    assert (await join(closed.stranger, "ward", make_identity(), invitation=token)).status_code == 201
    assert code(await join(closed.stranger, "ward", make_identity(), invitation=token)) == (403, "forbidden")


async def test_every_invitation_that_does_not_hold_has_the_same_answer(closed):
    used = await invited(closed, "ward")
    await join(closed.stranger, "ward", make_identity(), invitation=used)
    foreign, expired = await invited(closed, "bank"), await invited(closed, "mill", ttl_s=1)
    closed.clock.shift_s = 2.0
    answers = []
    for edge, token in (("ward", used), ("plant", foreign), ("mill", expired), ("mill", "inv_" + "x" * 43)):
        answers.append((await join(closed.stranger, edge, make_identity(), invitation=token)).json() | {"request": ""})
    assert all(answer == answers[0] for answer in answers)
    assert (answers[0]["status"], answers[0]["code"]) == (403, "forbidden")


@pytest.mark.parametrize("ttl_s", [0, -1, 3601, 1e9])
async def test_no_invitation_holds_longer_than_an_hour(closed, ttl_s):
    assert (await closed.http.post("/v1/invites", json={"edge": "ward", "ttl_s": ttl_s})).status_code == 422


async def test_who_shows_no_invitation_is_told_that_one_is_needed(closed):
    answer = (await join(closed.stranger, "mill", make_identity())).json()
    assert (answer["status"], answer["code"]) == (403, "forbidden")
    assert "takes an invitation" in answer["detail"]
    assert "--token" in answer["detail"]


async def test_who_has_joined_is_not_invited_again_unless_its_key_is_to_be_replaced(closed):
    await join(closed.stranger, "ward", make_identity(), invitation=await invited(closed, "ward"))
    refused = await closed.http.post("/v1/invites", json={"edge": "ward"})
    assert code(refused) == (409, "edge_known")
    assert "--replace" in refused.json()["next_step"]
    assert await invited(closed, "ward", replace=True)


async def test_an_invitation_for_an_id_that_has_a_key_is_a_conflict_and_stays_unused(closed):
    first, second = await invited(closed, "ward"), await invited(closed, "ward")
    await join(closed.stranger, "ward", make_identity(), invitation=first)
    for _ in range(2):
        assert code(await join(closed.stranger, "ward", make_identity(), invitation=second)) == (409, "edge_known")


async def test_an_edge_that_has_lost_its_key_comes_back_by_an_invitation_that_replaces(closed):
    lost = await enrolled(closed.app, "ward", invitation=await invited(closed, "ward"))
    found = await enrolled(closed.app, "ward", invitation=await invited(closed, "ward", replace=True))
    assert code(await lost.get("/v1/edges/ward?wire_version=6")) == (401, "unknown_key")
    assert (await found.get("/v1/edges/ward?wire_version=6")).status_code == 200


async def test_an_edge_that_joins_twice_with_its_key_is_only_greeted(closed):
    """The first answer may have been lost on the way."""
    identity, token = make_identity(), await invited(closed, "ward")
    for _ in range(2):
        assert (await join(closed.stranger, "ward", identity, invitation=token)).status_code == 201


async def test_a_key_of_another_edge_is_refused(closed):
    identity = make_identity()
    await join(closed.stranger, "ward", identity, invitation=await invited(closed, "ward"))
    response = await join(closed.stranger, "bank", identity, invitation=await invited(closed, "bank"))
    assert code(response) == (409, "conflict")


async def test_who_does_not_hold_the_private_half_cannot_join_with_a_key(closed):
    token, identity = await invited(closed, "ward"), make_identity()
    body = {"edge": "ward", "public_key": make_identity().public_key, "invitation": token}
    assert code(await closed.stranger.post("/v1/edges", json=body, auth=Signature(identity, "any"))) == (401, "bad_signature")
    assert code(await closed.stranger.post("/v1/edges", json=body)) == (401, "no_credentials")


async def test_the_store_keeps_no_token(closed, tmp_path):
    token = await invited(closed, "ward")
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert files
    assert not any(token.encode() in file.read_bytes() for file in files)


async def test_strangers_who_ask_to_join_write_nothing_and_are_counted_by_their_address(closed):
    before = closed.cloud.credentials.nonces._database.row("SELECT count(*) FROM nonces")[0]
    answers = [code(await join(closed.stranger, "mill", make_identity(), invitation="inv_no")) for _ in range(20)]
    assert set(answers) == {(403, "forbidden")}
    assert (await join(closed.stranger, "mill", make_identity(), invitation=await invited(closed, "mill"))).status_code == 201
    assert closed.cloud.credentials.nonces._database.row("SELECT count(*) FROM nonces")[0] == before


async def test_too_many_strangers_of_one_address_have_to_wait(tmp_path):
    async with running_cloud(tmp_path, requests_per_minute=5) as service:
        answers = [(await join(service.http, "mill", make_identity())).status_code for _ in range(7)]
    assert answers == [201] * 5 + [429] * 2


async def test_a_clock_that_jumps_ahead_and_back_lets_no_request_in_again(tmp_path):
    clock = ShiftedClock(SystemClock())
    async with running_cloud(tmp_path, clock=clock) as service:
        ward = await enrolled(service.app, "ward")
        request = await recorded(ward, "GET", "/v1/edges/ward?wire_version=6")
        ward.auth = Signature(make_identity(), "none", clock)
        clock.shift_s = 600.0
        bank = await enrolled(service.app, "bank", clock=clock)
        assert (await bank.get("/v1/edges/bank?wire_version=6")).status_code == 200
        clock.shift_s = 5.0
        assert code(await service.http.send(again(request))) == (401, "clock")


async def test_an_expelled_edge_that_goes_on_asking_has_to_wait(tmp_path):
    async with running_cloud(tmp_path, requests_per_minute=5) as service:
        ward = await enrolled(service.app, "ward")
        await service.http.delete("/v1/edges/ward")
        answers = [(await ward.get("/v1/edges/ward?wire_version=6")).status_code for _ in range(7)]
    assert (answers[0], answers[-1], set(answers)) == (403, 429, {403, 429})


class Forger(httpx2.AsyncBaseTransport):
    """Sits on the line, and says of the first requests that the cloud does not know the key."""

    def __init__(self, app, lies):
        self._inner = httpx2.ASGITransport(app)
        self._lies = lies

    async def handle_async_request(self, request):
        if self._lies:
            self._lies -= 1
            return httpx2.Response(401, json={"code": "unknown_key", "detail": "never heard of you"})
        return await self._inner.handle_async_request(request)


@pytest.mark.parametrize("lies", [1, 2, 3, 4])
async def test_who_says_that_a_key_is_unknown_while_a_rotation_is_pending_locks_nobody_out(tmp_path, lies):
    async with running_cloud(tmp_path / "cloud") as service:
        client, membership = client_of(service.app, tmp_path / "ward")
        await joining.join(client, membership)
        present, following = membership.identity(), membership.next_identity()
        lied, _ = client_of(service.app, tmp_path / "ward", transport=Forger(service.app, lies))
        lied.host = "cloud.example"
        for _ in range(4):
            (error,) = await asyncio.gather(lied.greet(), return_exceptions=True)
            if error and not isinstance(error, CloudRefused):
                break
            await asyncio.gather(joining.rejoin(lied, membership), return_exceptions=True)
        assert (await lied.greet()).edge == "ward"
        assert (membership.identity().key_id, membership.next_identity().key_id) == (present.key_id, following.key_id)


async def test_after_the_cloud_was_restored_to_before_a_rotation_the_edge_goes_on_with_its_former_key(tmp_path):
    async with running_cloud(tmp_path / "cloud") as service:
        client, membership = client_of(service.app, tmp_path / "ward")
        client.host = "cloud.example"
        await joining.join(client, membership)
        former = membership.identity()
        await joining.rotate(client, membership)
        with service.cloud.database.write() as tx:
            tx.execute("DELETE FROM edge_keys WHERE key_id != ?", (former.key_id,))
            tx.execute("UPDATE edge_keys SET ends = NULL")
        await joining.rejoin(client, membership)
        assert membership.identity().key_id == former.key_id
        assert (await client.greet()).edge == "ward"


async def test_an_edge_that_is_expelled_while_its_question_runs_gets_no_answer(tmp_path):
    async with running_cloud(tmp_path) as service:
        mallory, bank = await enrolled(service.app, "mallory"), await enrolled(service.app, "bank")
        summary = {"summary_id": "s", "text": "infusion pumps", "entities": 1, "relations": 1}
        assert (await bank.put("/v1/edges/bank/summaries", json={**EMPTY, "upserts": [summary]})).status_code == 200
        polling = asyncio.create_task(bank.post("/v1/edges/bank/poll?wait_s=10"))
        await until(lambda: service.cloud.mailbox.online("bank"))
        asked = asyncio.create_task(mallory.post("/v1/questions", json={"question": "infusion pumps"}))
        [request] = (await polling).json()["requests"]
        assert (await service.http.delete("/v1/edges/mallory")).status_code == 200
        await bank.post(f"/v1/edges/bank/replies/{request['request_id']}", json={"refused": "busy"})
        assert code(await asked) == (403, "expelled")


class Tap(httpx2.AsyncBaseTransport):
    """Keeps all bytes that an edge sends."""

    def __init__(self, app):
        self._inner = httpx2.ASGITransport(app)
        self.sent = b""

    async def handle_async_request(self, request):
        content = await request.aread()
        lines = [f"{request.method} {request.url}".encode(), *(name + b": " + value for name, value in request.headers.raw), content]
        self.sent += b"\n".join(lines)
        return await self._inner.handle_async_request(request)


def forms_of(private):
    raw = private.private_bytes_raw()
    formats = [
        (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8),
        (serialization.Encoding.DER, serialization.PrivateFormat.PKCS8),
    ]
    whole = [private.private_bytes(encoding, form, serialization.NoEncryption()) for encoding, form in formats]
    return [raw, base64.b64encode(raw).rstrip(b"="), base64.urlsafe_b64encode(raw).rstrip(b"="), raw.hex().encode(), *whole]


async def test_the_private_half_never_crosses_the_line_and_lies_in_private_files_only(tmp_path):
    async with running_cloud(tmp_path / "cloud") as service:
        tap = Tap(service.app)
        client, membership = client_of(service.app, tmp_path / "ward", transport=tap)
        await joining.join(client, membership)
        identities = [membership.identity()]
        await joining.rotate(client, membership)
        identities.append(membership.identity())
        await client.greet()
    for identity in identities:
        assert identity.public_key.encode() in tap.sent  # the tap works
        assert not any(form in tap.sent for form in forms_of(identity.private))
    for file in (file for file in tmp_path.rglob("*") if file.is_file()):
        if any(form in file.read_bytes() for identity in identities for form in forms_of(identity.private)):
            assert file.parent.name == "identity"
            assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_an_edge_does_not_start_with_a_key_that_others_can_read(tmp_path):
    Membership(tmp_path).identity()
    (tmp_path / "identity" / "edge.key").chmod(0o644)
    with pytest.raises(SettingsError, match="can be read by others"):
        Membership(tmp_path).identity()


async def test_elsewhere_an_edge_that_is_not_known_asks_a_person(tmp_path):
    async with running_cloud(tmp_path / "cloud") as service:
        client, membership = client_of(service.app, tmp_path / "ward")
        client.host = "cloud.example"
        with pytest.raises(CloudRefused, match="dgrag edge join"):
            await joining.rejoin(client, membership)


OWN_ROUTES = sorted((method, path) for (method, path), rule in RULES.items() if "edge" in rule.roles and "{edge}" in path)
BODIES = {
    "summaries": EMPTY,
    "ledger": HEAD,
    "replies/{request_id}": {"refused": "busy"},
    "keys": {"public_key": "A" * 43 + "=", "proof": "AAAA"},
}


@pytest.mark.parametrize(("method", "path"), OWN_ROUTES)
async def test_another_edge_is_answered_like_one_that_does_not_exist(tmp_path, method, path):
    async with running_cloud(tmp_path) as service:
        ward = await enrolled(service.app, "ward")
        bank = await enrolled(service.app, "bank")
        await bank.put("/v1/edges/bank/ledger", json=HEAD)
        body = next((content for suffix, content in BODIES.items() if path.endswith(suffix)), None)
        answers = []
        for edge in ("bank", "none"):
            target = path.format(edge=edge, request_id="r1") + ("?wait_s=0" if path.endswith("poll") else "")
            response = await ward.request(method, target, **({"json": body} if body and method != "GET" else {}))
            text = response.text.replace(response.headers["x-request-id"], "").replace(edge, "X")
            answers.append((response.status_code, text))
        assert answers[0] == answers[1]
        assert answers[0][0] == 404


def test_the_cross_product_has_every_route_of_edges():
    assert len(OWN_ROUTES) == 9


async def test_a_reply_to_another_edges_request_is_answered_like_one_to_no_request(tmp_path):
    async with running_cloud(tmp_path) as service:
        ward, bank = await enrolled(service.app, "ward"), await enrolled(service.app, "bank")
        polling = asyncio.create_task(bank.post("/v1/edges/bank/poll?wait_s=30"))
        asked = asyncio.create_task(service.http.post("/v1/questions", json={"question": "why?"}, headers={"deadline-ms": "300"}))
        for request_id in ("id-1", "id-2"):
            response = await ward.post(f"/v1/edges/ward/replies/{request_id}", json={"refused": "mine"})
            assert code(response) == (404, "not_found")
        await until(lambda: service.cloud.mailbox.online("bank"))
        assert await service.cloud.mailbox.post("bank", EvidenceRequest(request_id="r9", question="q", budget_tokens=1, deadline_ms=60_000))
        assert (await polling).json()["requests"]
        assert code(await ward.post("/v1/edges/ward/replies/r9", json={"refused": "mine"})) == (404, "not_found")
        await asked
