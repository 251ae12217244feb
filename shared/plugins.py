"""What installed distributions add to a group of entry points: objects by name, imported on use."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from typing import Any

from shared.errors import NotInstalled

OURS = "dgrag"  # the distribution


class Plugins:
    """The objects of one group. ``extra``: of this distribution, with what its own objects need.

    Where two distributions have a name, ours gives way: whoever installs another one means it.

    >>> Plugins("dgrag.no_such_group", extra="edge").names
    ()
    """

    def __init__(self, group: str, *, extra: str) -> None:
        self._extra = extra
        entries = sorted(entry_points(group=group), key=lambda entry: _owner(entry) != OURS)
        self._entries = {entry.name: entry for entry in entries}

    @property
    def names(self) -> tuple[str, ...]:
        """The names, sorted; nothing is imported for them."""
        return tuple(sorted(self._entries))

    def load(self, name: str) -> Any:
        """The object of a name. Raises KeyError, and NotInstalled where it cannot be imported."""
        entry = self._entries[name]
        try:
            return entry.load()
        except (ImportError, AttributeError) as error:
            what = f"{entry.value} ({error})"
            if _owner(entry) == OURS:
                raise NotInstalled(what, extra=self._extra) from error
            command = f"pip install --force-reinstall {_owner(entry)}"
            raise NotInstalled(what, command=command) from error


def _owner(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist else ""
