"""A file of one's own questions with the answers that are expected, as CSV or JSON Lines. Pure: bytes in, rows out."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import orjson

from shared.errors import InputError
from shared.wire import MAX_QUESTION_CHARS, is_blank

MOST = 10_000
NOBODY = "-"  # in the place of an answer: no document holds one, and the right answer says so
HOW = "its first line names the columns question, answer and, if known, site; each other line is one question"
COLUMNS = ("question", "answer", "site")
_SITES = re.compile(r"[;,]")


@dataclass(frozen=True, slots=True)
class OwnQuestion:
    """One row. ``answer``: what is expected; empty: no document holds an answer. ``sites``: ids of those that have it, if known."""

    line: int
    question: str
    answer: str
    sites: tuple[str, ...] = ()


def parsed(name: str, data: bytes) -> list[OwnQuestion]:
    """The questions of a file, JSON Lines if it is named so, else CSV with commas, semicolons or tabs.

    Raises InputError, with the line's number, for what cannot be read, a question without an answer, one asked twice, none, or too many.
    """
    text, found = _decoded(name, data), dict[str, OwnQuestion]()
    rows = _json_rows(name, text) if name.lower().endswith((".jsonl", ".ndjson")) else _csv_rows(name, text)
    for line, fields in rows:
        row = _question(name, line, fields)
        if row.question in found:
            raise _bad(name, line, f"asks what line {found[row.question].line} asks", "delete one of them")
        if len(found) == MOST:
            raise _bad(name, line, f"is beyond the {MOST:,} questions of one file", "split the file")
        found[row.question] = row
    if not found:
        raise InputError(f"{name} holds no question", next_step=HOW)
    return list(found.values())


def _bad(name: str, line: int, what: str, step: str) -> InputError:
    return InputError(f"{name}, line {line}, {what}", next_step=step)


def _decoded(name: str, data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise _bad(name, line, "is not UTF-8", "save it as UTF-8, in a spreadsheet as “CSV UTF-8”") from error


def _csv_rows(name: str, text: str) -> Iterator[tuple[int, Mapping[str, str]]]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=max(",;\t", key=text.partition("\n")[0].count), strict=True)
    line, columns = 1, list[str]()
    try:
        for cells in reader:
            if not columns:
                columns = [cell.strip().casefold() for cell in cells]
                if missing := {*COLUMNS[:2]} - {*columns}:
                    raise _bad(name, line, f"names no column {' and no column '.join(sorted(missing))}", HOW)
            elif len(cells) > len(columns):
                step = "put text that holds a separator into quotes"
                raise _bad(name, line, f"has {len(cells)} cells where the first line names {len(columns)}", step)
            elif any(map(str.strip, cells)):
                yield line, dict(zip(columns, cells, strict=False))
            line = reader.line_num + 1
    except csv.Error as error:
        raise _bad(name, line, f"cannot be read: {error}", "close each quote, and double those within a cell") from error


def _json_rows(name: str, text: str) -> Iterator[tuple[int, Mapping[str, str]]]:
    for line, row in enumerate(text.split("\n"), start=1):
        if not row.strip():
            continue
        try:
            fields = orjson.loads(row)
        except orjson.JSONDecodeError as error:
            raise _bad(name, line, f"is no JSON: {error}", "write one object a line") from error
        told = [fields.get(key, "") for key in COLUMNS] if isinstance(fields, dict) else [None]
        if not all(isinstance(value, str) for value in told):
            raise _bad(name, line, "is no object whose question, answer and site are texts", 'write {"question": "…", "answer": "…"}')
        yield line, dict(zip(COLUMNS, map(str, told), strict=True))


def _question(name: str, line: int, fields: Mapping[str, str]) -> OwnQuestion:
    question, answer = (fields.get(column, "").strip() for column in ("question", "answer"))
    if is_blank(question):
        raise _bad(name, line, "has no question", HOW)
    if len(question) > MAX_QUESTION_CHARS:
        raise _bad(name, line, f"has a question of {len(question):,} characters", f"ask with at most {MAX_QUESTION_CHARS:,}")
    if is_blank(answer):
        raise _bad(name, line, "has no answer", f"write the one that is right, or {NOBODY} where no document holds one")
    sites = (site.strip() for site in _SITES.split(fields.get("site") or ""))
    return OwnQuestion(line, question, "" if answer == NOBODY else answer, tuple(site for site in sites if site))
