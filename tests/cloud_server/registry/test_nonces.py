from contextlib import ExitStack, closing

import pytest

from cloud_server.database.opening import open_shared
from cloud_server.registry.nonces import NonceStore, SharedNonces
from shared.errors import Unauthenticated


@pytest.fixture
def opened(tmp_path, database_url):
    """Opens the store, also after a restart."""
    with ExitStack() as after:

        def open_store():
            if not database_url:
                return NonceStore(tmp_path / "nonces.db")
            return SharedNonces(after.enter_context(closing(open_shared(database_url))))

        yield open_store


def refused(store, nonce, *, expires, now):
    with pytest.raises(Unauthenticated) as told:
        store.remember("key", nonce, expires=expires, now=now)
    return told.value.code


def test_a_request_is_taken_once_over_a_restart_too(opened):
    for at in (1000.0, 1010.0):
        store = opened()
        if at == 1000.0:
            store.remember("key", "a", expires=1060.0, now=at)
        assert refused(store, "a", expires=1060.0, now=at) == "replayed"
        store.close()


def test_a_clock_that_jumps_ahead_and_back_brings_no_request_back(opened):
    store = opened()
    store.remember("key", "a", expires=1060.0, now=1000.0)
    store.remember("key", "of the time ahead", expires=1660.0, now=1600.0)
    store.close()
    store = opened()
    assert refused(store, "a", expires=1060.0, now=1005.0) == "clock"
    store.remember("key", "made since", expires=1066.0, now=1006.0)
    store.close()


def test_what_is_too_old_anyway_is_deleted(opened):
    store = opened()
    for at in range(1000, 2000, 100):
        store.remember("key", f"of {at}", expires=at + 60.0, now=float(at))
    assert store._database.row("SELECT count(*) FROM nonces")[0] == 1
    store.close()
