"""Two clouds over one PostgreSQL, each behind its own port: it does not matter which one an edge dials."""

import asyncio
import re
import shutil
from types import SimpleNamespace

import httpx2
import pytest

from cloud_server.registry.credentials import KEY_FILE
from cloud_server.registry.sessions import SharedSessions
from cloud_server.routing.memory_index import MemoryIndex
from shared.errors import StoreAway
from shared.http.console.sessions import CSRF_HEADER, IDLE_S, MOST_OF_KEY, OLDEST_S
from shared.http.open_mode import CALLER
from tests.support.cloud_socket import cloud_on_a_socket
from tests.support.signed import AsEdges

pytestmark = pytest.mark.process

PAGE_TOKEN = re.compile(r'data-token="([0-9a-f]{64})"')
TEXT = "The infusion pump P-204 was replaced in March."
QUESTION = {"question": "When was the infusion pump P-204 replaced?", "query_id": "q1"}


@pytest.fixture
async def clouds(postgres, tmp_path):
    """Both, and an edge that signs for whichever it calls."""
    url = postgres.fresh()
    async with cloud_on_a_socket(tmp_path / "one", database_url=url, replica="one") as (one, at_one):
        (tmp_path / "two" / KEY_FILE).parent.mkdir(parents=True, mode=0o700)
        shutil.copy(tmp_path / "one" / KEY_FILE, tmp_path / "two" / KEY_FILE)
        async with cloud_on_a_socket(tmp_path / "two", database_url=url, replica="two") as (two, at_two):
            auth = AsEdges(one.credentials.identity.key_id)
            async with (
                httpx2.AsyncClient(headers=CALLER, base_url=at_one, auth=auth) as http_one,
                httpx2.AsyncClient(headers=CALLER, base_url=at_two, auth=auth) as http_two,
            ):
                yield SimpleNamespace(one=one, two=two, http_one=http_one, http_two=http_two)


def polls(http, edge="ward"):
    return asyncio.create_task(http.post(f"/v1/edges/{edge}/poll?wait_s=20"))


async def test_a_question_at_one_cloud_is_answered_by_an_edge_that_polls_and_replies_at_the_other(clouds, kit):
    await kit.enrol(clouds.http_one, "ward", TEXT)
    poll = polls(clouds.http_two)
    await kit.until(lambda: clouds.one.mailbox.online("ward"))
    asked = asyncio.create_task(clouds.http_one.post("/v1/questions", json=QUESTION))
    (request,) = (await poll).json()["requests"]
    reply = f"/v1/edges/ward/replies/{request['request_id']}"
    body = {"evidence": [kit.evidence(TEXT)], "refused": ""}
    assert (await clouds.http_two.post(reply, json=body)).status_code == 204
    answer = (await asked).json()
    assert [(edge["edge"], edge["status"]) for edge in answer["edges"]] == [("ward", "answered")]
    assert (await clouds.http_two.post(reply, json=body)).status_code == 404


async def test_a_reply_that_cannot_be_used_ends_the_wait_at_the_other_cloud(clouds, kit):
    await kit.enrol(clouds.http_one, "ward", TEXT)
    poll = polls(clouds.http_two)
    await kit.until(lambda: clouds.one.mailbox.online("ward"))
    asked = asyncio.create_task(clouds.http_one.post("/v1/questions", json=QUESTION))
    (request,) = (await poll).json()["requests"]
    response = await clouds.http_two.post(f"/v1/edges/ward/replies/{request['request_id']}", json={"evidence": "none"})
    assert response.status_code == 422
    (edge,) = (await asked).json()["edges"]
    assert (edge["status"], edge["reason"]) == ("failed", "its reply is not of the agreed form")


async def test_an_edge_that_is_expelled_at_one_cloud_is_let_go_at_the_other(clouds, kit):
    await kit.enrol(clouds.http_one, "ward", TEXT)
    poll = polls(clouds.http_two)
    await kit.until(lambda: clouds.one.mailbox.online("ward"))
    await clouds.one.expel("ward")
    assert (await poll).json() == {"requests": [], "withdrawn": []}
    assert (await clouds.http_two.post("/v1/edges/ward/poll?wait_s=0")).status_code in (401, 403)


async def test_an_expelled_edge_is_matched_nowhere_even_where_the_index_still_holds_it(clouds, kit, monkeypatch):
    async def later():
        pass

    async def matched(http):
        return {one["edge"] for one in (await http.post("/v1/match", json={"question": TEXT})).json()["matches"]}

    await kit.enrol(clouds.http_one, "ward", TEXT)
    await clouds.two.summary_index.renew()
    assert await matched(clouds.http_two) == {"ward"}
    monkeypatch.setattr(clouds.two.summary_index, "renew", later)
    await clouds.one.expel("ward")
    assert await matched(clouds.http_two) == set()


async def test_a_cloud_that_stops_lets_its_polls_go_and_the_edge_is_asked_at_the_other(clouds, kit):
    await kit.enrol(clouds.http_one, "ward", TEXT)
    poll = polls(clouds.http_two)
    await kit.until(lambda: clouds.one.mailbox.online("ward"))
    clouds.two.mailbox.close()
    assert (await poll).json()["requests"] == []
    poll = polls(clouds.http_one)
    asked = asyncio.create_task(clouds.http_one.post("/v1/questions", json=QUESTION))
    (request,) = (await poll).json()["requests"]
    body = {"evidence": [kit.evidence(TEXT)], "refused": ""}
    assert (await clouds.http_one.post(f"/v1/edges/ward/replies/{request['request_id']}", json=body)).status_code == 204
    assert (await asked).status_code == 200


async def test_an_expulsion_that_the_store_interrupts_ends_the_polls_nevertheless(clouds, kit, monkeypatch):
    async def away(_):
        raise StoreAway("killed")

    await kit.enrol(clouds.http_one, "ward", TEXT)
    poll = polls(clouds.http_two)
    await kit.until(lambda: clouds.one.mailbox.online("ward"))
    monkeypatch.setattr(MemoryIndex, "renew", away)
    with pytest.raises(StoreAway):
        await clouds.one.expel("ward")
    assert (await poll).json()["requests"] == []
    assert not clouds.one.mailbox.online("ward")


async def test_who_has_signed_in_at_one_cloud_is_known_to_the_other_and_signs_out_of_both(clouds):
    one, two = clouds.http_one, clouds.http_two
    key = (await one.post("/v1/keys", json={"name": "ops", "role": "admin"})).json()["token"]
    two.cookies = one.cookies.jar  # both are one name to the browser, behind the proxy

    async def status(http, **headers):
        return (await http.get("/", headers=headers)).status_code

    async def change(method, told_by, sent_to, **form):
        token = PAGE_TOKEN.search((await told_by.get("/")).text)[1]
        return (await sent_to.request(method, "/console/session", headers={CSRF_HEADER: token}, **form)).status_code

    assert [await status(http) for http in (one, two)] == [401, 401]
    assert await change("POST", one, two, data={"key": key}) == 204
    assert [await status(http) for http in (one, two)] == [200, 200]
    (cookie,) = one.cookies.jar
    assert await change("DELETE", two, one) == 204
    assert [await status(http, cookie=f"{cookie.name}={cookie.value}") for http in (one, two)] == [401, 401]


async def test_a_session_ends_at_every_cloud_by_its_age_and_each_key_has_twenty_at_most(clouds):
    def begun(store, session):
        store.add(session, "anna")
        return session

    stores = [SharedSessions(cloud.database) for cloud in (clouds.one, clouds.two)]
    stores[0].add("of ben", "ben")
    first = begun(stores[0], "first")
    assert stores[1].key_of(first, is_use=True) == "anna"
    for number in range(MOST_OF_KEY):
        begun(stores[number % 2], f"s{number}")
    assert [stores[1].key_of(session, is_use=False) for session in (first, "s0", "of ben")] == [None, "anna", "ben"]
    for column, past_s in (("used", IDLE_S), ("began", OLDEST_S)):
        with clouds.one.database.join() as tx:
            said = f"UPDATE console_sessions SET {column} = clock_timestamp() - interval '{past_s + 1} seconds' WHERE session = ?"
            tx.execute(said, ("s1" if column == "used" else "s2",))
    assert [stores[1].key_of(session, is_use=True) for session in ("s1", "s2", "s3")] == [None, None, "anna"]
