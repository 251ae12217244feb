"""What routes share: the node, and the answer for what a later release brings."""

from __future__ import annotations

from typing import Annotated, cast

from fastapi import Depends, Request

from edge_node.node import EdgeNode
from shared.errors import NotBuilt


def get_node(request: Request) -> EdgeNode:
    """The node this app serves."""
    return cast("EdgeNode", request.app.state.node)


Node = Annotated[EdgeNode, Depends(get_node)]


def later(what: str) -> NotBuilt:
    """The error of a promised route that a later release brings."""
    return NotBuilt(what)
