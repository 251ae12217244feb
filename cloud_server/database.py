"""The cloud's store: its schema in the SQLite file that both services use alike."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from shared import sqlite

SCHEMA_VERSION = 1


class Database(sqlite.Database):
    """Opens or creates the cloud's store. Raises StoreError for a file of another program or of a newer release."""

    def __init__(self, path: Path) -> None:
        schema = files("cloud_server").joinpath("schema.sql").read_text(encoding="utf-8")
        super().__init__(path, schema=schema, version=SCHEMA_VERSION)
