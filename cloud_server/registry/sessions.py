"""Sessions at the console of clouds that share a PostgreSQL: who has signed in at one of them is known to all."""

from __future__ import annotations

from cloud_server.database.port import SharedDatabase
from shared.http.console.sessions import IDLE_S, MOST, MOST_OF_KEY, OLDEST_S

USED = "interval '60 seconds'"  # a session's use is written as often: not with each request
LIVES = f"used >= clock_timestamp() - interval '{IDLE_S} seconds' AND began >= clock_timestamp() - interval '{OLDEST_S} seconds'"
FIND = f"SELECT key_id, used < clock_timestamp() - {USED} AS is_due FROM console_sessions WHERE session = ? AND {LIVES}"
TOO_MANY = "DELETE FROM console_sessions WHERE session IN (SELECT session FROM console_sessions ORDER BY used DESC OFFSET ?)"
TOO_MANY_OF_KEY = TOO_MANY.replace("ORDER", "WHERE key_id = ? ORDER")


class SharedSessions:
    """Implements ``shared.http.console.sessions.SessionStore``. All times are PostgreSQL's. Raises StoreAway."""

    def __init__(self, database: SharedDatabase) -> None:
        self._database = database

    def key_of(self, session: str, *, is_use: bool) -> str | None:
        """As the port says."""
        found = self._database.row(FIND, (session,))
        if found and found["is_due"] and is_use:
            with self._database.join() as tx:
                tx.execute("UPDATE console_sessions SET used = clock_timestamp() WHERE session = ?", (session,))
        return str(found["key_id"]) if found else None

    def add(self, session: str, key_id: str) -> None:
        """As the port says."""
        with self._database.join() as tx:
            tx.execute("INSERT INTO console_sessions VALUES (?, ?, clock_timestamp(), clock_timestamp())", (session, key_id))
            tx.execute(f"DELETE FROM console_sessions WHERE NOT ({LIVES})")
            tx.execute(TOO_MANY_OF_KEY, (key_id, MOST_OF_KEY))
            tx.execute(TOO_MANY, (MOST,))

    def end(self, session: str) -> None:
        """As the port says."""
        with self._database.join() as tx:
            tx.execute("DELETE FROM console_sessions WHERE session = ?", (session,))
