"""The operator's part of a trial's first start: the edges that have not joined are invited, each by a file of its own."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from pathlib import Path

import httpx

from deploy.cli.rest import RemoteError, body
from deploy.cluster.errors import ClusterError
from deploy.cluster.names import edge_ids
from shared.identity import replace_private
from shared.tls import trouble

HOUR_S = 3600.0


def named(words: Sequence[str]) -> list[str]:
    """The edges that the words of a command mean: a count of replicas, or ids. Raises ClusterError for what is no id.

    >>> named(["2"]), named(["plant", "bank"])
    (['edge-1', 'edge-2'], ['plant', 'bank'])
    """
    if len(words) == 1 and words[0].isdecimal():
        return edge_ids(int(words[0]))
    return edge_ids(len(words), names=words)


def write_invitations(http: httpx.Client, edges: Sequence[str], folder: Path, *, replace: bool = False) -> list[str]:
    """Ask the cloud to invite each of ``edges`` for an hour, and keep the token in ``folder``; returns those that were invited.

    An edge that has joined needs none, and its file goes; ``replace``: it has lost its key, and may join with another one.
    Raises RemoteError, and ClusterError where the cloud does not answer.
    """
    invited = []
    for edge in edges:
        try:
            reply = body(http.post("/v1/invites", json={"edge": edge, "ttl_s": HOUR_S, "replace": replace}))
        except httpx.RequestError as error:
            why = trouble(error, str(error.request.url)) or "is it up, and reachable from here?"
            raise ClusterError(f"the cloud at {http.base_url} does not answer", next_step=why) from error
        except RemoteError as error:
            if error.status != HTTPStatus.CONFLICT:
                raise
            (folder / edge).unlink(missing_ok=True)
        else:
            replace_private(folder / edge, reply["token"].encode())
            invited.append(edge)
    return invited
