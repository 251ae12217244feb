"""A backup during writes holds every commit before its start; a restored store starts a new history (R15)."""

import threading

import pytest

from edge_node.database.backup import FILE, back_up
from edge_node.database.commits import read_count
from edge_node.documents.store import DocumentStore
from edge_node.maintenance import open_store, require_empty, restore
from shared.errors import Conflict, NotFound, StoreDamaged
from shared.ports import SystemClock
from tests.support.releases import store_of_release


@pytest.fixture
def folder(tmp_path):
    store_of_release("v1", tmp_path / "ward")
    return tmp_path / "ward"


def opened(folder):
    return open_store(folder / FILE, SystemClock())


def names(folder):
    database = opened(folder)
    try:
        return {row["name"] for row in database.rows("SELECT name FROM documents")}
    finally:
        database.close()


def accept(database, name):
    DocumentStore(database, SystemClock()).accept(name, name.encode(), reader="text")


def test_a_backup_during_writes_holds_all_that_was_accepted_before_it(folder, tmp_path):
    database, stop, accepted = opened(folder), threading.Event(), []
    some = threading.Event()

    def write():
        while not stop.is_set():
            accept(database, f"note-{len(accepted)}")
            accepted.append(f"note-{len(accepted)}")
            if len(accepted) > 20:
                some.set()

    writer = threading.Thread(target=write)
    writer.start()
    some.wait()
    before = list(accepted)
    made = back_up(folder, tmp_path / "ward.bak")
    stop.set()
    writer.join()
    database.close()
    assert made.damages == ()
    restore(tmp_path / "ward.bak", tmp_path / "elsewhere")
    assert set(before) <= names(tmp_path / "elsewhere")
    assert not (tmp_path / "ward.bak.part").exists()


def test_a_restored_store_has_a_new_epoch_and_counts_its_commits_anew(folder, tmp_path):
    database = opened(folder)
    accept(database, "kept.md")
    back_up(folder, tmp_path / "ward.bak")
    accept(database, "later.md")
    accept(database, "last.md")
    epoch = database.meta("epoch")
    database.close()
    aside = restore(tmp_path / "ward.bak", folder)
    assert names(folder) == {"pumps.md", "plant.md", "recall.md", "kept.md"}
    assert "last.md" in names(aside)
    database = opened(folder)
    assert database.meta("epoch") != epoch
    accept(database, "after.md")
    database.close()
    assert read_count(folder / "edge.seq") is not None
    assert not (folder / "restore.part").exists()


def test_a_killed_store_with_a_wal_is_moved_aside_whole(folder, tmp_path):
    database = opened(folder)
    back_up(folder, tmp_path / "ward.bak")
    accept(database, "in-the-wal.md")
    aside = restore(tmp_path / "ward.bak", folder)  # as if its process had been killed: the WAL is still there
    database.close()
    assert "in-the-wal.md" not in names(folder)
    assert "in-the-wal.md" in names(aside)


def test_a_backup_of_an_earlier_release_is_brought_up_to_date(folder, tmp_path):
    restore(folder / FILE, tmp_path / "new")
    assert names(tmp_path / "new") == {"pumps.md", "plant.md", "recall.md"}


def test_a_store_of_an_earlier_release_is_backed_up_before_it_is_brought_up_to_date(folder, tmp_path):
    before = (folder / FILE).read_bytes()
    assert back_up(folder, tmp_path / "ward.bak").damages == ()
    assert (folder / FILE).read_bytes() == before
    restore(tmp_path / "ward.bak", tmp_path / "new")
    assert names(tmp_path / "new") == {"pumps.md", "plant.md", "recall.md"}


def test_damaged_rows_are_told_with_the_backup(folder, tmp_path):
    database = opened(folder)
    with database.write() as tx:
        tx.execute("UPDATE chunks SET text = 'x' WHERE ordinal = 0")
    assert {damage.table for damage in back_up(folder, tmp_path / "ward.bak").damages} == {"chunks"}
    database.close()


def test_a_store_that_is_beyond_mending_is_not_backed_up_and_the_former_backup_stays(folder, tmp_path):
    opened(folder).close()
    back_up(folder, tmp_path / "ward.bak")
    former = (tmp_path / "ward.bak").read_bytes()
    content = bytearray((folder / FILE).read_bytes())
    content[5 * 16384 : 6 * 16384] = bytes(16384)
    (folder / FILE).write_bytes(content)
    with pytest.raises(StoreDamaged):
        back_up(folder, tmp_path / "ward.bak")
    assert (tmp_path / "ward.bak").read_bytes() == former
    assert sorted(file.name for file in tmp_path.iterdir()) == ["ward", "ward.bak"]


def test_a_file_that_is_no_backup_is_refused_and_the_store_stays(folder, tmp_path):
    (tmp_path / "letter.txt").write_text("Dear all, this is no database. " * 40)
    with pytest.raises(StoreDamaged, match="not a database"):
        restore(tmp_path / "letter.txt", folder)
    assert "pumps.md" in names(folder)
    assert not list(folder.glob("re*"))


def test_what_is_not_there_is_said(tmp_path):
    with pytest.raises(NotFound, match="store"):
        back_up(tmp_path, tmp_path / "ward.bak")
    with pytest.raises(NotFound, match="backup"):
        restore(tmp_path / "ward.bak", tmp_path / "ward")


def test_a_store_that_is_there_is_not_replaced_by_chance(folder):
    with pytest.raises(Conflict, match="there is a store"):
        require_empty(folder)
