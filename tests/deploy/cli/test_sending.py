"""Documents on their way to an edge, with the edge as a transport."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import httpx2
import pytest

from deploy.cli.sending import MAX_WAITS, Refused, SentDocument, SourceFile, listing, outcomes, patiently, rows, send, size, wait_settled
from deploy.cluster.errors import ClusterError
from edge_node.documents.collections import BadRow
from edge_node.folders.files import OUTSIDE
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
    assert [file.name for file in listing([tmp_path]).files] == ["a/b.md", "a/x.PDF", "b.md", "rows.jsonl"]


def test_a_file_is_taken_whatever_it_is_called(tmp_path: Path):
    path = write(tmp_path / "NOTES", "x")
    assert listing([path]).files == (SourceFile("NOTES", path),)
    assert size(listing([path, path]).files) == 2


def test_files_of_one_name_from_two_folders_stay_two_documents(tmp_path: Path):
    for place in ("here/ward/rules.md", "there/ward/rules.md", "other/rules.md", "other/more.md", "alone/b.md"):
        write(tmp_path / place, place)
    here, there, other, alone = (tmp_path / name for name in ("here/ward", "there/ward", "other", "alone"))
    assert [file.name for file in listing([here, alone]).files] == ["rules.md", "b.md"]
    assert [file.name for file in listing([here, other]).files] == ["ward/rules.md", "other/more.md", "other/rules.md"]
    assert [file.name for file in listing([here / "rules.md", other / "rules.md"]).files] == ["ward/rules.md", "other/rules.md"]
    assert [file.name for file in listing([here, there, alone]).files] == ["here/ward/rules.md", "there/ward/rules.md", "b.md"]
    assert [file.name for file in listing([here, here]).files] == ["rules.md", "rules.md"]


def test_a_folder_gives_nothing_from_outside_of_it(tmp_path: Path):
    """The null control is the same link given by itself: that one is meant."""
    secret = write(tmp_path / "outside" / "secret.txt", "secret")
    folder = write(tmp_path / "in" / "a.md", "x").parent
    write(folder / "sub" / "b.md", "x")
    (folder / "notes.txt").symlink_to(secret)
    (folder / "away").symlink_to(secret.parent)
    (folder / "again.md").symlink_to("a.md")
    (folder / "loop.md").symlink_to("loop.md")
    (folder / "round").symlink_to("..", target_is_directory=True)
    os.mkfifo(folder / "pipe.md")
    found = listing([folder])
    assert [file.name for file in found.files] == ["a.md", "again.md", "sub/b.md"]
    assert sorted(refused.name for refused in found.refused) == ["away/", "loop.md", "notes.txt", "pipe.md", "round/"]
    assert {refused.reason for refused in found.refused if refused.name in ("away/", "notes.txt", "round/")} == {OUTSIDE}
    (meant,) = listing([folder / "notes.txt"]).files
    with meant.open() as content:
        assert content.read() == b"secret"
    linked = tmp_path / "linked"
    linked.symlink_to(folder)
    assert [file.name for file in listing([linked]).files] == ["a.md", "again.md", "sub/b.md"]


@pytest.mark.parametrize("exchanged", ["a.md", "sub"])
def test_a_file_that_is_exchanged_for_a_link_after_the_listing_is_refused(tmp_path: Path, exchanged: str):
    secret = write(tmp_path / "outside" / "b.md", "secret")
    folder = write(tmp_path / "in" / "a.md", "x").parent
    write(folder / "sub" / "b.md", "x")
    files = listing([folder]).files
    (folder / exchanged).rename(tmp_path / "former")
    (folder / exchanged).symlink_to(secret if exchanged == "a.md" else secret.parent)
    sent: list[bytes] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        sent.append(request.read())
        return httpx2.Response(202, json={"document_id": "d1"})

    results = list(send(client(answer), EDGE, files, None, lambda more: None))
    assert [result.reason for result in results if isinstance(result, Refused)] == [f"it cannot be read: {OUTSIDE}"]
    assert len(sent) == 1
    assert b"secret" not in sent[0]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_folder_that_may_not_be_read_is_named(tmp_path: Path):
    write(tmp_path / "a.md", "x")
    locked = write(tmp_path / "locked" / "b.md", "x").parent
    locked.chmod(0)
    found = listing([tmp_path])
    locked.chmod(0o700)
    assert [refused.name for refused in found.refused] == ["locked"]


def test_a_path_that_is_not_there_and_a_folder_without_readable_files_are_refused(tmp_path: Path):
    with pytest.raises(ClusterError, match="there is no file or folder"):
        listing([tmp_path / "x"])
    with pytest.raises(ClusterError, match="holds no readable file"):
        listing([tmp_path])


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

    assert list(send(client(answer), EDGE, listing([path]).files, None, lambda more: None)) == [SentDocument("log.jsonl", "d1")]
    assert len(seen) == 1
    assert b'filename="log.jsonl"' in seen[0]


def test_rows_go_as_json_with_the_labels_added(tmp_path: Path):
    path = write(tmp_path / "c.jsonl", '{"doc_id": "1", "title": "T", "text": "A.", "labels": ["own"]}\n')
    seen: list[dict[str, object]] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        seen.append(json.loads(request.content))
        return httpx2.Response(202, json={"document_id": "d1", "job_id": "j", "duplicate": True})

    results = list(send(client(answer), EDGE, listing([path]).files, ["more"], lambda more: None))
    assert seen == [{"name": "1", "title": "T", "text": "A.", "labels": ["own", "more"]}]
    assert results == [SentDocument("1", "d1", duplicate=True)]


def test_files_go_as_multipart_with_their_name(tmp_path: Path):
    write(tmp_path / "a" / "b.md", "hello")
    seen: list[bytes] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        seen.append(request.read())
        return httpx2.Response(202, json={"document_id": "d1", "job_id": "j", "duplicate": False})

    assert list(send(client(answer), EDGE, listing([tmp_path]).files, ["x", "y"], lambda more: None)) == [SentDocument("a/b.md", "d1")]
    assert b'name="file"; filename="a/b.md"' in seen[0]
    assert b'name="labels"\r\n\r\nx,y' in seen[0]


@pytest.mark.parametrize(("labels", "part"), [(None, False), ([], True)])
def test_a_form_without_labels_keeps_them_and_an_empty_part_takes_them_off(tmp_path: Path, labels: list[str] | None, part: bool):
    seen: list[bytes] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        seen.append(request.read())
        return httpx2.Response(202, json={"document_id": "d1"})

    assert list(send(client(answer), EDGE, listing([write(tmp_path / "a.md", "x")]).files, labels, lambda more: None)) == [
        SentDocument("a.md", "d1")
    ]
    assert (b'name="labels"' in seen[0]) is part


def test_what_may_leave_of_a_document_is_in_its_receipt(tmp_path: Path):
    told = {"document_id": "d1", "labels": ["a"], "share": "never", "unnamed_labels": ["a"]}
    files = listing([write(tmp_path / "a.md", "x")]).files
    (found,) = send(client(lambda _: httpx2.Response(202, json=told)), EDGE, files, ["a"], lambda more: None)
    assert found == SentDocument("a.md", "d1", labels=("a",), share="never", unnamed_labels=("a",))


def test_a_refused_file_does_not_stop_the_rest(tmp_path: Path):
    for name in ("a.md", "b.md"):
        write(tmp_path / name, name)

    def answer(request: httpx2.Request) -> httpx2.Response:
        if b"a.md" in request.read():
            return httpx2.Response(413, json={"title": "Too large", "detail": "a.md is over the limit of 3 bytes"})
        return httpx2.Response(202, json={"document_id": "d1"})

    results = list(send(client(answer), EDGE, listing([tmp_path]).files, [], lambda more: None))
    assert results == [Refused("a.md", "refused", "a.md is over the limit of 3 bytes"), SentDocument("b.md", "d1")]


def test_a_connection_that_a_living_edge_closes_is_a_refusal(tmp_path: Path):
    def answer(request: httpx2.Request) -> httpx2.Response:
        if request.method == "GET":
            return httpx2.Response(200)
        raise httpx2.WriteError("broken pipe", request=request)

    results = list(send(client(answer), EDGE, listing([write(tmp_path / "a.md", "x")]).files, [], lambda more: None))
    assert results == [Refused("a.md", "refused", "the edge closed the connection: the file is over its limit")]


def test_an_edge_that_knows_us_not_stops_everything(tmp_path: Path):
    http = client(lambda request: httpx2.Response(401, json={"title": "Unauthorized"}))
    with pytest.raises(ServiceError, match="Unauthorized"):
        list(send(http, EDGE, listing([write(tmp_path / "a.md", "x")]).files, [], lambda more: None))


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
