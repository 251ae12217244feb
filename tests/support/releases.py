"""Stores as earlier releases have left them: SQL dumps, made by running the release's own code on three documents."""

import sqlite3
from contextlib import closing
from pathlib import Path

RELEASES = Path(__file__).parent.parent / "edge_node" / "graph" / "releases"


def store_of_release(name, folder):
    """Write the store of a release into ``folder``; returns its file."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "edge.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.executescript((RELEASES / f"{name}.sql").read_text(encoding="utf-8"))
        connection.execute("PRAGMA journal_mode=WAL")
    return path
