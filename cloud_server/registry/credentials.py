"""Who belongs to this cloud, and how that is proven: keys, invitations, signatures and countersignatures, put together."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cloud_server.database.port import Database, SharedDatabase
from cloud_server.registry.authenticator import EdgeAuthenticator
from cloud_server.registry.edges import EdgeRegistry
from cloud_server.registry.enrolment import InviteStore, Joining
from cloud_server.registry.keys import KeyStore
from cloud_server.registry.ledger_heads import HeadStore
from cloud_server.registry.nonces import Nonces, NonceStore, SharedNonces
from shared.errors import SettingsError, Unauthenticated
from shared.identity import Identity, is_signed, open_identity
from shared.ports import Clock
from shared.records import EdgeId
from shared.signing import rotation_message
from shared.wire import Rotation

KEY_FILE = Path("identity", "cloud.key")
NONCES = "nonces.db"
IDENTITY = "identity"  # key in meta: the id of the key that all clouds of a shared store have


@dataclass(frozen=True, slots=True)
class Credentials:
    """The parts that the routes use."""

    identity: Identity
    keys: KeyStore
    nonces: Nonces
    authenticator: EdgeAuthenticator
    invites: InviteStore
    joining: Joining
    heads: HeadStore

    def rotate(self, edge: EdgeId, rotation: Rotation, *, present: str, grace_s: float) -> None:
        """Take an edge's next key; ``present`` is the id of the key that signed this. Raises Unauthenticated, Conflict."""
        message = rotation_message(edge, present)
        if not is_signed(message, signature=rotation.proof, public_key=rotation.public_key):
            raise Unauthenticated("the new key has not signed that it takes over", code="bad_signature")
        self.keys.rotate(edge, present=present, public_key=rotation.public_key, grace_s=grace_s)


def open_credentials(state_dir: Path, database: Database, registry: EdgeRegistry, clock: Clock, *, skew_s: float) -> Credentials:
    """Put the parts together; the cloud's key is made at its first start.

    Raises SettingsError for a key that others can read, and for another key than that of the clouds that share the store.
    """
    is_shared = isinstance(database, SharedDatabase)
    identity = common_identity(state_dir / KEY_FILE, database) if is_shared else open_identity(state_dir / KEY_FILE)
    keys, invites = KeyStore(database, clock), InviteStore(database, clock)
    nonces = SharedNonces(database) if isinstance(database, SharedDatabase) else NonceStore(state_dir / NONCES)
    authenticator = EdgeAuthenticator(keys, nonces, clock, audience=identity.key_id, skew_s=skew_s)
    joining = Joining(database, registry, keys, invites)
    return Credentials(identity, keys, nonces, authenticator, invites, joining, HeadStore(database, identity, clock))


def common_identity(path: Path, database: Database) -> Identity:
    """The key in a file, which all clouds of a store have alike: edges know them by it. Only the first cloud makes one.

    Raises SettingsError for a file that is not there, holds another key, or can be read by others.
    """
    if not path.exists() and (known := database.row("SELECT value FROM meta WHERE key = ?", (IDENTITY,))):
        raise _another_key(f"there is no key at {path}", known["value"])
    identity = open_identity(path)
    with database.write() as tx:
        tx.execute("INSERT INTO meta VALUES (?, ?) ON CONFLICT (key) DO NOTHING", (IDENTITY, identity.key_id))
        (first,) = tx.execute("SELECT value FROM meta WHERE key = ?", (IDENTITY,)).fetchone()
    if first != identity.key_id:
        raise _another_key(f"{path} holds the key {identity.key_id}", first)
    return identity


def _another_key(found: str, first: str) -> SettingsError:
    return SettingsError(
        f"{found}, and the clouds of this store have the key {first}",
        next_step=f"bring {KEY_FILE} of another of these clouds to this place, or give this one a database of its own",
    )
