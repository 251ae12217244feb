"""Commits that are lost with a file are missed at the next start."""

import shutil

import pytest

from edge_node.database.commits import read_count
from edge_node.database.schema import Database
from edge_node.maintenance import accept_loss
from shared.errors import StoreDamaged


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "ward").mkdir()
    return tmp_path / "ward"


def commit(database, times=1):
    for number in range(times):
        database.set_meta("note", str(number))


def opened(folder):
    return Database(folder / "edge.db")


def killed(database, folder, copy):
    """What a kill leaves: the files as they are while the store is open."""
    shutil.copytree(folder, copy)
    database.close()
    return copy


def test_the_number_beside_the_store_is_the_number_in_it(folder):
    database = opened(folder)
    commit(database, 3)
    assert read_count(folder / "edge.seq").commits == int(database.meta("commits")) == 3
    database.close()
    again = opened(folder)
    commit(again)
    assert read_count(folder / "edge.seq").commits == 4
    again.close()


def test_a_transaction_that_changes_nothing_is_not_counted(folder):
    database = opened(folder)
    with database.write() as tx:
        tx.execute("SELECT * FROM documents").fetchall()
    assert database.meta("commits") == "0"
    database.close()


def test_a_killed_store_opens(folder, tmp_path):
    database = opened(folder)
    commit(database, 3)
    again = opened(killed(database, folder, tmp_path / "killed"))
    assert again.meta("note") == "2"
    again.close()


def test_a_lost_wal_is_noticed_with_the_number_of_commits(folder, tmp_path):
    database = opened(folder)
    database.erase()
    commit(database, 3)
    copy = killed(database, folder, tmp_path / "killed")
    (copy / "edge.db-wal").unlink()
    with pytest.raises(StoreDamaged, match="the last 3 commits") as told:
        opened(copy)
    assert "--accept-loss" in told.value.next_step


def test_null_control_without_the_count_a_lost_wal_is_silent(folder, tmp_path):
    database = opened(folder)
    database.erase()
    commit(database, 3)
    copy = killed(database, folder, tmp_path / "killed")
    (copy / "edge.db-wal").unlink()
    (copy / "edge.seq").unlink()
    silent = opened(copy)
    assert silent.meta("note") == ""
    silent.close()


def test_the_file_of_another_store_is_noticed(folder, tmp_path):
    for place in (folder, tmp_path / "bank"):
        database = opened(place)
        commit(database, 3)
        database.close()
    shutil.copy(tmp_path / "bank" / "edge.db", folder / "edge.db")
    with pytest.raises(StoreDamaged, match="another store"):
        opened(folder)


def test_an_operator_can_go_on_without_what_is_lost_under_a_new_epoch(folder, tmp_path):
    database = opened(folder)
    commit(database)
    database.close()
    shutil.copy(folder / "edge.db", tmp_path / "older.db")
    database = opened(folder)
    commit(database, 2)
    epoch = database.meta("epoch")
    database.close()
    shutil.copy(tmp_path / "older.db", folder / "edge.db")
    with pytest.raises(StoreDamaged, match="the last 2 commits"):
        opened(folder)
    accept_loss(folder)
    again = opened(folder)
    assert again.meta("epoch") != epoch
    again.close()


@pytest.mark.parametrize("torn", [b"", b"83fbb4acce5b6890 0000000", bytes(99), b"83fbb4acce5b6890 9 9\n"])
def test_a_torn_number_beside_the_store_is_ignored(folder, torn):
    database = opened(folder)
    commit(database)
    database.close()
    (folder / "edge.seq").write_bytes(torn)
    again = opened(folder)
    commit(again)
    assert read_count(folder / "edge.seq").commits == 2
    again.close()
