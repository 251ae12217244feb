"""Records of the egress ledger as lines of a file, for other programs. Pure."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

import orjson

from edge_node.egress.ledger import COLUMNS, Entry
from shared.text.plain import csv_cell

LAST = 253_402_300_799  # second of the year 9999, since the epoch


@dataclass(frozen=True, slots=True)
class Form:
    """A kind of file: its type, its first line, and the line of a record."""

    media_type: str
    head: str
    line: Callable[[Entry], str]


def _csv_line(cells: Iterable[object]) -> str:
    line = io.StringIO()
    csv.writer(line).writerow([csv_cell(cell) for cell in cells])
    return line.getvalue()


def _cells(entry: Entry) -> Iterator[object]:
    """The values of a record for a table, its time as ISO 8601 in UTC; a time that was tampered with stays as it is."""
    for name, value in asdict(entry).items():
        yield utc(value) if name == "at" and isinstance(value, int | float) and 0 <= value < LAST else value


def utc(seconds: float) -> str:
    """A time as spreadsheets and people read it, to the millisecond.

    >>> utc(1700000000.25)
    '2023-11-14T22:13:20.250Z'
    """
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


FORMS: Mapping[str, Form] = {
    "csv": Form("text/csv; charset=utf-8", _csv_line(COLUMNS.split(", ")), lambda entry: _csv_line(_cells(entry))),
    "jsonl": Form("application/jsonl", "", lambda entry: orjson.dumps(asdict(entry)).decode() + "\n"),
}
