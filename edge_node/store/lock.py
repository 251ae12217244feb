"""One process a store."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from shared.errors import DiskFailed, StoreInUse


@contextmanager
def only_user(folder: Path) -> Iterator[None]:
    """Hold the store in ``folder``; the system lets go of it when the process ends, however it ends. Raises StoreInUse, DiskFailed."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder / "edge.lock", timeout=0, thread_local=False, fallback_to_soft=False)
        held = lock.acquire()
    except Timeout as error:
        raise StoreInUse(folder) from error
    except OSError as error:
        raise DiskFailed(folder, str(error)) from error
    with held:
        yield
