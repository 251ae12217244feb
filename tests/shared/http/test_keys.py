"""API keys over HTTP, at both services: made, listed, revoked, and nobody locks himself out."""

import asyncio

import httpx2
import pytest

from shared.http.open_mode import CALLER
from tests.support.both_services import SERVICES, URL

ROUTE = {"edge": "/v1/status", "cloud": "/v1/edges"}  # for readers


@pytest.fixture(params=SERVICES)
async def service(request, tmp_path):
    async with SERVICES[request.param](tmp_path) as running:
        yield running


def client(service, token=""):
    headers = {"authorization": f"Bearer {token}"} if token else CALLER
    return httpx2.AsyncClient(headers=headers, transport=httpx2.ASGITransport(service.app), base_url=URL)


async def make(http, name, role, **fields):
    return await http.post("/v1/keys", json={"name": name, "role": role, **fields})


async def first_admin(service):
    async with client(service) as http:
        return (await make(http, "root", "admin")).json()["token"]


async def test_the_first_key_ends_open_mode_and_says_so_and_must_be_an_admins(service):
    async with client(service) as http:
        for role in ("read", "write", "metrics"):
            refused = await make(http, "anna", role)
            assert (refused.status_code, refused.json()["next_step"]) == (409, "make an admin's first")
        refused = await make(http, "root", "admin", days=30)
        assert (refused.status_code, refused.json()["next_step"]) == (409, "make it without an end, by leaving out the days")
        assert (await http.get("/v1/keys")).json() == {"keys": []}
        made = await make(http, "root", "admin")
        assert (made.status_code, made.headers["cache-control"]) == (201, "no-store")
        assert made.json()["closes_open_mode"]
        assert "nobody without one" in made.json()["notice"]
        assert (await http.get("/v1/keys")).status_code == 401
    async with client(service, made.json()["token"]) as admin:
        second = (await make(admin, "anna", "read")).json()
        assert (second["closes_open_mode"], second["notice"]) == (False, "")


async def test_keys_are_listed_without_their_secrets_and_a_revoked_one_opens_nothing(service):
    async with client(service, await first_admin(service)) as admin:
        made = (await make(admin, "anna", "read", days=1)).json()
        async with client(service, made["token"]) as anna:
            assert (await anna.get(ROUTE[service.name])).status_code == 200
            assert {(await anna.get("/v1/keys")).status_code, (await make(anna, "b", "read")).status_code} == {403}
            listed = await admin.get("/v1/keys")
            assert made["token"].partition(f"{made['key_id']}_")[2] not in listed.text
            root, key = listed.json()["keys"]
            assert (key["key_id"], key["name"], key["role"], key["revoked"]) == (made["key_id"], "anna", "read", None)
            assert (round(key["expires"] - key["created"]), root["expires"]) == (86_400, None)
            ended = await admin.delete(f"/v1/keys/{made['key_id']}")
            assert (ended.status_code, ended.json()["name"], ended.json()["revoked"] is None) == (200, "anna", False)
            assert (await anna.get(ROUTE[service.name])).status_code == 401
        assert (await admin.delete("/v1/keys/anna")).status_code == 409
        assert (await admin.delete("/v1/keys/nobody")).status_code == 404


async def test_the_last_valid_admin_stays_also_where_two_end_each_other_at_once(service):
    token = await first_admin(service)
    async with client(service, token) as admin:
        await make(admin, "anna", "read")
        refused = await admin.delete("/v1/keys/root")
        assert (refused.status_code, refused.json()["next_step"]) == (409, "make another admin's key, without an end, first")
        assert {(await admin.get("/v1/keys")).status_code, (await make(admin, "ben", "admin")).status_code} == {200, 201}
        ended = await asyncio.gather(admin.delete("/v1/keys/root"), admin.delete("/v1/keys/ben"))
        assert sorted(one.status_code for one in ended) in ([200, 401], [200, 409])


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"name": "a/b", "role": "admin"}, 400),
        ({"name": "", "role": "admin"}, 422),
        ({"name": "anna", "role": "owner"}, 422),
        ({"name": "anna", "role": "admin", "days": 0}, 422),
        ({"name": "anna", "role": "admin", "days": 1e9}, 422),
        ({"name": "anna", "role": "admin", "hash": "x"}, 422),
    ],
)
async def test_a_key_that_cannot_be_made_leaves_the_service_as_it_was(service, body, status):
    async with client(service) as http:
        assert (await http.post("/v1/keys", json=body)).status_code == status
        assert (await http.get("/v1/keys")).json() == {"keys": []}


async def test_a_name_is_free_again_when_its_key_is_revoked(service):
    async with client(service, await first_admin(service)) as admin:
        assert (await make(admin, "root", "read")).status_code == 409
        assert (await make(admin, "anna", "read")).status_code == 201
        await admin.delete("/v1/keys/anna")
        assert (await make(admin, "anna", "write")).status_code == 201
