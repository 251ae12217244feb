"""An edge over REST that a sync follows to."""

import httpx2
import pytest

from deploy.cli.rest_target import RestTarget
from deploy.cluster.errors import ClusterError

CALLER = {"edge": "ward", "name": "local", "roles": ["read", "write"]}
VIEW = {"name": "a.md", "document_id": "1", "bytes": 5, "labels": ["night"], "code": ""}


@pytest.mark.parametrize(("caller", "missing"), [(CALLER, "labels"), (CALLER | {"labels": None}, "source")])
async def test_an_edge_of_an_older_release_is_left_as_it_is_and_the_next_step_is_told(caller, missing):
    def older(request: httpx2.Request) -> httpx2.Response:
        assert request.method == "GET"
        pages = {"/v1/caller": caller, "/v1/documents": {"documents": [VIEW], "next": ""}}
        return httpx2.Response(200, json=pages[request.url.path])

    http, refused = httpx2.Client(transport=httpx2.MockTransport(older)), pytest.raises(ClusterError, match=f"older release.*{missing}")
    with http, refused as caught:
        await RestTarget(http, "http://ward").held()
    assert "update the edge" in caught.value.next_step
