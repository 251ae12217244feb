"""The commands against fake services that run as processes."""

from __future__ import annotations

import io
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import pytest

from deploy.cli import cloud
from deploy.cli.main import run
from deploy.cluster import launch
from deploy.cluster.processes import is_paused
from deploy.cluster.services import Service
from deploy.cluster.state import StateDir
from tests.deploy.conftest import OwnPorts
from tests.support.waiting import eventually

pytestmark = pytest.mark.process


class Dgrag(Protocol):
    """The fixture of conftest.py."""

    state: Path

    def __call__(self, *arguments: str) -> tuple[int, str, str]: ...
    def beside(self, name: str) -> Dgrag: ...


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "Ward 7"
    made.mkdir()
    (made / "notes.md").write_text("The pump failed.")
    return made


def lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines()]


def test_up_prints_where_everything_answers_and_down_stops_it(dgrag: Dgrag, folder: Path):
    code, out, err = dgrag("up", "--edges", "2", "--data", str(folder), "--detach", "--json", "--edge-port", "24100")
    assert code == 0, err
    found = json.loads(out)
    assert set(found) == {"cloud", "model", "edges"}
    assert [edge["edge"] for edge in found["edges"]] == ["ward-7", "edge-2"]
    assert found["model"].endswith("/v1")

    code, out, _ = dgrag("status", "--json")
    assert code == 0
    body = json.loads(out)
    assert body["model"]["name"] == "standard"
    assert body["cloud"]["ready"] is True
    assert body["edges"][0]["documents"] == {"queued": 0, "running": 0, "indexed": 1, "parked": 0}
    assert body["edges"][0]["pid"] != body["edges"][1]["pid"]
    assert f"ward-7 {body['edges'][0]['pid']}, edge-2 {body['edges'][1]['pid']}, keeper " in dgrag("status")[1]

    code, out, _ = dgrag("down")
    assert code == 0
    assert [line.partition(" (")[0] for line in lines(out)] == [
        "stopped model standard",
        "stopped cloud",
        "stopped edge ward-7",
        "stopped edge edge-2",
    ]
    assert dgrag("down") == (0, f"nothing runs in {dgrag.state.resolve()}\n", "")


def test_up_on_a_running_cluster_says_so(dgrag: Dgrag):
    code, out, _ = dgrag("up", "--detach")
    assert (code, out.splitlines()[-1]) == (0, "console: open a site's address, or the cloud's, in a browser")
    code, out, err = dgrag("up", "--detach")
    assert (code, out) == (1, "")
    assert err.startswith("dgrag: a cluster is running already in ")


def test_up_again_starts_the_edges_that_have_a_store(dgrag: Dgrag):
    for name in ("north", "south"):
        (dgrag.state / "edges" / name).mkdir(parents=True)
    _, out, _ = dgrag("up", "--detach", "--json")
    assert [edge["edge"] for edge in json.loads(out)["edges"]] == ["north", "south"]


def test_up_with_a_url_starts_no_model_server(dgrag: Dgrag):
    first = json.loads(dgrag("up", "--detach", "--json")[1])
    other = dgrag.beside("other")
    try:
        second = json.loads(other("up", "--detach", "--json", "--model", first["model"])[1])
        assert second["model"] == first["model"]
        state = StateDir(other.state).load()
        assert state
        assert [member.name for member in state.of("model")] == ["fake"]
        assert state.of("model")[0].mark is None
    finally:
        stopped = other("down")[1]
    assert "model" not in stopped
    assert dgrag("status")[0] == 0


def test_up_with_a_url_where_nothing_answers_starts_nothing(dgrag: Dgrag):
    code, _, err = dgrag("up", "--model", "http://127.0.0.1:9/v1")
    assert code == 1
    assert err == "dgrag: no OpenAI-compatible server answers at http://127.0.0.1:9/v1 (try `curl http://127.0.0.1:9/v1/models`)\n"
    assert not StateDir(dgrag.state).file.exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--data", "missing.txt"], "there is no file or folder missing.txt"),
        (["--edges", "1", "--names", "a,b"], "2 names for 1 edge"),
        (["--names", "a b"], "'a b' cannot be an edge's name"),
        (["--extraction", "2"], "--extraction cannot be '2'"),
        (["--summaries", "long"], "--summaries cannot be 'long'"),
        (["--runtime", "moon"], "--runtime cannot be 'moon'"),
        (["--link", "rate=5mbit"], "--link shapes the links of --runtime netns"),
    ],
)
def test_up_refuses_before_anything_starts(dgrag: Dgrag, arguments: list[str], said: str):
    code, _, err = dgrag("up", *arguments)
    assert code == 1
    assert said in err
    assert not StateDir(dgrag.state).file.exists()


def test_an_edge_gets_its_documents_before_the_model_server_is_ready(dgrag: Dgrag, folder: Path, monkeypatch: pytest.MonkeyPatch):
    """The model server here becomes ready only when the edge has its first document."""
    made, port = launch.model_service, OwnPorts().take(24_150)

    def patient(*given: Any, **named: Any) -> Service:
        return replace(made(*given, **named), ready_url=f"http://127.0.0.1:{port}/v1/documents/d0")

    monkeypatch.setattr(launch, "model_service", patient)
    monkeypatch.setattr("deploy.cluster.lifecycle.READY_DEADLINE_S", 10.0)
    code, _, err = dgrag("up", "--data", str(folder), "--detach", "--edge-port", "24150")
    assert code == 0, err
    ready = [line.partition(":")[0] for line in lines(err) if ": ready at " in line]
    assert sorted(ready) == ["cloud", "standard", "ward-7"]
    assert ready.index("ward-7") < ready.index("standard")


def test_a_crash_shows_the_log_and_one_line(dgrag: Dgrag, monkeypatch: pytest.MonkeyPatch):
    made = launch.cloud_service

    def crashing(*given: Any, **named: Any) -> Service:
        service = made(*given, **named)
        return replace(service, command=(*service.command, "--crash"))

    monkeypatch.setattr(launch, "cloud_service", crashing)
    code, _, err = dgrag("up", "--detach")
    assert code == 1
    assert "cannot read the moon" in err
    assert lines(err)[-1].startswith("dgrag: cloud exited with 3 (read ")
    assert not StateDir(dgrag.state).file.exists()


def test_add_tells_what_became_of_each_document(dgrag: Dgrag, folder: Path):
    (folder / "sub").mkdir()
    (folder / "sub" / "parked.md").write_text("…")
    (folder / "big.txt").write_text("0123456789")
    (folder / "photo.xyz").write_text("unknown format")
    (folder / "rows.jsonl").write_text('{"doc_id": "r1", "title": "R", "text": "A row."}\n{broken\n')
    dgrag("up", "--detach")
    code, out, err = dgrag("add", str(folder))
    assert code == 1
    assert lines(out) == [
        "documents     count",
        "indexed           2",
        "parked            1",
        "refused           1",
        "skipped rows      1",
        "document            what     reason",
        "sub/parked.md       parked   no text layer – run OCR",
        "big.txt             refused  big.txt is over the limit of 9 bytes",
        lines(out)[8],
    ]
    assert lines(out)[8].startswith("rows.jsonl, line 2  skipped  ")
    assert lines(err)[-1].startswith("dgrag: 3 of 5 documents not indexed")


def test_add_in_json_names_each_document_and_what_became_none(dgrag: Dgrag, folder: Path):
    (folder / "parked.md").write_text("…")
    (folder / "rows.jsonl").write_text("{broken\n")
    dgrag("up", "--detach")
    code, out, _ = dgrag("add", str(folder), "--json")
    body = json.loads(out)
    assert code == 1
    policy = {"labels": [], "share": "", "unnamed_labels": []}
    assert body["documents"] == [
        {"name": "notes.md", "document_id": "d0", "status": "indexed", "code": "", "reason": ""} | policy,
        {"name": "parked.md", "document_id": "d1", "status": "parked", "code": "no_text_layer", "reason": "no text layer"} | policy,
    ]
    assert [(row["name"], row["kind"]) for row in body["skipped"]] == [("rows.jsonl, line 1", "skipped")]


def test_down_in_json_names_what_it_stopped(dgrag: Dgrag):
    dgrag("up", "--detach")
    stopped = json.loads(dgrag("down", "--json")[1])["stopped"]
    assert [(row["role"], row["name"]) for row in stopped] == [("model", "standard"), ("cloud", "cloud"), ("edge", "edge-1")]
    assert json.loads(dgrag("down", "--json")[1]) == {"stopped": [], "purged": False}


def test_a_purge_is_asked_for_once_more_and_then_leaves_nothing(dgrag: Dgrag, monkeypatch: pytest.MonkeyPatch):
    dgrag("up", "--detach")
    monkeypatch.setattr("sys.stdin", io.StringIO())
    code, _, err = dgrag("down", "--purge")  # nobody is there to say yes
    assert (code, "--yes" in err, edge_now(dgrag)["ready"]) == (1, True, True)
    code, out, _ = dgrag("down", "--purge", "--yes")
    assert (code, lines(out)[-1]) == (0, f"deleted {dgrag.state}")
    assert not dgrag.state.exists()


def test_a_purge_that_is_refused_stops_nothing(dgrag: Dgrag):
    dgrag("up", "--detach")
    (dgrag.state / "backup.db").write_text("mine")
    code, _, err = dgrag("down", "--purge", "--yes")
    assert (code, "backup.db" in err, edge_now(dgrag)["ready"]) == (1, True, True)


@pytest.mark.parametrize(("given", "sent"), [((), "None"), (("--level", "0"), "0"), (("--level", "dynamic"), "'dynamic'")])
def test_a_global_answer_tells_what_it_covers(dgrag: Dgrag, given: tuple[str, ...], sent: str):
    dgrag("up", "--detach")
    code, out, _ = dgrag("ask", "Why?", "--mode", "global", *given)
    assert code == 0
    assert f"route: global\nlevel {sent}\n" in out


def test_a_level_without_the_mode_that_reads_reports_is_refused_before_anything_is_sent(dgrag: Dgrag):
    code, _, err = dgrag("ask", "Why?", "--level", "2")
    assert code != 0
    assert "add --mode global" in err


def test_add_of_good_documents_ends_with_zero(dgrag: Dgrag, folder: Path):
    dgrag("up", "--detach")
    assert dgrag("add", str(folder / "notes.md"), "--labels", "a, b")[0] == 0
    assert dgrag("add", str(folder / "notes.md"), "--no-wait")[0] == 0


def test_up_add_and_status_say_what_a_policy_keeps_and_the_line_to_add(dgrag: Dgrag, folder: Path):
    for arguments in (["up", "--names", "closed", "--detach"], ["add", str(folder)], ["status"]):
        code, out, err = dgrag(*arguments)
        said = " ".join((out + err).split())
        assert code == 0, err
        assert "closed: its sharing policy lets 0 of 80 summaries and 0 of 1 document leave" in said, arguments
        assert 'label "law", holds 1 of them; to let them leave, add to its policy.toml, under [labels]: "law" = "full"' in said, arguments


def test_status_names_a_folder_that_is_missing_and_what_to_do(dgrag: Dgrag):
    dgrag("up", "--names", "closed", "--detach")
    told = " ".join(dgrag("status")[1].split())
    assert "closed: not in step with /data/notes: the folder /data/notes cannot be read: No such file or directory" in told
    assert "see that it is there, or take it out of DGRAG_EDGE_FOLDERS" in told
    assert "/data/reports" not in told


def test_add_asks_for_the_edge_where_there_are_two(dgrag: Dgrag, folder: Path):
    dgrag("up", "--edges", "2", "--detach")
    code, _, err = dgrag("add", str(folder))
    assert code == 1
    assert "name one with --edge: edge-1, edge-2" in err
    assert dgrag("add", str(folder), "--edge", "edge-2")[0] == 0


def test_ask_shows_what_would_leave_the_site_and_sends_nothing_where_nobody_can_say_yes(dgrag: Dgrag):
    assert dgrag("up", "--detach", "--json", "--edge-port", "24140")[0] == 0
    code, out, _ = dgrag("ask", "Which lot?", "--escalate", "ask")
    assert code == 0
    assert "--escalate yes would send: Which lot?" in out
    code, out, _ = dgrag("ask", "Which lot?", "--escalate", "yes")
    assert "would send" not in out


def test_ask_prints_the_answer_and_json_keeps_every_field(dgrag: Dgrag):
    dgrag("up", "--edges", "2", "--detach")
    code, out, _ = dgrag("ask", "Why?")
    assert code == 0
    assert lines(out)[0] == "edge-1 knows: Why?"
    assert "route: local" in out
    _, out, _ = dgrag("ask", "Why?", "--edge", "edge-2", "--mode", "cloud", "--json")
    assert json.loads(out)["novelty"] == "a field of a later release"
    assert json.loads(out)["answer"].startswith("edge-2")


def test_an_unknown_edge_is_one_line_with_the_known_ones(dgrag: Dgrag):
    dgrag("up", "--detach")
    assert dgrag("ask", "Why?", "--edge", "x") == (1, "", "dgrag: there is no edge 'x' (choose one of edge-1)\n")


@pytest.mark.parametrize("arguments", [["ask", "Why?"], ["add", __file__], ["status"], ["edge", "list"], ["cloud", "edges"]])
def test_without_a_cluster_each_command_says_how_to_start_one(dgrag: Dgrag, arguments: list[str]):
    code, out, err = dgrag(*arguments)
    assert (code, out) == (1, "")
    assert err == f"dgrag: no cluster runs in {dgrag.state.resolve()} (start one with `dgrag up`)\n"


def test_a_dead_edge_is_one_line(dgrag: Dgrag):
    code, _, err = dgrag("ask", "Why?", "--edge", "http://127.0.0.1:9")
    assert code == 1
    assert err == "dgrag: nothing answers at http://127.0.0.1:9/v1/query (see `dgrag status`, or start a cluster with `dgrag up`)\n"


def flagged(monkeypatch: pytest.MonkeyPatch, *flags: str) -> None:
    """Edges whose fakes get these flags."""
    made = launch.edge_service

    def edge_service(*given: Any, **named: Any) -> Service:
        service = made(*given, **named)
        return replace(service, command=(*service.command, *flags))

    monkeypatch.setattr(launch, "edge_service", edge_service)


def edge_now(dgrag: Dgrag) -> dict[str, Any]:
    return dict(json.loads(dgrag("status", "--json")[1])["edges"][0])


def test_an_edge_that_is_killed_comes_back_and_status_tells_of_it(dgrag: Dgrag):
    dgrag("up", "--detach")
    first = edge_now(dgrag)["pid"]
    assert dgrag("edge", "kill", "edge-1") == (0, "killed edge-1\n", "")
    assert eventually(lambda: edge_now(dgrag)["restarts"] == 1 and edge_now(dgrag)["ready"])
    assert (edge_now(dgrag)["pid"] != first, edge_now(dgrag)["last_exit"]) == (True, -9)
    assert "edge-1: was killed by signal 9; started again 1 × since `dgrag up`" in dgrag("status")[1]
    assert "keeper: edge-1 was killed by signal 9; start 2 follows" in dgrag("logs", "edge-1")[1]


def test_an_edge_that_is_not_started_again_is_told_and_comes_back_where_somebody_says_so(
    dgrag: Dgrag, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    flagged(monkeypatch, "--damaged-later", str(tmp_path / "been"))
    dgrag("up", "--detach")
    dgrag("edge", "restart", "edge-1")
    assert eventually(lambda: edge_now(dgrag)["last_exit"] == 5)
    code, out, _ = dgrag("status")
    assert code == 0
    assert [line.split()[0] for line in lines(out) if "not ready" in line] == ["edge-1"]
    assert "edge-1: its data is damaged; `dgrag logs edge-1` has its last words, `dgrag edge restart edge-1` starts it again" in out
    assert (edge_now(dgrag)["ready"], edge_now(dgrag)["documents"]) == (False, {})
    (tmp_path / "been").unlink()
    assert dgrag("edge", "kill", "edge-1") == (1, "", "dgrag: edge-1 does not run (`dgrag status` says why)\n")
    assert dgrag("edge", "restart", "edge-1")[0] == 0
    assert eventually(lambda: edge_now(dgrag)["ready"])


def test_the_cloud_can_be_paused_and_resumed(dgrag: Dgrag):
    dgrag("up", "--detach")
    state = StateDir(dgrag.state).load()
    assert state
    mark = state.of("cloud")[0].mark
    assert mark
    assert dgrag("cloud", "pause") == (0, "paused cloud\n", "")
    assert eventually(lambda: is_paused(mark.pid))
    assert "it is paused; `dgrag cloud resume` lets it go on" in dgrag("status")[1]
    assert dgrag("cloud", "resume") == (0, "resumed cloud\n", "")
    assert eventually(lambda: not is_paused(mark.pid))


def test_logs_are_found_by_name_by_role_and_by_keeper(dgrag: Dgrag):
    dgrag("up", "--detach")
    assert "standard has pid" in dgrag("logs", "keeper")[1]
    (dgrag.state / "logs" / "standard.log").write_text("one\ntwo\n")
    assert dgrag("logs", "model", "-n", "1") == (0, "two\n", "")
    assert dgrag("logs", "moon") == (1, "", "dgrag: there is no service 'moon' (choose one of standard, cloud, edge-1, keeper)\n")


def test_an_edge_in_safe_mode_is_named_and_keeps_no_other_from_starting(dgrag: Dgrag):
    code, out, err = dgrag("up", "--names", "fine,damaged", "--edges", "2", "--detach")
    assert code == 0
    assert "damaged: in safe mode: the store is damaged – restore a backup" in err
    states = {line.split()[0]: line for line in lines(out)}
    assert "ready" in states["fine"]
    assert "safe mode" in states["damaged"]
    told = dgrag("status")[1]
    assert "damaged: the store is damaged – restore a backup" in told


def test_the_cloud_is_asked_for_edges_and_matches(dgrag: Dgrag):
    dgrag("up", "--detach")
    heading, row = lines(dgrag("cloud", "edges")[1])
    assert heading.split() == " ".join(cloud.COLUMNS.values()).split()
    assert row.split() == ["ward", "yes", "never", "never", "2", "0", "0", "7", "100", "%"]
    assert lines(dgrag("cloud", "match", "Why?")[1]) == ["edge  summary_id  score", "ward  s1          0.500"]
    assert json.loads(dgrag("cloud", "match", "Why?", "--json")[1]) == {"matches": [{"edge": "ward", "summary_id": "s1", "score": 0.5}]}
    assert dgrag("cloud", "expel", "x") == (1, "", "dgrag: there is no edge 'x' here (list the edges)\n")
    assert lines(dgrag("edge", "list")[1])[0] == "edge    url"


@pytest.mark.parametrize("arguments", [[], ["up"], ["down"], ["status"], ["add"], ["ask"], ["demo"], ["edge", "run"], ["cloud", "match"]])
def test_help_is_there(arguments: list[str], capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as caught:
        run([*arguments, "--help"])
    assert caught.value.code == 0
    assert "Usage: dgrag" in capsys.readouterr().out


def test_wrong_usage_ends_with_two(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as caught:
        run(["ask"])
    assert caught.value.code == 2


def test_edge_run_becomes_the_service(monkeypatch: pytest.MonkeyPatch):
    seen: list[Any] = []
    monkeypatch.setattr("os.execve", lambda *given: seen.extend(given))
    with pytest.raises(SystemExit):
        run(["edge", "run", "--id", "ward", "--port", "9000", "--cloud", "http://cloud:8099"])
    assert seen[1] == [sys.executable, "-P", "-m", "edge_node"]
    assert {key: seen[2][key] for key in ("DGRAG_EDGE_ID", "DGRAG_EDGE_PORT", "DGRAG_EDGE_CLOUD_URL")} == {
        "DGRAG_EDGE_ID": "ward",
        "DGRAG_EDGE_PORT": "9000",
        "DGRAG_EDGE_CLOUD_URL": "http://cloud:8099",
    }
