"""What routes share."""

from __future__ import annotations

from typing import Annotated, cast

from fastapi import Depends, Path, Request

from cloud_server.build import Cloud
from shared.wire import EDGE_ID_PATTERN


def get_cloud(request: Request) -> Cloud:
    """The cloud this app serves."""
    return cast("Cloud", request.app.state.cloud)


CloudDep = Annotated[Cloud, Depends(get_cloud)]
EdgePath = Annotated[str, Path(pattern=EDGE_ID_PATTERN)]
RequestPath = Annotated[str, Path(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
