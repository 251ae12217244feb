"""The file of a document: how long it stays, and what is read from it again."""

from dataclasses import replace

import pytest

from edge_node.database.schema import Database
from edge_node.documents.changing import rename
from edge_node.documents.jobs import JobQueue
from edge_node.documents.originals import (
    DAY_S,
    OriginalFile,
    Rereading,
    Retention,
    drop_originals,
    original_of,
    outdated_count,
    queue_rereading,
    shortfall_counts,
)
from edge_node.documents.parsers import PARSERS
from edge_node.documents.progress import Backoff
from edge_node.documents.readers.pool import ReadsHere
from edge_node.documents.receipts import ReceiptStore
from edge_node.documents.store import DocumentStore
from edge_node.records import Cost, Reason, Shortfall
from shared.errors import Conflict, NotFound, OriginalDropped, ReaderUnavailable
from tests.support.running_edge import running_edge
from tests.support.storing import SetClock, serve
from tests.support.waiting import until

NOW_VERSIONS = {"text 1", "pdf 2"}


class Bench:
    def __init__(self, folder):
        self.clock = SetClock()
        self.database = Database(folder / "edge.db")
        self.documents = DocumentStore(self.database, self.clock)
        self.queue = JobQueue(self.database, self.clock)

    def index(self, name, raw=b"pump", *, parsers=("text 1",), shortfalls=()):
        accepted = self.documents.accept(name, raw, reader=name)
        self.queue.take_next()
        serve(self.database, accepted.document_id)
        self.queue.record(accepted.job_id, Cost(), shortfalls, parsers)
        self.queue.finish([accepted.job_id])
        return accepted.document_id

    def drop(self, **policy):
        return drop_originals(self.database, Retention(**policy), now=self.clock.now())

    def reread(self, **chosen):
        queued = queue_rereading(self.database, Rereading(**chosen), NOW_VERSIONS, now=self.clock.now())
        names = [row["name"] for row in self.database.rows("SELECT name FROM documents WHERE status = 'queued' ORDER BY rowid")]
        return names, queued.without_original


@pytest.fixture
def bench(tmp_path):
    made = Bench(tmp_path)
    yield made
    made.database.close()


# ---------------------------------------------------------------- kept, and dropped


def test_a_file_is_there_as_it_came_for_as_long_as_its_document(bench):
    identity = bench.index("ward.pdf", b"%PDF \xff")
    assert bench.drop() == 0
    assert original_of(bench.database, identity) == OriginalFile("ward.pdf", "ward.pdf", b"%PDF \xff")
    bench.documents.remove(identity)
    with pytest.raises(NotFound):
        original_of(bench.database, identity)


def test_a_file_that_may_stay_no_longer_goes_and_its_document_and_its_size_stay(bench):
    identity = bench.index("ward.txt", b"28 beds")
    later = bench.documents.accept("later.txt", b"14 beds", reader="later.txt")
    bench.clock.time += DAY_S
    assert bench.drop(days=1.5) == 0
    assert bench.drop(days=1) == 1  # not the one that waits
    with pytest.raises(OriginalDropped, match=r"ward\.txt"):
        original_of(bench.database, identity)
    view = bench.documents.get(identity)
    assert (view["bytes"], view["has_original"], view["served"], view["can_retry"]) == (7, False, True, False)
    assert bench.documents.get(later.document_id)["has_original"]
    assert ReceiptStore(bench.database).unerased()  # the next settle overwrites its bytes
    assert bench.drop(days=0) == 0


def test_the_file_of_a_document_that_was_parked_goes_too_and_says_so(bench):
    parked = bench.documents.accept("scan.pdf", b"%PDF", reader="scan.pdf")
    bench.queue.take_next()
    bench.queue.park(parked.job_id, Reason("encrypted", "is behind a password", "save it without"))
    assert bench.drop(days=1) == 0
    bench.clock.time += 2 * DAY_S
    waiting = bench.documents.accept("later.pdf", b"%PDF 2", reader="later.pdf")
    assert bench.drop(days=1) == 1
    view = bench.documents.get(parked.document_id)
    assert (view["status"], view["code"], view["can_retry"]) == ("parked", "original_dropped", False)
    assert view["next_step"] == "send the document again"
    assert bench.documents.get(waiting.document_id)["has_original"]
    assert bench.documents.accept("scan.pdf", b"%PDF", reader="scan.pdf").document_id == parked.document_id
    assert bench.documents.get(parked.document_id)["has_original"]
    assert bench.drop(max_bytes=1) == 0  # it waits again


def test_large_files_may_be_dropped_alone(bench):
    small, large = bench.index("small.txt", b"1234"), bench.index("large.txt", b"12345")
    assert bench.drop(max_bytes=4) == 1
    assert bench.documents.get(small)["has_original"]
    assert not bench.documents.get(large)["has_original"]


def test_without_its_file_a_document_is_neither_renamed_nor_exported_nor_read_again_nor_damaged(bench):
    identity = bench.index("ward.txt", shortfalls=(Shortfall("model_timeout", ""),))
    job_id = bench.documents.get(identity)["job_id"]
    bench.drop(days=0)
    with pytest.raises(OriginalDropped):
        rename(bench.database, identity, "other.txt", now=0.0)
    with pytest.raises(OriginalDropped):
        bench.queue.retry(job_id)
    with pytest.raises(OriginalDropped):
        bench.reread(document="ward.txt")
    assert [each.raw for each in bench.documents.originals()] == [None]
    assert bench.reread(all=True) == ([], 1)
    assert bench.documents.get(identity)["code"] == ""


def test_the_same_content_sent_again_brings_the_file_back(bench):
    identity = bench.index("ward.txt", b"28 beds")
    bench.drop(days=0)
    again = bench.documents.accept("ward.txt", b"28 beds", reader="ward.txt")
    assert again.duplicate
    assert original_of(bench.database, identity).raw == b"28 beds"


def test_a_job_that_finds_no_file_sets_its_document_aside_with_the_reason(bench):
    identity = bench.index("ward.txt")
    bench.drop(days=0)
    with bench.database.write() as tx:
        tx.execute("UPDATE documents SET status = 'queued'")
        tx.execute("UPDATE jobs SET ended_at = NULL, committed = 0")
    assert bench.queue.take_next() is None
    assert bench.documents.get(identity)["code"] == "original_dropped"


def test_a_file_that_is_damaged_on_disk_is_not_handed_out(bench):
    identity = bench.index("ward.txt")
    with bench.database.write() as tx:
        tx.execute("UPDATE documents SET raw = x'00'")
    with pytest.raises(Conflict):
        original_of(bench.database, identity)


@pytest.mark.parametrize(
    ("name", "media_type", "shown"),
    [
        ("a.txt", "text/plain; charset=utf-8", True),
        ("a.md", "text/markdown; charset=utf-8", True),
        ("a.csv", "text/csv; charset=utf-8", True),
        ("a.docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document", False),
        ("a.epub", "application/epub+zip", False),
        ("a.vcf", "text/vcard; charset=utf-8", False),
        ("a.JPG", "image/jpeg", True),
        ("a.pdf", "application/pdf", False),
        ("a.html", "text/html; charset=utf-8", False),
        ("a.svg", "application/octet-stream", False),
        ("a", "application/octet-stream", False),
    ],
)
def test_a_file_is_shown_only_where_nothing_in_it_can_act(bench, name, media_type, shown):
    identity = bench.index(name, "Größe".encode())
    file = original_of(bench.database, identity, PARSERS.media_types)
    assert (file.media_type, file.disposition.partition(";")[0] == "inline") == (media_type, shown)


def test_a_text_of_unknown_letters_is_saved():
    file = OriginalFile("a.txt", "a.txt", "Größe".encode("cp1252"), "text/plain")
    assert (file.media_type, file.disposition.partition(";")[0]) == ("text/plain", "attachment")


async def test_an_edge_hands_a_file_out_as_what_its_parser_declares(tmp_path):
    async with running_edge(tmp_path) as edge:
        await edge.add("a.txt", "Größe: 28 beds.")
        (document,) = (await edge.http.get("/v1/documents")).json()["documents"]
        response = await edge.http.get(f"/v1/documents/{document['document_id']}/original")
        assert response.headers["content-type"] == "text/plain; charset=utf-8"


@pytest.mark.parametrize("name", ['a"b.html', "a\r\nSet-Cookie: a=b.html", "../../etc/passwd", "/", "\u202ea.html"])
def test_no_name_gets_out_of_its_header(name):
    assert OriginalFile(name, name, b"").disposition.isascii()
    assert not set(OriginalFile(name, name, b"").disposition.partition("UTF-8''")[2]) & set('"\r\n/; ')


# ---------------------------------------------------------------- read again


def test_outdated_documents_are_counted_and_those_of_an_earlier_release_are_too(bench):
    for name, parsers in (("now.txt", ("text 1",)), ("old.pdf", ("pdf 1",)), ("before.txt", ()), ("in.zip", ("pdf 1", "zip 1"))):
        bench.index(name, parsers=parsers)
    assert outdated_count(bench.database, NOW_VERSIONS) == 3
    assert outdated_count(bench.database, frozenset()) == 0  # not known yet
    assert bench.reread() == (["old.pdf", "before.txt", "in.zip"], 0)


def test_one_or_a_format_or_all_are_read_again(bench):
    for name in ("a.pdf", "b.PDF", "c.txt"):
        bench.index(name)
    assert bench.reread(format=".pdf") == (["a.pdf", "b.PDF"], 0)
    bench.queue.finish([bench.queue.take_next().job_id, bench.queue.take_next().job_id])
    assert bench.reread(document="c.txt") == (["c.txt"], 0)
    assert bench.queue.take_next().is_reread
    with pytest.raises(NotFound):
        bench.reread(document="d.txt")


def test_what_was_cancelled_or_is_under_way_is_left_alone(bench):
    waiting = bench.documents.accept("a.txt", b"pump", reader="a.txt")
    cancelled = bench.documents.accept("b.txt", b"pump", reader="b.txt")
    bench.queue.cancel(cancelled.job_id)
    assert bench.reread(all=True) == (["a.txt"], 0)
    assert bench.queue.take_next().job_id == waiting.job_id


def test_documents_are_counted_by_what_of_them_was_not_read(bench):
    bench.index("a.docx", shortfalls=(Shortfall("comments_unread", "1"), Shortfall("comments_unread", "2")))
    identity = bench.index("b.docx", shortfalls=(Shortfall("comments_unread", "1"), Shortfall("boxes_unread", "2")))
    assert shortfall_counts(bench.database) == {"boxes_unread": 1, "comments_unread": 2}
    assert shortfall_counts(bench.database, {identity}) == {"comments_unread": 1}


class Newer(ReadsHere):
    """A release whose parsers read some texts in another way."""

    def __init__(self):
        self.replaced = "no word", "no word"
        self.tags = ("text 1",)
        self.shortfalls = ()

    async def versions(self):
        return frozenset(self.tags)

    async def read(self, name, raw):
        found = await super().read(name, raw.replace(*(part.encode() for part in self.replaced)))
        return replace(found, parsers=self.tags, shortfalls=self.shortfalls)


class Counted:
    """An index that notes which documents are added."""

    def __init__(self, strategy):
        self.strategy = strategy
        self.texts = []

    def __getattr__(self, name):
        return getattr(self.strategy, name)

    async def add(self, chunks, progress, turn):
        self.texts.append(chunks[0].text)
        return await self.strategy.add(chunks, progress, turn)


async def test_a_document_that_reads_the_same_is_not_indexed_again_and_one_that_does_not_is(tmp_path):
    reads = Newer()
    async with running_edge(tmp_path, reads=reads) as edge:
        for name, text in (("a.txt", "Juniper Ward has 28 beds."), ("b.txt", "Cedar Ward has 510 beds.")):
            await edge.add(name, text)
        assert (await edge.http.get("/v1/status")).json()["outdated"] == 0
        reads.replaced, reads.tags, reads.shortfalls = ("510", "5-10"), ("text 2",), (("boxes_unread", "1 text box is not in the text."),)
        edge.node._versions = await reads.versions()
        status = (await edge.http.get("/v1/status")).json()
        assert status["outdated"] == 2
        counted = edge.node.worker._indexer = Counted(edge.node.strategy)
        queued = await edge.http.post("/v1/reread", json={})
        assert (queued.status_code, queued.json()) == (202, {"documents": 2, "without_original": 0})
        await edge.settled()
        assert counted.texts == ["Cedar Ward has 5-10 beds."]
        status = (await edge.http.get("/v1/status")).json()
        assert (status["outdated"], status["shortfalls"], status["documents"]["indexed"]) == (0, {"boxes_unread": 2}, 2)
        page = (await edge.http.get("/v1/documents")).json()["documents"]
        assert [(each["parsers"], each["can_retry"], each["shortfalls"][0]["message"]) for each in page] == [
            (["text 2"], False, "1 text box is not in the text.")
        ] * 2
        found = await edge.http.post("/v1/retrieve", json={"question": "How many beds has Cedar Ward?", "top_k": 1})
        assert "5-10" in found.json()["evidence"][0]["text"]


async def test_a_body_that_names_two_things_is_refused(tmp_path):
    async with running_edge(tmp_path) as edge:
        assert (await edge.http.post("/v1/reread", json={"all": True, "format": "pdf"})).status_code == 422
        assert (await edge.http.post("/v1/reread", json={"document": "none.txt"})).status_code == 404


async def test_files_go_by_themselves_once_indexed_and_their_bytes_are_overwritten(tmp_path):
    async with running_edge(tmp_path, originals_days=0) as edge:
        raw = b"<p data-a='canary-in-the-file'>Juniper Ward has 28 beds.</p>"
        sent = (await edge.http.post("/v1/documents", files={"file": ("ward.html", raw)})).json()
        await edge.settled()
        await edge.node._drop_originals(Retention(days=0))
        view = (await edge.http.get(f"/v1/documents/{sent['document_id']}")).json()
        assert not view["has_original"]
        gone = await edge.http.get(f"/v1/documents/{sent['document_id']}/original")
        assert (gone.status_code, gone.json()["code"]) == (410, "original_dropped")
        assert "ORIGINALS_DAYS" in gone.json()["next_step"]
    files = b"".join(path.read_bytes() for path in tmp_path.glob("edge.db*"))
    assert b"canary-in-the-file" not in files


async def test_a_deletion_deletes_the_file_with_a_receipt(tmp_path):
    async with running_edge(tmp_path) as edge:
        sent = await edge.add("ward.txt", "Juniper Ward has 28 beds. canary-in-the-file")
        receipt = (await edge.http.delete(f"/v1/documents/{sent['document_id']}")).json()
        assert receipt["erased"]
        assert (await edge.http.get(f"/v1/documents/{sent['document_id']}/original")).status_code == 404
    assert b"canary-in-the-file" not in b"".join(path.read_bytes() for path in tmp_path.glob("edge.db*"))


async def test_what_is_wrong_with_a_text_names_the_document_and_not_what_its_reader_calls_it(tmp_path):
    async with running_edge(tmp_path) as edge:
        sent = await edge.http.post("/v1/documents", json={"name": "ward.md", "text": " "})
        await edge.settled()
        view = (await edge.http.get(f"/v1/documents/{sent.json()['document_id']}")).json()
        assert view["reason"] == "ward.md: has no text in it"


class Unsure(ReadsHere):
    """Readers that cannot be started at first."""

    def __init__(self):
        self.failures = 2

    async def versions(self):
        if self.failures:
            self.failures -= 1
            raise ReaderUnavailable("no reader can be started", detail="", next_step="")
        return frozenset({"text 9"})


async def test_an_edge_whose_readers_do_not_say_what_they_are_works_and_asks_again(tmp_path, monkeypatch):
    monkeypatch.setattr(Backoff, "next_s", lambda _: 0.01)
    reads = Unsure()
    async with running_edge(tmp_path, reads=reads) as edge:
        await edge.add("a.txt", "Juniper Ward has 28 beds.")
        await until(lambda: edge.node._versions == {"text 9"})
        assert not edge.node.failed
