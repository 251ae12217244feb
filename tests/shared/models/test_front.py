"""No web page and nobody without the key gets a word out of the local model server: real processes, raw requests."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

from shared.errors import SettingsError
from shared.models.front import Door
from shared.models.serve import ServeOptions, command, door_of

KEY = "a-key-of-this-test"
EVIL = "evil.example"
PAGE = {"Host": EVIL, "Origin": f"http://{EVIL}", "Sec-Fetch-Site": "cross-site"}
OWN = {"Authorization": f"Bearer {KEY}"}
ASKED = {"messages": [{"role": "user", "content": "The patient in bed 4 is called Xanthe Quillfeather. Say yes."}], "max_tokens": 1}
BARE = """
import sys, threading, xllamacpp
params = xllamacpp.CommonParams()
params.model.path, params.hostnames, params.port, params.n_ctx = sys.argv[1], ["127.0.0.1"], int(sys.argv[2]), 512
server = xllamacpp.Server(params)
threading.Event().wait()
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def up(words, port, key, headers):
    process = subprocess.Popen(words, env={**os.environ, "DGRAG_MODEL_API_KEY": key}, stdout=-3, stderr=-3)
    http = httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=60, trust_env=False)

    def ready():
        assert process.poll() is None
        try:
            return http.get("/v1/models", headers=headers).status_code == 200
        except httpx2.TransportError:
            return False

    return process, http, ready


@pytest.fixture(scope="module", params=[KEY, ""], ids=["keyed", "keyless"])
def served(request, small_weights):
    port = free_port()
    options = ServeOptions(small_weights, "small", port=port, context=512, parallel=1)
    process, http, ready = up(command(options), port, request.param, OWN)
    with http:
        for _ in range(1200):
            if ready():
                break
            process_wait(process)
        yield process, http, request.param
    process.terminate()
    assert process.wait(timeout=20) == 0


def process_wait(process):
    try:
        process.wait(timeout=0.1)
    except subprocess.TimeoutExpired:
        return


@pytest.mark.model
def test_a_page_of_another_site_gets_nothing(served):
    """Host: the page's own name, bound anew to 127.0.0.1. No header lets a page read the reply."""
    _, http, key = served
    for method, path in (("GET", "/health"), ("GET", "/slots"), ("GET", "/v1/models"), ("OPTIONS", "/v1/chat/completions")):
        reply = http.request(method, path, headers=PAGE)
        assert reply.status_code == (401 if key else 403)
        assert not [name for name in reply.headers if name.startswith("access-control") or name == "server"]
    for head in (PAGE, {"Origin": f"http://{EVIL}"}, {"Host": EVIL}, {"Sec-Fetch-Site": "cross-site"}, {"Host": f"{EVIL}:80"}):
        reply = http.post("/v1/chat/completions", json=ASKED, headers=head)
        assert reply.status_code == (401 if key else 403)
        assert "timings" not in reply.text
        assert "cache" not in reply.text
        assert http.post("/v1/chat/completions", json=ASKED, headers={**OWN, **head}).status_code == 403  # nor with the key


@pytest.mark.model
def test_the_server_answers_whoever_has_the_key(served):
    _, http, key = served
    said = http.post("/v1/chat/completions", json=ASKED, headers=OWN).raise_for_status().json()
    assert said["usage"]["completion_tokens"] == 1
    for wrong in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": f"bearer {KEY}x"}):
        assert http.post("/v1/chat/completions", json=ASKED, headers=wrong).status_code == (401 if key else 200)


@pytest.mark.model
def test_a_connection_that_was_let_in_is_for_one_request(served):
    """A proxy may send several clients' requests over one connection: the second one's would go unlooked at."""
    _, http, _ = served
    request = f"GET /v1/models HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: {OWN['Authorization']}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", http.base_url.port), timeout=60) as line:
        line.sendall((request + request).encode())
        said = b"".join(iter(lambda: line.recv(65536), b""))
    assert said.count(b"HTTP/1.1 ") == said.count(b"HTTP/1.1 200") == 1


@pytest.mark.model
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_key_is_on_no_command_line(served):
    process, _, _ = served
    of_it = Path("/proc") / str(process.pid)
    assert KEY.encode() not in (of_it / "cmdline").read_bytes()
    assert not (of_it / "environ").stat().st_mode & 0o077


@pytest.mark.model
def test_null_control_without_the_front_a_page_reads_the_cache(small_weights):
    """llama.cpp as it is: what the page asks is answered to any Origin and Host, with how much of it was asked before."""
    port = free_port()
    process, http, ready = up([sys.executable, "-P", "-c", BARE, str(small_weights), str(port)], port, "", {})
    try:
        with http:
            for _ in range(1200):
                if ready():
                    break
                process_wait(process)
            http.post("/v1/chat/completions", json=ASKED).raise_for_status()
            seen = http.post("/v1/chat/completions", json=ASKED, headers=PAGE).raise_for_status()
        assert seen.headers["access-control-allow-origin"] in ("*", PAGE["Origin"])
        assert seen.json()["timings"]["cache_n"] > 10
    finally:
        process.terminate()
        process.wait(timeout=20)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:8090", "localhost", "LOCALHOST:1", "[::1]", "[::1]:8090", "model:8090", "MODEL"])
def test_the_server_is_called_by_loopback_or_by_a_name_that_was_given(host):
    assert (
        Door(KEY, frozenset({"model"})).refusal(f"GET / HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {KEY}\r\n\r\n".encode()) is None
    )


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", "", "model.evil.example", "10.0.0.1"]
)
def test_any_other_name_is_refused(host):
    refused = Door("", frozenset({"model"})).refusal(f"GET / HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
    assert refused is not None
    assert refused[0] == 403


@pytest.mark.parametrize("lines", ["", "Host: localhost\r\nHost: evil.example\r\n", "Host: evil.example\r\nHost: localhost\r\n"])
def test_a_request_has_one_host(lines):
    refused = Door().refusal(f"GET / HTTP/1.1\r\n{lines}\r\n".encode())
    assert refused is not None
    assert refused[0] == 403


@pytest.mark.parametrize(("header", "said"), [("", "a key is needed"), ("Authorization: Bearer other\r\n", "the key is wrong")])
def test_a_wrong_key_is_called_wrong_and_a_missing_one_missing(header, said):
    status, message = Door(KEY).refusal(f"GET / HTTP/1.1\r\nHost: localhost\r\n{header}\r\n".encode())
    assert (status, message.startswith(said)) == (401, True)


def test_a_server_that_other_machines_reach_needs_a_key(tmp_path):
    with pytest.raises(SettingsError, match="needs a key"):
        door_of(ServeOptions(tmp_path, "m", host="0.0.0.0"), "")
    assert door_of(ServeOptions(tmp_path, "m", host="0.0.0.0", allow_host=("Model",)), KEY).hosts == {"0.0.0.0", "model"}
