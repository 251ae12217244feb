"""The commands about communities and reports, with an edge as a transport."""

from __future__ import annotations

import json
from collections.abc import Callable

import httpx2
import pytest

from deploy.cli import knowledge
from deploy.cli.main import run

pytestmark = pytest.mark.process

EDGE = "http://edge"
KNOWN = "5502396da5540eed"
VIEWS = [
    {"community_id": "00", "level": 0, "parent": "", "children": [], "title": "Gate", "rating": 1, "entities": 2, "chunks": 2},
    {
        "community_id": KNOWN,
        "level": 0,
        "parent": "",
        "children": ["7"],
        "title": "Ward and Pump",
        "rating": 4,
        "entities": 9,
        "chunks": 30,
    },
]
SOURCES = [{"chunk_id": f"d:{place}", "document_id": "d", "document": "ward.md", "text": "…"} for place in range(2)]
REPORT = {
    "title": "Ward and [bold]Pump",
    "summary": "This part is about Ward, Pump.",
    "rating": 4,
    "reason": "told of in 30 passages of 1 document",
    "findings": [{"text": "The ward has pumps.\x1b[31m", "sources": SOURCES}],
}


class FakeEdge:
    """Has two communities, one a page; ``asked`` are its requests."""

    def __init__(self) -> None:
        self.asked: list[httpx2.Request] = []
        self.views = VIEWS

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.asked.append(request)
        if request.url.path == "/v1/communities":
            left = [view for view in self.views if str(view["community_id"]) > request.url.params["after"]]
            return httpx2.Response(200, json={"communities": left[:1], "next": left[0]["community_id"] if left else None})
        if request.url.path == "/v1/reports/plain":
            return httpx2.Response(409, json={"detail": "this strategy builds no graph", "code": "conflict", "next_step": "take another"})
        if request.url.path == f"/v1/reports/{KNOWN}":
            return httpx2.Response(200, json=REPORT)
        problem = {"detail": "there is no report 'x' here", "code": "not_found", "next_step": "see `dgrag communities`"}
        return httpx2.Response(404, json=problem)


@pytest.fixture
def edge(monkeypatch: pytest.MonkeyPatch) -> FakeEdge:
    fake = FakeEdge()
    monkeypatch.setattr(knowledge, "client", lambda: httpx2.Client(transport=httpx2.MockTransport(fake)))
    return fake


@pytest.fixture
def dgrag(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    def command(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as caught:
            run([*arguments, "--edge", EDGE])
        said = capsys.readouterr()
        return int(caught.value.code or 0), said.out, said.err

    return command


def test_communities_of_all_pages_are_listed_the_most_told_of_first(edge, dgrag):
    code, out, _ = dgrag("communities", "--level", "2")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()] == ["id", KNOWN, "00"]
    assert {request.url.params["level"] for request in edge.asked} == {"2"}


def test_communities_in_json_are_as_the_edge_gave_them(edge, dgrag):
    assert json.loads(dgrag("communities", "--json")[1]) == {"communities": VIEWS[::-1]}


def test_an_edge_without_documents_says_so(edge, dgrag):
    edge.views = []
    assert dgrag("communities")[:2] == (0, "nothing is indexed yet\n")


def test_a_report_is_printed_with_each_document_once_a_finding_and_nothing_of_it_is_markup(edge, dgrag):
    code, out, _ = dgrag("report", KNOWN)
    assert code == 0
    assert [line.strip() for line in out.splitlines()] == [
        "Ward and [bold]Pump",
        "rating 4 of 10: told of in 30 passages of 1 document",
        "This part is about Ward, Pump.",
        "",
        "- The ward has pumps.[31m",
        "ward.md",
    ]


def test_a_report_in_json_is_as_the_edge_gave_it(edge, dgrag):
    assert json.loads(dgrag("report", KNOWN, "--json")[1]) == REPORT


def test_a_report_that_this_edge_has_not_is_one_line_which_says_where_to_look(edge, dgrag):
    step = "a source's report is at the edge that the source names: --edge; one that has changed has a new id: `dgrag communities`"
    assert dgrag("report", "x") == (1, "", f"dgrag: this edge has no report 'x' ({step})\n")


def test_another_error_of_the_edge_is_told_in_its_own_words(edge, dgrag):
    assert dgrag("report", "plain") == (1, "", "dgrag: this strategy builds no graph (take another)\n")


@pytest.mark.parametrize("level", ["4", "-1", "x"])
def test_a_level_that_is_none_is_wrong_usage(edge, dgrag, level):
    assert dgrag("communities", "--level", level)[0] == 2
