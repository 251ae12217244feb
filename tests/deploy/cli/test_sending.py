"""Documents on their way to an edge, with the edge as a transport."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import httpx2
import pytest

from deploy.cli.sending import MAX_WAITS, Refused, SentDocument, SourceFile, files_in, outcomes, patiently, rows, send, size, wait_settled
from deploy.cluster.errors import ClusterError
from edge_node.documents.collections import BadRow
from shared.client.errors import BadReply, ServiceError, body

EDGE = "http://edge"


def client(answer: Callable[[httpx2.Request], httpx2.Response]) -> httpx2.Client:
    return httpx2.Client(transport=httpx2.MockTransport(answer))


def raising(error: type[httpx2.TransportError]) -> Callable[[httpx2.Request], httpx2.Response]:
    def answer(request: httpx2.Request) -> httpx2.Response:
        raise error("nobody there", request=request)

    return answer


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_a_folder_gives_its_readable_files_sorted_and_named_below_it(tmp_path: Path):
    for name in ("b.md", "a/b.md", "a/x.PDF", ".git/c.md", ".hidden.md", "film.mov", "rows.jsonl"):
        write(tmp_path / name, "x")
    assert [file.name for file in files_in([tmp_path])] == ["a/b.md", "a/x.PDF", "b.md", "rows.jsonl"]


def test_a_file_is_taken_whatever_it_is_called(tmp_path: Path):
    path = write(tmp_path / "NOTES", "x")
    assert files_in([path]) == [SourceFile("NOTES", path)]
    assert size(files_in([path, path])) == 2


def test_a_path_that_is_not_there_and_a_folder_without_readable_files_are_refused(tmp_path: Path):
    with pytest.raises(ClusterError, match="there is no file or folder"):
        files_in([tmp_path / "x"])
    with pytest.raises(ClusterError, match="holds no readable file"):
        files_in([tmp_path])


def test_rows_are_streamed_and_their_bytes_counted(tmp_path: Path):
    path = write(tmp_path / "c.jsonl", '{"doc_id": "1", "title": "", "text": "A."}\nnonsense\n')
    seen: list[int] = []
    found = list(rows(SourceFile("c.jsonl", path), seen.append))
    assert [type(row) for row in found][1] is BadRow
    assert sum(seen) == path.stat().st_size


def test_json_lines_that_are_no_documents_go_as_one_file(tmp_path: Path):
    path = write(tmp_path / "log.jsonl", '\n{"pump": "P-7"}\n{"doc_id": "1", "text": "A."}\n')
    seen: list[bytes] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        seen.append(request.content)
        return httpx2.Response(202, json={"document_id": "d1", "job_id": "j", "duplicate": False})

    assert list(send(client(answer), EDGE, files_in([path]), None, lambda more: None)) == [SentDocument("log.jsonl", "d1")]
    assert len(seen) == 1
    assert b'filename="log.jsonl"' in seen[0]


def test_rows_go_as_json_with_the_labels_added(tmp_path: Path):
    path = write(tmp_path / "c.jsonl", '{"doc_id": "1", "title": "T", "text": "A.", "labels": ["own"]}\n')
    seen: list[dict[str, object]] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        seen.append(json.loads(request.content))
        return httpx2.Response(202, json={"document_id": "d1", "job_id": "j", "duplicate": True})

    results = list(send(client(answer), EDGE, files_in([path]), ["more"], lambda more: None))
    assert seen == [{"name": "1", "title": "T", "text": "A.", "labels": ["own", "more"]}]
    assert results == [SentDocument("1", "d1", duplicate=True)]


def test_files_go_as_multipart_with_their_name(tmp_path: Path):
    write(tmp_path / "a" / "b.md", "hello")
    seen: list[bytes] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        seen.append(request.read())
        return httpx2.Response(202, json={"document_id": "d1", "job_id": "j", "duplicate": False})

    assert list(send(client(answer), EDGE, files_in([tmp_path]), ["x", "y"], lambda more: None)) == [SentDocument("a/b.md", "d1")]
    assert b'name="file"; filename="a/b.md"' in seen[0]
    assert b'name="labels"\r\n\r\nx,y' in seen[0]


@pytest.mark.parametrize(("labels", "part"), [(None, False), ([], True)])
def test_a_form_without_labels_keeps_them_and_an_empty_part_takes_them_off(tmp_path: Path, labels: list[str] | None, part: bool):
    seen: list[bytes] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        seen.append(request.read())
        return httpx2.Response(202, json={"document_id": "d1"})

    assert list(send(client(answer), EDGE, files_in([write(tmp_path / "a.md", "x")]), labels, lambda more: None)) == [
        SentDocument("a.md", "d1")
    ]
    assert (b'name="labels"' in seen[0]) is part


def test_what_may_leave_of_a_document_is_in_its_receipt(tmp_path: Path):
    told = {"document_id": "d1", "labels": ["a"], "share": "never", "unnamed_labels": ["a"]}
    files = files_in([write(tmp_path / "a.md", "x")])
    (found,) = send(client(lambda _: httpx2.Response(202, json=told)), EDGE, files, ["a"], lambda more: None)
    assert found == SentDocument("a.md", "d1", labels=("a",), share="never", unnamed_labels=("a",))


def test_a_refused_file_does_not_stop_the_rest(tmp_path: Path):
    for name in ("a.md", "b.md"):
        write(tmp_path / name, name)

    def answer(request: httpx2.Request) -> httpx2.Response:
        if b"a.md" in request.read():
            return httpx2.Response(413, json={"title": "Too large", "detail": "a.md is over the limit of 3 bytes"})
        return httpx2.Response(202, json={"document_id": "d1"})

    results = list(send(client(answer), EDGE, files_in([tmp_path]), [], lambda more: None))
    assert results == [Refused("a.md", "refused", "a.md is over the limit of 3 bytes"), SentDocument("b.md", "d1")]


def test_a_connection_that_a_living_edge_closes_is_a_refusal(tmp_path: Path):
    def answer(request: httpx2.Request) -> httpx2.Response:
        if request.method == "GET":
            return httpx2.Response(200)
        raise httpx2.WriteError("broken pipe", request=request)

    results = list(send(client(answer), EDGE, files_in([write(tmp_path / "a.md", "x")]), [], lambda more: None))
    assert results == [Refused("a.md", "refused", "the edge closed the connection: the file is over its limit")]


def test_an_edge_that_knows_us_not_stops_everything(tmp_path: Path):
    http = client(lambda request: httpx2.Response(401, json={"title": "Unauthorized"}))
    with pytest.raises(ServiceError, match="Unauthorized"):
        list(send(http, EDGE, files_in([write(tmp_path / "a.md", "x")]), [], lambda more: None))


def test_outcomes_hold_the_reason_and_know_a_replaced_document():
    def answer(request: httpx2.Request) -> httpx2.Response:
        if request.url.path.endswith("/d2"):
            return httpx2.Response(404, json={"title": "Not Found"})
        return httpx2.Response(200, json={"status": "parked", "code": "no_text_layer", "reason": "no text", "next_step": "run OCR"})

    found = outcomes(client(answer), EDGE, [SentDocument("a", "d1"), SentDocument("b", "d2")])
    assert found == [
        SentDocument("a", "d1", status="parked", code="no_text_layer", reason="no text", next_step="run OCR"),
        SentDocument("b", "d2", status="replaced"),
    ]


def test_the_wait_ends_when_every_edge_is_settled(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("deploy.cli.sending.POLL_S", 0.0)
    calls: list[str] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        calls.append(request.url.host)
        if len(calls) == 2:
            raise httpx2.ReadTimeout("busy", request=request)
        return httpx2.Response(200, json={"edge": request.url.host, "settled": len(calls) > 2, "documents": {}, "cost": "unknown field"})

    shown: list[str] = []
    found = wait_settled(client(answer), ["http://a", "http://b"], lambda status: shown.append(status.edge), lambda: None)
    assert calls == ["a", "b", "a", "b"]
    assert shown == ["a", "a", "b"]
    assert found["http://b"].settled


def test_a_crash_ends_the_wait():
    def check() -> None:
        raise ClusterError("crashed")

    with pytest.raises(ClusterError, match="crashed"):
        wait_settled(client(lambda request: httpx2.Response(200)), ["http://a"], lambda status: None, check)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (
            lambda request: httpx2.Response(200, json={"edge": "ward", "failed": "the store is damaged"}),
            "ward has failed: the store is damaged",
        ),
        (raising(httpx2.ConnectError), "http://a stopped answering"),
        (raising(httpx2.ReadTimeout), "http://a stopped answering"),
    ],
)
def test_an_edge_that_has_failed_or_answers_no_more_ends_the_wait(answer, said: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("deploy.cli.sending.POLL_S", 0.0)
    with pytest.raises(ClusterError, match=said):
        wait_settled(client(answer), ["http://a"], lambda status: None, lambda: None)


def test_an_edge_that_starts_is_waited_for(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("deploy.cli.sending.POLL_S", 0.0)
    said = iter([{"edge": "a", "failed": "starting"}, {"edge": "a", "failed": "", "settled": True}])
    found = wait_settled(client(lambda request: httpx2.Response(200, json=next(said))), ["http://a"], lambda status: None, lambda: None)
    assert found["http://a"].settled


@pytest.mark.parametrize(
    ("response", "said"),
    [
        (httpx2.Response(500), "HTTP 500 from http://edge/x"),
        (httpx2.Response(400, json={"title": "Bad", "detail": ""}), "Bad"),
        (httpx2.Response(400, json=["?"]), "HTTP 400 from http://edge/x"),
        (httpx2.Response(200, text="<html>"), "does not answer JSON"),
    ],
)
def test_every_answer_that_is_no_success_is_an_error_of_ours(response: httpx2.Response, said: str):
    with pytest.raises((ServiceError, BadReply), match=said):
        body(client(lambda request: response).get("http://edge/x"))


def test_a_document_is_sent_again_when_the_edge_has_named_a_time_to_wait():
    answers = [httpx2.Response(429, headers={"retry-after": "3"}), httpx2.Response(503, headers={"retry-after": "1"}), httpx2.Response(202)]
    waits: list[float] = []
    assert patiently(lambda: answers.pop(0), waits.append).status_code == 202
    assert waits == [3.0, 1.0]


def test_an_edge_that_names_no_time_is_not_asked_again_and_one_that_always_does_has_the_last_word():
    calls: list[int] = []

    def busy(**headers: str) -> Callable[[], httpx2.Response]:
        return lambda: calls.append(1) or httpx2.Response(503, headers=headers)

    assert patiently(busy(), calls.append).status_code == 503
    assert len(calls) == 1
    calls.clear()
    assert patiently(busy(**{"retry-after": "0"}), lambda _: None).status_code == 503
    assert len(calls) == MAX_WAITS + 1
