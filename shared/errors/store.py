"""The store cannot be used."""

from __future__ import annotations

from shared.errors.base import DgragError


class StoreError(DgragError):
    """The store cannot be used: of another program, of a newer release, or locked."""

    code = "store_error"


class StoreDamaged(StoreError):
    """A part of the store is lost or wrong, and cannot be made again from the rest."""

    code = "store_damaged"
    exit_status = 5

    def __init__(self, message: str, *, next_step: str = "restore a backup") -> None:
        super().__init__(message, next_step=next_step)


class StoreInUse(StoreError):
    """Another process has this store open."""

    code = "store_in_use"
    exit_status = 6  # uvicorn ends with 3 where its port is taken

    def __init__(self, folder: object) -> None:
        super().__init__(f"another process uses the store in {folder}", next_step="stop it, or give this one a state folder of its own")


class SafeMode(StoreError):
    """The store is damaged, so the node serves its status and nothing else; ``reason`` says what is wrong."""

    code = "safe_mode"

    def __init__(self, reason: StoreError) -> None:
        super().__init__(f"this edge is in safe mode: {reason.message}", next_step=reason.next_step)


class DiskFull(StoreError):
    """There is no room on the disk of a folder; nothing was stored."""

    code = "disk_full"

    def __init__(self, folder: object) -> None:
        super().__init__(f"the disk of {folder} is full", next_step="make room and try again; no restart is needed")


class DiskFailed(StoreError):
    """The disk cannot be read or written; nothing was stored."""

    code = "disk_failed"

    def __init__(self, path: object, why: str) -> None:
        super().__init__(f"{path} cannot be read or written: {why}", next_step="check the disk and its permissions, and try again")
