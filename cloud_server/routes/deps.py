"""What routes share."""

from __future__ import annotations

from typing import Annotated, cast

from fastapi import Depends, Path, Request

from cloud_server.build import Cloud
from shared.doorkeeper import Doorkeeper
from shared.errors import NotFound
from shared.guard import caller_of
from shared.records import EdgeId
from shared.wire import EDGE_ID_PATTERN


def get_cloud(request: Request) -> Cloud:
    """The cloud this app serves."""
    return cast("Cloud", request.app.state.cloud)


def get_door(request: Request) -> Doorkeeper:
    """Who stands before the routes."""
    return cast("Doorkeeper", request.app.state.guard)


CloudDep = Annotated[Cloud, Depends(get_cloud)]
DoorDep = Annotated[Doorkeeper, Depends(get_door)]
EdgePath = Annotated[str, Path(pattern=EDGE_ID_PATTERN)]
RequestPath = Annotated[str, Path(pattern=r"^[A-Za-z0-9_-]{1,64}$")]


def own_edge(edge: EdgePath, request: Request) -> EdgeId:
    """The edge of the path, for itself and for operators; to any other edge it does not exist (goal S6). Raises NotFound."""
    caller = caller_of(request)
    if "edge" in caller.roles and caller.name != edge:
        raise NotFound("edge", edge)
    return EdgeId(edge)


OwnEdge = Annotated[EdgeId, Depends(own_edge)]
