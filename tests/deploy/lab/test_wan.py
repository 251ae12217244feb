"""Links in real namespaces: for root, where TUN devices can be made."""

import asyncio
import contextlib
import os
import signal
import socket
import sys
from pathlib import Path

import pytest

from deploy.cluster.control import Command
from deploy.cluster.errors import ClusterError
from deploy.cluster.names import Ports
from deploy.lab import namespaces, network
from deploy.lab.links import obeyed
from deploy.lab.relay import HOST
from deploy.lab.topology import LinkShape, Node, prefix_of

why = namespaces.unable()
pytestmark = [pytest.mark.process, pytest.mark.skipif(bool(why), reason=why or "-")]
FAST = LinkShape(mbit=1000, delay_ms=0, queue_ms=1000)


@pytest.fixture
def plan(tmp_path):
    free = Ports()
    ports = {name: free.take(26_000) for name in ("cloud", "a", "b", "model")}
    model_port = ports.pop("model")
    made = network.WanPlan(prefix_of(str(tmp_path)), ports, model_port, FAST)
    yield made
    for name in namespaces.left(made.prefix):
        namespaces.remove(name)


@contextlib.asynccontextmanager
async def echoing(namespace, port):
    """A service in a namespace that says again what it hears."""
    calls = []

    async def echo(reader, writer):
        calls.append(asyncio.current_task())
        with contextlib.suppress(asyncio.CancelledError, OSError), contextlib.closing(writer):
            while piece := await reader.read(65_536):
                writer.write(piece)
                await writer.drain()

    with namespaces.inside(namespace):
        listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.bind((HOST, port))
    server = await asyncio.start_server(echo, sock=listening)
    try:
        yield
    finally:
        server.close()
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls)


async def connected(namespace, port):
    with namespaces.inside(namespace):
        end = socket.socket()
    end.setblocking(False)
    await asyncio.get_running_loop().sock_connect(end, (HOST, port))
    return await asyncio.open_connection(sock=end)


async def echoed(connection, words):
    reader, writer = connection
    writer.write(words)
    return await asyncio.wait_for(reader.readexactly(len(words)), 30)


def with_shape(plan, shape):
    return network.WanPlan(plan.prefix, plan.ports, plan.model_port, shape)


async def test_an_edge_reaches_the_cloud_over_its_link_and_every_byte_is_counted_with_its_headers(plan, tmp_path):
    said = os.urandom(200_000)
    async with network.opened(plan, tmp_path) as star, echoing(plan.namespace("cloud"), plan.ports["cloud"]):
        connection = await connected(plan.namespace("a"), plan.ports["cloud"])
        assert await echoed(connection, said) == said
        connection[1].close()
        a, b = obeyed(star, Command("stats"))
    for way in ("up", "down"):
        assert 1.02 < a[way]["bytes"] / len(said) < 1.25  # headers of full packets are 3.6 %; the rest are acknowledgements
    assert b["up"]["bytes"] == b["down"]["bytes"] == 0


async def test_an_exchange_takes_a_round_trip_at_least(plan, tmp_path):
    slow = with_shape(plan, LinkShape(delay_ms=15))
    async with network.opened(slow, tmp_path), echoing(plan.namespace("cloud"), plan.ports["cloud"]):
        connection, now = await connected(plan.namespace("a"), plan.ports["cloud"]), asyncio.get_running_loop().time
        await echoed(connection, b"warm")
        began = now()
        await echoed(connection, b"x")
        assert now() - began >= 0.030
        connection[1].close()


async def test_we_reach_an_edge_and_it_reaches_the_model_and_neither_is_on_its_link(plan, tmp_path):
    edge = plan.namespace("a")
    async with network.opened(plan, tmp_path) as star, echoing(edge, plan.ports["a"]), echoing("", plan.model_port):
        for place, port in (("", plan.ports["a"]), (edge, plan.model_port)):
            connection = await connected(place, port)
            assert await echoed(connection, b"question") == b"question"
            connection[1].close()
        assert {row[way]["bytes"] for row in obeyed(star, Command("stats")) for way in ("up", "down")} == {0}


async def test_a_cut_hangs_and_after_the_healing_the_same_connection_goes_on(plan, tmp_path):
    async with network.opened(plan, tmp_path) as star, echoing(plan.namespace("cloud"), plan.ports["cloud"]):
        reader, writer = connection = await connected(plan.namespace("a"), plan.ports["cloud"])
        await echoed(connection, b"before")
        obeyed(star, Command("cut", "a"))
        writer.write(b"meanwhile")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(reader.readexactly(1), 0.3)
        other = await connected(plan.namespace("b"), plan.ports["cloud"])
        assert await echoed(other, b"b is not cut") == b"b is not cut"
        obeyed(star, Command("heal", "a"))
        assert await asyncio.wait_for(reader.readexactly(9), 30) == b"meanwhile"
        assert obeyed(star, Command("stats"))[0]["up"]["cut"] >= 1
        for end in (writer, other[1]):
            end.close()


async def test_what_is_lost_is_within_what_chance_allows_and_all_bytes_arrive_all_the_same(plan, tmp_path):
    lossy, said = with_shape(plan, LinkShape(mbit=1000, delay_ms=0, loss=0.02, queue_ms=1000)), os.urandom(1_000_000)
    async with network.opened(lossy, tmp_path) as star, echoing(plan.namespace("cloud"), plan.ports["cloud"]):
        connection = await connected(plan.namespace("a"), plan.ports["cloud"])
        assert await echoed(connection, said) == said
        row = obeyed(star, Command("stats"))[0]
        connection[1].close()
    lost, passed = (sum(row[way][what] for way in ("up", "down")) for what in ("lost", "packets"))
    mean = 0.02 * (lost + passed)
    assert abs(lost - mean) <= 3.5 * mean**0.5  # binomial, 99.9 %


async def test_nothing_is_left_afterwards_and_what_a_killed_run_left_is_used_or_swept(plan, tmp_path):
    namespaces.make(plan.namespace("a"))
    namespaces.make(plan.namespace("gone"))
    async with network.opened(plan, tmp_path):
        assert namespaces.left(plan.prefix) == sorted(plan.namespace(name) for name in ("a", "b", "cloud"))
    assert namespaces.left(plan.prefix) == []
    assert list(tmp_path.iterdir()) == []


async def test_two_links_in_one_namespace_are_refused(plan, tmp_path):
    async with network.opened(plan, tmp_path):
        with pytest.raises(ClusterError, match="no device can be made"):
            namespaces.tun(plan.namespace("a"), Node(1, "a"))


async def test_links_that_were_killed_can_be_started_again_around_services_that_run(plan, tmp_path):
    network.written(plan, tmp_path)
    for name in plan.ports:
        namespaces.make(plan.namespace(name))
    async with echoing(plan.namespace("cloud"), plan.ports["cloud"]):
        killed = await started(tmp_path)
        killed.kill()
        await killed.wait()
        links = await started(tmp_path)
        connection = await connected(plan.namespace("a"), plan.ports["cloud"])
        assert await echoed(connection, b"again") == b"again"
        connection[1].close()
        links.send_signal(signal.SIGTERM)
        assert await links.wait() == 0
    assert namespaces.left(plan.prefix) == []


async def started(folder):
    command = (sys.executable, "-m", "deploy.lab", str(folder))
    made = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.PIPE, env=os.environ | {"PYTHONPATH": str(Path.cwd())})
    assert b"2 links" in await made.stderr.readline()
    return made
