"""The library that reads PDF files: where it lies, whose bytes it has, and what is said when it cannot be loaded."""

import hashlib
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from edge_node.documents.readers.confinement import available
from edge_node.documents.readers.controls import CONTROL_PDF
from edge_node.documents.readers.native import DIGEST, LIBRARY, prepare
from edge_node.documents.readers.pool import ReaderLimits, ReaderPool
from shared.errors import ReaderUnavailable, UnreadableDocument

pytestmark = [pytest.mark.process, pytest.mark.skipif(sys.platform != "linux", reason="processes are looked at in /proc")]
ROOT = Path(__file__).parents[4]
LIMITS = ReaderLimits(seconds=60, memory_bytes=2**30)


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    """A folder that holds the library, to be copied."""
    folder = tmp_path_factory.mktemp("unpacked")
    prepare(folder)
    return folder


@pytest.fixture
def home(unpacked, tmp_path):
    """A folder of its own that holds the library."""
    return Path(shutil.copytree(unpacked, tmp_path / "home"))


@pytest.fixture
def pool_of():
    pools = []

    def make(*folders):
        pools.append(ReaderPool(LIMITS, at_once=2, folders=folders))
        return pools[-1]

    yield make
    for pool in pools:
        pool.close()


def libraries_of(pool):
    """The PDF libraries in the memory of the process that readers come from."""
    maps = Path(f"/proc/{pool._forker._process.pid}/maps").read_text().splitlines()
    return {line.split()[-1] for line in maps if "pdfium" in line}


def spoilt(library):
    """The same library with one byte changed, as somebody may leave it where it is looked for."""
    data = bytearray(library.read_bytes())
    data[len(data) // 2] ^= 1
    library.chmod(0o700)
    library.write_bytes(data)


async def test_a_pdf_is_read_on_a_machine_that_never_read_one(pool_of, tmp_path, monkeypatch):
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    pool = pool_of(tmp_path / "state" / "readers")
    assert (await pool.read("a.pdf", CONTROL_PDF)).text == "Control page"
    assert await pool.check() == ()
    assert list((tmp_path / "tmp").iterdir()) == []
    assert (tmp_path / "state" / "readers" / LIBRARY).stat().st_mode & 0o077 == 0


async def test_what_somebody_left_in_the_systems_temporary_folder_is_never_loaded(pool_of, home, unpacked, tmp_path, monkeypatch):
    planted = Path(shutil.copytree(unpacked, tmp_path / "tmp"))
    spoilt(planted / LIBRARY)
    monkeypatch.setenv("TMPDIR", str(planted))
    pool = pool_of(home)
    assert (await pool.read("a.pdf", CONTROL_PDF)).text == "Control page"
    assert libraries_of(pool) == {str(home / LIBRARY)}


def cut(library):
    """The library as a full disk or a crash leaves it: its first bytes are those of the package."""
    library.chmod(0o700)
    os.truncate(library, library.stat().st_size // 2)


def emptied(library):
    library.chmod(0o700)
    os.truncate(library, 0)


def of_another_release(library):
    """Whole, as it was unpacked, but not of the package that is installed now."""
    spoilt(library)
    digest = library.parents[1] / DIGEST
    digest.write_text(hashlib.sha256(library.read_bytes()).hexdigest())


@pytest.mark.parametrize("spoil", [spoilt, cut, emptied, of_another_release])
async def test_a_library_of_other_bytes_is_replaced_before_it_is_loaded(pool_of, home, unpacked, spoil):
    spoil(home / LIBRARY)
    pool = pool_of(home)
    assert (await pool.read("a.pdf", CONTROL_PDF)).text == "Control page"
    assert (home / LIBRARY).read_bytes() == (unpacked / LIBRARY).read_bytes()


@pytest.mark.parametrize("part", [Path(), LIBRARY.parent, LIBRARY])
def test_a_library_that_others_may_change_is_not_taken(home, part):
    (home / part).chmod(0o777)
    with pytest.raises(ReaderUnavailable, match="other users may change"):
        prepare(home)


def test_a_folder_that_is_a_link_is_not_taken(home, tmp_path):
    (tmp_path / "link").symlink_to(home)
    with pytest.raises(ReaderUnavailable, match="other users may change"):
        prepare(tmp_path / "link")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_library_of_another_user_is_not_taken(home):
    os.chown(home / LIBRARY, 65534, 65534)
    with pytest.raises(ReaderUnavailable, match="other users may change"):
        prepare(home)


async def test_without_a_folder_the_reader_is_to_blame_and_what_it_waited_for_is_read_later(pool_of, tmp_path):
    blocked = tmp_path / "readers"
    blocked.write_text("a file where a folder should be")
    pool = pool_of(blocked)
    with pytest.raises(ReaderUnavailable) as caught:
        await pool.read("a.pdf", CONTROL_PDF)
    words = f"{caught.value.message} {caught.value.next_step}"
    assert "PDF files" in words
    assert "damaged" not in words
    assert str(tmp_path) not in words
    assert str(blocked) in caught.value.detail
    assert (await pool.read("a.txt", b"28 beds")).text == "28 beds"
    blocked.unlink()
    assert (await pool.read("a.pdf", CONTROL_PDF)).text == "Control page"
    assert await pool.check() == ()


async def test_a_library_that_is_deleted_at_work_is_unpacked_again(pool_of, home):
    pool = pool_of(home)
    await pool.read("a.pdf", CONTROL_PDF)
    shutil.rmtree(home)
    assert (await pool.read("a.pdf", CONTROL_PDF)).text == "Control page"


def test_a_process_that_reads_a_pdf_itself_keeps_its_environment(tmp_path):
    code = (
        "import os, subprocess, sys; from pathlib import Path; from edge_node.documents.readers import native, read;"
        'native.pdfium.folders = (Path(sys.argv[1]),); print(read("a.pdf", native.CONTROL_PDF).text);'
        'print(read("a.pdf", native.CONTROL_PDF).text); subprocess.run(["sh", "-c", "echo $HOME $TMPDIR"])'
    )
    environment = {**os.environ, "HOME": str(tmp_path), "TMPDIR": str(tmp_path / "tmp")}
    command = [sys.executable, "-u", "-c", code, str(tmp_path / "readers")]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120)
    assert done.stdout.splitlines() == ["Control page", "Control page", f"{tmp_path} {tmp_path}/tmp"], done.stderr
    assert not (tmp_path / "tmp").exists()


async def test_a_damaged_document_is_to_blame_where_the_reader_is_sound(pool_of, home):
    with pytest.raises(UnreadableDocument) as caught:
        await pool_of(home).read("a.pdf", CONTROL_PDF[:60])
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
    'pool = ReaderPool(ReaderLimits(60, 2**30), at_once=1, folders=[Path(folder) for folder in "{folders}".split()]); '
    'print(asyncio.run(pool.read("a.pdf", CONTROL_PDF)).text)'
)


@pytest.mark.skipif(not may_mount(), reason="this process may mount nothing")
@pytest.mark.parametrize("options", ["size=64m", "size=64m,noexec", "ro"])
def test_a_pdf_is_read_whatever_the_systems_temporary_folder_is(home, options):
    done = in_a_private_mount(options, "/var/tmp", f'import os; os.environ["TMPDIR"] = "/var/tmp"; {READ_ONE.format(folders=home)}')
    assert done.stdout == "Control page\n", done.stderr


@pytest.mark.skipif(not may_mount(), reason="this process may mount nothing")
def test_a_folder_on_a_mount_without_programs_gives_way_to_the_next_one(home):
    folders = f"/mnt/readers {home}"
    assert in_a_private_mount("size=64m,noexec", "/mnt", READ_ONE.format(folders=folders)).stdout == "Control page\n"
    alone = in_a_private_mount("size=64m,noexec", "/mnt", READ_ONE.format(folders="/mnt/readers"))
    assert "ReaderUnavailable: PDF files, text in images cannot be read here now" in alone.stderr


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
def test_the_edge_itself_is_not_confined_by_its_readers(pool_of, home):
    pool_of(home)
    with socket.socket() as free:
        assert free.fileno() > 0
