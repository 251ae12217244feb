import pytest

from deploy.cluster.control import Command
from deploy.cluster.errors import ClusterError
from deploy.lab.links import Star, obeyed
from deploy.lab.topology import LinkShape, numbered
from tests.deploy.lab.packets import tcp


@pytest.fixture
def star():
    return Star(numbered(["plant", "ward"]), LinkShape(queue_ms=1000), lambda _: lambda: 0.5)


def test_one_link_is_shaped_and_the_others_stay(star):
    (row,) = obeyed(star, Command("set", "ward", ("rate=5mbit", "loss=1%")))
    assert row["shape"] == "rate=5mbit delay=15ms loss=1% queue=1000ms"
    assert [row["shape"].split()[0] for row in obeyed(star, Command("stats"))] == ["rate=50mbit", "rate=5mbit"]


def test_words_that_say_nothing_change_nothing(star):
    with pytest.raises(ClusterError):
        obeyed(star, Command("set", "all", ("rate=5mbit", "rate=fast")))
    assert {row["shape"].split()[0] for row in obeyed(star, Command("stats"))} == {"rate=50mbit"}


def test_a_cut_holds_both_directions_until_it_is_healed(star):
    assert [row["cut"] for row in obeyed(star, Command("cut", "plant"))] == [True]
    star.send(0.0, tcp(1, 0))
    star.send(0.0, tcp(0, 1))
    star.send(0.0, tcp(2, 0))
    plant, ward = obeyed(star, Command("stats"))
    assert (plant["up"]["cut"], plant["down"]["cut"], ward["cut"], ward["up"]["packets"]) == (1, 1, False, 1)
    obeyed(star, Command("heal", "all"))
    star.send(0.0, tcp(1, 0))
    assert obeyed(star, Command("stats"))[0]["up"]["packets"] == 1


def test_hops_are_those_since_a_moment_of_the_links_that_are_asked_for(star):
    for at, edge, seq in ((1.0, 1, 0), (5.0, 1, 960), (5.0, 2, 0)):
        star.send(at, tcp(edge, 0, 1000, seq))
        list(star.due(at + 1))
    assert [(row["edge"], row["began"]) for row in obeyed(star, Command("hops", "plant", since=2.0))] == [("plant", 5.0)]
    assert len(obeyed(star, Command("hops"))) == 3


def test_an_edge_without_a_link_is_refused(star):
    with pytest.raises(ClusterError, match="no link leads to 'moon'"):
        obeyed(star, Command("cut", "moon"))
