"""Keys at the consoles of both services: who makes the first one is not shut out by it."""

import re

import httpx2
import pytest

from cloud_server.api.console.access import KEYS as CLOUD_PATH
from edge_node.api.console.access import KEYS as EDGE_PATH
from tests.support.both_services import SERVICES, URL
from tests.support.console import Person

PATH = {"edge": EDGE_PATH, "cloud": CLOUD_PATH}
TOKEN_OF_PIECE = re.compile(r"""<div id="keys"[^>]*hx-headers:inherited='{"X-CSRF-Token": "(\w+)"}'""")


@pytest.fixture(params=SERVICES)
async def service(request, tmp_path):
    async with SERVICES[request.param](tmp_path) as running:
        yield running


def visitor(service):
    return httpx2.AsyncClient(headers={"sec-fetch-site": "same-origin"}, transport=httpx2.ASGITransport(service.app), base_url=URL)


async def test_who_makes_the_first_key_is_signed_in_with_it_and_goes_on_in_the_same_page(service):
    path = PATH[service.name]
    async with visitor(service) as http, visitor(service) as other:
        someone = Person(http)
        await someone.read(path)
        assert "without an end" in await someone.change("POST", path, status=409, name="root", role="admin", days="3")
        assert "None." in await someone.read(path)
        made = await someone.change("POST", path, name="root", role="admin")
        assert ("You are signed in with it" in made, re.search(r"dgk_[0-9a-f]{12}_", made) is None) == (True, False)
        await someone.change("POST", path, status=403, name="anna", role="read")  # by the page around, that knows no session
        assert "anna" in await someone.change("POST", path, token=TOKEN_OF_PIECE.search(made)[1], name="anna", role="read")
        assert ("Sign out" in await someone.read(path), (await other.get(path)).status_code) == (True, 401)
