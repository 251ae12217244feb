"""A line to PostgreSQL that can be cut around a commit: before the server hears of it, or before its answer is back."""

import contextlib
import shutil
import socket
import socketserver
import tempfile
import threading
from pathlib import Path

SOCKET = ".s.PGSQL.5432"
CHUNK = 65536


class CutLine:
    """Passes all on between its own socket and the server's; the next commit of summaries after ``arm`` is cut off, once."""

    def __init__(self, url):
        database, _, folder = url.partition("?host=")
        self._target = str(Path(folder) / SOCKET)
        self._folder = Path(tempfile.mkdtemp(prefix="dgrag-line-"))
        self.url = f"{database}?host={self._folder}"
        self._armed = ""  # "before" or "after"
        self.cut = threading.Event()

    def arm(self, when):
        self.cut.clear()
        self._armed = when

    @contextlib.contextmanager
    def open(self):
        line = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self):
                line._serve(self.request)

        class Server(socketserver.ThreadingUnixStreamServer):
            daemon_threads = True

        with Server(str(self._folder / SOCKET), Handler) as server:
            thread = threading.Thread(target=server.serve_forever, daemon=True)
            thread.start()
            try:
                yield self
            finally:
                server.shutdown()
                thread.join()
                shutil.rmtree(self._folder)

    def _serve(self, client):
        with socket.socket(socket.AF_UNIX) as server, contextlib.suppress(OSError):
            server.connect(self._target)
            back = threading.Thread(target=self._pass_back, args=(server, client), daemon=True)
            back.start()
            has_summaries = False
            while data := client.recv(CHUNK):
                has_summaries |= b"INTO summaries" in data
                if b"COMMIT" in data and has_summaries and self._armed:
                    self._cut(client, server, data)
                    break
                server.sendall(data)

    def _cut(self, client, server, data):
        when, self._armed = self._armed, ""
        self.cut.set()  # before anybody can notice it
        client.shutdown(socket.SHUT_RDWR)
        if when == "after":
            server.sendall(data)
        server.shutdown(socket.SHUT_WR)  # it ends after what it was told

    def _pass_back(self, server, client):
        with contextlib.suppress(OSError):
            while data := server.recv(CHUNK):
                client.sendall(data)
