import asyncio
import json
import sys

import httpx2
import pytest

from benchmarks import cluster
from benchmarks.cluster import Fleet, until
from benchmarks.errors import BenchmarkError
from benchmarks.link import LinkConfig
from tests.support.waiting import until as eventually


@pytest.fixture
async def http():
    async with httpx2.AsyncClient() as client:
        yield client


@pytest.fixture
def dgrag(tmp_path, monkeypatch):
    """Stand a script for the command: it writes its arguments and the settings that it sees, and ends as the test says."""

    def install(script):
        file = tmp_path / "dgrag.py"
        file.write_text(f"import os, sys, time\n{script}\n")
        monkeypatch.setattr(cluster, "DGRAG", (sys.executable, str(file)))

    return install


async def test_a_failed_verb_is_one_line_with_its_last_words(tmp_path, http, dgrag):
    dgrag("sys.exit('dgrag: there is no model nonsense')")
    fleet = Fleet(tmp_path, "nonsense", http, {})
    with pytest.raises(BenchmarkError, match="`dgrag model` failed: dgrag: there is no model nonsense"):
        await fleet.up("state", ["a"], {})


async def test_settings_of_the_shell_do_not_reach_the_services_but_the_runs_own_do(tmp_path, http, dgrag, monkeypatch):
    monkeypatch.setenv("DGRAG_EDGE_SAMPLES", "8")
    monkeypatch.setenv("DGRAG_MODEL_DIR", "models")
    monkeypatch.setenv("DGRAG_MODEL_EMBEDDER", "another")
    log = tmp_path / "seen"
    dgrag(f"open({str(log)!r}, 'w').write(repr({{k: v for k, v in os.environ.items() if k.startswith('DGRAG_')}})); sys.exit(1)")
    fleet = Fleet(tmp_path, "http://127.0.0.1:1/v1", http, {"DGRAG_EDGE_SEED": "3"})
    with pytest.raises(BenchmarkError):
        await fleet.up("state", ["a"], {"DGRAG_EDGE_TOP_K": "5"})
    seen = log.read_text()
    assert "'DGRAG_EDGE_SEED': '3'" in seen
    assert "'DGRAG_EDGE_TOP_K': '5'" in seen
    assert "DGRAG_MODEL_DIR" in seen
    assert "DGRAG_EDGE_SAMPLES" not in seen
    assert "DGRAG_MODEL_EMBEDDER" not in seen


async def test_without_a_language_model_none_is_fetched_or_started_and_its_address_refuses(tmp_path, http, dgrag):
    log = tmp_path / "asked"
    dgrag(f"open({str(log)!r}, 'a').write(' '.join(sys.argv[1:]) + '\\n'); print('{{}}')")
    async with Fleet(tmp_path, "none", http, {}) as fleet:
        assert await fleet.model_name() == "none"
        assert (await http.post(f"{await fleet.model()}/chat/completions", json={})).status_code == 501
    assert log.read_text().splitlines() == ["model fetch minilm --json"]


async def test_a_link_is_asked_for_and_what_passed_over_it_is_told_when_the_cluster_stops(tmp_path, http, dgrag):
    log = tmp_path / "asked"
    links = {"links": [{"edge": "a", "up": {"bytes": 10}, "down": {"bytes": 20}}]}
    said = f"print({json.dumps(links)!r} if 'net' in sys.argv else sys.exit('no'))"
    dgrag(f"open({str(log)!r}, 'a').write(' '.join(sys.argv[1:]) + '\\n')\n{said}")
    told = []
    fleet = Fleet(tmp_path, "http://127.0.0.1:1/v1", http, {}, LinkConfig(mbit=5), carried=lambda *said: told.append(said))
    with pytest.raises(BenchmarkError):
        await fleet.up("domain-1", ["a"], {})
    assert "--runtime netns --link rate=5mbit delay=15ms loss=0% queue=100ms --state" in log.read_text()
    fleet.state("domain-1").mkdir(parents=True)
    (fleet.state("domain-1") / "cluster.json").touch()
    with pytest.raises(BenchmarkError, match="`dgrag down` failed"):
        await fleet.down()
    assert told == [("domain-1", "a", {"up": 10, "down": 20})]


async def test_a_cluster_that_was_never_up_has_carried_nothing(tmp_path, http, dgrag):
    log = tmp_path / "asked"
    dgrag(f"open({str(log)!r}, 'a').write(' '.join(sys.argv[1:]) + '\\n')")
    fleet = Fleet(tmp_path, "none", http, {}, LinkConfig())
    fleet._running = fleet.state("domain-1")
    await fleet.down()
    assert log.read_text() == f"down --state {fleet.state('domain-1')}\n"


@pytest.mark.parametrize("is_begun", [True, False])
async def test_a_cancelled_verb_is_asked_to_stop_and_waited_for(tmp_path, http, dgrag, monkeypatch, is_begun):
    """Also where it runs already and whoever started it does not know yet."""
    begun, stopped, known = tmp_path / "begun", tmp_path / "stopped", asyncio.Event()
    start = asyncio.create_subprocess_exec

    async def slow(*words, **settings):
        process = await start(*words, **settings)
        await known.wait()
        return process

    monkeypatch.setattr(asyncio, "create_subprocess_exec", start if is_begun else slow)
    dgrag(
        "import pathlib, signal\n"
        "asked = {signal.SIGTERM}\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, asked)\n"  # kept for sigwait, however early it comes
        f"pathlib.Path({str(begun)!r}).touch()\n"
        f"signal.sigwait(asked)\npathlib.Path({str(stopped)!r}).touch()"
    )
    fleet = Fleet(tmp_path, "http://127.0.0.1:1/v1", http, {})
    work = asyncio.create_task(fleet.up("state", ["a"], {}))
    await eventually(begun.exists)
    work.cancel()
    known.set()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert stopped.exists()


async def test_what_a_killed_run_left_is_stopped_first(tmp_path, http, dgrag):
    log = tmp_path / "seen"
    dgrag(f"open({str(log)!r}, 'a').write(' '.join(sys.argv[1:]) + '\\n')")
    left = tmp_path / "clusters" / "domain-1"
    left.mkdir(parents=True)
    (left / "cluster.json").write_text("{}")
    async with Fleet(tmp_path, "smoke", http, {}):
        assert log.read_text() == f"down --state {left}\n"


def test_a_copy_is_whole_or_not_there(tmp_path):
    fleet = Fleet(tmp_path, "smoke", httpx2.AsyncClient(), {})
    (fleet.state("a") / "edges").mkdir(parents=True)
    (fleet.state("a") / "edges" / "edge.db").write_text("x")
    (fleet.state("a") / "cluster.json").write_text("{}")
    fleet.copy("a", "b")
    assert sorted(path.name for path in fleet.state("b").rglob("*")) == ["edge.db", "edges"]
    assert not fleet.state("b.draft").exists()


async def test_an_edge_in_safe_mode_is_told_at_once_with_its_reason(tmp_path):
    reason = {"edge": "a", "failed": "edge.db is damaged – restore a backup", "settled": False, "documents": {}}

    def answer(request):
        return httpx2.Response(200, json={"edges": []} if request.url.path == "/v1/edges" else reason)

    async with httpx2.AsyncClient(transport=httpx2.MockTransport(answer)) as http:
        with pytest.raises(BenchmarkError, match=r"edge a is in safe mode: edge\.db is damaged") as error:
            await Fleet(tmp_path, "none", http, {})._in_step(cluster.Cluster("http://cloud", {"a": "http://a"}))
    assert "index it anew" in error.value.next_step


async def test_what_cannot_become_ready_is_not_waited_for():
    async def never():
        return False

    with pytest.raises(BenchmarkError, match="the model server does not become ready"):
        await until(never, what="the model server", alive=lambda: False)
