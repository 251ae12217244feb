"""A real PgBouncer in transaction mode, before a PostgreSQL of the tests."""

import atexit
import shutil
import subprocess
import tempfile
from pathlib import Path

import psycopg
import pytest

from tests.support.waiting import eventually

SETTINGS = """
[databases]
* = host={server} user=postgres

[pgbouncer]
listen_addr =
unix_socket_dir = {folder}
auth_type = any
pool_mode = {mode}
default_pool_size = {size}
server_round_robin = 1
"""


class Pooler:
    """Hands transactions to ``size`` sessions of the server in turn: one's state is soon another's."""

    def __init__(self, postgres, *, mode="transaction", size=4):
        program = shutil.which("pgbouncer", path="/usr/sbin:/usr/bin:/usr/local/bin")
        if program is None:
            pytest.skip("PgBouncer is not installed (apt-get install pgbouncer)")
        self.folder = Path(tempfile.mkdtemp(prefix="dgrag-pgb-"))
        postgres.own(self.folder)
        settings = self.folder / "pgbouncer.ini"
        settings.write_text(SETTINGS.format(server=postgres.socket, folder=self.folder, mode=mode, size=size))
        atexit.register(self.close)
        self._process = subprocess.Popen([program, "--quiet", str(settings)], user=postgres.user, stderr=subprocess.DEVNULL)
        eventually(self._answers)

    def _answers(self):
        try:
            psycopg.connect(self.url("postgres"), prepare_threshold=None).close()
        except psycopg.OperationalError:
            return False
        return True

    def url(self, database):
        """Of one database of the server."""
        return f"postgresql://postgres@/{database}?host={self.folder}&port=6432"

    def close(self):
        """Stop, and leave nothing behind."""
        atexit.unregister(self.close)
        self._process.kill()
        self._process.wait()
        shutil.rmtree(self.folder)
