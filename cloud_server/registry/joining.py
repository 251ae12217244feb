"""How an edge becomes known: with an invitation, or at a cloud in open mode without."""

from __future__ import annotations

import sqlite3

from cloud_server.database import Database
from cloud_server.registry.edges import EdgeRegistry, EdgeRow
from cloud_server.registry.invites import Invitation, InviteStore
from cloud_server.registry.keys import KeyStore
from shared.errors import Conflict
from shared.records import EdgeId


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

    def _admit_in(self, tx: sqlite3.Connection, edge: EdgeId, public_key: str) -> None:
        self._registry.enrol_in(tx, edge)
        self._keys.replace_in(tx, edge, public_key)
