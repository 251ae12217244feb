"""The edge of this process as a target."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from edge_node.documents.store import Accepted, DocumentStore
from edge_node.folders.records import Held, Wishes, held_of
from edge_node.records import Offered, document_id
from shared.errors import Conflict, DgragError, InputError, NotFound
from shared.records import DocumentId

PAGE = 1000


class Site(Protocol):
    """What an edge does with documents."""

    documents: DocumentStore

    async def accept(self, offered: Offered) -> Accepted:
        """Commit one."""
        ...

    async def rename(self, identity: DocumentId, name: str) -> Accepted:
        """Give one another name."""
        ...

    async def label(self, identity: str, labels: Sequence[str]) -> DocumentId:
        """Give one other labels."""
        ...

    async def remove(self, identity: DocumentId) -> dict[str, Any]:
        """Delete one."""
        ...


class Inside:
    """Implements ``edge_node.folders.records.Target``."""

    def __init__(self, site: Site) -> None:
        self.site = site

    async def held(self) -> Mapping[str, Held]:
        """All documents."""
        return await asyncio.to_thread(lambda: held_of(self._views()))

    def _views(self) -> Iterator[dict[str, Any]]:
        page = self.site.documents.list(limit=PAGE)
        while page:
            yield from page
            page = self.site.documents.list(limit=PAGE, after=page[-1]["name"])

    async def send(self, name: str, raw: bytes, wishes: Wishes) -> str:
        """As the port says. Raises DiskFull, which is no fault of this document."""
        try:
            await self.site.accept(Offered(document_id(name, raw), name, raw, name, labels=wishes.labels, source=wishes.source))
        except (InputError, Conflict) as error:
            return _reason(error)
        return ""

    async def rename(self, identity: DocumentId, name: str) -> str:
        """As the port says. Raises DiskFull."""
        with contextlib.suppress(NotFound):  # the next run looks again
            try:
                await self.site.rename(identity, name)
            except (InputError, Conflict) as error:
                return _reason(error)
        return ""

    async def relabel(self, identity: DocumentId, labels: tuple[str, ...]) -> None:
        """As the port says."""
        try:
            await self.site.label(identity, labels)
        except NotFound:
            return

    async def remove(self, identity: DocumentId) -> None:
        """As the port says."""
        try:
            await self.site.remove(identity)
        except NotFound:
            return


def _reason(error: DgragError) -> str:
    return " – ".join(filter(None, (error.message, error.next_step)))
