import asyncio
import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import link
from benchmarks.errors import BenchmarkError
from benchmarks.link import CLOUD, HOST, NAMESPACES, Lane, Link, LinkConfig, Links, Place, inside, unable
from deploy.cluster.free_ports import Ports

needs_root = pytest.mark.skipif(bool(unable()), reason=unable() or "-")
FAST = LinkConfig(mbit=10_000, delay_ms=0)
LONG = b"evidence " * 40_000
TIMES = 3  # so that what goes up is not what comes down


@pytest.fixture
def ports():
    free = Ports()
    return {CLOUD: free.take(25_000), "a": free.take(25_000), "model": free.take(25_000)}


async def echo(reader, writer):
    """Say all of it again, three times, once the other end has said everything."""
    said = await reader.read()
    writer.write(said * TIMES)
    await writer.drain()
    writer.close()


async def said(place, words):
    with inside(place.namespace):
        end = link.socket.socket()
    end.setblocking(False)
    await asyncio.get_running_loop().sock_connect(end, (HOST, place.port))
    reader, writer = await asyncio.open_connection(sock=end)
    writer.write(words)
    writer.write_eof()
    answer = await reader.read()
    writer.close()
    return answer


async def serve(place):
    with inside(place.namespace):
        listening = link.socket.socket()
    listening.bind((HOST, place.port))
    return await asyncio.start_server(echo, sock=listening)


def test_bytes_pass_in_turn_and_an_idle_lane_is_free_at_once():
    lane = Lane(bytes_per_s=1000.0, delay_s=0.5)
    assert lane.arrival(0.0, 500) == 1.0
    assert lane.arrival(0.0, 500) == 1.5
    assert lane.arrival(9.0, 500) == 10.0
    assert lane.carried == 1500


@given(st.lists(st.tuples(st.floats(0, 10), st.integers(0, 10_000)), min_size=1))
def test_no_lane_carries_faster_than_its_rate_or_out_of_turn(sent):
    lane, now, arrivals = Lane(bytes_per_s=5000.0, delay_s=0.25), 0.0, []
    for wait, size in sent:
        now += wait
        arrivals.append(lane.arrival(now, size))
        assert arrivals[-1] >= now + size / 5000 + 0.25 - 1e-9
    assert arrivals == sorted(arrivals)
    assert arrivals[-1] - 0.25 >= sum(size for _, size in sent) / 5000 - 1e-6


def test_why_no_namespace_can_be_made_is_said(monkeypatch):
    monkeypatch.setattr(link.os, "geteuid", lambda: 1000)
    monkeypatch.setattr(link.shutil, "which", lambda _: "/sbin/ip")
    assert unable() in {"network namespaces can only be made by root", "network namespaces need Linux and `ip` of iproute2"}
    monkeypatch.setattr(link.shutil, "which", lambda _: None)
    assert unable() == "network namespaces need Linux and `ip` of iproute2"


def test_root_without_the_right_to_make_one_is_told_what_the_system_says(monkeypatch):
    tried = []

    def refuse(*words):
        tried.append(words[:2])
        raise BenchmarkError("`ip netns add` failed: Operation not permitted")

    monkeypatch.setattr(link.os, "geteuid", lambda: 0)
    monkeypatch.setattr(link.shutil, "which", lambda _: "/sbin/ip")
    monkeypatch.setattr(link, "_ip", refuse)
    assert unable() in {"`ip netns add` failed: Operation not permitted", "network namespaces need Linux and `ip` of iproute2"}
    assert tried in ([("netns", "add")], [])


async def test_a_relay_carries_each_direction_in_its_own_lane_also_where_no_namespace_can_be_made(ports):
    links, up, down = Links("dgrag-test", FAST), Lane(1e9, 0.0), Lane(1e9, 0.0)
    await links._carry(Place("", ports["a"]), Place("", ports[CLOUD]), Link(up, down))
    cloud = await serve(Place("", ports[CLOUD]))
    assert await said(Place("", ports["a"]), LONG) == LONG * TIMES
    cloud.close()
    links.close()
    assert (up.carried, down.carried) == (len(LONG), len(LONG) * TIMES)


@needs_root
async def test_an_edge_reaches_the_cloud_over_its_link_and_each_byte_is_counted(ports):
    links = Links("dgrag-test", FAST)
    await links.open({CLOUD: ports[CLOUD], "a": ports["a"]}, model_port=ports["model"])
    cloud = await serve(Place("dgrag-test-cloud", ports[CLOUD]))
    assert await said(Place("dgrag-test-a", ports[CLOUD]), LONG) == LONG * TIMES
    cloud.close()
    assert links.close() == {"a": {"up": len(LONG), "down": len(LONG) * TIMES}}
    assert not (NAMESPACES / "dgrag-test-a").exists()


@needs_root
async def test_we_reach_an_edge_and_it_reaches_the_model_and_that_is_not_on_its_link(ports):
    links = Links("dgrag-test", FAST)
    await links.open({CLOUD: ports[CLOUD], "a": ports["a"]}, model_port=ports["model"])
    edge, model = await serve(Place("dgrag-test-a", ports["a"])), await serve(Place("", ports["model"]))
    assert await said(Place("", ports["a"]), b"question") == b"question" * TIMES
    assert await said(Place("dgrag-test-a", ports["model"]), b"prompt") == b"prompt" * TIMES
    edge.close()
    model.close()
    assert links.close() == {"a": {"up": 0, "down": 0}}


@needs_root
async def test_a_service_that_is_away_closes_the_connection_and_what_a_killed_run_left_is_no_hindrance(ports):
    killed, links = Links("dgrag-test", FAST), Links("dgrag-test", FAST)
    killed._add("dgrag-test-cloud")
    await links.open({CLOUD: ports[CLOUD], "a": ports["a"]}, model_port=ports["model"])
    with contextlib.suppress(ConnectionError):  # closed in order, or reset: both tell that nobody is there
        assert await said(Place("dgrag-test-a", ports[CLOUD]), b"x" * 100) == b""
    links.close()


@needs_root
async def test_a_port_that_is_taken_is_told(ports):
    links, taken = Links("dgrag-test", FAST), await serve(Place("", ports["a"]))
    with pytest.raises(BenchmarkError, match=f"port {ports['a']} is taken"):
        await links.open({CLOUD: ports[CLOUD], "a": ports["a"]}, model_port=ports["model"])
    links.close()
    taken.close()
    assert not (NAMESPACES / "dgrag-test-cloud").exists()
