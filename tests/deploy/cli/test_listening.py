"""Hearing an answer while it is written, from a server of this process."""

from __future__ import annotations

import json

import httpx2
import pytest

from deploy.cli.ask import filters_in, heard
from shared.client.errors import BadReply, ServiceError
from shared.errors import InputError

ANSWER = {"answer": "Pumps fail [1].", "novelty": 1}


def streamed(*events, tell=lambda news: None):
    content = "".join(f"event: {kind}\ndata: {json.dumps(data)}\n\n" for kind, data in events)
    return asked_of(httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=content), tell)


def asked_of(response, tell=lambda news: None):
    sent = []

    def serve(request):
        sent.append(json.loads(request.content))
        return response

    with httpx2.Client(transport=httpx2.MockTransport(serve)) as http:
        found = heard(http, "http://edge", {"question": "Why?"}, tell, timeout=httpx2.Timeout(9))
    assert sent == [{"question": "Why?", "stream": True}]
    return found


def test_the_answer_comes_as_it_was_sent_and_what_went_before_is_told():
    news = []
    events = [("step", {"step": "map"}), ("text", "Pumps "), ("text", "fail."), ("void", None), ("text", "No."), ("answer", ANSWER)]
    assert streamed(*events, tell=news.append) == ANSWER
    assert news == ["map: done", "writing: Pumps", "writing: Pumps fail.", "beginning anew", "writing: No."]


def test_of_a_long_text_the_end_is_told_from_a_word_on():
    news = []
    streamed(("text", "pump " * 40 + "fails."), ("answer", ANSWER), tell=news.append)
    assert news == [f"writing: … {'pump ' * 10}fails."]


def test_an_event_of_a_later_release_is_passed_over():
    assert streamed(("hint", {"a": 1}), ("answer", ANSWER)) == ANSWER


def test_an_error_in_the_stream_is_the_edges_own():
    with pytest.raises(ServiceError) as caught:
        streamed(("text", "Pumps"), ("error", {"code": "model_timeout", "detail": "the model is late"}))
    assert (caught.value.code, caught.value.message) == ("model_timeout", "the model is late")


def test_an_error_before_the_stream_keeps_its_status_and_next_step():
    problem = {"detail": "the edge is busy", "code": "busy", "next_step": "ask later"}
    with pytest.raises(ServiceError) as caught:
        asked_of(httpx2.Response(429, json=problem))
    assert (caught.value.status, caught.value.next_step) == (429, "ask later")


def test_a_stream_that_ends_without_an_answer_is_an_error():
    with pytest.raises(BadReply, match="half-way"):
        streamed(("text", "Pumps"))


@pytest.mark.parametrize(
    ("given", "named", "said"),
    [
        (["path=*.md", "until=notadate"], "--filter until cannot be 'notadate'", "a date is written as 2026-01-31"),
        (["language=en", "language=english"], "--filter language cannot be 'en, english'", "by its code, as en or de"),
    ],
)
def test_a_filter_that_cannot_be_is_named_with_how_it_is_written(given, named, said):
    with pytest.raises(InputError) as caught:
        filters_in(given)
    assert (caught.value.message, said in caught.value.next_step) == (named, True)
