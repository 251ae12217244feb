"""The edge's store: its schema in the SQLite file that both services use alike, and its commits counted beside it."""

from __future__ import annotations

import hashlib
import hmac
import json
import sqlite3
from pathlib import Path

from edge_node.database.commits import CommitCount, Count
from edge_node.extraction.names import acronym_definitions
from shared import sqlite
from shared.errors import StoreDamaged
from shared.sqlite import migrations_of
from shared.text.sentences import WORD

PAGE_SIZE = 16_384  # vectors of 1.5 KB: halves the commit time of the default 4,096 and saves a fifth of the file


def said_key(secret: bytes, question: str, answer: str) -> str:
    """Return what a question with its answer is known by where their words may not stand: HMAC-SHA-256 in hexadecimal digits.

    Of all words in their order, whatever their case and punctuation. Who says so plays no part: a verdict is on the answer, and would be
    lost as soon as a document's new version, a template or a model says the same again.

    >>> said_key(b"s", "Who built it?", "Ann Lee") == said_key(b"s", "who built it", "Ann Lee.") != said_key(b"s", "Who built it?", "Bo")
    True
    """
    told = "\n".join(" ".join(WORD.findall(text.casefold())) for text in (question, answer))
    return hmac.digest(secret, told.encode("utf-8", "surrogatepass"), hashlib.sha256).hex()


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
        super().__init__(path, migrations=migrations_of("edge_node.database"), functions=FUNCTIONS, page_size=PAGE_SIZE, witness=count)
        try:
            count.verify(Count(self.meta("store"), int(self.meta("commits"))))
        except BaseException as error:
            self.close()
            if isinstance(error, ValueError | sqlite3.Error):  # no number, or no such table
                raise StoreDamaged("the store's count of commits is damaged") from error
            raise
