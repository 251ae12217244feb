"""``dgrag mcp``: an edge's tools for a desktop program, which starts this and speaks to it through its pipes."""

from __future__ import annotations

import logging
from typing import Annotated

import httpx2
import typer

from deploy.cli.ask import ANSWER_TIMEOUT
from deploy.cli.rest import ACCESS, DEFAULT_STATE, AsGiven, Edge, State, edge_url
from deploy.cluster.errors import ClusterError
from deploy.cluster.launch import is_url
from deploy.cluster.state import StateDir
from shared.errors import NotInstalled
from shared.http.open_mode import CALLER
from shared.telemetry import logs
from shared.tls import client_context


def mcp(
    edge: Edge = None,
    url: Annotated[str | None, typer.Option("--url", help="URL of an edge, on this machine or another.")] = None,
    state: State = DEFAULT_STATE,
) -> None:
    """Serve an edge's tools over standard input and output, by the Model Context Protocol. The key comes from DGRAG_API_KEY."""
    if url is not None and not is_url(url):
        raise ClusterError(f"{url!r} is no URL of an edge", next_step="give http(s)://HOST:PORT")
    try:
        from edge_node.api.mcp.rest import Rest
        from edge_node.api.mcp.server import build_server  # an extra
    except ImportError as error:
        raise NotInstalled("`dgrag mcp`", extra="mcp") from error
    logs.begin()  # to standard error: the protocol has standard output
    logging.getLogger("httpx2").setLevel(logging.ERROR)
    http = httpx2.AsyncClient(
        base_url=edge_url(StateDir(state), url or edge),
        headers=CALLER,
        timeout=ANSWER_TIMEOUT,
        trust_env=False,
        verify=client_context(ACCESS.get().ca),
        auth=AsGiven(),
    )
    rest = Rest(http)
    build_server(lambda _: rest).run("stdio")
