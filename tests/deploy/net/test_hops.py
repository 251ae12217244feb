from hypothesis import given
from hypothesis import strategies as st

from deploy.net.hops import Hop, hops, transfers
from deploy.net.star import Passed


def passed(sent, edge="ward", way="up", port=4000, size=1500, payload=1448, took=0.02):
    return Passed(sent, sent + took, edge, way, port, size, payload)


def test_packets_with_short_pauses_are_one_hop_and_a_long_pause_ends_it():
    first, second = hops([passed(0.0), passed(0.05), passed(1.0)])
    assert (first.bytes, first.packets, round(first.ms)) == (3000, 2, 70)
    assert (second.began, second.packets) == (1.0, 1)


def test_acknowledgements_and_signs_of_life_are_no_hops():
    journal = [passed(0.0, size=52, payload=0) for _ in range(100)] + [passed(5.0, size=300, payload=248)]
    assert hops(journal) == []


def test_directions_edges_and_connections_are_told_apart():
    journal = [passed(0.0), passed(0.0, way="down"), passed(0.0, edge="plant"), passed(0.0, port=4001)]
    assert [hop.packets for hop in hops(journal)] == [1, 1, 1, 1]


@given(st.lists(st.tuples(st.floats(0, 10), st.sampled_from(["a", "b"]), st.sampled_from(["up", "down"]), st.integers(60, 1500))))
def test_each_packet_with_payload_is_in_one_hop(rows):
    journal = [passed(sent, edge, way, 4000, size, size - 52) for sent, edge, way, size in rows]
    found = hops(journal, least=0)
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
    named = [(name, hop.edge, hop.bytes) for name, hop in transfers(found, "a")]
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


def test_a_question_that_never_left_its_edge_has_no_transfers():
    assert transfers([], "a") == []
    assert transfers([Hop("b", "up", 2, 0.15, 20, 725, 1)], "a") == []
