from itertools import pairwise

import pytest

from cloud_server.registry.edges import EdgeRegistry
from cloud_server.registry.keys import KeyStore
from cloud_server.registry.nonces import NonceStore
from shared.errors import Conflict, Expelled, Unauthenticated
from shared.identity import make_identity


@pytest.fixture
def keys(database, clock):
    return KeyStore(database, clock)


def add(database, keys, edge, identity):
    with database.write() as tx:
        keys.replace_in(tx, edge, identity.public_key)
    return identity.key_id


def test_a_known_key_names_its_edge_and_an_unknown_one_nobody(database, keys):
    key_id = add(database, keys, "ward", make_identity())
    assert keys.find(key_id).edge == "ward"
    with pytest.raises(Unauthenticated):
        keys.find("0" * 32)


def test_a_replaced_key_ends_at_once(database, keys):
    old, new = add(database, keys, "ward", make_identity()), add(database, keys, "ward", make_identity())
    with pytest.raises(Unauthenticated):
        keys.find(old)
    assert [key.key_id for key in keys.live("ward")] == [new]


def test_at_most_two_keys_live(database, keys, clock):
    identities = [make_identity() for _ in range(3)]
    add(database, keys, "ward", identities[0])
    for before, after in pairwise(identities):
        keys.rotate("ward", present=before.key_id, public_key=after.public_key, grace_s=60.0)
    assert [key.key_id for key in keys.live("ward")] == [identities[2].key_id, identities[1].key_id]
    clock.seconds += 60
    assert [key.key_id for key in keys.live("ward")] == [identities[2].key_id]


def test_rotating_twice_is_rotating_once(database, keys):
    old, new = make_identity(), make_identity()
    add(database, keys, "ward", old)
    for _ in range(2):
        keys.rotate("ward", present=old.key_id, public_key=new.public_key, grace_s=60.0)
    assert len(keys.live("ward")) == 2


def test_a_key_that_was_rotated_away_brings_no_other(database, keys):
    old = make_identity()
    add(database, keys, "ward", old)
    keys.rotate("ward", present=old.key_id, public_key=make_identity().public_key, grace_s=60.0)
    with pytest.raises(Conflict):
        keys.rotate("ward", present=old.key_id, public_key=make_identity().public_key, grace_s=60.0)


def test_a_key_belongs_to_one_edge(database, keys):
    identity = make_identity()
    add(database, keys, "ward", identity)
    with pytest.raises(Conflict):
        add(database, keys, "bank", identity)
    assert keys.find(identity.key_id).edge == "ward"


def test_an_expulsion_ends_all_keys_and_a_readmission_revives_none(database, keys, clock):
    registry = EdgeRegistry(database, clock)
    registry.enrol("ward")
    key_id = add(database, keys, "ward", make_identity())
    registry.expel("ward")
    with pytest.raises(Expelled):
        keys.find(key_id)
    registry.readmit("ward")
    with pytest.raises(Unauthenticated):
        keys.find(key_id)


def test_a_nonce_is_taken_once_for_each_key_and_forgotten_when_its_time_is_over(tmp_path):
    nonces = NonceStore(tmp_path / "nonces.db")
    nonces.remember("k1", "n", expires=60.0, now=0.0)
    nonces.remember("k2", "n", expires=60.0, now=0.0)
    with pytest.raises(Unauthenticated):
        nonces.remember("k1", "n", expires=120.0, now=60.0)
    nonces.remember("k1", "m", expires=121.0, now=61.0)
    assert [row["nonce"] for row in nonces._database.rows("SELECT nonce FROM nonces")] == ["m"]
    nonces.close()
