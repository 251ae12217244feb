"""The folders that an edge keeps itself in step with, and how each fares."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from edge_node.folders.following import changes_of, follow, opened
from edge_node.folders.memory import Memory
from edge_node.folders.records import Problem, Target, Wishes
from edge_node.folders.syncing import apply, look
from shared.errors import DgragError
from shared.ports import Clock
from shared.telemetry.logs import redacted

log = logging.getLogger("dgrag.edge.folders")
MOST_TOLD = 100  # problems of a folder; the others are counted


@dataclass(frozen=True, slots=True)
class FolderState:
    """One folder as it is now. ``error``: why it is not in step as a whole; ``problems``: files that are not."""

    folder: str
    label: str
    names: str  # what the names of its documents begin with
    is_running: bool = False
    ran_at: float | None = None  # seconds since the epoch, when the last whole run ended; None: none has
    files: int = 0
    left_out: int = 0  # that no reader knows
    foreign: int = 0  # as ``Plan.foreign``
    sent: int = 0  # since the start of the service
    renamed: int = 0
    deleted: int = 0
    error: str = ""
    problems: tuple[Problem, ...] = ()
    more_problems: int = 0

    def as_body(self) -> dict[str, Any]:
        """The state as one JSON value."""
        return asdict(self)


class FolderKeeper:
    """Keeps an edge in step with folders, each by itself: trouble with one stops no other."""

    def __init__(self, folders: Mapping[str, str], state_dir: Path, clock: Clock, *, most_bytes: int) -> None:
        self._memories = state_dir / "folders"
        self._clock = clock
        self._most_bytes = most_bytes
        self._states = {folder: FolderState(folder, label, f"{Path(folder).name}/") for folder, label in folders.items()}

    def states(self) -> list[FolderState]:
        """Each folder as it is now."""
        return list(self._states.values())

    async def run(self, target: Target) -> None:
        """Follow all folders until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for folder in self._states:
                tasks.create_task(self._follow(folder, target), name=f"folder {folder}")

    async def _follow(self, folder: str, target: Target) -> None:
        state = self._states[folder]
        name = f"folder:{folder}"
        wishes = Wishes(name, (state.label,) if state.label else None)
        memory = Memory(self._memories / f"{hashlib.sha256(name.encode()).hexdigest()[:16]}.json")
        await follow(changes_of(folder), lambda: self._run(folder, target, memory, wishes), self._failed(folder))

    async def _run(self, folder: str, target: Target, memory: Memory, wishes: Wishes) -> None:
        self._tell(folder, is_running=True)
        try:
            source = opened(folder, self._clock, prefix=self._states[folder].names, most_bytes=self._most_bytes)
            found = await look(source, target, memory, wishes)
            done = await apply(found, source, target, memory, wishes)
        finally:
            self._tell(folder, is_running=False)
        before, plan = self._states[folder], found.plan
        self._tell(
            folder,
            ran_at=self._clock.now(),
            files=found.files,
            left_out=len(found.left_out),
            foreign=plan.foreign,
            sent=before.sent + len(done.sent),
            renamed=before.renamed + done.renamed,
            deleted=before.deleted + len(plan.deleted),
            error="",
            problems=tuple(done.problems[:MOST_TOLD]),
            more_problems=max(0, len(done.problems) - MOST_TOLD),
        )

    def _failed(self, folder: str) -> Callable[[BaseException, float], None]:
        def told(error: BaseException, wait_s: float) -> None:
            reason = f"it failed: {type(error).__name__}"
            if isinstance(error, DgragError):
                reason = " – ".join(filter(None, (error.message, error.next_step)))
            log.warning("a folder is not in step; again in %.1f s: %s", wait_s, redacted(error))
            self._tell(folder, error=reason)

        return told

    def _tell(self, folder: str, **news: Any) -> None:
        self._states[folder] = replace(self._states[folder], **news)
