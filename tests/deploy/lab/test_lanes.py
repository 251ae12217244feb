from hypothesis import given
from hypothesis import strategies as st

from deploy.lab.links import Lane
from deploy.lab.topology import LinkShape

SIZES = st.integers(20, 1500)
PACKETS = st.lists(st.tuples(st.floats(0, 0.05), SIZES, st.floats(0, 1, exclude_max=True)), min_size=1, max_size=60)
SHAPES = st.builds(LinkShape, st.floats(0.1, 100), st.floats(0, 50), st.floats(0, 1), st.floats(0, 200))
SLACK = 1e-9


def arrivals(lane, packets):
    """Of each packet that arrives: when it was sent, when it is there, its size."""
    now, found = 0.0, []
    for wait, size, chance in packets:
        now += wait
        due = lane.admit(now, size, chance)
        found += [(now, due, size)] if due is not None else []
    return found


@given(SHAPES, PACKETS)
def test_a_lane_is_never_faster_than_its_rate_and_its_delay(shape, packets):
    found = arrivals(Lane(shape), packets)
    for place, (sent, due, _) in enumerate(found):
        for first in range(place + 1):  # whatever stretch one looks at
            bits = sum(size for _, _, size in found[first : place + 1]) * 8
            assert due + SLACK >= found[first][0] + bits / (shape.mbit * 1e6) + shape.delay_ms / 1000
        assert due + SLACK >= sent + shape.delay_ms / 1000


@given(SHAPES, PACKETS, SHAPES)
def test_the_order_is_kept_also_when_the_link_becomes_another_one(shape, packets, later):
    lane = Lane(shape)
    dues = [due for _, due, _ in arrivals(lane, packets)]
    lane.shape = later
    dues += [due for _, due, _ in arrivals(lane, [(10.0, 100, 0.999)])]
    assert dues == sorted(dues)


@given(SHAPES, PACKETS, st.integers(0, 60), st.integers(0, 60))
def test_every_packet_and_byte_is_counted_once(shape, packets, cut_at, heal_at):
    lane, now, arrived = Lane(shape), 0.0, 0
    for place, (wait, size, chance) in enumerate(packets):
        now += wait
        lane.is_cut = place >= cut_at if place < heal_at else False
        arrived += lane.admit(now, size, chance) is not None
    tallies = (lane.carried, lane.lost, lane.full, lane.cut)
    assert sum(tally.packets for tally in tallies) == len(packets)
    assert sum(tally.bytes for tally in tallies) == sum(size for _, size, _ in packets)
    assert lane.carried.packets == arrived


@given(SHAPES, PACKETS)
def test_no_packet_waits_longer_than_the_queue_allows(shape, packets):
    for sent, due, size in arrivals(Lane(shape), packets):
        assert due - sent <= (shape.queue_ms + shape.delay_ms) / 1000 + size * 8 / (shape.mbit * 1e6) + SLACK


def test_a_chance_below_the_loss_loses_the_packet_and_uses_no_time_of_the_wire():
    lane = Lane(LinkShape(mbit=1, delay_ms=0, loss=0.25))
    assert lane.admit(0.0, 1250, 0.2499) is None
    assert lane.admit(0.0, 1250, 0.25) == 0.01
    assert lane.lost.packets == 1


def test_without_loss_no_chance_loses_anything():
    assert Lane(LinkShape()).admit(0.0, 100, 0.0) is not None


def test_an_idle_lane_is_free_at_once():
    lane = Lane(LinkShape(mbit=8, delay_ms=500))
    assert [lane.admit(now, 1_000_000 // 100, 0.5) for now in (0.0, 9.0)] == [0.51, 9.51]


def test_a_cut_lane_swallows_everything_until_it_is_healed():
    lane = Lane(LinkShape(), is_cut=True)
    assert lane.admit(0.0, 100, 0.9) is None
    lane.is_cut = False
    assert lane.admit(1.0, 100, 0.9) is not None
    assert (lane.cut.packets, lane.carried.packets) == (1, 1)
