"""Which document each file was, by the file's mark: it saves reading what is the same, and is never needed."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import orjson
from pydantic import TypeAdapter, ValidationError

from edge_node.folders.records import Entry, Found
from shared.records import DocumentId

_FORM = TypeAdapter(dict[str, tuple[str, str]])


class Memory:
    """Names with mark and document id, in a file; one that is lost or damaged costs a reading of all files."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.refused: dict[str, tuple[DocumentId, str]] = {}  # since the start: what an edge refused of a name, and why
        self._known = _read(path)

    def recall(self, entry: Entry) -> DocumentId | None:
        """The id of a file's document, where its mark is the same."""
        mark, identity = self._known.get(entry.name, ("", ""))
        return DocumentId(identity) if mark and mark == entry.mark else None

    def keep(self, found: Iterable[Found]) -> None:
        """Know these files from now on, and no others."""
        known = {file.entry.name: (file.entry.mark, str(file.document_id)) for file in found if file.entry.mark}
        if known == self._known and self.path.exists():
            return
        self._known = known
        self.path.parent.mkdir(parents=True, exist_ok=True)
        new = self.path.with_name(f"{self.path.name}.{os.getpid()}.new")
        new.write_bytes(orjson.dumps(known))
        new.replace(self.path)

    def forget(self) -> None:
        """Read all files anew."""
        self._known = {}


def _read(path: Path) -> dict[str, tuple[str, str]]:
    try:
        return _FORM.validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return {}
