"""``results.jsonl`` in a folder: each question with its answer as it came, so that a run that was stopped asks no question twice."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson
from pydantic import TypeAdapter, ValidationError

from deploy.evaluation.verdicts import Reply
from shared.errors import InputError

NAME = "results.jsonl"
REPLY = TypeAdapter(Reply)


def recorded(folder: Path, asked: Mapping[str, Any] | None = None) -> dict[str, Reply]:
    """The replies of a folder by question, the last one of each; a last line that a kill has torn is left out.

    Raises InputError for a line that is not ours, and for replies that were not ``asked`` as given; None: where there are none.
    """
    if asked is None and not (folder / NAME).exists():
        raise InputError(f"{folder / NAME} is not there", next_step="give the folder that another run had as --out")
    found = dict[str, Reply]()
    for number, line in enumerate(_whole(folder / NAME).split(b"\n")[:-1], start=1):
        try:
            row = orjson.loads(line)
            reply, how = REPLY.validate_python(row["reply"]), row["asked"]
        except (orjson.JSONDecodeError, ValidationError, KeyError, TypeError) as error:
            step = "give the folder of another evaluation, or delete that line"
            raise InputError(f"{folder / NAME}, line {number}, is no result", next_step=step) from error
        if asked is not None and how != asked:
            raise InputError(f"{folder} holds answers that were asked otherwise: {_said(how)}", next_step="give another folder with --out")
        found[reply.question] = reply
    return found


def begin(folder: Path) -> None:
    """Make the folder and its file, less a line that a kill has torn."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / NAME).open("ab") as file:
        file.truncate(len(_whole(folder / NAME)))


def record(folder: Path, asked: Mapping[str, Any], reply: Reply) -> None:
    """Add a reply to a folder that was begun."""
    with (folder / NAME).open("ab") as file:
        file.write(orjson.dumps({"asked": asked, "reply": reply}) + b"\n")


def _whole(file: Path) -> bytes:
    data = file.read_bytes() if file.exists() else b""
    return data[: data.rfind(b"\n") + 1]


def _said(how: object) -> str:
    return ", ".join(f"{name} {value}" for name, value in how.items()) if isinstance(how, dict) else repr(how)
