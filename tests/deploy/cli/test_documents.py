"""The commands about documents and about cost, with an edge as a transport."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest

from deploy.cli import add, documents
from deploy.cli import add as estimating
from deploy.cli.main import run
from deploy.cluster.state import ClusterState, Member, StateDir

pytestmark = pytest.mark.process

EDGE = "http://edge"
GONE = "0123456789abcdef01234567"  # id of a document that was deleted
USE = {"model_calls": 2, "tokens_in": 800, "tokens_out": 240, "seconds": 75.0}
COSTS = USE | {"documents": 1, "chunks": 3, "tokens": 500, "duplicates": 1}
UNREADABLE = [{"name": "x", "code": "empty", "reason": "no text"}]


class FakeEdge:
    """Holds documents as an edge shows them; ``asked`` are its requests."""

    def __init__(self) -> None:
        self.asked: list[httpx2.Request] = []
        self.erased = True
        self.documents = [self.view("a.md", "d1"), self.view("b.pdf", "d2", status="parked"), self.view("a.md", "d3", replaces="d1")]

    def view(self, name: str, document_id: str, *, status: str = "indexed", replaces: str | None = None) -> dict[str, Any]:
        reasons = {"reason": "no text layer", "next_step": "run OCR"} if status == "parked" else {"reason": "", "next_step": ""}
        job = {
            "job_id": f"job of {document_id}",
            "bytes": 1234,
            "shortfalls": [],
            "source": "laptop:/papers",
            "languages": [{"language": "de", "pack": "HanTa 1", "passages": 2, "next_step": ""}],
            "replaces": replaces,
            "status": status,
            "served": status == "indexed",
        }
        return {"name": name, "document_id": document_id, "labels": ["patients"], **reasons, **job}

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.asked.append(request)
        path, asked = request.url.path, request.url.params
        if path == "/v1/estimate":
            return httpx2.Response(200, json=COSTS | {"unreadable": UNREADABLE, "basis": "defaults"})
        if path == "/v1/receipts":
            known = [{"receipt_id": "r0", "document_id": GONE, "chunks": 4, "erased": True, "cloud": "confirmed"}]
            return httpx2.Response(200, json={"receipts": known if asked["document_id"] == GONE else []})
        if path == "/v1/documents" and request.method == "POST":
            return httpx2.Response(202, json={"document_id": "d1"})
        if path == "/v1/documents":
            named = [view for view in self.documents if asked.get("name") in (None, view["name"])]
            found = [view for view in named if asked.get("status", "") in ("", view["status"])]
            return httpx2.Response(200, json={"documents": found, "next": None})
        if path == "/v1/reread":
            return httpx2.Response(202, json={"documents": 2, "without_original": 1})
        if path.endswith("/retry"):
            return httpx2.Response(202, json={"name": "b.pdf", "job_id": "new job"})
        for view in self.documents:
            if path == f"/v1/documents/{view['document_id']}":
                receipt = {"receipt_id": "r1", "document_id": view["document_id"], "chunks": 4, "erased": self.erased, "cloud": "pending"}
                return httpx2.Response(200, json=view if request.method == "GET" else receipt | {"reason": "the disk is full"})
        return httpx2.Response(404, json={"detail": "there is no document here", "code": "not_found"})

    def said(self, method: str) -> list[str]:
        return [request.url.path for request in self.asked if request.method == method]


@pytest.fixture
def edge(monkeypatch: pytest.MonkeyPatch) -> FakeEdge:
    fake = FakeEdge()
    for module in (documents, add):
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


def test_documents_are_listed_with_what_is_to_be_done(edge, dgrag):
    code, out, _ = dgrag("documents")
    assert code == 0
    assert "no text layer – run OCR – nothing of it is shared while it is parked" in " ".join(out.split())
    assert "a new version, which waits" in " ".join(out.split())


@pytest.mark.parametrize("end", ["\n", "\r\n", "\u2028", "\u2029", "\x85", "\v"])
def test_a_name_of_an_older_edge_forges_no_row(edge, dgrag, end):
    edge.documents = [edge.view(f"c{end}d: 10/10 ready.md", "d1")]
    rows = dgrag("documents", "--edge", "ward")[1].splitlines()
    assert [row for row in rows if row.startswith(("c", "d"))] == ["c d: 10/10 ready.md"]


def test_without_an_edge_the_list_says_whose_it_is_and_how_to_see_others(edge, tmp_path, capsys):
    members = tuple(Member("edge", name, f"http://{name}") for name in ("ward", "bank", "plant"))
    StateDir(tmp_path).save(ClusterState(members=members))
    with pytest.raises(SystemExit):
        run(["documents", "--state", str(tmp_path)])
    assert capsys.readouterr().out.endswith("3 documents at ward; --edge lists those of bank, plant\n")


def test_a_status_that_does_not_exist_is_met_with_those_that_do(edge, dgrag):
    code, _, err = dgrag("documents", "--status", "broken")
    assert code == 2
    assert all(name in err for name in ("queued", "running", "indexed", "parked"))


def test_the_list_can_be_of_one_status_and_in_json(edge, dgrag):
    _, out, _ = dgrag("documents", "--status", "parked", "--json")
    assert [row["document_id"] for row in json.loads(out)["documents"]] == ["d2"]


def test_a_shortfall_shows_in_the_list(edge, dgrag):
    edge.documents[0]["shortfalls"] = [{"code": "low_yield", "message": "1 of 2 passages gave no entity", "chunk_id": ""}]
    assert "1 shortfall: 1 of 2 passages gave no entity" in " ".join(dgrag("documents")[1].split())


def test_remove_by_name_takes_every_version_and_prints_the_receipts(edge, dgrag):
    code, out, _ = dgrag("remove", "a.md", "--json")
    assert code == 0
    assert edge.said("DELETE") == ["/v1/documents/d1", "/v1/documents/d3"]
    assert [receipt["cloud"] for receipt in json.loads(out)["receipts"]] == ["pending", "pending"]


def test_remove_by_id_takes_that_one(edge, dgrag):
    assert "r1" in dgrag("remove", "d2")[1]
    assert edge.said("DELETE") == ["/v1/documents/d2"]


def test_remove_of_a_deleted_document_by_its_id_prints_its_receipt_as_it_is_now(edge, dgrag):
    code, out, _ = dgrag("remove", GONE, "--json")
    assert (code, json.loads(out)["receipts"][0]["cloud"]) == (0, "confirmed")
    assert dgrag("remove", GONE[::-1])[0] == 1


def test_ids_are_not_folded_in_a_narrow_window(edge, dgrag):
    edge.documents = [edge.view("a.md", GONE, status="parked")]
    assert GONE in dgrag("documents")[1]


def test_the_list_says_who_reads_a_document_and_where_it_comes_from(edge, dgrag, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", "200")
    assert "from laptop:/papers – de read by HanTa 1" in dgrag("documents")[1]


def test_the_list_shows_labels_in_80_columns(edge, dgrag, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", "80")
    edge.documents = [edge.view("quality-report-lot-l-7713.md", GONE, status="parked")]
    out = dgrag("documents")[1]
    assert max(map(len, out.splitlines())) <= 80
    assert ("labels" in out, "patients" in out, GONE in out) == (True, True, True)


def test_a_long_name_stands_in_a_line_of_its_own_with_nothing_put_into_it(edge, dgrag, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", "80")
    name = f"quality department/{'minutes of 2026/' * 6}recall-notice-rc-118-final-version-2.md"
    edge.documents = [edge.view(name, GONE), edge.view("b.md", "d2")]
    lines = dgrag("documents")[1].splitlines()
    assert (lines[0], lines[-1]) == (name, "2 documents")
    assert max(map(len, lines[1:])) <= 80
    assert [line.split()[0] for line in lines if line.startswith("  d2") or GONE in line] == [GONE, "d2"]


@pytest.mark.parametrize(("given", "sent"), [([], None), (["--labels", ""], []), (["--labels", "a, b"], ["a", "b"])])
def test_labels_that_are_not_given_are_not_sent(edge, dgrag, tmp_path: Path, given: list[str], sent: list[str] | None):
    (tmp_path / "c.jsonl").write_text('{"doc_id": "1", "text": "A."}\n')
    dgrag("add", str(tmp_path / "c.jsonl"), "--no-wait", *given)
    assert json.loads(edge.asked[0].content)["labels"] == sent


def test_a_document_that_is_not_there_is_one_line(edge, dgrag):
    assert dgrag("remove", "x?y/z") == (1, "", "dgrag: there is no document 'x?y/z' on this edge (see `dgrag documents`)\n")
    assert edge.said("DELETE") == []


def test_a_deletion_that_is_not_erased_yet_ends_with_one_and_the_reason(edge, dgrag):
    edge.erased = False
    code, out, err = dgrag("remove", "d2")
    assert code == 1
    assert "not yet" in out
    assert "the disk is full" in err


def test_retry_takes_the_newest_version_of_a_name(edge, dgrag):
    assert dgrag("retry", "a.md")[0] == 0
    assert edge.said("POST") == ["/v1/jobs/job of d3/retry"]


def test_retry_of_all_that_is_parked(edge, dgrag):
    code, out, _ = dgrag("retry", "--all-parked", "--json")
    assert (code, json.loads(out)) == (0, {"jobs": [{"name": "b.pdf", "job_id": "new job"}]})
    assert edge.said("POST") == ["/v1/jobs/job of d2/retry"]


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        ((), {"document": "", "format": "", "all": False}),
        (("--all",), {"document": "", "format": "", "all": True}),
        (("--format", "pdf"), {"document": "", "format": "pdf", "all": False}),
        (("--document", "a.md"), {"document": "a.md", "format": "", "all": False}),
    ],
)
def test_documents_are_read_again_as_they_are_chosen(edge, dgrag, arguments, wanted):
    code, out, _ = dgrag("edge", "reread", *arguments)
    assert (code, out.splitlines()) == (
        0,
        ["2 documents will be read again", "1 document cannot be, as the files are no longer kept: send them again"],
    )
    assert json.loads(edge.asked[-1].content) == wanted


def test_reread_wants_one_choice(edge, dgrag):
    assert dgrag("edge", "reread", "--all", "--format", "pdf")[0] == 1


@pytest.mark.parametrize("arguments", [(), ("a.md", "--all-parked")])
def test_retry_wants_one_document_or_all_that_are_parked(edge, dgrag, arguments):
    assert dgrag("retry", *arguments) == (1, "", "dgrag: name one document, or say --all-parked\n")


def test_an_estimate_adds_up_files_and_rows_and_sends_no_document(edge, dgrag, tmp_path: Path):
    (tmp_path / "a.md").write_text("The pump stopped.")
    (tmp_path / "rows.jsonl").write_text('{"doc_id": "r1", "title": "R", "text": "A row."}\n{broken\n')
    (tmp_path / "pumps.mov").write_bytes(b"moov")
    (tmp_path / ".hidden.mov").write_bytes(b"moov")
    code, out, _ = dgrag("add", str(tmp_path), "--estimate")
    told = " ".join(out.split())
    assert code == 0
    assert set(edge.said("POST")) == {"/v1/estimate"}
    assert "passages 6 (1,000 tokens)" in told
    assert "model calls at most 4" in told
    assert "time about 2 min 30 s (defaults)" in told
    assert "x empty no text" in told
    assert "pumps.mov skipped no reader knows this kind of file" in told
    assert "hidden" not in told
    assert json.loads(dgrag("add", str(tmp_path), "--estimate", "--json")[1])["duplicates"] == 2


def test_a_collection_is_estimated_in_batches(edge, dgrag, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(estimating, "BATCH_ROWS", 2)
    rows = "".join(f'{{"doc_id": "r{n}", "title": "", "text": "A row."}}\n' for n in range(5))
    (tmp_path / "rows.jsonl").write_text(rows)
    dgrag("add", str(tmp_path / "rows.jsonl"), "--estimate")
    assert [len(json.loads(request.content)["documents"]) for request in edge.asked] == [2, 2, 1]
