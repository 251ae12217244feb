import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager

import pytest

from cloud_server.database.opening import open_shared
from cloud_server.registry import nonces
from cloud_server.registry.nonces import NonceStore, SharedNonces
from shared.errors import DiskFull, StoreAway, StoreError, Unauthenticated


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
    start = time.time()
    for at in (start, start + 10):
        store = opened()
        if at == start:
            store.remember("key", "a", expires=start + 60, now=at)
        assert refused(store, "a", expires=start + 60, now=at) == "replayed"
        store.close()


def test_a_clock_that_jumps_ahead_and_back_brings_no_request_back(opened, database_url):
    store, start = opened(), time.time()
    store.remember("key", "a", expires=start + 60, now=start)
    store.remember("key", "of the time ahead", expires=start + 660, now=start + 600)
    store.close()
    store = opened()
    assert refused(store, "a", expires=start + 60, now=start + 5) == ("replayed" if database_url else "clock")
    store.remember("key", "made since", expires=start + 66, now=start + 6)
    store.close()


def of_many(store, nonces):
    """What came of them, all in threads of their own at the same time."""

    def outcome(nonce):
        try:
            store.remember("key", nonce, expires=time.time() + 60, now=time.time())
        except (Unauthenticated, StoreError) as error:
            return error.code
        return "taken"

    with ThreadPoolExecutor(len(nonces)) as threads:
        return sorted(threads.map(outcome, nonces))


def test_of_many_at_once_each_is_taken_once(opened):
    store = opened()
    assert of_many(store, [f"n{number // 2}" for number in range(40)]) == ["replayed"] * 20 + ["taken"] * 20
    store.close()


def test_all_that_wait_for_a_disk_that_is_full_hear_of_it_and_may_come_again(tmp_path, monkeypatch):
    store, writes = NonceStore(tmp_path / "nonces.db"), []

    def full():
        writes.append("a transaction")
        raise DiskFull(tmp_path)

    with monkeypatch.context() as broken:
        broken.setattr(store._database, "write", full)
        assert of_many(store, [f"n{number}" for number in range(20)]) == [DiskFull(tmp_path).code] * 20
    assert len(writes) == 20
    assert of_many(store, [f"n{number}" for number in range(20)]) == ["taken"] * 20
    store.close()


@pytest.mark.process
def test_all_that_wait_for_a_store_that_is_away_hear_of_it_and_none_is_taken_for_a_replay(postgres, monkeypatch):
    with closing(open_shared(postgres.fresh())) as database:
        store, join, lost = SharedNonces(database), database.join, []

        @contextmanager
        def lost_at_its_end():
            with join() as tx:
                yield tx
            if not lost:
                lost.append("what was stored is not heard of")
                raise StoreAway("the line broke")

        monkeypatch.setattr(database, "join", lost_at_its_end)
        ended = of_many(store, [f"n{number}" for number in range(20)])
        assert StoreAway.code in ended
        assert set(ended) <= {StoreAway.code, "taken"}


def test_what_is_too_old_anyway_is_deleted_and_refused_for_ever(opened):
    store, start = opened(), time.time()
    for before in range(1000, -1, -100):
        store.remember("key", f"of {before} s ago", expires=start - before + 60, now=start - before)
    assert store._database.row("SELECT count(*) FROM nonces")[0] == 1
    assert refused(store, "of 100 s ago", expires=start - 40, now=start) == "clock"
    store.close()


def shared_with_one_ahead(url, start, ahead_s):
    """What two clouds say to a request that was taken, to a new one, and to that again; one clock of them is ahead."""
    with closing(open_shared(url)) as database:
        right, ahead = SharedNonces(database), SharedNonces(database)
        right.remember("key", "a", expires=start + 60, now=start)
        ahead.remember("key", "b", expires=start + ahead_s + 60, now=start + ahead_s)
        assert refused(right, "a", expires=start + 60, now=start) == "replayed"
        right.remember("key", "c", expires=start + 59, now=start)
        assert refused(ahead, "c", expires=start + 59, now=start + ahead_s) == "replayed"


@pytest.mark.process
@pytest.mark.parametrize("ahead_s", [-3600, 70, 3600])
def test_a_cloud_whose_clock_is_off_makes_no_other_forget_or_refuse(postgres, ahead_s):
    shared_with_one_ahead(postgres.fresh(), time.time(), ahead_s)


@pytest.mark.process
def test_where_a_cloud_forgets_by_its_own_clock_the_others_refuse_what_is_new(postgres, monkeypatch):
    start = time.time()
    monkeypatch.setattr(nonces, "PASSED", f"SELECT max(expires) FROM nonces WHERE expires < {start + 3600}")
    with pytest.raises(AssertionError, match="clock"):
        shared_with_one_ahead(postgres.fresh(), start, 3600)
