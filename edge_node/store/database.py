"""The edge's store: its schema in the SQLite file that both services use alike, and its commits counted beside it."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

from edge_node.graph.aliases import acronym_definitions
from edge_node.memory.records import said_key
from edge_node.store.commits import CommitCount, Count
from shared import sqlite
from shared.errors import StoreDamaged
from shared.migrate import migrations_of

PAGE_SIZE = 16_384  # vectors of 1.5 KB: halves the commit time of the default 4,096 and saves a fifth of the file


def acronyms(text: bytes) -> str:
    """The (long, short) keys of ``acronym_definitions`` as a JSON list, also for a text that is damaged.

    >>> acronyms(b"The National Device Agency (NDA)")
    '[["national device agency", "nda"]]'
    """
    return json.dumps(sorted(acronym_definitions(text.decode(errors="replace"))))


def said_key_of(said: bytes) -> str:
    """``said_key`` of a JSON list of secret, question and answer.

    >>> said_key_of(b'["s", "Who built it?", "Ann"]') == said_key(b"s", "Who built it?", "Ann")
    True
    """
    secret, question, answer = json.loads(said)
    return said_key(secret.encode(), question, answer)


FUNCTIONS = {"acronyms": acronyms, "said_key": said_key_of}  # for migrations 2 and 8


class Database(sqlite.Database):
    """Opens or creates an edge's store, and migrates one of an older release.

    Raises as ``sqlite.Database``, and StoreDamaged when commits are missing that the file beside the store has counted.
    """

    def __init__(self, path: Path) -> None:
        count = CommitCount(path.with_suffix(".seq"))
        super().__init__(path, migrations=migrations_of("edge_node.store"), functions=FUNCTIONS, page_size=PAGE_SIZE, witness=count)
        try:
            count.verify(Count(self.meta("store"), int(self.meta("commits"))))
        except BaseException as error:
            self.close()
            if isinstance(error, ValueError | sqlite3.Error):  # no number, or no such table
                raise StoreDamaged("the store's count of commits is damaged") from error
            raise
