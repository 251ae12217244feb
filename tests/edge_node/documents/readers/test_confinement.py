"""What a reader's child may do, and that it reads PDF files wherever the system's temporary folder lies."""

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from edge_node.documents.readers.confinement import available
from edge_node.documents.readers.controls import CONTROL_PDF
from edge_node.documents.readers.pool import ReaderLimits, ReaderPool
from shared.errors import UnreadableDocument

pytestmark = [pytest.mark.process, pytest.mark.skipif(sys.platform != "linux", reason="processes are looked at in /proc")]
ROOT = Path(__file__).parents[4]
LIMITS = ReaderLimits(seconds=60, memory_bytes=2**30)


@pytest.fixture
def pool():
    pool = ReaderPool(LIMITS, at_once=2)
    yield pool
    pool.close()


def libraries_of(pool):
    """The PDF libraries in the memory of the process that readers come from."""
    maps = Path(f"/proc/{pool._forker._process.pid}/maps").read_text().splitlines()
    return {line.split()[-1] for line in maps if "pdfium" in line}


async def test_a_pdf_is_read_on_a_machine_that_never_read_one_by_the_installed_library_alone(pool, tmp_path, monkeypatch):
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    assert (await pool.read("a.pdf", CONTROL_PDF)).text == "Control page"
    assert await pool.check() == ()
    assert list((tmp_path / "tmp").iterdir()) == []
    assert all(path.startswith(sys.prefix) for path in libraries_of(pool))


async def test_a_damaged_document_is_to_blame_where_the_reader_is_sound(pool):
    with pytest.raises(UnreadableDocument) as caught:
        await pool.read("a.pdf", CONTROL_PDF[:60])
    assert caught.value.reason == "bad_pdf"


def in_a_private_mount(options, target, code):
    """What ``code`` prints in a process of its own, in which a new file system lies at ``target``."""
    script = f"mount -t tmpfs -o {options} none {target} && exec {sys.executable} -c '{code}'"
    return subprocess.run(["unshare", "--mount", "sh", "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=120)


def may_mount():
    return os.geteuid() == 0 and shutil.which("unshare") and in_a_private_mount("size=1m", "/mnt", "print(1)").stdout == "1\n"


READ_ONE = (
    "import asyncio, sys; from pathlib import Path; from edge_node.documents.readers.pool import *; "
    "from edge_node.documents.readers.controls import CONTROL_PDF; "
    "pool = ReaderPool(ReaderLimits(60, 2**30), at_once=1); "
    'print(asyncio.run(pool.read("a.pdf", CONTROL_PDF)).text)'
)


@pytest.mark.skipif(not may_mount(), reason="this process may mount nothing")
@pytest.mark.parametrize("options", ["size=64m", "size=64m,noexec", "ro"])
def test_a_pdf_is_read_whatever_the_systems_temporary_folder_is(options):
    done = in_a_private_mount(options, "/var/tmp", f'import os; os.environ["TMPDIR"] = "/var/tmp"; {READ_ONE}')
    assert done.stdout == "Control page\n", done.stderr


CONFINED = """
import os, resource, signal, socket, sys, threading
from pathlib import Path
from edge_node.documents.readers import confinement
Path(sys.argv[1], "open").mkdir()
Path(sys.argv[1], "open", "data").write_text("fine")
Path(sys.argv[1], "store.db").write_text("secret")
data, store, mechanisms = Path(sys.argv[1], "open", "data"), Path(sys.argv[1], "store.db"), sys.argv[2].split()
confinement.available = lambda: tuple(mechanisms)
confinement.confine([data.parent])
def attempt(name, act):
    try:
        act()
    except OSError:
        print("refused", name)
    else:
        print("allowed", name)
attempt("read", data.read_bytes)
attempt("thread", lambda: threading.Thread(target=int).start())
attempt("own limits", lambda: resource.getrlimit(resource.RLIMIT_CPU))
attempt("state", store.read_bytes)
attempt("password file", Path("/etc/passwd").read_bytes)
attempt("write", lambda: Path(sys.argv[1], "open", "new").write_bytes(b"x"))
attempt("mode", lambda: data.chmod(0o600))
attempt("times", lambda: os.utime(data))
attempt("attribute", lambda: os.setxattr(data, "user.a", b"1"))
attempt("cut", lambda: os.truncate(data, 1))
attempt("rename", lambda: data.rename(data.with_name("other")))
attempt("link", lambda: data.with_name("link").symlink_to(data))
attempt("socket", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
attempt("unix socket", lambda: socket.socket(socket.AF_UNIX))
attempt("kill", lambda: os.kill(os.getppid(), 0))
attempt("others' limits", lambda: resource.prlimit(os.getppid(), resource.RLIMIT_CORE))
attempt("pace", lambda: os.setpriority(os.PRIO_PROCESS, os.getppid(), 19))
attempt("program", lambda: os.posix_spawn("/bin/true", ["true"], {}))
attempt("fork", lambda: os._exit(0) if os.fork() == 0 else os.wait())
attempt("remove", store.unlink)
"""
USUAL = ["read", "thread", "own limits"]
FILES = ["state", "password file", "write"]  # for Landlock alone
CALLS = [
    "mode",
    "times",
    "attribute",
    "cut",
    "rename",
    "link",
    "socket",
    "unix socket",
    "kill",
    "others' limits",
    "pace",
    "program",
    "fork",
]


def confined(folder, mechanisms):
    """What was refused in a process that is confined by these mechanisms of the kernel."""
    folder.mkdir()
    command = [sys.executable, "-c", CONFINED, str(folder), mechanisms]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    lines = dict(line.split(" ", 1)[::-1] for line in done.stdout.splitlines())
    assert list(lines) == [*USUAL, *FILES, *CALLS, "remove"]
    return [name for name, verdict in lines.items() if verdict == "refused"]


@pytest.mark.skipif(set(available()) != {"landlock", "seccomp"}, reason="this kernel has not both")
def test_a_child_changes_nothing_and_reaches_nobody(tmp_path):
    assert confined(tmp_path / "both", "landlock seccomp") == [*FILES, *CALLS, "remove"]
    assert confined(tmp_path / "calls", "seccomp") == [*CALLS, "remove"]
    free = confined(tmp_path / "free", "")  # the null control
    assert set(free) <= {"attribute"}  # some file systems have none


@pytest.mark.skipif("seccomp" not in available(), reason="this kernel has no seccomp")
@pytest.mark.usefixtures("pool")
def test_the_edge_itself_is_not_confined_by_its_readers():
    with socket.socket() as free:
        assert free.fileno() > 0
