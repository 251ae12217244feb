"""Room on the disk, asked for before something is accepted."""

from __future__ import annotations

import shutil
from pathlib import Path

from shared.errors import DiskFull


def require_space(folder: Path, *, floor: int) -> None:
    """Raises DiskFull when fewer than ``floor`` bytes are free: what is under way can then still be finished."""
    if shutil.disk_usage(folder).free < floor:
        raise DiskFull(folder)
