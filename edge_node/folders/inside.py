"""The edge of this process as a target."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from edge_node.documents.store import Accepted, DocumentStore
from edge_node.folders.records import Held, Refusal, Wishes, held_of
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

    async def rename(self, identity: DocumentId, name: str, *, source: str | None) -> Accepted:
        """Give one another name."""
        ...

    async def label(self, identity: str, labels: Sequence[str], *, source: str | None) -> DocumentId:
        """Give one other labels."""
        ...

    async def remove(self, identity: DocumentId, *, source: str | None) -> dict[str, Any]:
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

    async def send(self, name: str, raw: bytes, wishes: Wishes) -> Refusal | None:
        """As the port says. Raises DiskFull, which is no fault of this document."""
        identity = document_id(name, raw)
        try:
            await self.site.accept(Offered(identity, name, raw, name, labels=wishes.labels, source=wishes.source, adopt=wishes.adopt))
        except InputError as error:
            return Refusal(_reason(error), is_of_content=not isinstance(error, Conflict))
        return None

    async def rename(self, identity: DocumentId, name: str, wishes: Wishes) -> str:
        """As the port says. Raises DiskFull."""
        return await _refusal(self.site.rename(identity, name, source=wishes.source))

    async def relabel(self, identity: DocumentId, wishes: Wishes) -> str:
        """As the port says."""
        return await _refusal(self.site.label(identity, wishes.labels or (), source=wishes.source))

    async def remove(self, identity: DocumentId, wishes: Wishes) -> str:
        """As the port says."""
        return await _refusal(self.site.remove(identity, source=wishes.source))


async def _refusal(change: Awaitable[Any]) -> str:
    try:
        await change
    except NotFound:  # the next run looks again
        return ""
    except InputError as error:
        return _reason(error)
    return ""


def _reason(error: DgragError) -> str:
    return " – ".join(filter(None, (error.message, error.next_step)))
