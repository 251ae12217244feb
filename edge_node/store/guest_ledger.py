"""The egress ledger for a command that sends something while the edge runs, and must not count its commits (``store.commits``)."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from edge_node.store.chain import Departure
from edge_node.store.database import Database
from edge_node.store.ledger import append
from shared.ports import Clock
from shared.sqlite import connect
from shared.sqlite_errors import RAISED, store_error


class GuestLedger:
    """Implements ``edge_node.link.cloud_client.Records`` on the store in a state folder, which is made where there is none."""

    def __init__(self, state_dir: Path, clock: Clock) -> None:
        self._path = state_dir / "edge.db"
        self._clock = clock
        if not self._path.exists():
            Database(self._path).close()

    def record(self, departure: Departure) -> None:
        """Note a body that is about to leave; on disk when this returns. Raises StoreError."""
        try:
            with closing(connect(self._path)) as connection:
                connection.execute("BEGIN IMMEDIATE")
                append(connection, departure, at=self._clock.now())
                connection.execute("COMMIT")
        except RAISED as error:
            if told := store_error(self._path, error):
                raise told from error
            raise
