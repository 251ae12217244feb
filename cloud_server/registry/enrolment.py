"""How an edge becomes known: with an invitation, or at a cloud in open mode without."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass

from cloud_server.database.port import Database, Transaction
from cloud_server.registry.edges import EdgeRegistry, EdgeRow
from cloud_server.registry.keys import KeyStore
from shared.errors import Conflict, Forbidden, NotFound
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


@dataclass(frozen=True, slots=True)
class OpenInvitation:
    """One that nobody has used yet, without its token."""

    edge: EdgeId
    expires: float  # seconds since the epoch
    replace: bool  # it takes the place of the edge's present keys


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

    def open(self) -> list[OpenInvitation]:
        """Those that still let somebody in, by name."""
        query = "SELECT edge, expires, replaces FROM invites WHERE expires > ? ORDER BY edge, expires"
        return [
            OpenInvitation(edge, expires, bool(replaces)) for edge, expires, replaces in self._database.rows(query, (self._clock.now(),))
        ]

    def withdraw(self, edge: EdgeId) -> None:
        """Let an edge in by none of its invitations. Raises NotFound where none is open."""
        with self._database.write() as tx:
            if not tx.execute("DELETE FROM invites WHERE edge = ? AND expires > ?", (edge, self._clock.now())).rowcount:
                raise NotFound("invitation", edge)

    def check(self, token: str, edge: EdgeId) -> None:
        """Only reads, so that whoever guesses costs little. Raises as ``redeem_in``."""
        row = self._database.row("SELECT edge, expires FROM invites WHERE token_hash = ?", (_hash(token),))
        if row is None or row["edge"] != edge or row["expires"] <= self._clock.now():
            raise not_invited()

    def redeem_in(self, tx: Transaction, token: str, edge: EdgeId) -> bool:
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


class EdgeKnown(Conflict):
    """The id has a key already."""

    code = "edge_known"

    def __init__(self, edge: EdgeId) -> None:
        super().__init__(
            f"an edge {edge} has joined this cloud already",
            next_step=f"choose another id; if {edge} has lost its key: `dgrag cloud invite {edge} --replace`",
        )


class Joining:
    """Takes an edge's first key. The caller has proven that the edge holds its private half."""

    def __init__(self, database: Database, registry: EdgeRegistry, keys: KeyStore, invites: InviteStore) -> None:
        self._database = database
        self._registry = registry
        self._keys = keys
        self._invites = invites

    def invite(self, edge: EdgeId, *, ttl_s: float, replaces: bool) -> Invitation:
        """As ``InviteStore.invite``. Raises EdgeKnown for an id that has a key, unless the invitation replaces it."""
        if not replaces and self._keys.live(edge):
            raise EdgeKnown(edge)
        return self._invites.invite(edge, ttl_s=ttl_s, replaces=replaces)

    def check(self, edge: EdgeId, public_key: str, invitation: str) -> None:
        """Only reads. Raises Forbidden where ``with_invitation`` would, for the invitation."""
        if not self._knows(edge, public_key):
            self._invites.check(invitation, edge)

    def with_invitation(self, edge: EdgeId, public_key: str, invitation: str) -> EdgeRow:
        """Join; an edge that comes with the key that it joined with is only greeted, as its first answer may have been lost.

        Raises Forbidden for an invitation that does not hold, EdgeKnown for an id that has another key, Expelled, Conflict.
        """
        with self._database.write() as tx:
            if not self._knows(edge, public_key):  # of the last commit, and nobody else writes now
                if not self._invites.redeem_in(tx, invitation, edge) and self._keys.live(edge):
                    raise EdgeKnown(edge)
                self._admit_in(tx, edge, public_key)
        return self._registry.get(edge)

    def in_open_mode(self, edge: EdgeId, public_key: str) -> EdgeRow:
        """Join a cloud that only this machine reaches; the key takes the place of any other. Raises Expelled, Conflict."""
        with self._database.write() as tx:
            if not self._knows(edge, public_key):
                self._admit_in(tx, edge, public_key)
        return self._registry.get(edge)

    def _knows(self, edge: EdgeId, public_key: str) -> bool:
        return public_key in {key.public_key for key in self._keys.live(edge)}

    def _admit_in(self, tx: Transaction, edge: EdgeId, public_key: str) -> None:
        self._registry.enrol_in(tx, edge)
        self._keys.replace_in(tx, edge, public_key)
