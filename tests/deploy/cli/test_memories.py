"""The commands about what an edge remembers, with an edge as a transport."""

from __future__ import annotations

import json
from collections.abc import Callable

import httpx2
import pytest

from deploy.cli import ask, knowledge
from deploy.cli.main import run

pytestmark = pytest.mark.process

EDGE = "http://edge"
SUPPORT = {"chunk_id": "d:0", "document_id": "d", "document": "mill.md", "span": [0, 9], "text": "…"}


def view(name: str, **fields: object) -> dict[str, object]:
    said = {"memory_id": name, "kind": "template", "question": "Who built it?", "answer": "Ann [red]Lee\x1b[31m"}
    return said | {"supports": [SUPPORT, SUPPORT], "good": 0, "bad": 0, "barred": False, "silenced": False, "doubtful": False} | fields


VIEWS = [view("a1", good=2), view("b2", kind="learned", doubtful=True), view("c3", bad=1, barred=True)]


class FakeEdge:
    """Has three memories, two a page, and knows one answer; ``asked`` are its requests."""

    def __init__(self) -> None:
        self.asked: list[httpx2.Request] = []
        self.views = VIEWS
        self.reply: dict[str, object] = {}

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.asked.append(request)
        if request.url.path == "/v1/query":
            return httpx2.Response(200, json=self.reply)
        if request.url.path == "/v1/memories":
            left = [one for one in self.views if str(one["memory_id"]) > request.url.params["after"]]
            return httpx2.Response(200, json={"memories": left[:2], "next": left[1]["memory_id"] if len(left) > 1 else None})
        if request.url.path == "/v1/memories/a1":
            return httpx2.Response(204)
        if request.url.path == "/v1/queries/q1/feedback":
            return httpx2.Response(200, json={"outcome": "learned"})
        return httpx2.Response(404, json={"detail": "there is no answer 'x' here", "code": "not_found", "next_step": "judge it soon"})


@pytest.fixture
def edge(monkeypatch: pytest.MonkeyPatch) -> FakeEdge:
    fake = FakeEdge()
    for module in (ask, knowledge):
        monkeypatch.setattr(module, "client", lambda: httpx2.Client(transport=httpx2.MockTransport(fake)))
    return fake


@pytest.fixture
def dgrag(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    def command(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as caught:
            run([*arguments, "--edge", EDGE])
        said = capsys.readouterr()
        return int(caught.value.code or 0), said.out, said.err

    return command


def test_memories_of_all_pages_are_listed_with_what_was_said_of_them(edge, dgrag):
    code, out, _ = dgrag("memories")
    assert code == 0
    rows = [line.split() for line in out.splitlines()]
    assert [row[0] for row in rows if row[0] in {"a1", "b2", "c3"}] == ["a1", "b2", "c3"]
    assert "\x1b" not in out
    assert "mill.md, mill.md" not in " ".join(out.split())


def test_a_limit_says_that_there_are_more(edge, dgrag):
    assert "there are more: --limit 0" in dgrag("memories", "--limit", "2")[1]
    assert "there are more" not in dgrag("memories", "--limit", "3")[1]
    assert "there are more" not in dgrag("memories", "--limit", "0")[1]


def test_memories_as_json_are_as_the_edge_tells_them(edge, dgrag):
    assert json.loads(dgrag("memories", "--json", "--limit", "1")[1]) == {"memories": VIEWS[:1]}


def test_an_edge_that_remembers_nothing_says_so(edge, dgrag):
    edge.views = []
    assert dgrag("memories")[1] == "nothing is remembered yet\n"


def test_a_memory_is_deleted_by_its_id(edge, dgrag):
    assert dgrag("memories", "--delete", "a1") == (0, "a1 answers no more, for good\n", "")
    assert [(request.method, request.url.path) for request in edge.asked] == [("DELETE", "/v1/memories/a1")]


@pytest.mark.parametrize("verdict", ["right", "wrong"])
def test_a_verdict_goes_to_the_edge(edge, dgrag, verdict):
    assert dgrag("feedback", "q1", verdict) == (0, "remembered: the same question is answered from memory from now on\n", "")
    assert json.loads(edge.asked[0].content) == {"verdict": verdict}


def test_a_verdict_on_an_unknown_answer_fails_in_one_line(edge, dgrag):
    assert dgrag("feedback", "q/../2", "right") == (1, "", "dgrag: there is no answer 'x' here (judge it soon)\n")
    assert edge.asked[0].url.raw_path == b"/v1/queries/q%2F..%2F2/feedback"


def test_another_verdict_is_wrong_usage(edge, dgrag):
    assert dgrag("feedback", "q1", "maybe")[0] == 2


REPORT = {"memory_id": "a1", "kind": "template", "question": "Who built the mill?", "answer": "Ann Lee"}
NUMBERS = {"score": 0.97, "cosine": 0.99, "dice": 0.9, "threshold": 0.92}
ANSWER = {"query_id": "q1", "answer": "Ann Lee", "citations": [], "memory": REPORT | NUMBERS, "route": "memory"}


def test_an_answer_from_memory_says_what_was_remembered_and_how_to_judge_it(edge, dgrag):
    edge.reply = ANSWER
    out = " ".join(dgrag("ask", "Who built it?")[1].split())
    assert "remembered: Who built the mill? – of a fact, score 0.97 (threshold 0.92; cosine 0.99, shared words 0.90)" in out
    assert "right or wrong? dgrag feedback q1 right|wrong --edge http://edge" in out
    assert json.loads(edge.asked[0].content) == {"question": "Who built it?", "mode": "auto"}


def test_why_a_memory_did_not_answer_is_for_json_only(edge, dgrag):
    edge.reply = ANSWER | {"route": "local", "memory": REPORT | NUMBERS | {"why_not": "its score is below the threshold"}}
    assert "remember" not in dgrag("ask", "Who built it?")[1]
    assert json.loads(dgrag("ask", "Who built it?", "--json")[1])["memory"]["why_not"] == "its score is below the threshold"


def test_an_answer_without_memory_can_be_asked_for(edge, dgrag):
    edge.reply = ANSWER | {"route": "cloud"}
    assert "right or wrong?" not in dgrag("ask", "Who built it?", "--no-memory")[1]
    assert json.loads(edge.asked[0].content)["memory"] is False
