"""Clients of a service with TLS, each in its own way; counts those that are left without an answer.

    python -m tests.support.tls_stalls --loop uvloop --connections 1000

The service runs in its own process, as ours do. A client in the service's own event loop proves
nothing here: it cannot send before the service's next turn, and what is to be found is bytes that
come before that turn.
"""

import argparse
import contextlib
import itertools
import json
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import trustme
import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import StreamingResponse
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from shared.http.service import server_config
from shared.tls import server_context

ROOT = Path(__file__).parents[2]
HEAD_S = 60.0  # the service ends a stalled connection only then
LATE_S = 1.0  # that the null control waits for a ClientHello which it has lost
PATIENCE_S = 45.0  # of a client; only one that has no answer waits so long
CLIENTS = 6  # at once
BIG = 2**20
HEAD = b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n"
PAUSE = threading.Event()  # never set: a client's pause between two pieces


def application():
    app = FastAPI()

    @app.get("/")
    async def root():
        return "here"

    @app.post("/upload")
    async def upload(request: Request):
        return len(await request.body())

    @app.get("/stream")
    async def stream():
        return StreamingResponse(b"x" * (BIG // 16) for _ in range(16))

    return app


class LateTls(HttpToolsProtocol):
    """The null control: TLS that begins in a task, as our services once had it; what comes before that is lost."""

    def __init__(self, context, **options):
        super().__init__(**options)
        self._context = context

    def connection_made(self, transport):
        transport.pause_reading()
        self._beginning = self.loop.create_task(self._begin(transport))

    async def _begin(self, transport):
        with contextlib.suppress(OSError):
            tls = await self.loop.start_tls(transport, self, self._context, server_side=True, ssl_handshake_timeout=LATE_S)
            super().connection_made(tls)

    def data_received(self, data):
        if self.transport is not None:
            super().data_received(data)

    def connection_lost(self, exc):
        if self.transport is not None:
            super().connection_lost(exc)


class Announced(uvicorn.Server):
    """Writes its port when it listens."""

    async def startup(self, sockets=None):
        await super().startup(sockets)
        sys.stdout.write(f"{self.servers[0].sockets[0].getsockname()[1]}\n")
        sys.stdout.flush()


def serve(loop, cert, key, *, late):
    """Run a service until SIGTERM, as ``python -m cloud_server`` does; ``late``: the null control."""
    front = SimpleNamespace(
        host="127.0.0.1", port=0, tls_cert=Path(cert), tls_key=Path(key), behind_tls_proxy=False,
        requests_per_minute=60, head_s=HEAD_S, connections_per_address=0,
    )  # fmt: skip
    config = server_config(application(), front)
    config.loop = loop
    if late:
        config.http = partial(LateTls, server_context(front.tls_cert, front.tls_key))
    Announced(config).run()


@dataclass(frozen=True)
class Target:
    """The service, and what its clients trust."""

    port: int
    trust: ssl.SSLContext
    patience_s: float
    process: subprocess.Popen

    def connected(self):
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=self.patience_s)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection


@contextlib.contextmanager
def service(loop, *, patience_s=PATIENCE_S, late=False):
    """A service in its own process, for clients of such patience."""
    authority = trustme.CA()
    issued = authority.issue_cert("127.0.0.1")
    trust = ssl.create_default_context()
    authority.configure_trust(trust)
    with tempfile.TemporaryDirectory() as folder:
        cert, key = Path(folder) / "cert.pem", Path(folder) / "key.pem"
        issued.cert_chain_pems[0].write_to_path(cert)
        issued.private_key_pem.write_to_path(key)
        command = [sys.executable, "-m", "tests.support.tls_stalls", "--loop", loop, "--serve", cert, key, *["--late"] * late]
        with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT) as process:
            try:
                yield Target(int(process.stdout.readline()), trust, patience_s, process)
            finally:
                process.terminate()


@contextlib.contextmanager
def opened(target, send=socket.socket.sendall, session=None):
    """A TLS connection, whose ClientHello is ready before TCP is and goes out by ``send``."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = target.trust.wrap_bio(incoming, outgoing, server_hostname="127.0.0.1", session=session)
    with contextlib.suppress(ssl.SSLWantReadError):
        tls.do_handshake()
    with target.connected() as connection:
        send(connection, outgoing.read())
        line = Line(connection, tls, incoming, outgoing)
        line.shake()
        yield line


class Line:
    """A TLS connection over a socket."""

    def __init__(self, connection, tls, incoming, outgoing):
        self._socket, self.tls, self._incoming, self._outgoing = connection, tls, incoming, outgoing
        self._unread = b""

    def shake(self):
        self._step(self.tls.do_handshake)

    def _step(self, step, *arguments):
        while True:
            try:
                result = step(*arguments)
            except ssl.SSLWantReadError:
                self._flush()
                data = self._socket.recv(65_536)
                if not data:
                    raise ConnectionError("ended without an answer") from None
                self._incoming.write(data)
            else:
                self._flush()
                return result

    def _flush(self):
        data = self._outgoing.read()
        if data:
            self._socket.sendall(data)

    def write(self, data):
        view = memoryview(data)
        while view:
            view = view[self._step(self.tls.write, view[:65_536]) :]

    def read_until(self, end):
        """What comes up to ``end``."""
        while end not in self._unread:
            self._unread += self._step(self.tls.read, 65_536) or self._ended()
        found, end, self._unread = self._unread.partition(end)
        return found + end

    def _ended(self):
        raise ConnectionError("ended within an answer")

    def answer(self, body=b'"here"'):
        head = self.read_until(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 OK"), head
        return self.read_until(body)

    def end(self):
        """Close as TLS has it: close_notify from both."""
        with contextlib.suppress(ssl.SSLSyscallError):
            self._step(self.tls.unwrap)


def drip(connection, data):
    """A byte at a time."""
    for byte in data:
        connection.sendall(bytes([byte]))


def in_three(connection, data):
    """Three segments, with a pause after each."""
    third = len(data) // 3 + 1
    for start in range(0, len(data), third):
        connection.sendall(data[start : start + third])
        PAUSE.wait(0.02)


def one_request(target):
    with opened(target) as line:
        line.write(HEAD)
        line.answer()


def whole(target):
    """One request, and an orderly end."""
    with opened(target) as line:
        line.write(HEAD)
        line.answer()
        line.end()


def dripping(target):
    with opened(target, send=drip) as line:
        line.write(HEAD)
        line.answer()


def long_hello(target):
    """A ClientHello of several segments: a list of 300 protocols makes it long."""
    context = ssl.create_default_context()
    context.load_verify_locations(cadata="".join(ssl.DER_cert_to_PEM_cert(each) for each in target.trust.get_ca_certs(binary_form=True)))
    context.set_alpn_protocols([f"protocol-number-{number}" for number in range(300)])
    with opened(replace(target, trust=context), send=in_three) as line:
        line.write(HEAD)
        line.answer()


def resumed(target):
    """A second connection with the session of the first."""
    with opened(target) as line:
        line.write(HEAD)
        line.answer()
        session = line.tls.session
    with opened(target, session=session) as line:
        line.write(HEAD)
        line.answer()
        assert line.tls.session_reused


def kept(target):
    """Four requests on one connection, two of them in one piece."""
    with opened(target) as line:
        for heads in (1, 1, 2):
            line.write(HEAD * heads)
            for _ in range(heads):
                line.answer()


def large(target):
    """A megabyte to the service, and one back."""
    with opened(target) as line:
        line.write(b"POST /upload HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: %d\r\n\r\n" % BIG + b"x" * BIG)
        line.answer(str(BIG).encode())
        line.write(b"GET /stream HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
        assert line.answer(b"0\r\n\r\n").count(b"x") == BIG


def hello(trust):
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        trust.wrap_bio(incoming, outgoing, server_hostname="127.0.0.1").do_handshake()
    return outgoing.read()


def cut(target):
    """Goes away within its ClientHello."""
    with target.connected() as connection:
        connection.sendall(hello(target.trust)[:200])


def broken(target):
    """Is reset within its ClientHello."""
    with target.connected() as connection:
        connection.sendall(hello(target.trust)[:200])
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def without_tls(target):
    """Speaks HTTP where HTTPS is spoken; the service ends that at once."""
    with target.connected() as connection, contextlib.suppress(ConnectionError):
        connection.sendall(HEAD)
        while connection.recv(65_536):
            pass


ORDINARY = [one_request] * 5 + [whole]
STRANGE = [dripping, long_hello, resumed, kept, large, cut, broken, without_tls]
MIX = [client for strange in STRANGE for client in [*ORDINARY, strange]]


def measure(loop, connections, *, mix=MIX, patience_s=PATIENCE_S, stop_at=1, late=False):
    """How many clients of each kind came, and how many were left without an answer; ends early with ``stop_at`` of these."""
    came, stalled = Counter(), Counter()

    def come(client):
        if stalled.total() >= stop_at:
            return
        came[client.__name__] += 1
        try:
            client(target)
        except OSError as error:  # a TimeoutError, an end, or TLS that broke
            stalled[f"{client.__name__}: {error!r}"] += 1

    with service(loop, patience_s=patience_s, late=late) as target, ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(come, itertools.islice(itertools.cycle(mix), connections)))
    return SimpleNamespace(came=came, stalled=stalled)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--loop", choices=["uvloop", "asyncio"], default="uvloop")
    parser.add_argument("--connections", type=int, default=1000)
    parser.add_argument("--patience-s", type=float, default=PATIENCE_S)
    parser.add_argument("--plain-mix", action="store_true", help="ordinary clients alone")
    parser.add_argument("--late", action="store_true", help="the null control: TLS begins in a task")
    parser.add_argument("--serve", nargs=2, metavar=("CERT", "KEY"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        serve(given.loop, *given.serve, late=given.late)
    else:
        mix = ORDINARY if given.plain_mix else MIX
        result = measure(given.loop, given.connections, mix=mix, patience_s=given.patience_s, stop_at=given.connections, late=given.late)
        facts = {
            "python": sys.version.split()[0], "loop": given.loop, "connections": result.came.total(),
            "stalls": result.stalled.total(), "stalled": result.stalled,
        }  # fmt: skip
        sys.stdout.write(f"{json.dumps(facts)}\n")
