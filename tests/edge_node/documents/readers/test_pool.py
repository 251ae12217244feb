"""A reader in a process of its own: the same text as here, and an end for whatever takes too much."""

import asyncio
import contextlib
import io
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.files.dear_files import many_operators, word_bomb
from edge_node.documents.readers import ReadText, read
from edge_node.documents.readers.controls import CONTROLS
from edge_node.documents.readers.framing import MAX_SHORTFALLS, TABLES_DROPPED, BrokenAnswerError, Failed, take_answer, write_answer
from edge_node.documents.readers.pool import ReaderLimits, ReaderPool, ReadsHere, _Reader
from edge_node.documents.text import OLE_MAGIC
from edge_node.records import Table
from shared.errors import ReaderUnavailable, UnreadableDocument
from tests.support.waiting import eventually, until

pytestmark = [pytest.mark.process, pytest.mark.skipif(sys.platform != "linux", reason="children are found in /proc")]
ENDLESS = ReaderLimits(seconds=600, memory_bytes=2**30)
SLOW = many_operators(pages=200)  # minutes


@pytest.fixture
def pool_of(monkeypatch):
    monkeypatch.setenv("DGRAG_EDGE_API_KEY", "canary-key")
    pools = []

    def make(limits=ENDLESS, *, at_once=2):
        pools.append(ReaderPool(limits, at_once=at_once))
        return pools[-1]

    yield make
    for pool in pools:
        pool.close()


def forker(pool):
    return pool._forker._process.pid


def children(pid):
    """Those that run; one that has ended and waits to be counted is none."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = stat.read_text().rpartition(") ")
        except (FileNotFoundError, ProcessLookupError):
            continue
        state, parent, *_ = rest.split()
        if int(parent) == pid and state != "Z":
            found.append(int(name.split()[0]))
    return found


def runs(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def what_it_holds(pid):
    """What the open files of a process that works are, and its environment; a file that it closes meanwhile is left out."""
    held = set()
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            held.add(str(link.readlink()))
    return held, Path(f"/proc/{pid}/environ").read_bytes()


async def failure(pool, name, raw):
    with pytest.raises(UnreadableDocument) as caught:
        await pool.read(name, raw)
    return caught.value


async def test_a_child_reads_what_a_reader_here_reads(pool_of):
    pool = pool_of()
    for name, raw in (("a.md", b"# Ward\n\nIt has **28** beds."), ("b.csv", b"a,b\n1,2\n"), ("c.txt", "Zürich – £5".encode("cp1252"))):
        assert await pool.read(name, raw) == read(name, raw)


@pytest.mark.parametrize(("name", "raw"), [("e.txt", b" "), ("x.pdf", b"%PDF-1.4"), ("y.docx", b"PK\x03\x04"), ("b.txt", bytes(32) * 9)])
async def test_what_a_child_cannot_read_has_the_reason_that_it_has_here(pool_of, name, raw):
    here = await failure(ReadsHere(), name, raw)
    there = await failure(pool_of(), name, raw)
    assert (there.reason, there.message, there.next_step, there.name) == (here.reason, here.message, here.next_step, here.name)


async def test_a_broken_reader_of_one_kind_excuses_no_damaged_document_of_another(pool_of, monkeypatch):
    broken = replace(CONTROLS[0], kind="old office files", doubts=frozenset({"bad_office"}), data=b"no PDF")
    monkeypatch.setattr("edge_node.documents.readers.pool.CONTROLS", (CONTROLS[0], broken))
    pool = pool_of()
    assert [fault.kind for fault in await pool.check()] == ["old office files"]
    assert (await failure(pool, "x.pdf", b"%PDF-1.4")).reason == "bad_pdf"
    with pytest.raises(ReaderUnavailable, match="old office files cannot be read here now"):
        await pool.read("x.doc", OLE_MAGIC + bytes(600))


async def test_a_file_that_takes_too_long_is_given_up_and_the_next_one_is_read(pool_of):
    pool = pool_of(ReaderLimits(seconds=1, memory_bytes=2**30))
    error = await failure(pool, "slow.pdf", SLOW)
    assert (error.reason, "1 s of a core" in error.message, "DGRAG_EDGE_READER_SECONDS" in error.next_step) == ("too_slow", True, True)
    assert (await pool.read("a.txt", b"28 beds")).text == "28 beds"


async def test_a_file_that_takes_too_much_memory_is_given_up(pool_of):
    error = await failure(pool_of(ReaderLimits(seconds=600, memory_bytes=64 * 2**20)), "bomb.docx", word_bomb())
    assert (error.reason, "67,108,864 bytes of memory" in error.message) == ("too_large", True)


async def test_a_text_that_is_too_long_stays_in_the_child(pool_of):
    error = await failure(pool_of(ReaderLimits(600, 2**30, output_bytes=100)), "a.txt", b"long " * 100)
    assert error.reason == "too_large"


async def test_a_reader_that_breaks_down_costs_its_document_only(pool_of):
    pool = pool_of()
    reading = asyncio.create_task(failure(pool, "slow.pdf", SLOW))
    await until(lambda: children(forker(pool)))
    os.kill(children(forker(pool))[0], signal.SIGSEGV)
    assert (await reading).reason == "reader_failed"
    assert (await pool.read("a.txt", b"28 beds")).text == "28 beds"


async def test_who_stops_waiting_stops_the_reader(pool_of):
    pool = pool_of()
    reading = asyncio.create_task(pool.read("slow.pdf", SLOW))
    await until(lambda: children(forker(pool)))
    reading.cancel()
    await until(lambda: not children(forker(pool)))
    assert reading.cancelled()


async def test_one_that_is_stopped_while_it_waits_never_begins(pool_of):
    pool = pool_of(at_once=1)
    first, second = (asyncio.create_task(pool.read("slow.pdf", SLOW)) for _ in range(2))
    await until(lambda: children(forker(pool)))
    second.cancel()
    first.cancel()
    await asyncio.wait([first, second])
    assert (await pool.read("a.txt", b"28 beds")).text == "28 beds"
    assert not children(forker(pool))


async def test_the_process_that_children_come_from_is_begun_again(pool_of):
    pool = pool_of()
    await pool.read("a.txt", b"28 beds")
    os.kill(forker(pool), signal.SIGKILL)
    assert (await pool.read("a.txt", b"28 beds")).text == "28 beds"


async def test_where_that_process_breaks_the_documents_under_way_are_read_once_more(pool_of):
    pool = pool_of(ReaderLimits(seconds=3, memory_bytes=2**30))
    slow = asyncio.create_task(failure(pool, "slow.pdf", SLOW))
    await until(lambda: children(forker(pool)))
    broken = forker(pool)
    os.kill(broken, signal.SIGKILL)
    assert (await pool.read("a.txt", b"28 beds")).text == "28 beds"
    assert (await slow).reason == "too_slow"
    assert forker(pool) != broken


def test_a_pid_that_is_no_childs_is_never_killed(pool_of):
    pool = pool_of()
    asyncio.run(pool.read("a.txt", b"28 beds"))
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as stranger:
        assert pool._forker.end(_Reader(pool._forker._process, stranger.pid)) is None
        assert stranger.poll() is None
        stranger.stdin.close()
        assert stranger.wait() == 1
    assert asyncio.run(pool.read("a.txt", b"28 beds")).text == "28 beds"


async def test_readers_get_no_key_and_no_file_of_the_edge(pool_of, tmp_path):
    with (tmp_path / "store").open("w"):
        pool = pool_of()
        reading = asyncio.create_task(pool.read("slow.pdf", SLOW))
        await until(lambda: children(forker(pool)))
        (child,) = children(forker(pool))
        held, environment = what_it_holds(child)
        assert b"canary-key" not in environment
        ours = {name.split(":")[0] for name in held if not name.startswith("/usr/share/fonts")}  # which a page may be drawn with
        assert ours <= {"/dev/null", "socket", "anon_inode"}  # the last: what native threads wait on
        reading.cancel()


def test_an_edge_that_is_killed_takes_its_readers_along():
    code = (
        "import asyncio, sys; from edge_node.documents.readers.pool import *; from benchmarks.files.dear_files import many_operators\n"
        "pool = ReaderPool(ReaderLimits(600, 2**30), at_once=1); print(pool._forker._process.pid, flush=True)\n"
        "asyncio.run(pool.read('slow.pdf', many_operators(pages=200)))"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, cwd=Path(__file__).parents[4]) as edge:
        parent = int(edge.stdout.readline())
        assert eventually(lambda: children(parent))
        begun = [parent, *children(parent)]
        edge.kill()
    assert eventually(lambda: not any(map(runs, begun)))


def test_what_an_answer_has_no_room_for_is_reported():
    shortfalls = tuple(("part_unread", f"{number}.txt") for number in range(50))
    table = Table("Wards", ("Ward", "Beds"), (("Juniper", 28),) * 50, 2)
    stream = io.BytesIO()
    write_answer(stream, ReadText("Wards", "28 beds", shortfalls=shortfalls, tables=(table,)), most_bytes=500)
    stream.seek(0)
    answer = take_answer(stream, most_bytes=500)
    assert answer.tables == ()
    assert len(answer.shortfalls) == MAX_SHORTFALLS
    assert answer.shortfalls[0] == TABLES_DROPPED
    assert answer.shortfalls[-1] == ("more_shortfalls", "12 more shortfalls of this document are not listed.")


@given(st.binary(max_size=200))
def test_whatever_a_child_says_is_a_text_a_reason_or_refused(said):
    try:
        answer = take_answer(io.BytesIO(said), most_bytes=100)
    except BrokenAnswerError:
        return
    assert isinstance(answer, ReadText | Failed)
