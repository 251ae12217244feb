"""Goal S7's deadlines must not be met by who is not slow: no client of a service with TLS is left without an answer.

The service runs in its own process, on each of its loops; ``tests.support.tls_stalls`` has the clients.
"""

import signal

import pytest

from tests.support.tls_stalls import MIX, ORDINARY, PATIENCE_S, hello, measure, service

pytestmark = pytest.mark.process
on_both_loops = pytest.mark.parametrize("loop", ["uvloop", "asyncio"])


@on_both_loops
def test_each_of_a_thousand_clients_has_its_answer_beside_slow_cut_and_plain_ones(loop):
    result = measure(loop, 1000)
    assert result.stalled == {}
    assert result.came.total() == 1000
    assert set(result.came) == {client.__name__ for client in MIX}


def test_null_control_where_tls_begins_in_a_task_clients_are_left_without_an_answer():
    assert measure("uvloop", 200, mix=ORDINARY, late=True).stalled.total() > 0


@on_both_loops
def test_a_service_that_stops_does_not_wait_for_an_unfinished_handshake(loop):
    with service(loop) as target, target.connected() as halting:
        halting.sendall(hello(target.trust)[:200])
        target.process.terminate()
        assert target.process.wait(PATIENCE_S) == -signal.SIGTERM  # uvicorn stops, and passes the signal on
