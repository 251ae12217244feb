"""Records of the egress ledger as lines of a file, for other programs. Pure."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, astuple, dataclass

import orjson

from edge_node.egress.ledger import COLUMNS, Entry
from shared.text.plain import csv_cell


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


FORMS: Mapping[str, Form] = {
    "csv": Form("text/csv; charset=utf-8", _csv_line(COLUMNS.split(", ")), lambda entry: _csv_line(astuple(entry))),
    "jsonl": Form("application/jsonl", "", lambda entry: orjson.dumps(asdict(entry)).decode() + "\n"),
}
