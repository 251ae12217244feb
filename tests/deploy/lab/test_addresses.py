import pytest
from hypothesis import given
from hypothesis import strategies as st

from deploy.cluster.errors import ClusterError
from deploy.lab.topology import contents, ends, numbered, prefix_of
from tests.deploy.lab.packets import tcp


def test_no_two_nodes_have_one_address_and_the_cloud_is_the_first():
    nodes = numbered(f"edge-{place}" for place in range(250))
    assert len({node.address for node in nodes}) == 251
    assert (nodes[0].name, nodes[0].address) == ("cloud", "10.88.0.2")


def test_more_edges_than_addresses_are_refused():
    with pytest.raises(ClusterError, match="no place on the links for 251 edges"):
        numbered(f"edge-{place}" for place in range(251))


def test_two_state_folders_have_two_prefixes():
    assert prefix_of("/srv/a") != prefix_of("/srv/b")


@given(st.integers(0, 250), st.integers(0, 250), st.integers(40, 1500), st.integers(0, 2**32 - 1))
def test_a_packet_tells_its_ends_and_what_it_carries(sender, receiver, size, seq):
    packet = tcp(sender, receiver, size, seq)
    assert ends(packet) == (sender, receiver)
    assert contents(packet, up=True) == (4000 + sender, seq, size - 40)
    assert contents(packet, up=False) == (4000 + receiver, seq, size - 40)


@given(st.binary(max_size=80))
def test_what_is_no_packet_of_ours_has_no_ends(data):
    found = ends(data)
    assert found is None or data[12:14] == data[16:18] == b"\x0a\x58"


def test_a_ping_and_a_packet_that_is_cut_short_carry_nothing_of_tcp():
    ping = bytearray(tcp(1, 0, 84))
    ping[9] = 1
    assert contents(bytes(ping), up=True) == contents(tcp(1, 0)[:30], up=True) == (0, 0, 0)
