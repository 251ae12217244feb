"""API keys of a service's users: kept as hashes in a small store of their own, looked at anew for every request (goal S2)."""

from __future__ import annotations

import hmac
import re
import secrets
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol, get_args

from shared.errors import Conflict, InputError, NotFound, Unauthenticated
from shared.http.access import Caller, Role
from shared.settings import KeyRole
from shared.sqlite import Database

ROLES: dict[KeyRole, frozenset[Role]] = {
    "read": frozenset({"read"}),
    "write": frozenset({"read", "write"}),
    "admin": frozenset({"read", "write", "admin"}),
    "metrics": frozenset({"metrics"}),  # a scraper's: it reads no document
}
DAY_S = 86_400.0
FILE = "keys.db"
PREFIX = "dgk_"  # no token of an issuer begins so: the first letters of those are a header's
TOKEN = re.compile(r"dgk_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
NOBODY = sha256(b"").hexdigest()  # compared with where no key has that id: an unknown id takes as long as a wrong secret
COLUMNS = "key_id, name, role, created, expires, revoked"
FIRST = (
    "this is the first key: from now on the service lets in nobody without one, programs of this machine included; revoking it does not "
    "open the service again; for `dgrag` itself set DGRAG_API_KEY"
)
ENDLESS_ADMIN = "SELECT 1 FROM keys WHERE role = 'admin' AND revoked IS NULL AND expires IS NULL LIMIT 1"
SCHEMA = (
    """CREATE TABLE keys (
        key_id  TEXT PRIMARY KEY,
        name    TEXT NOT NULL,
        role    TEXT NOT NULL,
        hash    TEXT NOT NULL, -- SHA-256 of the secret, which has 256 random bits
        created REAL NOT NULL, -- seconds since the epoch
        expires REAL,          -- NULL: never
        revoked REAL           -- NULL: it is not
    ) WITHOUT ROWID;""",
)


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key without its secret. Times are seconds since the epoch."""

    key_id: str
    name: str
    role: KeyRole
    created: float
    expires: float | None
    revoked: float | None


@dataclass(frozen=True, slots=True)
class MadeKey:
    """A key that was made now. ``notice``: what it changes for all, where it is the first; else empty."""

    key_id: str
    name: str
    role: KeyRole
    token: str  # shown here only
    closes_open_mode: bool
    notice: str


class KeyTable(Protocol):
    """A store that has the table of keys."""

    def write(self) -> AbstractContextManager[Any]:
        """One transaction."""

    def rows(self, sql: str, arguments: Sequence[Any] = ()) -> Sequence[Any]:
        """All rows of a query."""

    def row(self, sql: str, arguments: Sequence[Any] = ()) -> Any:
        """The first one, or None."""

    def close(self) -> None:
        """Close all connections; again: nothing happens."""


class KeyRing:
    """The keys in a folder's ``keys.db``, or in a store that several services share; the command line writes it while they read it.

    Raises as its store.
    """

    def __init__(self, store: Path | KeyTable) -> None:
        self._database: KeyTable = Database(store / FILE, migrations=SCHEMA) if isinstance(store, Path) else store

    def close(self) -> None:
        """Close the store."""
        self._database.close()

    def is_empty(self) -> bool:
        """Whether no key was ever made; a revoked one counts, so that a service does not open by a revocation."""
        return self._database.row("SELECT 1 FROM keys LIMIT 1") is None

    def add(self, name: str, role: str, *, now: float, days: float | None = None) -> str:
        """Make a key that holds for ``days``, or for ever; returns the token, which is not kept.

        Raises InputError, and Conflict for a name that a valid key has.
        """
        with self._database.write() as tx:
            return _added(tx, name, role, now=now, days=days)

    def add_remotely(self, name: str, role: KeyRole, *, now: float, days: float | None = None) -> MadeKey:
        """As ``add``, for who may have no other way in. Raises Conflict for a first key that is no admin's, or that expires."""
        with self._database.write() as tx:
            is_first = tx.execute("SELECT 1 FROM keys LIMIT 1").fetchone() is None
            if is_first and role != "admin":
                raise Conflict("the first key ends access without keys, and this one can make no other", next_step="make an admin's first")
            if is_first and days is not None:
                raise Conflict(
                    "the first key ends access without keys, and nobody comes in when it expires",
                    next_step="make it without an end, by leaving out the days",
                )
            token = _added(tx, name, role, now=now, days=days)
        return MadeKey(self.id_of(token), name, role, token, is_first, FIRST if is_first else "")

    def adopt(self, key: ApiKey, token_hash: str, *, now: float) -> None:
        """Take over a key that another service has made; one that has its name ends. Again: nothing changes, nor is a revoked one back."""
        with self._database.write() as tx:
            tx.execute("UPDATE keys SET revoked = ? WHERE name = ? AND key_id <> ? AND revoked IS NULL", (now, key.name, key.key_id))
            row = (key.key_id, key.name, key.role, token_hash, key.created, key.expires, key.revoked)
            tx.execute("INSERT INTO keys VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING", row)

    def hash_of(self, key_id: str) -> str:
        """What a service that adopts the key has to know of its secret. Raises NotFound."""
        if (row := self._database.row("SELECT hash FROM keys WHERE key_id = ?", (key_id,))) is None:
            raise NotFound("key", key_id[:80])
        return str(row["hash"])

    def list(self) -> list[ApiKey]:
        """All keys, the oldest first."""
        rows = self._database.rows(f"SELECT {COLUMNS} FROM keys ORDER BY created, key_id")
        return [ApiKey(*row) for row in rows]

    def revoke(self, key: str, *, now: float) -> ApiKey:
        """End a key, by id or name, from the next request on. Raises NotFound, and Conflict for one that has ended so before."""
        with self._database.write() as tx:
            return _revoked(tx, key, now=now)

    def revoke_remotely(self, key: str, *, now: float) -> ApiKey:
        """As ``revoke``, for who may have no other way in. Raises Conflict where no admin's key without an end stays."""
        with self._database.write() as tx:
            ended = _revoked(tx, key, now=now)
            opened = ended.role == "admin" and (ended.expires is None or ended.expires > now)
            if opened and tx.execute(ENDLESS_ADMIN).fetchone() is None:
                raise Conflict(
                    f"without {ended.name!r} no admin's key stays that does not expire",
                    next_step="make another admin's key, without an end, first",
                )
            return ended

    def caller_of(self, token: str, *, now: float) -> Caller:
        """Who holds this token. Raises Unauthenticated."""
        key_id = self.id_of(token)
        row = self._database.row("SELECT hash FROM keys WHERE key_id = ?", (key_id,))
        if not hmac.compare_digest(_hash(token.rpartition(key_id + "_")[2]), row["hash"] if row else NOBODY):
            raise Unauthenticated("this service does not know that API key", code="bad_key", next_step="ask its operator for a key")
        return self.caller_with(key_id, now=now)

    def id_of(self, token: str) -> str:
        """The id of a key, by its token. Raises Unauthenticated for what is no token."""
        if (parts := TOKEN.fullmatch(token)) is None:
            raise Unauthenticated("that is no API key of a dgrag service", code="bad_key", next_step="send the whole key: dgk_…")
        return parts[1]

    def caller_with(self, key_id: str, *, now: float) -> Caller:
        """Who holds a key, by its id, where its secret was shown before. Raises Unauthenticated where it has ended."""
        row = self._database.row("SELECT * FROM keys WHERE key_id = ?", (key_id,))
        if row is None:
            raise Unauthenticated("this service does not know that API key", code="bad_key", next_step="ask its operator for a key")
        if row["revoked"] is not None:
            raise Unauthenticated(f"the key {row['name']!r} was revoked", code="bad_key", next_step="ask the operator for another key")
        if row["expires"] is not None and row["expires"] <= now:
            raise Unauthenticated(f"the key {row['name']!r} has expired", code="bad_key", next_step="ask the operator for another key")
        return Caller(row["name"], ROLES[row["role"]])


def _added(tx: Any, name: str, role: str, *, now: float, days: float | None) -> str:
    if not NAME.fullmatch(name):
        raise InputError(f"{name[:80]!r} is no name for a key", next_step="use up to 64 letters, digits, '.', '_' and '-'")
    if role not in get_args(KeyRole):
        raise InputError(f"there is no role {role[:80]!r}", next_step=f"choose one of {', '.join(ROLES)}")
    if tx.execute("SELECT 1 FROM keys WHERE name = ? AND revoked IS NULL", (name,)).fetchone():
        raise Conflict(f"there is a key {name!r} already", next_step="revoke it first, or choose another name")
    key_id, secret, ends = secrets.token_hex(6), secrets.token_urlsafe(32), None if days is None else now + days * DAY_S
    tx.execute("INSERT INTO keys VALUES (?, ?, ?, ?, ?, ?, NULL)", (key_id, name, role, _hash(secret), now, ends))
    return f"dgk_{key_id}_{secret}"


def _revoked(tx: Any, key: str, *, now: float) -> ApiKey:
    found = tx.execute(f"SELECT {COLUMNS} FROM keys WHERE revoked IS NULL AND (key_id = ? OR name = ?)", (key, key)).fetchone()
    if found is None:
        if tx.execute("SELECT 1 FROM keys WHERE key_id = ? OR name = ?", (key, key)).fetchone():
            raise Conflict(f"the key {key!r} was revoked already", next_step="it is taken nowhere")
        raise NotFound("key", key[:80])
    tx.execute("UPDATE keys SET revoked = ? WHERE key_id = ?", (now, found["key_id"]))
    return replace(ApiKey(*found), revoked=now)


def _hash(secret: str) -> str:
    return sha256(secret.encode()).hexdigest()
