import copy
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from benchmarks.peers.callables import chat_function, embed_function
from benchmarks.peers.wire import ModelServerError, Wire


class Refusing(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(503)
        self.send_header("Content-Length", "4")
        self.end_headers()
        self.wfile.write(b"busy")

    def log_message(self, *_):
        pass


@pytest.fixture
def refusing():
    with ThreadingHTTPServer(("127.0.0.1", 0), Refusing) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        wire = Wire(f"http://127.0.0.1:{server.server_port}")
        yield wire
        wire.close()
        server.shutdown()
        thread.join()


def test_a_refusal_is_an_error_with_the_servers_words(refusing):
    with pytest.raises(ModelServerError, match="503: busy"):
        refusing.chat([{"role": "user", "content": "x"}])


def test_the_clients_own_time_is_counted(refusing):
    with pytest.raises(ModelServerError):
        refusing.embed(["x"])
    assert refusing.cpu_s > 0


def test_a_server_that_is_gone_is_an_error_that_says_so():
    with pytest.raises(ModelServerError, match="start the run again"):
        Wire("http://127.0.0.1:1").counts()


def test_what_the_peers_are_given_can_be_copied_deep():
    wire = Wire("http://127.0.0.1:1")
    assert copy.deepcopy(chat_function(wire)) is not None
    assert copy.deepcopy(embed_function(wire)) is not None
