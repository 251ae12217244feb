import pytest

from cloud_server.registry import ledger_heads as registry_heads
from cloud_server.registry.ledger_heads import HeadStore, LedgerFork
from shared.errors import Conflict, NotFound, Overloaded
from shared.identity import is_signed, make_identity
from shared.wire import Head, head_message

IDENTITY = make_identity()


def head(seq, digit="0", epoch="e1"):
    return Head(epoch=epoch, seq=seq, hash=digit * 64)


@pytest.fixture
def heads(database, clock):
    return HeadStore(database, IDENTITY, clock)


def test_a_head_is_signed_with_the_clouds_key_and_time(heads):
    seen = heads.countersign("ward", head(3))
    assert seen.at == 1000.0
    assert is_signed(head_message("ward", seen.head, seen.at), signature=seen.signature, public_key=IDENTITY.public_key)
    assert heads.newest("ward") == seen


def test_the_same_head_twice_has_one_signature(heads, clock):
    first = heads.countersign("ward", head(3))
    clock.seconds += 60
    assert heads.countersign("ward", head(3)) == first


def test_another_hash_at_a_known_number_is_a_fork(heads, caplog):
    heads.countersign("ward", head(3))
    with pytest.raises(LedgerFork):
        heads.countersign("ward", head(3, "1"))
    assert "record 3" in caplog.text


def test_a_head_that_goes_back_is_refused_also_where_that_number_was_never_shown(heads):
    heads.countersign("ward", head(5))
    for seq in (4, 1):
        with pytest.raises(Conflict, match="record 5"):
            heads.countersign("ward", head(seq))
    assert heads.newest("ward").head.seq == 5


def test_an_older_head_that_was_shown_is_still_confirmed(heads):
    first = heads.countersign("ward", head(3))
    heads.countersign("ward", head(5))
    assert heads.countersign("ward", head(3)) == first


def test_a_renewed_epoch_and_another_edge_begin_anew(heads, clock):
    heads.countersign("ward", head(5))
    clock.seconds += 1
    heads.countersign("ward", head(1, "2", epoch="e2"))
    heads.countersign("bank", head(2))
    assert heads.newest("ward").head == head(1, "2", epoch="e2")
    assert heads.sequence_numbers() == {"ward": 1, "bank": 2}


def test_all_heads_are_shown_page_by_page_and_no_other_edges(heads, clock, monkeypatch):
    monkeypatch.setattr(registry_heads, "PAGE", 2)
    shown = [head(5), head(7), head(1, epoch="e0"), head(9)]
    for one in shown:
        clock.seconds += 10
        heads.countersign("ward", one)
    heads.countersign("bank", head(6))
    found, last = [], None
    while page := heads.page("ward", **({"epoch": last.epoch, "after": last.seq} if last else {})):
        assert len(page) <= 2
        found += [seen.head for seen in page]
        last = found[-1]
    assert found == [shown[2], shown[0], shown[1], shown[3]]


def test_an_edge_that_shows_too_many_heads_is_told_to_wait_and_the_ones_before_are_still_confirmed(heads, clock):
    for seq in range(1, 7):
        heads.countersign("ward", head(seq))
    with pytest.raises(Overloaded):
        heads.countersign("ward", head(7))
    assert heads.countersign("ward", head(6)).head.seq == 6
    clock.seconds += 10
    assert heads.countersign("ward", head(8)).head.seq == 8


def test_an_edge_that_showed_no_head_has_none(heads):
    with pytest.raises(NotFound):
        heads.newest("ward")
