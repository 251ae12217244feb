import pytest
from hypothesis import given
from hypothesis import strategies as st

from deploy.cluster.errors import ClusterError
from deploy.lab.links import Star
from deploy.lab.topology import LinkShape, numbered
from tests.deploy.lab.packets import tcp

FAST = LinkShape(mbit=1000, delay_ms=10)
NODES = numbered(["plant", "ward"])


def star(shape=FAST, chance=0.5):
    return Star(NODES, shape, lambda _: lambda: chance)


def test_a_packet_reaches_the_cloud_after_the_delay_and_not_before():
    links = star()
    links.send(0.0, tcp(1, 0, 140))
    assert list(links.due(0.0099)) == []
    assert list(links.due(0.02)) == [(0, tcp(1, 0, 140))]
    assert links.next_due() is None


def test_each_edge_has_a_link_of_its_own_with_two_directions():
    links = star()
    for packet in (tcp(1, 0, 100), tcp(0, 1, 200), tcp(0, 2, 300)):
        links.send(0.0, packet)
    assert sorted(receiver for receiver, _ in links.due(1.0)) == [0, 1, 2]
    plant, ward = links.chosen("plant")[0], links.chosen("ward")[0]
    assert (plant.up.carried.bytes, plant.down.carried.bytes) == (100, 200)
    assert (ward.up.carried.bytes, ward.down.carried.bytes) == (0, 300)


@pytest.mark.parametrize("packet", [tcp(1, 2), tcp(2, 1), tcp(0, 0), tcp(9, 0), tcp(0, 9), b"", b"\x60" + bytes(60)])
def test_what_goes_between_edges_or_to_nobody_is_dropped(packet):
    links = star()
    links.send(0.0, packet)
    assert links.next_due() is None


@given(st.binary(max_size=100))
def test_no_bytes_can_break_the_links(data):
    links = star()
    links.send(0.0, data)
    list(links.due(1.0))


@given(st.lists(st.tuples(st.sampled_from([(1, 0), (0, 1), (2, 0), (0, 2)]), st.integers(40, 1500), st.floats(0, 0.01)), max_size=60))
def test_what_was_sent_has_arrived_or_was_lost_and_nothing_arrives_twice_or_out_of_turn(sent):
    links = Star(NODES, LinkShape(mbit=5, delay_ms=3, loss=0.3, queue_ms=5), lambda lane: iter([0.1, 0.5, 0.9] * 100).__next__)
    now, got = 0.0, []
    for number, (way, size, wait) in enumerate(sent):
        now += wait
        got += links.due(now)
        packet = bytearray(tcp(*way, size))
        packet[4:6] = number.to_bytes(2)  # IP's identification
        links.send(now, bytes(packet))
    got += links.due(now + 10)
    lanes = [lane for link in links.chosen("all") for lane in (link.up, link.down)]
    dropped = sum(lane.lost.packets + lane.full.packets + lane.cut.packets for lane in lanes)
    assert len(got) + dropped == len(sent)
    assert sum(len(packet) for _, packet in got) == sum(lane.carried.bytes for lane in lanes)
    assert sum(row.size for row in links.journal if row.delivered is not None) == sum(lane.carried.bytes for lane in lanes)
    assert len(links.journal) == len(sent)
    for ends in {(packet[14], packet[18]) for _, packet in got}:
        numbers = [int.from_bytes(packet[4:6]) for _, packet in got if (packet[14], packet[18]) == ends]
        assert numbers == sorted(set(numbers))


def test_the_journal_tells_of_each_packet_whose_it_was_and_what_it_carried():
    links = star()
    links.send(1.0, tcp(0, 2, 1040))
    list(links.due(2.0))
    (row,) = links.journal
    assert (row.edge, row.way, row.port, row.size, row.payload, row.sent, row.delivered) == ("ward", "down", 4002, 1040, 1000, 1.0, 2.0)


def test_what_is_lost_what_finds_no_room_and_what_a_cut_swallows_is_in_the_journal_as_never_delivered():
    links = Star(NODES, LinkShape(mbit=1, delay_ms=0, loss=0.01, queue_ms=5), lambda _: iter([0.0, 0.5, 0.5, 0.5]).__next__)
    for seq in (0, 1000, 2000):  # lost; 8.32 ms on the wire; would wait for longer than 5 ms
        links.send(1.0, tcp(1, 0, 1040, seq))
    links.chosen("plant")[0].up.is_cut = True
    links.send(1.5, tcp(1, 0, 1040, 3000))
    list(links.due(2.0))
    found = sorted((row.seq, row.sent, row.delivered) for row in links.journal)
    assert found == [(0, 1.0, None), (1000, 1.0, 2.0), (2000, 1.0, None), (3000, 1.5, None)]


def test_a_link_that_is_not_there_is_told_with_those_that_are():
    with pytest.raises(ClusterError, match="no link leads to 'moon'") as refused:
        star().chosen("moon")
    assert "plant, ward" in refused.value.next_step
