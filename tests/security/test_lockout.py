"""Strangers shut nobody out: credentials are looked at first, and wrong ones count against who shows them, also behind a proxy."""

import re
import time
from ipaddress import ip_network

import httpx2
import pytest
from starlette.datastructures import Headers

from shared.http.addresses import client_network
from shared.http.console.sessions import CSRF_HEADER
from shared.http.doorkeeper import SIGN_INS_PER_MINUTE, Doorkeeper
from shared.http.keyring import KeyRing
from shared.http.open_mode import CALLER
from shared.identity import make_identity
from shared.settings import FrontSettings
from tests.support.running_cloud import running_cloud
from tests.support.running_edge import running_edge
from tests.support.signed import join

PROXY, ALICE, MALLORY = "10.0.0.2", "203.0.113.7", "198.51.100.66"
PAGE_TOKEN = re.compile(r'data-token="([0-9a-f]{64})"')
LIMIT = 5
BEHIND = {"behind_tls_proxy": True, "requests_per_minute": LIMIT, "trusted_proxies": (ip_network("10.0.0.0/24"),)}


class Still:
    """Time stands, so no bucket fills again."""

    def now(self):
        return time.time()

    def monotonic(self):
        return 0.0


def with_keys(folder):
    ring = KeyRing(folder)
    keys = {name: ring.add(name, "admin", now=time.time()) for name in ("anna", "ben")}
    ring.close()
    return keys


def browser(app, *, peer=PROXY, **headers):
    app.state.guard._clock = Still()
    return httpx2.AsyncClient(transport=httpx2.ASGITransport(app, client=(peer, 50_000)), base_url="https://127.0.0.1", headers=headers)


def wrong(key):
    """The same account, another secret."""
    return key[:17] + "A" * 43


async def signs_in(http, key):
    found = PAGE_TOKEN.search((await http.get("/")).text)
    return (await http.post("/console/session", data={"key": key}, headers={CSRF_HEADER: found[1]})).status_code


async def rest(http, key):
    return (await http.get("/v1/documents", headers={"authorization": f"Bearer {key}"})).status_code


@pytest.mark.parametrize("settings", [{}, {"trusted_proxies": ()}], ids=["named proxy", "nobody named"])
async def test_a_right_key_signs_in_whatever_strangers_did_before(tmp_path, settings):
    keys = with_keys(tmp_path)
    async with running_edge(tmp_path, **BEHIND | settings) as edge:
        app = edge.http._transport.app
        async with browser(app) as stranger, browser(app) as anna:
            guesses = ["dgk_000000000000_" + "B" * 43, wrong(keys["anna"]), "dgk_x", ""]
            assert {await rest(stranger, guess) for guess in guesses * LIMIT} == {401, 429}
            assert {await signs_in(stranger, guess) for guess in guesses[:3] * LIMIT} == {429}
            for _ in range(4 * LIMIT):
                assert (await stranger.get("/")).status_code == 401  # the form is shown to whoever comes, or nobody could sign in
            assert await signs_in(anna, keys["anna"]) == 204
            assert await rest(anna, keys["anna"]) == 200


async def test_null_control_where_a_right_key_counts_as_a_strangers_it_is_shut_out(tmp_path, monkeypatch):
    monkeypatch.setattr(Doorkeeper, "count_sign_in", lambda self, _: self._count(self._strangers, PROXY, "too many"))
    keys = with_keys(tmp_path)
    async with running_edge(tmp_path, **BEHIND) as edge:
        app = edge.http._transport.app
        assert 429 in await guessed(app, "dgk_000000000000_" + "B" * 43, peer=PROXY)
        async with browser(app) as anna:
            assert await signs_in(anna, keys["anna"]) == 429


async def test_a_right_key_is_counted_by_itself_when_it_signs_in(tmp_path):
    keys = with_keys(tmp_path)
    async with running_edge(tmp_path, **BEHIND) as edge, browser(edge.http._transport.app) as http:
        statuses = [await signs_in(http, keys["anna"]) for _ in range(SIGN_INS_PER_MINUTE + 1)]
        http.cookies.clear()
        assert (statuses[-2:], await signs_in(http, keys["ben"])) == ([204, 429], 204)


async def guessed(app, key, *, peer, **headers):
    """The statuses of wrong keys from one client."""
    async with browser(app, peer=peer, **headers) as http:
        return {await rest(http, key) for _ in range(2 * LIMIT)}


async def test_wrong_keys_count_against_the_client_that_the_proxy_names(tmp_path):
    with_keys(tmp_path)
    unknown = ["dgk_" + f"{number:012x}" + "_" + "B" * 43 for number in range(3)]
    async with running_edge(tmp_path, **BEHIND) as edge:
        app = edge.http._transport.app
        assert await guessed(app, unknown[0], peer=PROXY, **{"x-forwarded-for": MALLORY}) == {401, 429}
        async with browser(app, **{"x-forwarded-for": ALICE}) as alice:
            assert await rest(alice, unknown[1]) == 401  # her own mistyped key
        # Mallory writes whom she likes before the proxy adds what it sees, and into the header that it does not write.
        forged = {"x-forwarded-for": f"192.0.2.1, {MALLORY}", "forwarded": "for=192.0.2.2"}
        assert await guessed(app, unknown[2], peer=PROXY, **forged) == {429}


async def test_who_comes_past_the_proxy_is_counted_by_its_own_address_whatever_it_writes(tmp_path):
    with_keys(tmp_path)
    unknown = "dgk_" + "1" * 12 + "_" + "B" * 43
    async with running_edge(tmp_path, **BEHIND) as edge:
        app, statuses = edge.http._transport.app, []
        for number in range(2 * LIMIT):
            async with browser(app, peer=MALLORY, **{"x-forwarded-for": f"192.0.2.{number}"}) as http:
                statuses.append(await rest(http, unknown.replace("1", str(number % 10), 12)))
    assert statuses == [401] * LIMIT + [429] * LIMIT


async def test_wrong_secrets_of_one_account_are_counted_from_wherever_they_come(tmp_path):
    keys = with_keys(tmp_path)
    async with running_edge(tmp_path, **BEHIND) as edge:
        app, statuses = edge.http._transport.app, []
        for number in range(2 * LIMIT):
            async with browser(app, **{"x-forwarded-for": f"192.0.2.{number}"}) as http:
                statuses.append(await rest(http, wrong(keys["anna"])))
        async with browser(app, **{"x-forwarded-for": ALICE}) as alice:
            assert (await rest(alice, wrong(keys["ben"])), await signs_in(alice, keys["anna"])) == (401, 204)
    assert statuses == [401] * LIMIT + [429] * LIMIT


async def test_an_invitation_that_holds_lets_its_edge_in_whatever_strangers_did_before(tmp_path):
    keys = with_keys(tmp_path)
    async with running_cloud(tmp_path, **BEHIND | {"trusted_proxies": ()}) as service:
        transport = httpx2.ASGITransport(service.app, client=(PROXY, 50_000))
        async with httpx2.AsyncClient(headers=CALLER, transport=transport, base_url="http://127.0.0.1") as http:
            service.app.state.guard._clock = Still()
            operator = {"authorization": f"Bearer {keys['anna']}"}
            invited = (await http.post("/v1/invites", json={"edge": "ward", "ttl_s": 600.0}, headers=operator)).json()
            refused = [(await join(http, "ward", make_identity(), invitation="inv_" + "x" * 43)).status_code for _ in range(2 * LIMIT)]
            assert refused == [403] * LIMIT + [429] * LIMIT
            assert (await join(http, "ward", make_identity(), invitation=invited["token"])).status_code == 201


@pytest.mark.parametrize(
    ("header", "sent", "counted"),
    [
        ("x-forwarded-for", {"x-forwarded-for": "203.0.113.7:4711"}, "203.0.113.7"),
        ("x-forwarded-for", {"x-forwarded-for": "::ffff:203.0.113.7"}, "203.0.113.7"),
        ("x-forwarded-for", {"x-forwarded-for": "unknown"}, PROXY),
        ("x-forwarded-for", {"x-forwarded-for": "203.0.113.7, "}, PROXY),
        ("x-forwarded-for", {"x-forwarded-for": "203.0.113.7\tx"}, PROXY),
        ("x-forwarded-for", {"forwarded": "for=203.0.113.7"}, PROXY),
        ("x-forwarded-for", {}, PROXY),
        ("forwarded", {"forwarded": "for=192.0.2.1, for=203.0.113.7;proto=https;by=10.0.0.2"}, "203.0.113.7"),
        ("forwarded", {"forwarded": 'proto=https; For="203.0.113.7:4711"'}, "203.0.113.7"),
        ("forwarded", {"forwarded": "for=_hidden"}, PROXY),
        ("forwarded", {"forwarded": "by=10.0.0.2"}, PROXY),
        ("forwarded", {"x-forwarded-for": "203.0.113.7"}, PROXY),
    ],
)
def test_one_hop_is_believed_of_the_header_that_the_proxy_writes(header, sent, counted):
    proxies = [ip_network("10.0.0.0/24")]
    assert client_network(PROXY, Headers(sent), proxies=proxies, header=header) == counted
    assert client_network(f"::ffff:{PROXY}", Headers(sent), proxies=proxies, header=header) == counted
    assert client_network(MALLORY, Headers(sent), proxies=proxies, header=header) == MALLORY
    assert client_network("", Headers(sent), proxies=proxies, header=header) == ""


def test_the_last_line_of_a_repeated_header_is_the_proxys():
    sent = Headers(raw=[(b"x-forwarded-for", b"192.0.2.1"), (b"x-forwarded-for", b"203.0.113.7")])
    assert client_network(PROXY, sent, proxies=[ip_network(PROXY)], header="x-forwarded-for") == ALICE


def test_one_customer_of_ipv6_is_one_address_however_many_it_has():
    proxies = [ip_network("fd00::/8")]
    names = {
        client_network("fd00::2", Headers({"forwarded": f'for="[2001:db8:0:1::{last:x}]:99"'}), proxies=proxies, header="forwarded")
        for last in (1, 2, 0xFFFF)
    }
    other = client_network("fd00::2", Headers({"forwarded": 'for="[2001:db8:0:2::1]"'}), proxies=proxies, header="forwarded")
    assert len(names) == 1
    assert other not in names | {client_network("fd00::2", Headers({}), proxies=proxies, header="forwarded")}


def test_proxies_are_named_by_addresses_and_networks(tmp_path):
    front = {"port": 1, "state_dir": tmp_path, "requests_per_minute": 1, "connections_per_address": 0}
    named = FrontSettings(**front, trusted_proxies="10.0.0.2, fd00::/8,")
    assert named.trusted_proxies == (ip_network("10.0.0.2/32"), ip_network("fd00::/8"))
    assert FrontSettings(**front, trusted_proxies="").trusted_proxies == ()
    for mistake in ("caddy", "10.0.0.2/8", "*"):
        with pytest.raises(ValueError, match="trusted_proxies"):
            FrontSettings(**front, trusted_proxies=mistake)
