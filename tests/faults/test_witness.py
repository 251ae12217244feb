"""The witness hands on how a connection ends, too: else who dialled waits for an answer that nobody will give."""

import socket
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.process

PROGRAM = (
    "import sys\n"
    "from pathlib import Path\n"
    "from tests.faults.witness import witness\n"
    "witness(Path(sys.argv[1]), *map(int, sys.argv[2:]), print)"
)
WAIT_S = 20


@pytest.fixture
def line(tmp_path):
    """A connection through a witness: the end of who dialled, and the end of who answers."""
    with socket.create_server(("127.0.0.1", 0)) as target, socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
        free.close()
        process = subprocess.Popen(
            [sys.executable, "-u", "-c", PROGRAM, str(tmp_path), str(port), str(target.getsockname()[1])],
            stdout=subprocess.PIPE, cwd=Path(__file__).parents[2],
        )  # fmt: skip
        try:
            assert process.stdout.readline() == b"serving\n"
            with socket.create_connection(("127.0.0.1", port), timeout=WAIT_S) as dialled, target.accept()[0] as answering:
                yield dialled, answering
        finally:
            process.kill()
            process.communicate()


def test_what_is_sent_arrives_and_is_written_down(line, tmp_path):
    dialled, answering = line
    dialled.sendall(b"GET / HTTP/1.1\r\n\r\n")
    assert answering.recv(99) == b"GET / HTTP/1.1\r\n\r\n"
    answering.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
    assert dialled.recv(99) == b"HTTP/1.1 200 OK\r\n\r\n"
    assert [file.read_bytes() for file in tmp_path.iterdir()] == [b"GET / HTTP/1.1\r\n\r\n"]


@pytest.mark.parametrize("flags", [0, socket.MSG_PEEK], ids=["read", "unread"])
def test_who_dialled_learns_at_once_that_the_other_end_is_gone(line, flags):
    """One that dies with something unread resets the connection, and does not end it."""
    dialled, answering = line
    dialled.sendall(b"x")
    assert answering.recv(1, flags) == b"x"
    answering.close()
    assert dialled.recv(1) == b""
