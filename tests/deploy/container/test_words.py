"""The words that a container is started with."""

import subprocess
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from deploy.container import __main__ as container
from deploy.container.health import fault

HEAVY = "import sys, deploy.container.health, deploy.container.__main__; print(sorted({'httpx2', 'pydantic', 'orjson'} & set(sys.modules)))"


@pytest.fixture
def service():
    """A service that is well below /health and ill elsewhere; its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200 if self.path == "/health" else 503)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_healthy_is_who_answers_200(service):
    assert container.main(["healthy", f"{service}/health"]) == 0


def test_who_answers_otherwise_or_not_at_all_is_not(service, capsys):
    assert container.main(["healthy", f"{service}/ready"]) == 1
    assert "answers 503" in capsys.readouterr().err
    assert "refused" in fault("http://127.0.0.1:1/health")


def test_one_that_speaks_no_tls_is_not_healthy_by_https(service):
    assert "SSL" in fault(service.replace("http:", "https:") + "/health")


def test_the_health_check_loads_nothing_heavy():
    run = subprocess.run([sys.executable, "-c", HEAVY], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


@pytest.mark.parametrize("words", [[], ["dance"], ["setup", "twice"], ["enrol"], ["model"], ["edge", "1", "2"], ["healthy"]])
def test_words_that_mean_nothing_are_answered_by_those_that_do(words, capsys):
    assert container.main(words) == 2
    assert "setup · enrol" in capsys.readouterr().err


def test_setup_and_key_do_what_they_say(tmp_path, monkeypatch, capsys):
    for name in ("STATE", "TRUST", "KEYS"):
        monkeypatch.setattr(container, name, tmp_path / name.lower())
    (tmp_path / "state").mkdir()
    assert container.main(["key"]) == 1
    assert container.main(["setup"]) == 0
    assert container.main(["key"]) == 0
    assert capsys.readouterr().out == (tmp_path / "keys" / "user").read_text() + "\n"


def test_an_edge_turns_into_its_service_with_its_place(tmp_path, monkeypatch):
    for name in ("TRUST", "INVITATIONS"):
        monkeypatch.setattr(container, name, tmp_path)
    monkeypatch.setenv("DGRAG_EDGE_STATE_DIR", str(tmp_path))
    became = []
    monkeypatch.setattr("deploy.cli.rest.become", lambda module, settings: became.append((module, settings["DGRAG_EDGE_ID"])))
    assert container.main(["edge", "2"]) == 0
    assert became == [("edge_node", "edge-1")]
    assert container.main(["edge", "none"]) == 1


def test_the_model_server_answers_to_the_name_that_all_have(tmp_path, monkeypatch):
    monkeypatch.setattr("deploy.cluster.launch.fetch_generator", lambda name, settings, progress: tmp_path / f"{name}.gguf")
    started = []
    monkeypatch.setattr("os.execve", lambda path, words, environment: started.append(words))
    monkeypatch.setattr("deploy.container.first_start.model_key", lambda trust: {})
    assert container.main(["model", "small", "3"]) == 0
    words = started[0]
    assert [words[words.index(f"--{name}") + 1] for name in ("model", "name", "host", "threads")] == [
        str(tmp_path / "small.gguf"), "standard", "0.0.0.0", "3",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("words", "invited"),
    [
        (["enrol", "2"], [(["2"], False)]),
        (["enrol", "ward", "bank"], [(["ward", "bank"], False)]),
        (["enrol", "ward", "again", "bank"], [(["ward"], False), (["bank"], True)]),
        (["enrol", "again", "bank"], [(["bank"], True)]),
        (["again", "bank"], [(["bank"], True)]),
    ],
)
def test_edges_are_invited_and_those_that_lost_their_key_are_once_more(words, invited, monkeypatch):
    heard = []
    monkeypatch.setattr(container, "_invite", lambda words, *, replace: heard.append((words, replace)))
    assert container.main(words) == 0
    assert heard == invited
