"""What of passages and points may leave: hand-worked cases of one store, whose documents differ only in their labels."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from edge_node.database.schema import Database
from edge_node.documents.store import DocumentStore, insert_chunks
from edge_node.egress.bodies import chunks_of, reply_body
from edge_node.egress.ledger import EgressRecord, Ledger
from edge_node.egress.sharing import MAX_REPLY_BYTES, ReportCoverage, Requester
from edge_node.graph.store import GraphStore
from shared.records import DENIED, Chunk, Evidence, TraceStep
from shared.wire import EvidenceReply
from tests.support.sharing import sharing_of
from tests.support.storing import SetClock

BANK = Requester("bank", None)
LABELS = 'version = 1\n[labels]\nread = "evidence"\nshut = "summary"\n'
STEPS = (TraceStep("choose", 1.5), TraceStep("map", 2.25, calls=2))


class Bench:
    """A store with three documents of one sentence each, and the sharing that reads it."""

    def __init__(self, folder):
        self.database = Database(folder / "edge.db")
        self.clock = SetClock()
        documents = DocumentStore(self.database, self.clock)
        self.sharing = sharing_of(documents, GraphStore(self.database))
        self.file = folder / "policy.toml"
        self.file.write_text(LABELS)
        self.ids = {}
        for name, labels in (("open", ()), ("read", ("read",)), ("shut", ("shut",))):
            text = f"Ann Lee wrote that the {name} pump failed in March."
            self.ids[name] = documents.accept(f"{name}.md", text.encode(), reader="a.md", labels=labels).document_id
            with self.database.write() as tx:
                insert_chunks(tx, [Chunk(f"{self.ids[name]}:0", self.ids[name], 0, text, 0, len(text), 9)])

    def point(self, name, said="Pumps tend to fail in spring.", others=(), report="c0ffee"):
        text = f"the {name} pump failed in March."
        more = tuple(f"{self.ids[other]}:0" for other in others)
        chunk = f"{self.ids[name]}:0"
        return Evidence(
            "ward", self.ids[name], f"{name}.md", chunk, (19, 19 + len(text)), text, 0.9, point=said, report=report, chunk_ids=more
        )

    def told(self, *points, **how):
        return self.sharing.served(BANK, points, STEPS, **how).reply.evidence


@pytest.fixture
def bench(tmp_path):
    made = Bench(tmp_path)
    yield made
    made.database.close()


def test_a_point_leaves_with_ids_that_say_nothing_and_open_here(bench):
    (told,) = bench.told(bench.point("open", others=("read",)))
    outside = bench.sharing.outside_ids
    assert (told.document_id, told.chunk_id) == (outside.of(bench.ids["open"]), f"{outside.of(bench.ids['open'])}:0")
    assert (told.report, told.chunk_ids) == (outside.of_report("c0ffee"), [f"{outside.of(bench.ids['read'])}:0"])
    assert (told.text, told.point, told.quotable) == ("the open pump failed in March.", "Pumps tend to fail in spring.", False)


@pytest.mark.parametrize(
    ("own", "others", "leaves"),
    [
        ("open", (), True),
        ("open", ("read",), True),
        ("read", ("open",), True),
        ("shut", ("open",), False),
        ("open", ("read", "shut"), False),
    ],
)
def test_a_point_leaves_if_every_document_that_it_rests_on_may_be_read(bench, own, others, leaves):
    assert bool(bench.told(bench.point(own, others=others))) is leaves


def test_a_point_that_rests_on_a_deleted_document_stays_here(bench):
    point = bench.point("open", others=("read",))
    bench.sharing._documents.remove(bench.ids["read"])
    assert bench.told(point) == []


@pytest.mark.parametrize(("own", "others", "quotable"), [("open", (), True), ("open", ("read",), False), ("read", ("open",), False)])
def test_a_point_goes_and_is_quoted_by_the_strictest_rule_of_all_that_it_rests_on(bench, own, others, quotable):
    served = bench.sharing.served(BANK, [bench.point(own, others=others)], STEPS)
    (told,) = served.reply.evidence
    assert (told.quotable, told.point) == (quotable, "Pumps tend to fail in spring.")
    assert served.rule.startswith("unlabelled; policy " if quotable else "label read; policy ")


@pytest.mark.parametrize(
    "said",
    [
        "The read pump failed in March",
        "the read PUMP failed, in March!",
        "The notes say: the read pump failed in March.",
        "pump failed",
        "The read pump broke in March.",
        "Ann Lee wrote of it.",
    ],
)
def test_what_a_model_copies_of_a_document_that_may_not_be_quoted_is_not_shown(bench, said):
    (told,) = bench.told(bench.point("read", said))
    assert (told.point, told.quotable, told.text) == ("", False, "the read pump failed in March.")


@pytest.mark.parametrize("said", ["The read pump failed in March.", "The read pump broke in March.", "The open pump failed in March."])
def test_a_copy_of_any_document_that_a_point_rests_on_is_seen(bench, said):
    (told,) = bench.told(bench.point("open", said, others=("read",)))
    assert (told.point, told.quotable, told.text) == ("", False, "the open pump failed in March.")


def test_where_a_passage_cannot_be_read_a_point_counts_as_its_copy(bench):
    with bench.database.write() as tx:
        tx.execute("UPDATE chunks SET text = 'x' WHERE document_id = ?", (bench.ids["read"],))
    (told,) = bench.told(bench.point("open", others=("read",)))
    assert (told.point, told.quotable) == ("", False)


def test_what_a_model_copies_of_a_document_that_may_be_quoted_is_shown(bench):
    (told,) = bench.told(bench.point("open", "The open pump failed in March."))
    assert told.point == "The open pump failed in March."


def test_a_copy_is_seen_behind_its_masks_too(bench):
    bench.file.write_text(LABELS + '[redact]\nnames = ["March"]\n')
    for said in ("The read pump failed in March.", "The read pump failed in █████."):
        (told,) = bench.told(bench.point("read", said))
        assert (told.point, told.text) == ("", "the read pump failed in █████.")


def test_a_point_is_masked_and_cut_as_a_passage_is(bench):
    bench.file.write_text(LABELS + '[redact]\nnames = ["Ann Lee"]\n')
    (told,) = bench.told(bench.point("open", "Lee, Ann knows why pumps fail."))
    assert told.point == "[name]██ knows why pumps fail."
    bench.file.write_text("snippet_chars = 9\n" + LABELS)
    (told,) = bench.told(bench.point("open"))
    assert (told.point, told.text, told.span) == ("Pumps ten", "the open ", (19, 28))


def test_the_reply_says_how_far_reports_were_read_and_a_refusal_does_not(bench):
    reading = ReportCoverage(12, 40, 3, without_model=True)
    reply = bench.sharing.served(BANK, [bench.point("open")], STEPS, reports=reading).reply
    assert (reply.reports, reply.reports_there, reply.unread, reply.without_model) == (12, 40, 3, True)
    bench.file.write_text("version = ")
    refused = bench.sharing.served(BANK, [bench.point("open")], STEPS, reports=reading).reply
    assert refused == EvidenceReply(refused=DENIED)


def test_a_passage_has_no_report(bench):
    (told,) = bench.told(bench.point("open", "", report=""))
    assert (told.point, told.report, told.chunk_ids) == ("", "", [])


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=400), max_size=12), st.integers(1_000, 9_000))
def test_a_reply_is_cut_to_its_bytes_and_no_point_that_fits_is_left_out(bench, said, most_bytes):
    points = [bench.point("open", text) for text in said]
    whole = bench.sharing.tried(BANK, points, STEPS).reply
    cut = bench.sharing.tried(BANK, points, STEPS, most_bytes=most_bytes).reply
    assert len(reply_body(cut)) <= most_bytes
    assert cut.evidence == whole.evidence[: len(cut.evidence)]
    one_more = cut.model_copy(update={"evidence": whole.evidence[: len(cut.evidence) + 1]})
    assert len(cut.evidence) == len(whole.evidence) or len(reply_body(one_more)) > most_bytes


def test_the_meter_counts_the_bytes_of_the_body_and_its_points_exactly(bench):
    points = [bench.point("open", f"Pumps fail in spring, № {n}.") for n in range(3)]
    body = reply_body(bench.sharing.tried(BANK, points, STEPS).reply)
    for limit, expected in ((f"bytes = {len(body)}", 3), (f"bytes = {len(body) - 1}", 2), ("passages = 1", 1)):
        bench.file.write_text(f"{LABELS}[daily]\n{limit}\n")
        assert len(bench.sharing.tried(BANK, points, STEPS).reply.evidence) == expected


def test_what_the_meter_counts_is_what_the_ledger_says_after_a_restart(bench):
    ledger = Ledger(bench.database, bench.clock)
    bench.file.write_text(LABELS + "[daily]\npassages = 100\n")
    for number in range(1, 4):
        reply = bench.sharing.served(BANK, [bench.point("open", others=("read",))] * number, STEPS, most_bytes=MAX_REPLY_BYTES).reply
        items = tuple(identity for told in reply.evidence for identity in chunks_of(told))
        ledger.record(EgressRecord("evidence", "http://cloud", reply_body(reply), requester="bank", items=items))
    spent = ledger.spent("bank", since=0.0)
    assert bench.sharing._meter._had["bank"] == (spent.replies, spent.passages, spent.bytes)


def test_trying_counts_nothing(bench):
    bench.file.write_text(LABELS + "[daily]\nreplies = 1\n")
    for _ in range(3):
        assert bench.sharing.tried(BANK, [bench.point("open")], STEPS).reply.evidence
    assert bench.told(bench.point("open"))
    assert bench.sharing.served(BANK, [bench.point("open")], STEPS).reply.refused.endswith("the limit of the day")


@pytest.mark.parametrize("limit", ["replies = 2", "passages = 2"])
def test_after_the_last_reply_of_the_day_the_limit_is_spent(bench, limit):
    bench.file.write_text(f"{LABELS}[daily]\n{limit}\n")
    for _ in range(2):
        assert not bench.sharing.is_spent(BANK)
        assert bench.told(bench.point("open"))
    assert bench.sharing.is_spent(BANK)
    assert not bench.sharing.is_spent(Requester("ward", None))


def test_a_limit_smaller_than_any_reply_is_spent_from_the_first(bench):
    bench.file.write_text(f"{LABELS}[daily]\nbytes = 9\n")
    assert bench.sharing.is_spent(BANK)
