"""Calls to an edge or to the cloud, with the access that a command has."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NoReturn

import httpx2
import typer

from deploy.cluster.errors import ClusterError
from deploy.cluster.launch import is_url
from deploy.cluster.state import ClusterState, Member, StateDir
from shared.client.access import CALLER, Bearer
from shared.client.errors import body
from shared.errors import Conflict, NotFound
from shared.tls import client_context, is_loopback

TIMEOUT = httpx2.Timeout(30.0, connect=5.0)
PAGE = 500


@dataclass(frozen=True, slots=True)
class Access:
    """How this command comes in: an API key ("": none), and the authorities that it trusts (None: the system's).

    ``only_here``: the key is the local cluster's, and is shown to no other machine.
    """

    key: str = ""
    ca: Path | None = None
    only_here: bool = False


ACCESS: ContextVar[Access] = ContextVar("access", default=Access())  # noqa: B039 - it is frozen; set before any verb runs


class AsGiven(httpx2.Auth):
    """Shows the key that the command has when it calls: of a cluster that is being started there is none at first."""

    def auth_flow(self, request: httpx2.Request) -> Generator[httpx2.Request, httpx2.Response, None]:
        """Add the key, if any. Raises SettingsError where it would travel in clear."""
        access = ACCESS.get()
        if access.key and not (access.only_here and not is_loopback(request.url.host)):
            return Bearer(access.key).auth_flow(request)
        return super().auth_flow(request)


def enter(root: StateDir) -> None:
    """Come in with the key, and the authority, of a local cluster that has them, where the command was given no other."""
    given = ACCESS.get()
    if root.key_file.exists() and (not given.key or given.only_here):
        ACCESS.set(Access(root.key_file.read_text(encoding="ascii").strip(), given.ca or root.authority, only_here=True))


def client() -> httpx2.Client:
    """A client of dgrag services, with the access that the command has; it takes no proxy, and follows no redirect."""
    return httpx2.Client(headers=CALLER, timeout=TIMEOUT, trust_env=False, verify=client_context(ACCESS.get().ca), auth=AsGiven())


def paged(http: httpx2.Client, url: str, **asked: str | int) -> Iterator[dict[str, Any]]:
    """All that a route lists under the last word of its path, page by page. Raises as ``body``."""
    after: str | None = ""
    while after is not None:
        page = body(http.get(url, params={"limit": PAGE, "after": after, **asked}))
        yield from page[url.rpartition("/")[2]]
        after = page["next"]


def running_state(root: StateDir) -> ClusterState:
    """The cluster of a state directory. Raises ClusterError when none was started there."""
    state = root.load()
    if state is None:
        raise ClusterError(f"no cluster runs in {root.root}", next_step="start one with `dgrag up`")
    return state


def edge_url(root: StateDir, edge: str | None) -> str:
    """Where an edge answers, by id or URL; without either, the first edge. Raises ClusterError for an unknown one."""
    if edge and is_url(edge):
        return edge.rstrip("/")
    edges = running_state(root).of("edge")
    return (named(edges, edge) if edge else edges[0]).url


def only_edge_url(root: StateDir, edge: str | None) -> str:
    """As ``edge_url``, but an edge has to be named where there are several: documents must not land at the wrong site."""
    if not edge:
        edges = running_state(root).of("edge")
        if len(edges) > 1:
            raise _several([member.name for member in edges])
    return edge_url(root, edge)


def cloud_url(root: StateDir, url: str | None = None) -> str:
    """Where the cloud answers: at ``url``, or in the local cluster. Raises ClusterError for a ``url`` that is none."""
    if url and not is_url(url):
        raise ClusterError(f"{url!r} is no URL of a cloud", next_step="give http(s)://HOST:PORT")
    return url.rstrip("/") if url else running_state(root).of("cloud")[0].url


def named(members: Sequence[Member], name: str) -> Member:
    """The member of that name. Raises ClusterError that lists the names."""
    for member in members:
        if member.name == name:
            return member
    raise _unknown(name, [member.name for member in members])


def store_of(folder: Path, edge: str | None) -> Path:
    """The folder of an edge's store: ``folder`` itself, or within a cluster's that of ``edge``; without it, that of the only one.

    Raises ClusterError for an edge that has no store there, and where one has to be named, or cannot be.
    """
    known = StateDir(folder).known_edges()
    if not known and StateDir(folder).lock_file.exists():
        raise ClusterError(f"no edge of the cluster in {folder} has a store there", next_step="those of containers lie in their volumes")
    if edge and not known:
        raise ClusterError(f"{folder} is no cluster's folder", next_step="leave out --edge where --state names one edge's store")
    if edge and edge not in known:
        raise _unknown(edge, known)
    if len(known) > 1 and not edge:
        raise _several(known)
    return folder / "edges" / (edge or known[0]) if known else folder


def _unknown(edge: str, known: Sequence[str]) -> ClusterError:
    return ClusterError(f"there is no edge {edge!r}", next_step=f"choose one of {', '.join(known)}")


def _several(known: Sequence[str]) -> ClusterError:
    return ClusterError(f"there are {len(known)} edges", next_step=f"name one with --edge: {', '.join(known)}")


def require_free(file: Path, *, force: bool) -> None:
    """Raises Conflict where a command would write over a file, unless ``--force`` says that it may, and NotFound without a folder."""
    if not file.absolute().parent.is_dir():
        raise NotFound("folder", str(file.parent))
    if file.exists() and not force:
        raise Conflict(f"{file} is there already", next_step="give another name, or replace it with --force")


def _entered(state: Path) -> Path:
    enter(StateDir(state))
    return state


def _of_one_edge(folder: Path) -> Path:
    if stores := [str(folder / "edges" / name) for name in StateDir(folder).known_edges()]:
        raise ClusterError(f"{folder} is a cluster's folder", next_step=f"give an edge's with --state: {', '.join(stores)}")
    return folder


EdgeFolder = Annotated[
    Path,
    typer.Option("--state", help="Folder of the edge's store: of a local cluster .dgrag/edges/ID.", callback=_of_one_edge),
]
State = Annotated[Path, typer.Option("--state", help="Folder of the local cluster.", show_default=True, callback=_entered)]
StoreOf = Annotated[str | None, typer.Option("--edge", help="Id of an edge of the cluster that --state names.")]
Store = Annotated[Path, typer.Option("--state", help="Folder of the local cluster, or of one edge's store.", show_default=True)]
Force = Annotated[bool, typer.Option("--force", help="Replace a file that is there.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON value on standard output, for scripts.")]
Edge = Annotated[str | None, typer.Option("--edge", help="Id of an edge of the cluster, or the URL of any edge.")]
Url = Annotated[str | None, typer.Option("--url", help="URL of the cloud; without it, the one of the local cluster.")]
DEFAULT_STATE = Path(".dgrag")


def become(module: str, settings: Mapping[str, str]) -> NoReturn:
    """Turn this process into ``python -P -m module``: signals, exit code and log are its own, no code is the current folder's."""
    os.execve(sys.executable, [sys.executable, "-P", "-m", module], {**os.environ, **settings})  # noqa: S606 - no shell is meant
