import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deploy.lab.links import Hop, SentPacket, Star, hops, transfers
from deploy.lab.topology import LinkShape, numbered
from tests.deploy.lab.packets import tcp

EACH = 1460  # bytes that a packet of 1500 carries
AGAIN = (0.0, 0.23, 0.69, 1.61, 3.45)  # seconds after the first try at which TCP tries again: 230 ms, then twice as long each time
WHOLE = 1 << 32


def sent(at, place=0, edge="ward", way="up", port=4000, size=1500, payload=EACH, took=0.02):
    return SentPacket(at, None if took is None else at + took, edge, way, port, place * EACH % WHOLE, size, payload)


def over_a_link(tries, *, lost=(), shape=None):
    """The hops of packets that one edge sends: (seconds, place in the stream) each; ``lost`` counts the tries."""
    chances = (0.0 if count in lost else 0.5 for count in itertools.count())
    links = Star(numbered(["ward"]), shape or LinkShape(loss=0.01), lambda _: chances.__next__)
    for at, place in tries:
        links.send(at, tcp(1, 0, 1500, place * EACH % WHOLE))
    while (due := links.next_due()) is not None:
        list(links.due(due))
    return hops(links.journal)


def told(found):
    return [(round(hop.began, 3), round(hop.ms, 2), hop.bytes, hop.packets) for hop in found]


# The links of the next tests have 50 Mbit/s and 15 ms: a packet of 1500 bytes takes 0.24 ms to send, so that the first of those that are
# sent together is there after 15.24 ms, and the fifth after 16.2 ms.


def test_five_packets_that_arrive_are_one_hop():
    assert told(over_a_link([(0.0, place) for place in range(5)])) == [(0.0, 16.2, 7500, 5)]


def test_where_the_last_packet_was_lost_its_second_sending_is_part_of_the_hop_with_the_waiting_before_it():
    tries = [*((0.0, place) for place in range(5)), (0.23, 4)]
    assert told(over_a_link(tries, lost={4})) == [(0.0, 245.24, 7500, 5)]


def test_where_the_only_packet_was_lost_the_hop_began_when_it_was_sent_first():
    assert told(over_a_link([(1.0, 0), (1.23, 0)], lost={0})) == [(1.0, 245.24, 1500, 1)]


def test_where_the_first_packet_was_lost_the_hop_began_with_it():
    assert told(over_a_link([(1.0, 0), (1.01, 1), (1.04, 0)], lost={0})) == [(1.0, 55.24, 3000, 2)]


def test_a_packet_in_the_middle_that_is_sent_again_at_once_keeps_nothing_open():
    tries = [*((0.0, place) for place in range(5)), (0.032, 2), (0.2, 5)]
    assert told(over_a_link(tries, lost={2})) == [(0.0, 47.24, 7500, 5), (0.2, 15.24, 1500, 1)]


def test_what_came_after_a_lost_packet_does_not_fill_it():
    tries = [(0.0, 0), (0.0, 1), (0.0, 2), (0.23, 1), (0.5, 3)]
    assert told(over_a_link(tries, lost={1})) == [(0.0, 245.24, 4500, 3), (0.5, 15.24, 1500, 1)]


def test_what_found_no_room_in_the_queue_is_waited_for_too():
    """At 1 Mbit/s a packet takes 12 ms: the third and fourth would wait for 24 ms, and are sent again after 250 ms."""
    tries = [*((0.0, place) for place in range(4)), (0.25, 2), (0.25, 3)]
    assert told(over_a_link(tries, shape=LinkShape(mbit=1, queue_ms=20))) == [(0.0, 289.0, 6000, 4)]


def test_a_packet_that_is_lost_again_and_again_is_waited_for_from_the_last_time_on():
    assert told(over_a_link([(at, 0) for at in AGAIN], lost={0, 1, 2, 3})) == [(0.0, 3465.24, 1500, 1)]


def test_after_three_seconds_nothing_is_waited_for_any_longer():
    assert told(over_a_link([(0.0, 0), (0.0, 1), (3.1, 1)], lost={1})) == [(0.0, 15.24, 1500, 1), (3.1, 15.24, 1500, 1)]


def test_what_is_sent_again_though_it_had_arrived_is_no_hop_and_makes_none_longer():
    """As where its acknowledgement was lost."""
    assert told(over_a_link([(0.0, 0), (0.0, 1), (0.05, 1), (0.23, 1)])) == [(0.0, 15.48, 3000, 2)]


def test_a_lost_packet_may_come_again_in_pieces():
    pieces = [sent(0.0, size=1500, took=None), sent(0.23, size=1040, payload=1000)]
    rest = SentPacket(0.69, 0.71, "ward", "up", 4000, 1000, 500, 460)
    assert told(hops([*pieces, rest])) == [(0.0, 710.0, 1540, 2)]


def test_the_numbers_of_tcp_may_begin_again_within_a_hop():
    last = WHOLE // EACH
    tries = [(0.0, last), (1e-5, last + 1), (2e-5, last + 2), (0.23, last + 1)]
    assert told(over_a_link(tries, lost={1})) == [(0.0, 245.24, 4500, 3)]


@pytest.mark.parametrize("place", [700_000, 2_000_000])
def test_another_connection_of_the_same_port_begins_with_numbers_of_its_own(place):
    assert len(hops([sent(0.0, 1_400_000), sent(5.0, place), sent(6.0, place + 1)])) == 3


def test_a_burst_of_which_nothing_arrived_is_no_hop():
    assert over_a_link([(0.0, 0), (0.23, 0)], lost={0, 1}) == []


@given(st.lists(st.integers(0, 4), min_size=1, max_size=20))
def test_whatever_is_lost_of_a_message_it_is_one_hop_from_the_first_sending_to_the_last_arrival(losses):
    """``losses``: how often each packet is lost before it arrives."""
    tries = sorted((AGAIN[count], place, count) for place, lost in enumerate(losses) for count in range(lost + 1))
    lost = {number for number, (_, place, count) in enumerate(tries) if count < losses[place]}
    (hop,) = over_a_link([(at, place) for at, place, _ in tries], lost=lost)
    last = sum(count == max(losses) for count in losses)  # so many are sent together in the end
    assert (hop.began, hop.bytes, hop.packets) == (0.0, 1500 * len(losses), len(losses))
    assert hop.ms == pytest.approx(AGAIN[max(losses)] * 1000 + 15 + 0.24 * last)


def test_packets_with_short_pauses_are_one_hop_and_a_long_pause_ends_it():
    first, second = hops([sent(0.0), sent(0.05, 1), sent(1.0, 2)])
    assert (first.bytes, first.packets, round(first.ms)) == (3000, 2, 70)
    assert (second.began, second.packets) == (1.0, 1)


def test_acknowledgements_and_signs_of_life_are_no_hops():
    journal = [sent(0.0, size=52, payload=0) for _ in range(100)] + [sent(5.0, size=300, payload=248)]
    assert hops(journal) == []


def test_directions_edges_and_connections_are_told_apart():
    journal = [sent(0.0), sent(0.0, way="down"), sent(0.0, edge="plant"), sent(0.0, port=4001)]
    assert [hop.packets for hop in hops(journal)] == [1, 1, 1, 1]


@given(st.lists(st.tuples(st.floats(0, 10), st.sampled_from(["a", "b"]), st.sampled_from(["up", "down"]), st.integers(60, 1500))))
def test_each_packet_with_payload_is_in_one_hop(rows):
    numbers, journal = {}, []
    for at, edge, way, size in sorted(rows):
        seq = numbers.get((edge, way), 0)
        numbers[edge, way] = seq + size - 52
        journal.append(SentPacket(at, at + 0.02, edge, way, 4000, seq, size, size - 52))
    found = hops(reversed(journal), least=0)
    assert sum(hop.packets for hop in found) == len(journal)
    assert sum(hop.bytes for hop in found) == sum(packet.size for packet in journal)
    assert [hop.began for hop in found] == sorted(hop.began for hop in found)


def test_the_hops_of_a_question_have_the_names_of_the_paper():
    found = [
        Hop("a", "up", 1, 0.0, 20, 900, 1),
        Hop("b", "down", 2, 0.1, 20, 800, 1),
        Hop("a", "down", 3, 0.11, 20, 800, 1),
        Hop("b", "up", 2, 0.15, 20, 725, 1),  # asks for more work
        Hop("b", "up", 4, 0.2, 20, 5000, 4),
        Hop("a", "up", 5, 0.21, 20, 6000, 4),
        Hop("b", "down", 2, 0.5, 20, 800, 1),
        Hop("b", "up", 4, 0.6, 20, 7000, 4),
        Hop("a", "down", 1, 2.0, 20, 3000, 3),
    ]
    named = [(name, hop.edge, hop.bytes) for name, hop in transfers(found, "a", last="answer send")]
    assert named == [
        ("query send", "a", 900),
        ("request send", "b", 800),
        ("request send", "a", 800),
        ("knowledge send", "b", 5000),
        ("knowledge send", "a", 6000),
        ("request send", "b", 800),
        ("knowledge send", "b", 7000),
        ("answer send", "a", 3000),
    ]


def test_what_comes_back_for_a_question_that_no_model_answered_is_passages():
    found = [Hop("a", "up", 1, 0.0, 20, 900, 1), Hop("a", "down", 1, 2.0, 20, 3000, 3)]
    assert [name for name, _ in transfers(found, "a", last="passages back")] == ["query send", "passages back"]


def test_a_question_that_never_left_its_edge_has_no_transfers():
    assert transfers([], "a", last="answer send") == []
    assert transfers([Hop("b", "up", 2, 0.15, 20, 725, 1)], "a", last="answer send") == []
