"""The edge's client of the cloud: whatever the cloud does, it is CloudUnavailable or CloudRefused, and all that leaves is recorded."""

import asyncio
import hashlib
import json
from itertools import pairwise

import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edge_node.cloud.client import MAX_BODY_BYTES, answer_of, cloud_http
from shared.errors import CloudRefused, CloudUnavailable, DiskFull, Unrecorded, Unsendable
from shared.limits import RetryBudget
from shared.records import Answer, Summary, SummaryDelta
from shared.wire import NDJSON, EvidenceBody, EvidenceReply, Head
from tests.support.cloud_line import line, told
from tests.support.injections import injections
from tests.support.storing import SetClock
from tests.support.viewer import active

DELTA = SummaryDelta("e1", 0, 1, (Summary("s1", "about pumps", 1, 0),), ())
KNOWN = {"edge": "ward", "epoch": "e1", "version": 1, "wire_version": 6}
PASSAGE = EvidenceBody(document_id="d", document="pumps.md", chunk_id="d:0", span=(0, 4), text="Pump")
ANSWER = Answer("q", "Lot L-7713.", (), "cloud")


@pytest.fixture
def to(tmp_path, monkeypatch):
    """Make a line to a handler."""
    monkeypatch.setattr("edge_node.cloud.client.PAUSES_S", (0.0, 0.0))
    opened = []

    def make(handler, **knobs):
        manager = line(tmp_path, handler, **knobs)
        opened.append(manager)
        return manager.__enter__()

    yield make
    for manager in opened:
        manager.__exit__(None, None, None)


class Dripping(httpx2.AsyncByteStream):
    """A body that never ends."""

    async def __aiter__(self):
        while True:
            yield b" "
            await asyncio.sleep(0.005)


class Endless(httpx2.AsyncByteStream):
    """A body without an end, as fast as it can be read."""

    async def __aiter__(self):
        while True:
            yield b"x" * 2**18


class Scripted:
    """Answers one request after the other; an exception is raised."""

    def __init__(self, *responses):
        self.responses = list(responses)
        self.requests = []

    def __call__(self, request):
        self.requests.append(request)
        response = self.responses.pop(0)
        if isinstance(response, Exception):
            raise response
        return response


@pytest.mark.parametrize(
    "response",
    [
        httpx2.Response(503),
        httpx2.Response(200, content=b"not json"),
        httpx2.Response(200, json={"edge": "ward", "version": "many"}),
        httpx2.Response(200, json=[]),
        httpx2.Response(200, content=b"[" * 100_000),
        httpx2.Response(200, content=b'{"edge":"ward","version":NaN}'),
        httpx2.Response(302, headers={"location": "http://elsewhere.example"}),
    ],
)
async def test_a_cloud_that_fails_or_babbles_is_unavailable(to, response):
    with pytest.raises(CloudUnavailable):
        await to(lambda request: response).client.greet()


async def test_a_failure_is_not_its_own_cause(to):
    with pytest.raises(CloudUnavailable) as raised:
        await to(lambda _: httpx2.Response(500)).client.greet()
    assert raised.value.__cause__ is None


async def test_a_redirect_is_not_followed(to):
    script = Scripted(httpx2.Response(307, headers={"location": "http://elsewhere.example"}))
    with pytest.raises(CloudUnavailable, match="307"):
        await to(script).client.greet()
    assert len(script.requests) == 1


async def test_a_cloud_that_says_no_is_quoted_with_its_reason(to):
    problem = httpx2.Response(409, json={"code": "resync", "detail": "send a snapshot"})
    with pytest.raises(CloudRefused, match="send a snapshot") as caught:
        await to(lambda request: problem).client.greet()
    assert (caught.value.status, caught.value.reason) == (409, "resync")


async def test_a_refusal_without_a_problem_document_is_a_refusal_still(to):
    with pytest.raises(CloudRefused):
        await to(lambda request: httpx2.Response(404, content=b"<html>")).client.greet()


async def test_what_a_refusal_says_is_short_and_inert(to):
    problem = httpx2.Response(400, json={"code": "c" * 5000, "detail": "<script>alert(1)</script> " + "x" * 5000})
    with pytest.raises(CloudRefused) as caught:
        await to(lambda request: problem).client.greet()
    assert "<script" not in caught.value.message
    assert max(len(caught.value.message), len(caught.value.reason)) <= 300


async def test_a_dripping_cloud_is_cut_at_the_total_deadline(to):
    with pytest.raises(CloudUnavailable, match="in time"):
        await to(lambda request: httpx2.Response(200, stream=Dripping())).client.greet(deadline_s=0.05)


async def test_an_endless_body_is_cut_at_the_byte_cap(to):
    with pytest.raises(CloudUnavailable, match=str(MAX_BODY_BYTES)):
        await to(lambda request: httpx2.Response(200, stream=Endless())).client.greet()


async def test_a_compressed_body_is_refused_unread(to):
    response = httpx2.Response(200, stream=Endless(), headers={"content-encoding": "gzip"})
    with pytest.raises(CloudUnavailable, match="compressed"):
        await to(lambda request: response).client.greet()


async def test_every_call_tells_its_remaining_time(to):
    script = Scripted(httpx2.Response(200, json=KNOWN))
    await to(script).client.greet(deadline_s=2.5)
    assert script.requests[0].headers["deadline-ms"] == "2500"


async def test_what_is_not_of_the_agreed_form_is_not_sent_not_recorded_and_not_quoted(to):
    script = Scripted()
    made = to(script)
    with pytest.raises(Unsendable, match="text"):
        await made.client.push(SummaryDelta("e1", 0, 1, (Summary("s1", "", 1, 0),), ()))
    with pytest.raises(Unsendable) as caught:
        await made.client.ask("secret" * 1000, query_id="q", deadline_s=1)
    assert "secret" not in caught.value.message
    assert (script.requests, made.kinds()) == ([], [])


@pytest.mark.parametrize(
    ("url", "through_proxy"), [("http://127.0.0.1:8099", False), ("http://[::1]:1", False), ("https://cloud.site", True)]
)
async def test_a_cloud_on_this_machine_is_not_asked_through_a_proxy(url, through_proxy):
    async with cloud_http(url) as http:
        assert http.trust_env is through_proxy


# ---------------------------------------------------------------- the ledger


async def test_each_body_is_recorded_with_what_it_is_for_and_a_call_without_a_body_is_not(to):
    script = Scripted(
        httpx2.Response(200, json=KNOWN),
        httpx2.Response(200, json=KNOWN),
        httpx2.Response(200, json={"requests": []}),
        httpx2.Response(204),
        told(ANSWER),
    )
    made = to(script)
    await made.client.greet()
    await made.client.push(DELTA, rule="summary policy 1")
    await made.client.poll(wait_s=0)
    await made.client.reply("r1", EvidenceReply(evidence=[PASSAGE]), requester="bank", purpose="audit", rule="labels.public")
    await made.client.ask("Which lot?", query_id="q7", purpose="recall", rule="questions", deadline_s=5)
    summaries, evidence, question = made.ledger.entries()
    assert (summaries.kind, summaries.subject, summaries.items, summaries.rule) == ("summaries", "1", '["s1"]', "summary policy 1")
    assert (evidence.kind, evidence.requester, evidence.purpose, evidence.items) == ("evidence", "bank", "audit", '["d:0"]')
    assert (question.kind, question.subject, question.rule, question.purpose) == ("question", "q7", "questions", "recall")
    bodies = [request.content for request in script.requests if request.content]
    assert [entry.sha256 for entry in made.ledger.entries()] == [hashlib.sha256(body).hexdigest() for body in bodies]
    assert [entry.bytes for entry in made.ledger.entries()] == [len(body) for body in bodies]


async def test_a_record_stands_before_the_body_leaves(to):
    seen = []

    def handler(request):
        seen.append(made.kinds())
        return httpx2.Response(200, json=KNOWN)

    made = to(handler)
    await made.client.push(DELTA)
    assert seen == [["summaries"]]


async def test_what_cannot_be_recorded_is_not_sent(to, tmp_path, monkeypatch):
    script = Scripted()
    made = to(script)

    def full(departure):
        raise DiskFull(tmp_path)

    monkeypatch.setattr(made.ledger, "record", full)
    with pytest.raises(Unrecorded, match="full"):
        await made.client.push(DELTA)
    with pytest.raises(Unrecorded):
        await made.client.ask("Which lot?", query_id="q", deadline_s=5)
    assert script.requests == []
    assert made.breaker.left_s() == 0


async def test_a_reply_without_evidence_is_recorded_as_a_refusal(to):
    made = to(Scripted(httpx2.Response(204)))
    await made.client.reply("r1", EvidenceReply(refused="nothing here"))
    assert made.kinds() == ["refusal"]


# ---------------------------------------------------------------- repeats


async def test_a_push_is_repeated_when_the_cloud_fails_and_each_attempt_is_a_record(to):
    made = to(Scripted(httpx2.Response(503), httpx2.ConnectError("no"), httpx2.Response(200, json=KNOWN)))
    known, _ = await made.client.push(DELTA)
    assert (known.version, made.kinds()) == (1, ["summaries"] * 3)


async def test_a_repeated_reply_that_the_cloud_had_heard_before_is_fine(to):
    made = to(Scripted(httpx2.ReadError("the answer is lost"), httpx2.Response(404)))
    await made.client.reply("r1", EvidenceReply(refused="nothing here"))
    assert made.kinds() == ["refusal"] * 2


async def test_a_first_reply_for_which_nobody_waits_is_refused(to):
    with pytest.raises(CloudRefused):
        await to(Scripted(httpx2.Response(404))).client.reply("r1", EvidenceReply(refused="nothing here"))


async def test_nothing_is_repeated_beyond_the_budget(to):
    made = to(Scripted(httpx2.Response(503), httpx2.Response(503)), retries=RetryBudget(share=0, reserve=1))
    with pytest.raises(CloudUnavailable):
        await made.client.push(DELTA)
    assert made.kinds() == ["summaries"] * 2


async def test_a_greeting_and_a_question_are_not_repeated(to):
    made = to(Scripted(httpx2.Response(503), httpx2.Response(503)))
    with pytest.raises(CloudUnavailable):
        await made.client.greet()
    with pytest.raises(CloudUnavailable):
        await made.client.ask("Which lot?", query_id="q", deadline_s=5)
    assert made.kinds() == ["question"]


# ---------------------------------------------------------------- questions


async def test_an_answer_comes_after_signs_of_life(to):
    answer, sent, received = await to(Scripted(told(ANSWER, beats=3))).client.ask("Which lot?", query_id="q", deadline_s=5)
    assert answer.answer == "Lot L-7713."
    assert sent == len(b'{"question":"Which lot?","purpose":null,"query_id":"q","m":null,"mode":"answer","level":"dynamic"}')
    assert received > 3 * len('{"alive": true}')


class Beating(httpx2.AsyncByteStream):
    """Signs of life, each after a pause, then the answer."""

    def __init__(self, pauses_s):
        self.pauses_s = pauses_s

    async def __aiter__(self):
        for pause_s in self.pauses_s:
            await asyncio.sleep(pause_s)
            yield b'{"alive":true}\n'
        yield told(ANSWER, beats=0).content


async def test_a_cloud_that_is_silent_from_the_start_counts_as_away(to):
    response = httpx2.Response(200, stream=Beating([3600]), headers={"content-type": NDJSON})
    with pytest.raises(CloudUnavailable, match="in time"):
        await to(lambda request: response, patience_s=0.02).client.ask("Which lot?", query_id="q", deadline_s=60)


async def test_a_cloud_that_falls_silent_later_counts_as_away(to):
    response = httpx2.Response(200, stream=Beating([0, 0, 3600]), headers={"content-type": NDJSON})
    with pytest.raises(CloudUnavailable, match="in time"):
        await to(lambda request: response, patience_s=0.02).client.ask("Which lot?", query_id="q", deadline_s=60)


async def test_bytes_without_a_line_are_no_sign_of_life(to):
    response = httpx2.Response(200, stream=Dripping(), headers={"content-type": NDJSON})
    with pytest.raises(CloudUnavailable, match="in time"):
        await to(lambda request: response, patience_s=0.05).client.ask("Which lot?", query_id="q", deadline_s=60)


async def test_signs_of_life_for_ever_end_at_the_deadline(to):
    response = httpx2.Response(200, stream=Beating([0.005] * 100_000), headers={"content-type": NDJSON})
    with pytest.raises(CloudUnavailable, match="in time"):
        await to(lambda request: response).client.ask("Which lot?", query_id="q", deadline_s=0.1)


@pytest.mark.parametrize(
    "response",
    [
        httpx2.Response(200, content=b"<html>", headers={"content-type": "text/html"}),
        httpx2.Response(200, json={"answer": "L-7713"}),
        httpx2.Response(200, content=b"", headers={"content-type": NDJSON}),
        httpx2.Response(200, content=b'{"alive":true}\n{"answer":{"query_id":"q"', headers={"content-type": NDJSON}),
        httpx2.Response(200, content=b'{"answer":{"query_id":7}}\n', headers={"content-type": NDJSON}),
        httpx2.Response(200, content=b'{"alive":true,"more":1}\n', headers={"content-type": NDJSON}),
        httpx2.Response(200, content=b"\xff\xfe\n", headers={"content-type": NDJSON}),
        httpx2.Response(200, content=b"[" * 100_000 + b"\n", headers={"content-type": NDJSON}),
        httpx2.Response(200, stream=Endless(), headers={"content-type": NDJSON}),
        httpx2.Response(302, headers={"location": "http://elsewhere.example"}),
    ],
)
async def test_an_answer_that_is_not_of_the_agreed_form_is_no_answer(to, response):
    with pytest.raises(CloudUnavailable):
        await to(lambda request: response).client.ask("Which lot?", query_id="q", deadline_s=5)


async def test_a_number_that_is_none_is_no_answer(to):
    content = told(ANSWER).content.replace(b'"trace": []', b'"trace": [{"step": "x", "ms": NaN}]')
    assert b"NaN" in content
    response = httpx2.Response(200, content=content, headers={"content-type": NDJSON})
    with pytest.raises(CloudUnavailable):
        await to(lambda request: response).client.ask("Which lot?", query_id="q", deadline_s=5)


@pytest.mark.parametrize(("status", "kind"), [(403, CloudRefused), (503, CloudUnavailable), (200, CloudUnavailable)])
async def test_a_problem_in_a_line_is_the_error_that_it_tells_of(to, status, kind):
    content = json.dumps({"problem": {"status": status, "code": "expelled", "detail": "out"}}).encode() + b"\n"
    response = httpx2.Response(200, content=content, headers={"content-type": NDJSON})
    with pytest.raises(kind, match="out"):
        await to(lambda request: response).client.ask("Which lot?", query_id="q", deadline_s=5)


async def test_markup_in_an_answer_is_inert(to):
    lie = Answer("q", "See ![x](http://evil.example/p.png) [1]", (), "cloud")
    answer, _, _ = await to(Scripted(told(lie))).client.ask("Which lot?", query_id="q", deadline_s=5)
    assert "evil" not in answer.answer
    assert "[1]" not in answer.answer


# ---------------------------------------------------------------- questions about everything


def pieces(*texts, answer=ANSWER):
    """The response that tells an answer as it is written."""
    lines = b"".join(json.dumps({"text": text}).encode() + b"\n" for text in texts)
    return httpx2.Response(200, content=lines + told(answer, beats=1).content, headers={"content-type": NDJSON})


async def heard(to, *texts, level="dynamic"):
    """What a listener hears of these pieces, and the answer."""
    listened = []
    answer, _, _ = await to(Scripted(pieces(*texts))).client.ask(
        "What is it?", query_id="q", deadline_s=5, level=level, on_text=listened.append
    )
    return listened, answer


@pytest.mark.parametrize("level", [0, 2, "dynamic"])
async def test_a_question_about_everything_says_so_and_at_which_level(to, level):
    script = Scripted(told(ANSWER))
    answer, sent, _ = await to(script).client.ask("What is it?", query_id="q", deadline_s=5, level=level)
    body = json.loads(script.requests[0].content)
    assert (body["mode"], body["level"], sent) == ("global", level, len(script.requests[0].content))
    assert answer.route == "global"


async def test_passages_in_the_place_of_reports_are_never_asked_of_the_cloud(to):
    script = Scripted(told(ANSWER))
    with pytest.raises(Unsendable, match="level"):
        await to(script).client.ask("What is it?", query_id="q", deadline_s=5, level="text")
    assert script.requests == []


async def test_sentences_are_heard_as_they_come_and_before_the_answer(to):
    listened, answer = await heard(to, "Meadows shrink [1]. ", "Bees go.")
    assert (listened, answer.answer) == (["Meadows shrink [1]. ", "Bees go. "], "Lot L-7713.")


async def test_only_who_listens_hears(to):
    answer, _, _ = await to(Scripted(pieces("Meadows shrink. "))).client.ask("Which lot?", query_id="q", deadline_s=5)
    assert (answer.answer, answer.route) == ("Lot L-7713.", "cloud")


HOSTILE_PIECES = [
    ["![x](http://evil.example/p.png)"],
    ["See ![x", "](http://evil.example/p.png)"],
    ["See [x]", "(http://evil.example/)"],
    ["See [x](", "http://evil.example/)"],
    ["<", "img src=x onerror=alert(1)>"],
    ["<im", "g src=x onerror=alert(1)>"],
    ["<http:/", "/evil.example>"],
    ["[x]", ": http://evil.example/\n\n[x]"],
]


@pytest.mark.parametrize("texts", HOSTILE_PIECES)
async def test_pieces_show_nothing_active_however_they_are_put_together(to, texts):
    listened, _ = await heard(to, *texts)
    assert active("".join(texts))
    assert active("".join(listened)) == set()


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(injections()), st.lists(st.integers(0, 400), max_size=4))
def test_an_injection_that_is_cut_into_pieces_stays_inert(text, cuts):
    ends = sorted({0, *(min(cut, len(text)) for cut in cuts), len(text)})
    lines = [json.dumps({"text": text[start:end]}).encode() for start, end in pairwise(ends)]
    assert active("".join(answer_of(line) or "" for line in lines)) == set()


async def test_what_is_heard_counts_against_the_cap_of_an_answer(to):
    with pytest.raises(CloudUnavailable, match=str(MAX_BODY_BYTES)):
        await heard(to, *["x" * 16_000] * 70)


async def test_a_piece_is_a_sign_of_life_and_what_was_heard_of_a_broken_answer_is_an_error(to):
    cut = httpx2.Response(200, content=b'{"text":"Meadows shrink. "}\n', headers={"content-type": NDJSON})
    with pytest.raises(CloudUnavailable, match="complete"):
        await to(Scripted(cut)).client.ask("What is it?", query_id="q", deadline_s=5, level=0)


async def test_the_coverage_of_an_answer_is_one_inert_line(to):
    lie = Answer("q", "Bees go.", (), "local", coverage="5 of 5 sites\n![x](http://evil.example/p.png)", would_ask="x")
    answer, _, _ = await to(Scripted(told(lie))).client.ask("What is it?", query_id="q", deadline_s=5, level=1)
    assert (answer.route, answer.would_ask, answer.coverage) == ("global", "", "5 of 5 sites x")


# ---------------------------------------------------------------- the breaker


async def test_after_failures_in_a_row_a_question_fails_at_once_says_why_and_leaves_no_record(to):
    clock = SetClock()
    made = to(Scripted(*[httpx2.ConnectError("refused")] * 3), clock=clock)
    for _ in range(3):
        with pytest.raises(CloudUnavailable, match="cannot be reached"):
            await made.client.ask("Which lot?", query_id="q", deadline_s=5)
    with pytest.raises(CloudUnavailable, match=r"cannot be reached \(ConnectError\); it is tried again in 30 s"):
        await made.client.ask("Which lot?", query_id="q", deadline_s=5)
    assert made.kinds() == ["question"] * 3


async def test_a_greeting_that_is_answered_lets_questions_pass_again(to):
    made = to(Scripted(httpx2.Response(503), httpx2.Response(200, json=KNOWN), told(ANSWER)), failures=1, clock=SetClock())
    with pytest.raises(CloudUnavailable):
        await made.client.ask("Which lot?", query_id="q", deadline_s=5)
    await made.client.greet()
    answer, _, _ = await made.client.ask("Which lot?", query_id="q", deadline_s=5)
    assert answer.answered


async def test_a_cloud_that_says_no_is_not_away(to):
    refusals = [httpx2.Response(403, json={"code": "forbidden", "detail": "no"}) for _ in range(5)]
    made = to(Scripted(*refusals))
    for _ in range(5):
        with pytest.raises(CloudRefused):
            await made.client.greet()
    assert made.breaker.left_s() == 0


# ---------------------------------------------------------------- heads


async def test_a_head_is_shown_and_comes_back_countersigned(to):
    head = Head(epoch="e1", seq=3, hash="0" * 64)
    seen = {"head": head.model_dump(), "at": 5.0, "signature": "s"}
    made = to(Scripted(httpx2.Response(200, json=seen), httpx2.Response(200, json=seen), httpx2.Response(404)))
    assert (await made.client.head(head)).head == head
    assert (await made.client.newest_head()).at == 5.0
    assert await made.client.newest_head() is None
    assert made.kinds() == ["head"]


async def test_a_cloud_of_an_older_release_is_told_apart_when_it_is_greeted(to):
    older = {name: value for name, value in KNOWN.items() if name != "wire_version"}  # up to version 5 a cloud said nothing
    with pytest.raises(CloudRefused, match="the edge speaks version 6 of the protocol, the cloud speaks version 5"):
        await to(lambda _: httpx2.Response(200, json=older)).client.greet()
