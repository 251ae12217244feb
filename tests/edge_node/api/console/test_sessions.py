"""Signing in to the console with an API key, and what a page of another site, a forged form and an ended key can do: nothing."""

import contextlib
import re
import time
from importlib.resources import files

import httpx2
import pytest

from edge_node.api.console.access import RULES
from shared.http.console.sessions import CSRF_HEADER, IDLE_S, MOST, MOST_OF_KEY, OLDEST_S, OVER, POLL_HEADER, RESTARTED, Sessions
from shared.http.keyring import KeyRing
from tests.support.both_services import cloud_service
from tests.support.running_edge import running_edge

PAGE_TOKEN = re.compile(r'data-token="([0-9a-f]{64})"')


def made_key(folder, role, name="anna"):
    keys = KeyRing(folder)
    try:
        return keys.add(name, role, now=time.time())
    finally:
        keys.close()


async def token(http, page="/"):
    return PAGE_TOKEN.search((await http.get(page)).text)[1]


async def sign_in(http, key):
    return await http.post("/console/session", data={"key": key}, headers={CSRF_HEADER: await token(http), "hx-request": "true"})


@contextlib.asynccontextmanager
async def guarded_edge(folder, **settings):
    """An edge with a key for each role."""
    keys = {role: made_key(folder, role, role) for role in ("read", "write", "admin")}
    async with running_edge(folder, **settings) as edge:
        yield edge.http, keys


async def test_a_service_without_keys_shows_its_page_to_this_machine(tmp_path):
    async with running_edge(tmp_path) as edge:
        page = await edge.http.get("/")
        assert page.status_code == 200
        assert "this machine" in page.text
        assert page.headers["cache-control"] == "no-store"


async def test_a_change_needs_the_token_of_the_session_in_open_mode_too(tmp_path):
    async with running_edge(tmp_path) as edge:
        form = {"question": "Which ward?", "mode": "local"}
        assert (await edge.http.post("/console/ask", data=form)).status_code == 403
        told = await token(edge.http)
        assert (await edge.http.post("/console/ask", data=form, headers={CSRF_HEADER: told})).status_code == 200
        edge.http.cookies.clear()
        assert (await edge.http.post("/console/ask", data=form, headers={CSRF_HEADER: told})).status_code == 403


async def test_a_visitor_without_a_key_is_asked_for_one_and_sees_nothing_else(tmp_path):
    async with guarded_edge(tmp_path) as (http, _):
        page = await http.get("/")
        assert page.status_code == 401
        assert "API key" in page.text
        assert "textarea" not in page.text
        piece = await http.post("/console/ask", data={"question": "?"}, headers={CSRF_HEADER: await token(http), "hx-request": "true"})
        assert (piece.status_code, piece.headers["hx-refresh"]) == (401, "true")


async def test_a_key_opens_a_session_whose_cookie_no_script_and_no_other_site_gets(tmp_path):
    async with guarded_edge(tmp_path) as (http, keys):
        (before,) = (await http.get("/")).cookies.values()
        answer = await sign_in(http, keys["read"])
        assert (answer.status_code, answer.headers["hx-refresh"]) == (204, "true")
        cookie = answer.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=strict" in cookie
        assert before not in cookie  # nobody has chosen it before
        assert keys["read"] not in cookie
        page = await http.get("/")
        assert page.status_code == 200
        assert "Sign out" in page.text


async def test_behind_tls_the_cookie_travels_over_tls_only(tmp_path):
    async with guarded_edge(tmp_path, behind_tls_proxy=True) as (http, _):
        assert "Secure" in (await http.get("/")).headers["set-cookie"]


async def test_a_wrong_key_opens_nothing_and_the_message_stays_on_the_form(tmp_path):
    async with guarded_edge(tmp_path) as (http, keys):
        answer = await sign_in(http, keys["read"][:-1] + ("A" if keys["read"][-1] != "A" else "B"))
        assert (answer.status_code, answer.headers["hx-retarget"]) == (401, "#messages")
        assert (await http.get("/")).status_code == 401


async def test_wrong_keys_are_counted_by_address(tmp_path):
    async with guarded_edge(tmp_path, requests_per_minute=5) as (http, _):
        http._transport.app.state.guard._clock = Clock()
        headers = {CSRF_HEADER: await token(http)}
        statuses = [(await http.post("/console/session", data={"key": "dgk_x"}, headers=headers)).status_code for _ in range(6)]
        assert statuses == [401] * 5 + [429]


async def test_a_revoked_key_ends_its_session_at_the_next_request(tmp_path):
    async with guarded_edge(tmp_path) as (http, keys):
        await sign_in(http, keys["read"])
        ring = KeyRing(tmp_path)
        ring.revoke("read", now=time.time())
        ring.close()
        page = await http.get("/")
        assert page.status_code == 401
        assert "The key &#39;read&#39; was revoked: ask the operator for another key." in page.text


async def test_signing_out_ends_the_session_also_for_who_kept_its_cookie(tmp_path):
    async with guarded_edge(tmp_path) as (http, keys):
        await sign_in(http, keys["read"])
        kept = dict(http.cookies)
        await http.delete("/console/session", headers={CSRF_HEADER: await token(http)})
        http.cookies.update(kept)
        assert (await http.get("/")).status_code == 401


async def test_after_a_restart_the_page_says_why_a_key_is_asked_for_until_there_is_one_and_to_nobody_else(tmp_path):
    async with guarded_edge(tmp_path) as (http, keys):
        assert RESTARTED not in (await http.get("/")).text
        await sign_in(http, keys["read"])
        kept = dict(http.cookies)
    async with running_edge(tmp_path) as edge:
        edge.http.cookies.update(kept)
        for _ in range(2):
            assert RESTARTED in (await edge.http.get("/")).text
        await sign_in(edge.http, keys["read"])
        await edge.http.delete("/console/session", headers={CSRF_HEADER: await token(edge.http)})
        assert RESTARTED not in (await edge.http.get("/")).text


async def test_the_page_names_the_folder_of_the_keys_to_this_machine_alone(tmp_path):
    folder = tmp_path / "of a ward"
    for settings, told in (({}, f"--state &#39;{folder}&#39;"), ({"behind_tls_proxy": True}, "--state FOLDER")):
        made_key(folder, "read", f"anna-{len(settings)}")
        async with running_edge(folder, **settings) as edge:
            assert told in (await edge.http.get("/")).text


async def test_no_two_services_of_one_host_share_a_cookie(tmp_path):
    names = set()
    for number, (start, settings) in enumerate(((running_edge, {"id": "dgrag"}), (running_edge, {"id": "dgrag"}), (cloud_service, {}))):
        async with start(tmp_path / str(number), **settings) as service:
            transport = httpx2.ASGITransport(service.http._transport.app if number < 2 else service.app)
            async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
                names |= set((await http.get("/")).cookies)
    assert len(names) == 3


async def test_the_cookie_is_worth_nothing_at_the_rest_routes(tmp_path):
    async with guarded_edge(tmp_path) as (http, keys):
        await sign_in(http, keys["admin"])
        assert (await http.get("/v1/status")).status_code == 401


async def test_a_link_from_another_site_ends_no_session(tmp_path):
    async with guarded_edge(tmp_path) as (http, keys):
        await sign_in(http, keys["read"])
        kept = dict(http.cookies)
        http.cookies.clear()  # the browser withholds it
        led = await http.get("/", headers={"sec-fetch-site": "cross-site"})
        assert "set-cookie" not in led.headers
        assert 'http-equiv="refresh"' in led.text
        http.cookies.update(kept)
        assert (await http.get("/", headers={"sec-fetch-site": "same-origin"})).status_code == 200


async def test_no_page_opens_without_a_key_nor_to_a_role_that_may_not_see_it(tmp_path):
    async with guarded_edge(tmp_path) as (http, keys):
        await sign_in(http, keys["read"])
        headers, wrong = {CSRF_HEADER: await token(http)}, []
        for (method, path), rule in RULES.items():
            if "anyone" not in rule.roles and "read" not in rule.roles:
                answer = await http.request(method, re.sub(r"{\w+}", "1", path), headers=headers)
                wrong += [] if answer.status_code == 403 else [(method, path, answer.status_code)]
        http.cookies.clear()
        for (method, path), rule in RULES.items():
            if "anyone" not in rule.roles:
                answer = await http.request(method, re.sub(r"{\w+}", "1", path))
                wrong += [] if answer.status_code == 401 else [(method, path, answer.status_code)]
        assert wrong == []


async def test_a_script_that_anybody_may_keep_comes_without_a_cookie(tmp_path):
    async with guarded_edge(tmp_path) as (http, _):
        assert "set-cookie" not in (await http.get("/console/static/console.js")).headers


async def test_an_unknown_asset_is_a_404_and_no_path_leads_out_of_the_folder(tmp_path):
    async with running_edge(tmp_path) as edge:
        assert (await edge.http.get("/console/static/console.css")).headers["content-type"].startswith("text/css")
        for name in ("x.css", "..%2Fpages.py", "%2e%2e/pages.py"):
            assert (await edge.http.get(f"/console/static/{name}")).status_code == 404


class Clock:
    def __init__(self):
        self.seconds = 0.0

    def now(self):
        return time.time()

    def monotonic(self):
        return self.seconds


class Visit:
    """What Sessions reads of a request."""

    def __init__(self, cookie="", *, is_poll=False):
        self.headers = {POLL_HEADER: "true"} if is_poll else {}
        self.cookies = {"c": cookie} if cookie else {}
        self.state = type("State", (), {})()


@pytest.fixture
def sessions(tmp_path):
    ring = KeyRing(tmp_path)
    yield Sessions(ring, clock := Clock(), cookie="c", secure=False), clock, ring.id_of(ring.add("anna", "read", now=time.time()))
    ring.close()


async def test_a_session_ends_when_nothing_was_asked_for_half_a_day(sessions):
    known, clock, key = sessions
    await known.begin(first := Visit(), key)
    for wait_s, name in ((IDLE_S, "anna"), (IDLE_S, "anna"), (IDLE_S + 1, None)):
        clock.seconds += wait_s
        caller = await known.caller_of(Visit(first.state.session))
        assert (caller and caller.name) == name


async def test_what_a_page_asks_for_by_itself_keeps_no_session_open(sessions):
    known, clock, key = sessions
    await known.begin(first := Visit(), key)
    for wait_s, is_known in ((IDLE_S, True), (1, False)):
        clock.seconds += wait_s
        assert bool(await known.caller_of(Visit(first.state.session, is_poll=True))) == is_known
    assert known.why_over(Visit(first.state.session)) == OVER


async def test_a_session_in_use_ends_after_a_week(sessions):
    known, clock, key = sessions
    await known.begin(first := Visit(), key)
    for _ in range(int(OLDEST_S / IDLE_S)):
        clock.seconds += IDLE_S
        assert await known.caller_of(Visit(first.state.session))
    clock.seconds += 1
    assert not await known.caller_of(Visit(first.state.session))


def test_every_piece_of_a_page_that_polls_says_so():
    polling = [
        tag
        for package in ("edge_node.api.console", "cloud_server.api.console", "shared.http.console")
        for template in (files(package) / "templates").iterdir()
        for tag in re.findall(r"<[^>]*hx-trigger=\"every [^>]*>", template.read_text())
    ]
    assert len(polling) == 6
    assert [tag for tag in polling if """hx-headers='{"X-Poll": "true"}'""" not in tag] == []


async def test_of_too_many_sessions_of_a_key_the_one_used_longest_ago_ends(sessions):
    known, _, key = sessions
    await known.begin(first := Visit(), key)
    await known.begin(second := Visit(), key)
    await known.caller_of(Visit(first.state.session))
    for _ in range(MOST_OF_KEY - 1):
        await known.begin(Visit(), key)
    assert await known.caller_of(Visit(first.state.session))
    assert not await known.caller_of(Visit(second.state.session))


async def test_one_key_ends_no_session_of_another(sessions):
    known, _, key = sessions
    await known.begin(first := Visit(), key)
    other = known._keys.id_of(known._keys.add("ben", "read", now=time.time()))
    for _ in range(MOST + 1):
        await known.begin(Visit(), other)
    assert await known.caller_of(Visit(first.state.session))
