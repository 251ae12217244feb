"""The store's file: what SQLite's errors become, that a writer goes on after them, and that erasing leaves nothing."""

import contextlib
import random
import sqlite3
import threading

import pytest

from shared.errors import DiskFailed, DiskFull, StoreDamaged, StoreError
from shared.sqlite import Database, store_error

NOTES = "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT); CREATE TABLE notes (text TEXT);"


@pytest.fixture
def database(tmp_path):
    opened = Database(tmp_path / "notes.db", migrations=[NOTES])
    yield opened
    opened.close()


def note(database, text):
    with database.write() as tx:
        tx.execute("INSERT INTO notes VALUES (?)", (text,))


def notes(database):
    return [row["text"] for row in database.rows("SELECT text FROM notes")]


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (sqlite3.SQLITE_FULL, DiskFull),
        (sqlite3.SQLITE_IOERR_SHMSIZE, DiskFull),
        (sqlite3.SQLITE_IOERR_WRITE, DiskFailed),
        (sqlite3.SQLITE_IOERR_FSYNC, DiskFailed),
        (sqlite3.SQLITE_READONLY_DBMOVED, DiskFailed),
        (sqlite3.SQLITE_CANTOPEN, DiskFailed),
        (sqlite3.SQLITE_CORRUPT_VTAB, StoreDamaged),
        (sqlite3.SQLITE_NOTADB, StoreDamaged),
        (sqlite3.SQLITE_BUSY, StoreError),
    ],
)
def test_what_the_disk_or_the_file_caused_has_a_name_and_a_next_step(tmp_path, code, kind):
    error = sqlite3.OperationalError("words of SQLite")
    error.sqlite_errorcode = code
    told = store_error(tmp_path / "edge.db", error)
    assert type(told) is kind
    assert told.next_step


def test_a_mistake_of_ours_keeps_its_own_error(database):
    with pytest.raises(sqlite3.OperationalError, match="no such table"):
        database.rows("SELECT * FROM nowhere")
    with pytest.raises(sqlite3.IntegrityError), database.write() as tx:
        tx.execute("INSERT INTO meta VALUES ('a', '1'), ('a', '2')")


def test_a_full_disk_is_told_and_the_writer_goes_on_when_there_is_room_again(database):
    note(database, "before")
    pages = database.row("PRAGMA page_count")[0]
    with database.write() as tx:
        tx.execute(f"PRAGMA max_page_count={pages}")
    with pytest.raises(DiskFull):
        note(database, "x" * 100_000)
    assert notes(database) == ["before"]
    with database.write() as tx:
        tx.execute("PRAGMA max_page_count=1000000")
    note(database, "after")
    assert notes(database) == ["before", "after"]


class FailingWriter:
    """A connection whose COMMIT and ROLLBACK fail, as on a disk that has gone away."""

    def __init__(self, connection):
        self._connection = connection

    def execute(self, sql, *arguments):
        if sql in {"COMMIT", "ROLLBACK"}:
            error = sqlite3.OperationalError("disk I/O error")
            error.sqlite_errorcode = sqlite3.SQLITE_IOERR_FSYNC
            raise error
        return self._connection.execute(sql, *arguments)

    def __getattr__(self, name):
        return getattr(self._connection, name)


class FullWriter(FailingWriter):
    """The disk has no room for a second copy of the file."""

    def execute(self, sql, *arguments):
        if sql == "VACUUM":
            error = sqlite3.OperationalError("database or disk is full")
            error.sqlite_errorcode = sqlite3.SQLITE_FULL
            raise error
        return self._connection.execute(sql, *arguments)


def test_a_writer_that_cannot_even_roll_back_is_replaced(database):
    note(database, "before")
    database._writer = FailingWriter(database._writer)
    with pytest.raises(DiskFailed):
        note(database, "lost")
    note(database, "after")
    assert notes(database) == ["before", "after"]


def test_what_was_deleted_is_in_no_byte_of_the_files_after_erasing(database, tmp_path):
    note(database, "canary-4711")
    with database.write() as tx:
        tx.execute("DELETE FROM notes")
    assert b"canary-4711" in b"".join(file.read_bytes() for file in tmp_path.iterdir())  # in the WAL still
    assert database.erase()
    assert b"canary-4711" not in b"".join(file.read_bytes() for file in tmp_path.iterdir())


def cells_left(folder):
    content = b"".join(file.read_bytes() for file in folder.iterdir())
    return [number for number in range(0, 4000, 3) if b"canary-%05d" % number in content]


def keyed(folder):
    """A store with rows by key, in an order that splits its pages; every third row is deleted."""
    schema = NOTES + "CREATE TABLE keyed (key TEXT PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID;"
    database, rng = Database(folder / "notes.db", migrations=[schema]), random.Random(7)
    rows = [(rng.randbytes(4).hex(), f"canary-{number:05} {'x' * rng.randrange(400)}") for number in range(4000)]
    for at in range(0, 4000, 100):
        with database.write() as tx:
            tx.executemany("INSERT INTO keyed VALUES (?, ?)", rows[at : at + 100])
    for at in range(0, 4000, 300):
        with database.write() as tx:
            tx.executemany("DELETE FROM keyed WHERE key = ?", [(key,) for key, _ in rows[at : at + 300 : 3]])
    return database


def test_cells_that_moved_between_pages_are_gone_after_erasing(tmp_path):
    database = keyed(tmp_path)
    assert database.erase()
    assert cells_left(tmp_path) == []
    assert database.row("SELECT count(*) FROM keyed")[0] == 4000 - len(range(0, 4000, 3))
    database.close()


def test_null_control_emptying_the_wal_alone_leaves_cells_that_moved(tmp_path, monkeypatch):
    database = keyed(tmp_path)
    monkeypatch.setattr(database, "_vacuum", lambda: True)
    assert database.erase()
    assert cells_left(tmp_path)
    database.close()


def test_erasing_keeps_the_order_of_rows(database):
    for number in range(300):
        note(database, str(number))
    with database.write() as tx:
        tx.execute("DELETE FROM notes WHERE CAST(text AS INTEGER) % 7 = 0")
    before = notes(database)
    assert database.erase()
    assert [row["text"] for row in database.rows("SELECT text FROM notes ORDER BY rowid")] == before


def test_on_a_full_disk_erasing_says_so_and_the_store_goes_on(database):
    note(database, "one" * 10_000)
    assert database.erase()
    database._writer = FullWriter(database._writer)
    assert not database.erase()
    assert notes(database) == ["one" * 10_000]


def test_a_writer_goes_on_between_two_tries_to_erase(database, monkeypatch):
    note(database, "one")
    note(database, "two")
    pauses = []
    monkeypatch.setattr("shared.sqlite.ERASE_WAIT_MS", 1)
    monkeypatch.setattr("shared.sqlite.time.sleep", lambda seconds: pauses.append(in_a_thread(lambda: note(database, "meanwhile"))))
    with contextlib.closing(database.stream("SELECT text FROM notes")) as reading:
        next(reading)
        note(database, "three")
        assert not database.erase()
    assert pauses == [True] * 9


def in_a_thread(action):
    thread = threading.Thread(target=action, daemon=True)
    thread.start()
    thread.join(5)
    return not thread.is_alive()


def test_a_read_that_goes_on_keeps_the_wal_and_erasing_says_so(database, monkeypatch):
    monkeypatch.setattr("shared.sqlite.ERASE_PAUSE_S", 0)
    note(database, "one")
    note(database, "two")
    reading, done = threading.Event(), threading.Event()

    def read():
        for _ in database.stream("SELECT text FROM notes"):
            reading.set()
            done.wait()

    reader = threading.Thread(target=read)
    reader.start()
    reading.wait()
    note(database, "three")
    assert not database.erase()
    done.set()
    reader.join()
    assert database.erase()


def test_a_file_that_is_no_store_is_damage(tmp_path):
    (tmp_path / "notes.db").write_bytes(b"no database at all" * 1000)
    with pytest.raises(StoreDamaged, match="not a database"):
        Database(tmp_path / "notes.db", migrations=[NOTES])


def test_a_migration_that_fails_leaves_the_old_version(tmp_path):
    Database(tmp_path / "notes.db", migrations=[NOTES]).close()
    bad = "CREATE TABLE more (a); INSERT INTO nowhere VALUES (1);"
    with pytest.raises(StoreDamaged, match="cannot be brought to version 2: no such table: nowhere"):
        Database(tmp_path / "notes.db", migrations=[NOTES, bad])
    again = Database(tmp_path / "notes.db", migrations=[NOTES, "CREATE TABLE more (a);"])
    assert again.row("PRAGMA user_version")[0] == 2
    again.close()
