"""Where documents come from, by its address: a folder's path, or ``s3://BUCKET/PREFIX``. And how a source is followed.

It is looked at at each change, now and then without one, and after errors with growing waits.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path

from watchfiles import awatch

from edge_node.documents.progress import Backoff
from edge_node.folders.bucket import SCHEME, Bucket
from edge_node.folders.files import Folder
from edge_node.folders.records import Source
from edge_node.settings import BucketSettings
from shared.ports import Clock
from shared.telemetry.logs import redacted

log = logging.getLogger("dgrag.edge.folders")
QUIET_MS = 400  # that changes must pause for before they are looked at …
LONGEST_MS = 5_000  # … and the longest that a look waits for that
TURN_MS = 1_000  # between two looks whether the path is still the same folder: a mount, or another one in its place, is no change below it
RESCAN_S = 300.0  # between two looks at a folder that tells of no change, as one of another machine may
POLL_S = 60.0  # the same for a bucket, which never tells


class Changes:
    """Tells that something below a path has changed."""

    def __init__(self, path: Path | None) -> None:
        self.path = path  # None: nothing tells of changes
        self._changed = asyncio.Event()

    async def watch(self) -> None:
        """Listen until cancelled, to the folder that the path names at the time; tried again while it is away, or cannot be watched."""
        trouble = Backoff()
        while self.path is not None:
            [error] = await asyncio.gather(self._listen(self.path), return_exceptions=True)
            if error is None:  # another folder is there now, or none
                trouble = Backoff()
            wait_s = trouble.next_s()
            log.warning("changes cannot be watched; again in %.1f s: %s", wait_s, redacted(error) if error else "it is another folder")
            await asyncio.sleep(wait_s)

    async def _listen(self, path: Path) -> None:
        begun = await asyncio.to_thread(_identity, path)
        is_heard = False  # what changes before the first turn may have been missed
        told = awatch(path, debounce=LONGEST_MS, step=QUIET_MS, watch_filter=None, rust_timeout=TURN_MS, yield_on_timeout=True)
        async for changes in told:
            is_same = await asyncio.to_thread(_identity, path) == begun
            if changes or not is_same or not is_heard:
                self._changed.set()
            is_heard = True
            if not is_same:
                return

    async def next(self) -> None:
        """Return at the next change since this was called last, or when it is time to look anyway."""
        try:
            async with asyncio.timeout(POLL_S if self.path is None else RESCAN_S):
                await self._changed.wait()
        except TimeoutError:
            pass
        self._changed.clear()


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        told = path.stat()
    except OSError:
        return None
    return told.st_dev, told.st_ino


async def follow(changes: Changes, run: Callable[[], Awaitable[None]], failed: Callable[[BaseException, float], None]) -> None:
    """Run at once and at each change, until cancelled; ``failed`` hears what a run raised, and in how many seconds it is tried again."""
    trouble = Backoff()

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(changes.watch(), name="watch")
        while True:
            [error] = await asyncio.gather(run(), return_exceptions=True)  # of whatever kind, it ends no other
            if error is None:
                trouble = Backoff()
                await changes.next()
            else:
                wait_s = trouble.next_s()
                failed(error, wait_s)
                await asyncio.sleep(wait_s)


def is_bucket(address: str) -> bool:
    """Whether an address is one of a bucket.

    >>> is_bucket("s3://reports/2026"), is_bucket("/data/reports")
    (True, False)
    """
    return address.startswith(SCHEME)


def opened(address: str, clock: Clock, *, prefix: str, most_bytes: int) -> Source:
    """The source of an address. Raises as ``Bucket``."""
    if is_bucket(address):
        return Bucket(address, BucketSettings(), prefix=prefix, most_bytes=most_bytes)
    return Folder(Path(address), clock, prefix=prefix, most_bytes=most_bytes)


def changes_of(address: str) -> Changes:
    """What tells of its changes."""
    return Changes(None if is_bucket(address) else Path(address))
