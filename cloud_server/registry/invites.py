"""Invitations: an operator lets one edge in, once, soon."""

from __future__ import annotations

import hashlib
import secrets
import sqlite3
from dataclasses import dataclass

from cloud_server.database import Database
from shared.errors import Forbidden
from shared.ports import Clock
from shared.records import EdgeId

PREFIX = "inv_"
TOKEN_BYTES = 32


@dataclass(frozen=True, slots=True)
class Invitation:
    """A token for one edge id; the store keeps its hash only."""

    edge: EdgeId
    token: str
    expires: float  # seconds since the epoch


class InviteStore:
    """The invites table."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def invite(self, edge: EdgeId, *, ttl_s: float, replaces: bool) -> Invitation:
        """Make an invitation that holds for ``ttl_s`` seconds; ``replaces`` lets it take the place of the edge's present keys."""
        invitation = Invitation(edge, PREFIX + secrets.token_urlsafe(TOKEN_BYTES), self._clock.now() + ttl_s)
        with self._database.write() as tx:
            tx.execute("DELETE FROM invites WHERE expires <= ?", (self._clock.now(),))
            tx.execute("INSERT INTO invites VALUES (?, ?, ?, ?)", (_hash(invitation.token), edge, invitation.expires, int(replaces)))
        return invitation

    def check(self, token: str, edge: EdgeId) -> None:
        """Only reads, so that whoever guesses costs little. Raises as ``redeem_in``."""
        row = self._database.row("SELECT edge, expires FROM invites WHERE token_hash = ?", (_hash(token),))
        if row is None or row["edge"] != edge or row["expires"] <= self._clock.now():
            raise not_invited()

    def redeem_in(self, tx: sqlite3.Connection, token: str, edge: EdgeId) -> bool:
        """Use an invitation up, as part of a transaction; returns whether it replaces the edge's keys.

        Raises Forbidden, with one wording for a token that is unknown, used, expired or for another edge.
        """
        row = tx.execute("DELETE FROM invites WHERE token_hash = ? RETURNING edge, expires, replaces", (_hash(token),)).fetchone()
        if row is None or row["edge"] != edge or row["expires"] <= self._clock.now():
            raise not_invited()
        return bool(row["replaces"])


def not_invited() -> Forbidden:
    """The refusal: it does not tell which part of an invitation is wrong."""
    return Forbidden(
        "this cloud lets nobody in by this invitation: it is unknown, used, expired, or for another edge",
        next_step="ask the cloud's operator for `dgrag cloud invite`",
    )


def no_invitation() -> Forbidden:
    """The refusal of who shows none; for the edge's operator, as only the message travels."""
    return Forbidden(
        "this cloud takes an invitation: use `dgrag edge join` with --token, which the cloud's operator has from `dgrag cloud invite`"
    )


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
