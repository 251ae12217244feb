import asyncio
import socket

import pytest

from deploy.lab.links import Star
from deploy.lab.network import Emulator
from deploy.lab.topology import LinkShape, numbered
from tests.deploy.lab.packets import tcp


@pytest.fixture
def devices():
    """A pair a node in place of a TUN device: what the emulator holds, and what the node's kernel would hold."""
    pairs = {number: socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET) for number in (0, 1, 2)}
    for pair in pairs.values():
        for end in pair:
            end.setblocking(False)
    yield pairs
    for pair in pairs.values():
        for end in pair:
            end.close()


def star(shape):
    return Star(numbered(["plant", "ward"]), shape, lambda _: lambda: 0.5)


def carried_by(links, devices):
    return Emulator(links, {number: ours.fileno() for number, (ours, _) in devices.items()})


async def got(devices, number):
    return await asyncio.wait_for(asyncio.get_running_loop().sock_recv(devices[number][1], 65_535), 10)


async def test_packets_of_all_edges_reach_the_cloud_and_come_back_to_whom_they_are_for(devices):
    emulator = carried_by(star(LinkShape(delay_ms=1)), devices)
    devices[1][1].send(tcp(1, 0, 100))
    assert await got(devices, 0) == tcp(1, 0, 100)
    devices[2][1].send(tcp(2, 0, 200))
    assert await got(devices, 0) == tcp(2, 0, 200)
    devices[0][1].send(tcp(0, 2, 300))
    assert await got(devices, 2) == tcp(0, 2, 300)
    emulator.close()


async def test_no_packet_comes_before_its_delay(devices):
    emulator, now = carried_by(star(LinkShape(delay_ms=30)), devices), asyncio.get_running_loop().time
    began = now()
    devices[1][1].send(tcp(1, 0))
    await got(devices, 0)
    assert now() - began >= 0.030
    emulator.close()


async def test_a_hundred_packets_come_in_their_order(devices):
    emulator = carried_by(star(LinkShape(mbit=10_000, delay_ms=1, queue_ms=10_000)), devices)
    sent = [tcp(1, 0, 40 + place) for place in range(100)]

    async def send():
        for packet in sent:
            await asyncio.get_running_loop().sock_sendall(devices[1][1], packet)

    sending = asyncio.create_task(send())
    assert [await got(devices, 0) for _ in sent] == sent
    await sending
    emulator.close()


async def test_a_device_that_takes_no_more_loses_packets_and_the_others_go_on(devices):
    links = star(LinkShape(mbit=10_000, delay_ms=0))
    emulator = carried_by(links, devices)
    while True:  # nobody reads at plant
        try:
            devices[1][0].send(tcp(0, 1))
        except BlockingIOError:
            break
    devices[0][1].send(tcp(0, 1, 500))
    devices[0][1].send(tcp(0, 2, 500))
    assert await got(devices, 2) == tcp(0, 2, 500)
    emulator.close()
