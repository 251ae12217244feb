"""Taking away for good what a cluster has kept: all of a state folder that is ours, and nothing while anything else lies in it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from deploy.cluster.by_docker import ByDocker
from deploy.cluster.chosen import runtime_of
from deploy.cluster.errors import ClusterError
from deploy.cluster.state import StateDir, already_running

SERVICE = ("keys.db*", "identity", "tls")
CLOUD = (*SERVICE, "cloud.db*", "nonces.db*")
EDGE = (*SERVICE, "edge.db*", "edge.seq", "edge.lock", "policy.toml", "replaced-*", "restore.part")
CLUSTER = (
    "cluster.*",
    "plan.*",
    "compose.json",
    "user.key",
    "model.key",
    "secrets",
    "ca.pem",
    "wan.json",
    "wan.sock",
    "logs",
    "cloud",
    "edges",
)
MOST_NAMED = 3


def purge(directory: StateDir) -> None:
    """Delete the folder, and the volumes of its containers. Raises ClusterError where something runs, or is not ours."""
    require_ours(directory.root)
    with directory.lock():
        if runtime_of(directory).is_up():
            raise already_running(directory.root)
        ByDocker(directory).purge()
        for entry in directory.root.iterdir():
            if entry.is_dir():
                shutil.rmtree(entry)
            else:
                entry.unlink()
    directory.root.rmdir()


def require_ours(root: Path) -> None:
    """Raise ClusterError that names what lies in a state folder and is none of a cluster's, a backup, say; and where there is no folder."""
    if not root.is_dir():
        raise ClusterError(f"there is nothing to delete: {root} does not exist", next_step="name the folder of a cluster with --state")
    if found := sorted(str(path.relative_to(root)) for path in _strangers(root)):
        named = ", ".join(found[:MOST_NAMED]) + (", …" if len(found) > MOST_NAMED else "")
        raise ClusterError(f"{root} holds what is no state of a cluster: {named}", next_step="move it elsewhere; nothing was deleted")


def _strangers(root: Path) -> Iterator[Path]:
    yield from _others(root, CLUSTER)
    yield from _others(root / "cloud", CLOUD)
    for edge in _within(root / "edges"):
        if edge.is_dir() and not edge.is_symlink():
            yield from _others(edge, EDGE)
        else:
            yield edge


def _others(folder: Path, ours: tuple[str, ...]) -> Iterator[Path]:
    return (entry for entry in _within(folder) if entry.is_symlink() or not any(entry.match(pattern) for pattern in ours))


def _within(folder: Path) -> list[Path]:
    return list(folder.iterdir()) if folder.is_dir() else []
