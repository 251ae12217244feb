"""The chain of the egress ledger, as values (goal P1): whatever is done to it afterwards is seen."""

import hashlib
import json
from dataclasses import astuple, fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge_node.egress.ledger import START, EgressRecord, Entry, faults, follow, hash_of

FIELDS = [field.name for field in fields(Entry)]


def chain_of(n):
    entries = []
    for i in range(n):
        departure = EgressRecord("evidence", "http://cloud", f"body {i}".encode(), requester="bank", items=(f"d:{i}",))
        entries.append(follow(entries[-1] if entries else None, departure, at=100.5 + i))
    return entries


def found(entries, heads=None):
    return list(faults(entries, heads or {}))


def test_a_record_has_the_size_and_the_hash_of_its_body_and_follows_the_one_before():
    first, second = chain_of(2)
    assert (first.seq, first.bytes, first.sha256) == (1, 6, hashlib.sha256(b"body 0").hexdigest())
    assert (first.previous, second.previous) == (START, first.hash)


def test_a_hash_can_be_computed_with_two_functions_of_any_language():
    [entry] = chain_of(1)
    columns = list(astuple(entry))[:-1]
    assert entry.hash == hashlib.sha256(json.dumps(columns, separators=(",", ":")).encode()).hexdigest()


def test_an_untouched_chain_has_no_fault():
    entries = chain_of(5)
    assert found(entries, {3: entries[2].hash, 5: entries[4].hash}) == []


def test_an_empty_ledger_has_no_fault_and_one_that_was_emptied_has():
    assert found([]) == []
    assert [fault.what for fault in found([], {4: "x"})] == ["the cloud has countersigned record 4, and the ledger ends at 0"]


@pytest.mark.parametrize("name", FIELDS)
def test_an_edit_of_any_column_of_any_record_is_found(name):
    for row in range(3):
        entries = chain_of(3)
        value = getattr(entries[row], name)
        entries[row] = replace(entries[row], **{name: value + 1 if isinstance(value, int | float) else value + "x"})
        assert found(entries)


def test_a_record_that_was_edited_and_hashed_anew_does_not_fit_the_next_one():
    entries = chain_of(3)
    edited = replace(entries[1], requester="ward")
    entries[1] = replace(edited, hash=hash_of(edited))
    assert [fault.seq for fault in found(entries)] == [3]


def test_a_chain_that_was_written_anew_from_a_record_on_is_not_the_one_that_was_countersigned():
    entries = chain_of(4)
    forged = entries[:2]
    for departure in (EgressRecord("evidence", "http://cloud", b"other"), EgressRecord("evidence", "http://cloud", b"another")):
        forged.append(follow(forged[-1], departure, at=200.0))
    assert found(forged) == []
    assert [fault.seq for fault in found(forged, {4: entries[3].hash})] == [4]


@pytest.mark.parametrize("gone", [0, 1, 2, 3])
def test_a_deleted_record_is_missing(gone):
    entries = chain_of(5)
    del entries[gone]
    assert [fault.what for fault in found(entries)] == [f"records {gone + 1} to {gone + 1} are missing"]


def test_a_tail_that_was_cut_off_is_seen_by_what_the_cloud_has_countersigned():
    entries = chain_of(5)
    assert found(entries[:3]) == []
    assert found(entries[:3], {5: entries[4].hash})


def test_records_that_changed_places_are_found():
    entries = chain_of(4)
    entries[1], entries[2] = replace(entries[2], seq=2), replace(entries[1], seq=3)
    assert {fault.seq for fault in found(entries)} == {2, 3, 4}


@given(st.data())
def test_no_tampering_by_chance_goes_unseen(data):
    entries = chain_of(6)
    heads = {6: entries[-1].hash}
    row = data.draw(st.integers(0, 5))
    match data.draw(st.sampled_from(["edit", "delete", "swap", "repeat", "cut"])):
        case "edit":
            name = data.draw(st.sampled_from([name for name in FIELDS if isinstance(getattr(entries[row], name), str)]))
            value = data.draw(st.text().filter(lambda text: text != getattr(entries[row], name)))
            entries[row] = replace(entries[row], **{name: value})
        case "delete":
            del entries[row]
        case "swap":
            other = data.draw(st.integers(0, 5).filter(lambda other: other != row))
            entries[row], entries[other] = replace(entries[other], seq=row + 1), replace(entries[row], seq=other + 1)
        case "repeat":
            entries.insert(row, entries[row])
        case "cut":
            del entries[row:]
    assert found(entries, heads)


@given(st.text(), st.text(), st.binary(), st.floats(0, 2e9))
def test_any_text_in_a_record_can_be_hashed_and_checked(purpose, subject, body, at):
    entry = follow(None, EgressRecord("question", "http://cloud", body, purpose=purpose, subject=subject), at=at)
    assert found([entry]) == []
