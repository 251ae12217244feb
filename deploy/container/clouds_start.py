"""What several clouds need before the first of them starts: a password, one key for all, files of the proxy. Again: nothing changes."""

from __future__ import annotations

import secrets
import time
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from cloud_server.database.opening import open_database, open_ring
from cloud_server.registry.credentials import KEY_FILE
from cloud_server.registry.edges import EdgeRegistry
from cloud_server.registry.enrolment import InviteStore, Joining
from cloud_server.registry.keys import KeyStore
from deploy.cluster.errors import ClusterError
from deploy.cluster.names import edge_ids
from deploy.container.first_start import AUTHORITY, HOUR_S, KnownKey
from shared.identity import load_identity, replace_private
from shared.ports import SystemClock
from shared.records import EdgeId

URL = "postgresql://dgrag:{password}@database/dgrag"  # docker-compose.yml calls it so


def database_files(folder: Path) -> None:
    """A password, and the URL that holds it, in files of their own."""
    if not (folder / "url").exists():
        password = secrets.token_urlsafe(32)
        replace_private(folder / "password", password.encode())
        replace_private(folder / "url", URL.format(password=password).encode())


def proxy_files(state: Path, trust: Path, folder: Path) -> None:
    """What the proxy shows to edges, and whom it trusts: not the key by which edges know the clouds."""
    for source in (state / "tls" / "cloud.pem", state / "tls" / "cloud-key.pem", trust / AUTHORITY):
        replace_private(folder / source.name, source.read_bytes())


def share(state: Path, store_url: str, keys: Path, identity: Path | None) -> None:
    """Let in whom the file ``keys`` knows, at the store that the clouds share; put the clouds' key, from ``identity``, into ``state``.

    Raises ClusterError for a file that is not ours, SettingsError for no key, StoreError.
    """
    try:
        known = TypeAdapter(tuple[KnownKey, ...]).validate_json(keys.read_bytes())
    except (ValidationError, FileNotFoundError) as error:
        raise ClusterError(
            f"{keys} cannot be read", next_step="see that the Secret holds it, as the chart's first install makes it"
        ) from error
    if identity:
        replace_private(state / KEY_FILE, identity.read_bytes())  # a mounted file may be read by its group, and is refused as a key
        load_identity(state / KEY_FILE)
    ring = open_ring(state, store_url)
    try:
        for one in known:
            ring.adopt(one.key, one.hash, now=time.time())
    finally:
        ring.close()


def invited(edge: str, state: Path, store_url: str) -> str:
    """An invitation for an edge, for an hour, from the store itself. Raises ClusterError for no edge's name, EdgeKnown, StoreError."""
    (name,) = edge_ids(1, names=[edge])
    clock, database = SystemClock(), open_database(state, store_url)
    try:
        keys, invites = KeyStore(database, clock), InviteStore(database, clock)
        joining = Joining(database, EdgeRegistry(database, clock), keys, invites)
        return joining.invite(EdgeId(name), ttl_s=HOUR_S, replaces=False).token
    finally:
        database.close()
