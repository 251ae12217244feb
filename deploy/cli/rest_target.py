"""An edge over REST, as a target that a sync follows to."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import httpx2

from deploy.cli.documents import SETTLE_TIMEOUT
from deploy.cli.rest import paged
from deploy.cli.sending import NOT_FOUND, UPLOAD_TIMEOUT, patiently
from deploy.cluster.errors import ClusterError
from edge_node.folders.records import Held, Refusal, Wishes, held_of
from edge_node.folders.syncing import TOGETHER
from shared.client.errors import ServiceError, body
from shared.records import DocumentId

UPDATE = "update the edge, then sync again: dgrag add FOLDER --labels LABEL gives it files and labels meanwhile"
CONFLICT = 409
UNFIT = {400, CONFLICT, 413, 415, 422}  # what an edge answers to one document, not to all


class RestTarget:
    """Implements ``edge_node.folders.records.Target``. Each call is made in a thread; all raise httpx2.TransportError and ServiceError."""

    def __init__(self, http: httpx2.Client, url: str) -> None:
        self.http = http
        self.url = url
        self._documents = f"{url}/v1/documents"
        self._threads = ThreadPoolExecutor(TOGETHER)  # so many deletions wait for one settle of the edge

    async def held(self) -> Mapping[str, Held]:
        """All documents. Raises ClusterError for a key that may not see all: what it does not see would be sent again and again.

        And for an edge of a release that does not tell whose a document is, or who reads it.
        """
        return await asyncio.to_thread(self._held)

    def _held(self) -> Mapping[str, Held]:
        try:
            if body(self.http.get(f"{self.url}/v1/caller"))["labels"] is not None:
                raise ClusterError("a key that reads some labels only cannot keep a folder in step", next_step="take one that reads all")
            return held_of(paged(self.http, self._documents))
        except KeyError as error:
            raise ClusterError(f"this edge is of an older release: it does not tell the {error}", next_step=UPDATE) from error

    async def send(self, name: str, raw: bytes, wishes: Wishes) -> Refusal | None:
        """Send a file; its name travels as a field, as a file's name in a form loses some characters."""
        fields = {"name": name, "source": wishes.source, "adopt": str(wishes.adopt).lower()}
        fields |= {} if wishes.labels is None else {"labels": ",".join(wishes.labels)}
        post = partial(self.http.post, self._documents, files={"file": ("file", raw)}, data=fields, timeout=UPLOAD_TIMEOUT)
        try:
            await self._ask(post)
        except ServiceError as problem:
            if problem.status not in UNFIT:
                raise
            return Refusal(problem.message, is_of_content=problem.status != CONFLICT)
        except (httpx2.WriteError, httpx2.RemoteProtocolError):
            await self._ask(partial(self.http.get, f"{self.url}/health"))  # raises where the edge is away
            return Refusal("the edge closed the connection: the file is over its limit", is_of_content=True)
        return None

    async def rename(self, identity: DocumentId, name: str, wishes: Wishes) -> str:
        """As the port says."""
        return await self._refusal("PUT", f"{identity}/name", wishes, json={"name": name})

    async def relabel(self, identity: DocumentId, wishes: Wishes) -> str:
        """As the port says."""
        return await self._refusal("PUT", f"{identity}/labels", wishes, json={"labels": wishes.labels or ()})

    async def remove(self, identity: DocumentId, wishes: Wishes) -> str:
        """As the port says."""
        return await self._refusal("DELETE", identity, wishes)

    async def _ask(self, call: Callable[[], httpx2.Response]) -> None:
        body(await asyncio.get_running_loop().run_in_executor(self._threads, patiently, call))

    async def _refusal(self, method: str, path: str, wishes: Wishes, **content: Any) -> str:
        request, mine = partial(self.http.request, method, f"{self._documents}/{path}", **content), {"source": wishes.source}
        try:
            await self._ask(partial(request, params=mine, timeout=SETTLE_TIMEOUT))
        except ServiceError as problem:
            if problem.status == NOT_FOUND:  # it is gone meanwhile: the next run looks again
                return ""
            if problem.status in UNFIT:
                return problem.message
            raise
        return ""
