"""One id for one request, and nothing in it but hexadecimal digits."""

import asyncio
import contextlib
import re

import httpx2
import pytest
from fastapi import FastAPI
from hypothesis import given
from hypothesis import strategies as st

from shared.errors import NotFound
from shared.http.open_mode import CALLER
from shared.http.problems import install_problems
from shared.records import TraceStep
from shared.telemetry.correlation import FORM, REQUEST_ID, Correlation, SpanPlace, headers, parsed, request_id, tell, traceparent, working
from shared.telemetry.trace import Trace
from tests.support.raw_asgi import send

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
GIVEN = f"00-{TRACE}-{SPAN}-01"
HEX = re.compile(r"[0-9a-f]{32}")


class Heard:
    """A recorder that keeps what it is told."""

    def __init__(self):
        self.steps, self.works = [], []

    def step(self, place, step):
        self.steps.append((place, step.step))

    def work(self, work, seconds):
        assert seconds >= 0
        self.works.append(work)

    def close(self):
        pass


def served(recorder=None):
    app = FastAPI()

    @app.get("/v1/things/{name}")
    async def thing(name: str):
        if name == "none":
            raise NotFound("thing", name)
        if name == "broken":
            raise ValueError(name)
        with Trace().step("retrieve"):
            return {"request": request_id(), "sent": headers()}

    install_problems(app, max_body_bytes=1000)
    app.add_middleware(Correlation, recorder=recorder)
    return app


def test_what_is_sent_on_is_of_the_form_that_is_read():
    place = SpanPlace(TRACE, SPAN, "1" * 16)
    assert place.traceparent == GIVEN
    assert parsed(place.traceparent) == SpanPlace(TRACE, SPAN)


@pytest.mark.parametrize(
    "header",
    [
        "",
        GIVEN.upper(),
        GIVEN + "-00",
        GIVEN + "\n",
        GIVEN.replace("-", "_"),
        GIVEN[:-1],
        f"ff-{TRACE}-{SPAN}-01",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE[:-1]}\u0661-{SPAN}-01",
    ],
)
def test_anything_else_is_no_place(header):
    assert parsed(header) is None


@given(st.text() | st.from_regex(FORM, fullmatch=True))
def test_whatever_comes_the_id_is_hexadecimal_and_what_is_sent_on_can_be_read(header):
    with working(header) as work:
        assert HEX.fullmatch(request_id())
        assert parsed(traceparent()) == SpanPlace(work.place.trace_id, work.place.span_id)
    sender = parsed(header)
    assert (work.place.trace_id, work.place.parent_id) == ((sender.trace_id, sender.span_id) if sender else (work.place.trace_id, ""))


def test_outside_of_a_request_there_is_no_id_and_nothing_is_sent_on():
    with working(GIVEN):
        pass
    assert (request_id(), traceparent(), headers()) == ("", "", {})


async def test_tasks_and_threads_that_work_starts_are_part_of_it_and_others_are_not():
    with working(GIVEN):
        inner = asyncio.create_task(asyncio.to_thread(request_id))
    assert (await inner, await asyncio.to_thread(request_id)) == (TRACE, "")


def test_work_within_work_is_its_own_and_the_outer_goes_on_after_it():
    with working(GIVEN) as outer:
        with working("") as inner:
            assert request_id() == inner.place.trace_id != TRACE
        assert headers() == {"traceparent": outer.place.traceparent}


def test_a_step_is_told_to_the_recorder_of_the_work_that_it_belongs_to():
    outer, inner, step = Heard(), Heard(), TraceStep("retrieve", 1.0)
    with working(GIVEN, outer, name="a"):
        with working(GIVEN, inner, name="b") as work:
            tell(step)
        with working(GIVEN):
            tell(step)  # nobody hears it
    assert inner.steps == [(work.place, "retrieve")]
    assert ([one.name for one in outer.works], outer.steps) == (["a"], [])


def test_what_an_edge_did_for_the_cloud_is_not_told_again():
    heard, trace = Heard(), Trace()
    with working("", heard):
        trace.extend((TraceStep("cloud: match", 1.0),))
        with contextlib.suppress(ValueError), trace.step("samples"):
            raise ValueError("off")
    assert [name for _, name in heard.steps] == ["samples"]


async def test_a_response_bears_the_id_of_its_request_and_so_does_the_body_of_a_problem():
    async with httpx2.AsyncClient(
        headers=CALLER, transport=httpx2.ASGITransport(served(), raise_app_exceptions=False), base_url="http://a"
    ) as http:
        ours = await http.get("/v1/things/a", headers={"traceparent": GIVEN})
        fresh = await http.get("/v1/things/a", headers={"traceparent": "canary", REQUEST_ID: "canary"})
        problems = [await http.get(path, headers={"traceparent": GIVEN}) for path in ("/v1/things/none", "/none", "/v1/things/broken")]
    assert (ours.headers[REQUEST_ID], ours.json()["request"]) == (TRACE, TRACE)
    assert re.fullmatch(f"00-{TRACE}-[0-9a-f]{{16}}-01", ours.json()["sent"]["traceparent"])
    assert SPAN not in ours.text
    assert HEX.fullmatch(fresh.headers[REQUEST_ID])
    assert "canary" not in fresh.text + str(fresh.headers)
    for problem, status in zip(problems, (404, 404, 500), strict=True):
        assert (problem.status_code, problem.headers.get_list(REQUEST_ID), problem.json()["request"]) == (status, [TRACE], TRACE)


async def test_two_headers_say_nothing():
    got = await send(served(), "GET", "/v1/things/a", headers=[("traceparent", GIVEN), ("traceparent", GIVEN)])
    assert got.headers[REQUEST_ID] != TRACE


async def test_work_is_named_by_template_and_known_method():
    heard = Heard()
    app = served(heard)
    for method, path in [("GET", "/v1/things/canary"), ("CANARY", "/canary"), ("GET", "/v1/things/broken")]:
        await send(app, method, path)
    assert [work.name for work in heard.works] == ["GET /v1/things/{name}", "OTHER -", "GET /v1/things/{name}"]
    assert [work.facts["http.response.status_code"] for work in heard.works] == [200, 404, 500]
    assert [name for _, name in heard.steps] == ["retrieve"]
    assert "canary" not in repr(heard.works).lower()
