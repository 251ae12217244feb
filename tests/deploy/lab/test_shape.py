import pytest
from hypothesis import given
from hypothesis import strategies as st

from deploy.cluster.errors import ClusterError
from deploy.lab.topology import LinkShape, parsed, words_of


def test_units_are_understood_and_what_is_not_said_stays():
    base = LinkShape(loss=0.02)
    assert parsed(["rate=0.5gbit", "delay=1s", "queue=500us"], base) == LinkShape(500.0, 1000.0, 0.02, 0.5)
    assert parsed([], base) == base


@given(st.integers(1, 10_000), st.integers(0, 5000), st.integers(0, 100), st.integers(0, 1000))
def test_a_shape_that_is_written_down_is_read_as_the_same(mbit, delay, percent, queue):
    shape = LinkShape(mbit, delay, percent / 100, queue)
    read = parsed(words_of(shape).split(), LinkShape())
    assert (read.mbit, read.delay_ms, read.queue_ms) == (mbit, delay, queue)
    assert read.loss == pytest.approx(shape.loss)


@pytest.mark.parametrize(
    "word",
    ["rate", "rate=fast", "rate=5", "rate=0mbit", "delay=5mbit", "loss=0.1", "loss=101%", "jitter=1ms", "rate=9e999mbit", "rate=-1mbit"],
)
def test_a_word_that_says_nothing_is_refused_with_the_way_to_write_it(word):
    with pytest.raises(ClusterError, match="a link cannot be") as refused:
        parsed(["delay=1ms", word], LinkShape())
    assert "rate=50mbit" in refused.value.next_step
