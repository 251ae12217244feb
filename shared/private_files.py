"""Files for this user only that survive a power cut: there is the former one or the whole new one, never half of it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path


def replace_private(path: Path, content: bytes) -> None:
    """Write a file of mode 0600 in one step: there is never half a file, nor a moment in which others may read it."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = path.with_name(f"{path.name}.draft")
    draft.unlink(missing_ok=True)
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
    with _opened(path.parent) as folder:
        os.fsync(folder)


@contextlib.contextmanager
def _opened(folder: Path) -> Iterator[int]:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
