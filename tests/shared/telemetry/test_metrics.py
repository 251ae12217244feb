import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.admission import Admission
from shared.errors import DgragError, ModelUnavailable, StoreError, Unauthenticated
from shared.records import Answer, Citation, EdgeReport, GateReport, MemoryReport, TraceStep
from shared.telemetry.metrics import ASKED, INTERNAL, METHODS, ROUTES, Meter, Scrape, each, single, turns_of
from shared.telemetry.trace import COMPONENTS, OTHER, TRANSFERS, TRANSMISSION
from tests.support.metrics_pages import names_of, samples_of, value
from tests.support.waiting import until

ESCALATED = (
    TraceStep("retrieve", 5.0),
    TraceStep("samples", 2000.0, calls=1, tokens_in=600, tokens_out=100),
    TraceStep("gate: confidence", 700.0, calls=1, tokens_in=50),
    TraceStep("cloud", 2500.0, bytes_out=1000, bytes_in=4000),
    TraceStep("cloud: match", 6.0),
    TraceStep("cloud: fan_out", 90.0, bytes_out=500, bytes_in=6250),
    TraceStep("cloud: law: rerank", 30.0, calls=1, tokens_in=7),
    TraceStep("cloud: generate", 1200.0, calls=1, tokens_in=400, tokens_out=80),
)


def kinds_of(error):
    return {error}.union(*map(kinds_of, error.__subclasses__()))


CLOSED = {
    "code": {INTERNAL} | {kind.code for kind in kinds_of(DgragError)},
    "answered": {"true", "false"},
    "partial": {"true", "false"},
    "degraded": {"true", "false"},
    "route": ROUTES | {OTHER, "-"},
    "decision": {"local", "escalate"},
    "component": {*COMPONENTS, OTHER, TRANSMISSION},
    "transfer": set(TRANSFERS),
    "direction": {"in", "out"},
    "outcome": set(ASKED),
    "method": METHODS | {OTHER},
    "status": {"1xx", "2xx", "3xx", "4xx", "5xx", "none"},
}
TEXT = st.text(max_size=12)


def answer(**changes):
    return Answer(**{"query_id": "q", "answer": "It was lot L-7713 [1].", "citations": (), "route": "cloud", "trace": ESCALATED, **changes})


def page_of(*answers, at_cloud=False):
    meter = Meter("ward")
    for one in answers:
        meter.answered(one, 3.0, at_cloud=at_cloud)
    return meter.page()


def test_an_answer_is_counted_by_its_route_and_by_what_it_lacks():
    page = page_of(answer(), answer(), answer(route="degraded", degraded=True, answered=False))
    whole = {"answered": "true", "partial": "false", "degraded": "false"}
    assert value(page, "dgrag_questions_total", route="cloud", **whole) == 2
    assert value(page, "dgrag_questions_total", route="degraded", answered="false", partial="false", degraded="true") == 1
    assert value(page, "dgrag_question_seconds_sum", route="cloud") == 6.0


def test_what_the_gate_decided_is_counted_and_an_answer_that_passed_none_is_not():
    page = page_of(answer(gate=GateReport("escalate", "nothing is near")), answer(gate=GateReport("local", "")), answer())
    assert [value(page, "dgrag_gate_total", decision=one) for one in ("escalate", "local")] == [1, 1]


def test_a_component_takes_the_time_of_all_its_steps_together():
    page = page_of(answer())
    took = {name: value(page, "dgrag_component_seconds_sum", component=name, route="cloud") for name in COMPONENTS}
    assert {name: seconds for name, seconds in took.items() if seconds} == pytest.approx(
        {"local query": 2.005, "gate": 0.7, "summary matching": 0.006, "global retrieval": 0.09, "cloud generation": 1.2}
    )
    assert value(page, "dgrag_component_seconds_count", component="local query", route="cloud") == 1


def test_the_papers_four_transfers_are_counted_in_bytes():
    page = page_of(answer())
    moved = {name: value(page, "dgrag_transfer_bytes_sum", transfer=name) for name in TRANSFERS}
    assert moved == {"query send": 1000, "request send": 500, "knowledge send": 6250, "answer send": 4000}


def test_tokens_are_those_of_this_site_and_the_cloud_and_not_what_another_edge_spent():
    page = page_of(answer())
    spent = {key: figure for key, figure in samples_of(page).items() if key[0] in {"dgrag_tokens_total", "dgrag_model_calls_total"}}
    assert sum(figure for (name, _), figure in spent.items() if name == "dgrag_tokens_total") == 600 + 100 + 50 + 400 + 80
    assert sum(figure for (name, _), figure in spent.items() if name == "dgrag_model_calls_total") == 3
    assert value(page, "dgrag_tokens_total", component="cloud generation", direction="in") == 400


def test_the_clouds_own_trace_counts_as_what_an_edge_hears_of_it():
    own = tuple(TraceStep(name, 10.0, 1, 5, 2, 300, 400) for name in ("match", "fan_out", "law: retrieve", "generate"))
    page = page_of(answer(trace=own), at_cloud=True)
    assert value(page, "dgrag_component_seconds_sum", component="global retrieval", route="cloud") == pytest.approx(0.01)
    assert value(page, "dgrag_component_seconds_count", component="local query", route="cloud") == 0
    assert value(page, "dgrag_transfer_bytes_sum", transfer="knowledge send") == 400


def test_what_an_edge_waited_for_the_cloud_beyond_what_the_cloud_did_is_transmission():
    page = page_of(answer())
    assert value(page, "dgrag_component_seconds_sum", component=TRANSMISSION, route="cloud") == pytest.approx(2.5 - 0.006 - 0.09 - 1.2)
    assert value(page, "dgrag_component_seconds_count", component=TRANSMISSION, route="cloud") == 1


def test_no_transmission_is_told_of_where_the_cloud_did_not_answer_and_none_by_the_cloud_itself():
    page = page_of(answer(trace=(TraceStep("samples", 10.0), TraceStep("cloud", 30_000.0))), answer(trace=(TraceStep("samples", 10.0),)))
    assert value(page, "dgrag_component_seconds_count", component=TRANSMISSION, route="cloud") == 0
    page = page_of(answer(trace=(TraceStep("wait", 10.0), TraceStep("match", 5.0))), at_cloud=True)
    assert value(page, "dgrag_component_seconds_count", component=TRANSMISSION, route="cloud") == 0


def fail(meter, error):
    with pytest.raises(type(error)), meter.counting_failures():
        raise error


def test_a_question_that_fails_is_counted_by_the_code_of_its_error_and_any_other_error_as_internal():
    meter = Meter("ward")
    for error in (ModelUnavailable("away"), ModelUnavailable("away"), KeyError("a canary")):
        fail(meter, error)
    with meter.counting_failures():
        pass
    page = meter.page()
    failed = {code: value(page, "dgrag_questions_failed_total", code=code) for code in CLOSED["code"]}
    assert {code: count for code, count in failed.items() if count} == {"model_unavailable": 2, INTERNAL: 1}


@pytest.mark.parametrize("error", [asyncio.CancelledError(), GeneratorExit()])
def test_a_question_whose_caller_went_has_not_failed(error):
    meter = Meter("ward")
    fail(meter, error)
    assert not [name for name, _ in samples_of(meter.page()) if name == "dgrag_questions_failed_total"]


def test_edges_are_timed_by_how_their_request_ended_and_those_that_were_not_asked_are_not():
    meter = Meter("cloud")
    for status in ("answered", "answered", "late", "offline", "skipped"):
        meter.fanned_out([EdgeReport("law", "evidence", status, 250.0, 10, 1)])
    page = meter.page()
    assert [value(page, "dgrag_fan_out_seconds_count", outcome=one) for one in ("answered", "late", "offline", "skipped")] == [2, 1, 0, 0]
    assert value(page, "dgrag_fan_out_seconds_sum", outcome="answered") == 0.5


@pytest.mark.parametrize(("status", "kind"), [(200, "2xx"), (503, "5xx"), (0, "none"), (7, "none"), (999, "none")])
def test_a_request_is_timed_by_the_class_of_its_status(status, kind):
    meter = Meter("ward")
    meter.http("GET", "/ready", status, 0.5)
    assert value(meter.page(), "dgrag_http_seconds_sum", method="GET", route="/ready", status=kind) == 0.5


def test_a_method_that_nobody_has_heard_of_is_another():
    meter = Meter("ward")
    meter.http("BREW-canary", "-", 405, 0.1)
    assert value(meter.page(), "dgrag_http_seconds_count", method="other", route="-", status="4xx") == 1


def test_two_services_in_one_process_do_not_count_together():
    one, other = Meter("ward"), Meter("plant")
    one.answered(answer(), 1.0)
    assert value(one.page(), "dgrag_question_seconds_count", route="cloud") == 1
    assert value(other.page(), "dgrag_question_seconds_count", route="cloud") == 0


def test_a_page_names_the_service_and_its_process_and_no_time_of_making():
    page = Meter("ward").page().decode()
    assert 'dgrag_build_info{name="ward",version="' in page
    assert "process_resident_memory_bytes " in page
    assert "_created" not in page


def test_a_reading_is_on_the_page_and_one_without_a_value_by_its_name():
    page = Meter("ward").page([single("dgrag_a", "A.", None), single("dgrag_b", "B.", 2), each("dgrag_c_total", "C.", "kind", {"x": 3})])
    assert {"dgrag_a", "dgrag_b", "dgrag_c_total"} <= names_of(page)
    assert (value(page, "dgrag_b"), value(page, "dgrag_c_total", kind="x")) == (2, 3)
    assert "dgrag_a" not in {name for name, _ in samples_of(page)}


async def test_turns_say_who_is_answered_and_who_waits():
    one, end = Admission(at_once=1, waiting=2), asyncio.Event()

    async def work():
        async with one.turn("a"):
            await end.wait()

    tasks = [asyncio.create_task(work()) for _ in range(3)]
    await until(lambda: one.waiting == 2)
    reading = turns_of({"question": one})
    assert dict(reading.values) == {("question", "taken"): 1.0, ("question", "waiting"): 2.0}
    end.set()
    await asyncio.gather(*tasks)


class Clock:
    seconds = 100.0

    def now(self):
        return self.seconds

    def monotonic(self):
        return self.seconds


class Store:
    """Says how often it was read."""

    def __init__(self):
        self.reads = 0

    async def read(self):
        self.reads += 1
        await asyncio.sleep(0)
        return (single("dgrag_reads", "Reads.", self.reads),)


async def test_scrapes_within_five_seconds_share_one_reading():
    store, clock = Store(), Clock()
    scrape = Scrape(Meter("ward"), store.read, clock)
    first = await asyncio.gather(scrape.page(), scrape.page())
    clock.seconds += 4.9
    assert {value(page, "dgrag_reads") for page in (*first, await scrape.page())} == {1}
    clock.seconds += 0.1
    assert value(await scrape.page(), "dgrag_reads") == 2


async def test_what_the_meter_counted_since_is_on_the_page_at_once():
    meter, clock = Meter("ward"), Clock()
    scrape = Scrape(meter, Store().read, clock)
    await scrape.page()
    meter.answered(answer(), 1.0)
    assert value(await scrape.page(), "dgrag_question_seconds_count", route="cloud") == 1


async def test_a_reading_that_fails_is_tried_again_by_the_next_scrape():
    failures = [StoreError("the disk")]

    async def read():
        if failures:
            raise failures.pop()
        return ()

    scrape = Scrape(Meter("ward"), read, Clock())
    with pytest.raises(StoreError):
        await scrape.page()
    assert b"dgrag_build_info" in await scrape.page()


STEPS = st.builds(TraceStep, TEXT, st.just(1.0), st.just(1), st.just(2), st.just(3), st.just(4), st.just(5))
REPORTS = st.builds(EdgeReport, TEXT, TEXT, TEXT, st.just(1.0), st.just(1), st.just(1), TEXT)
CITED = st.builds(Citation, st.just(1), TEXT, TEXT, TEXT, TEXT, st.just((0, 1)), TEXT, st.just(0.5))
REMEMBERED = st.builds(MemoryReport, TEXT, TEXT, TEXT, TEXT, *[st.just(0.5)] * 4)
GATES = st.builds(GateReport, st.sampled_from(["local", "escalate"]), TEXT, samples=st.tuples(TEXT))
ANSWERS = st.builds(
    Answer, TEXT, TEXT, st.tuples(CITED), TEXT, GATES, st.tuples(REPORTS), reason=TEXT, coverage=TEXT, would_ask=TEXT, memory=REMEMBERED,
    trace=st.lists(STEPS | st.sampled_from(ESCALATED), max_size=4).map(tuple),
)  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(ANSWERS, TEXT, st.integers(), st.booleans())
def test_whatever_people_and_models_write_no_label_says_it(said, method, status, at_cloud):
    meter = Meter("ward")
    meter.answered(said, 1.0, at_cloud=at_cloud)
    meter.fanned_out(said.edges)
    meter.http(method, "-", status, 0.1)
    fail(meter, Unauthenticated("who?", code=method))
    for name, labels in samples_of(meter.page()):
        for label, text in labels:
            if name != "dgrag_build_info" and label != "le":
                assert text in CLOSED[label], (name, label)
