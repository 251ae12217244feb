"""How a service's log is written: lines for people, or an object a line for machines. Neither ever holds an error's own words.

Both bear the id of the request that is worked for.
"""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from types import TracebackType
from typing import Literal, TypeAlias

from shared.correlation import request_id
from shared.redacted import redacted

LogForm = Literal["text", "json"]
FACTS = "facts"  # extra of a record: further fields of its object; names and values of closed lists
ErrorInfo: TypeAlias = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


class Lines(logging.Formatter):
    """Time, level, logger, message, and the request's id in brackets where there is one."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's name
        """The line, without an error's place."""
        line, request = super().formatMessage(record), request_id()
        return f"{line} [{request}]" if request else line

    def formatException(self, ei: ErrorInfo) -> str:  # noqa: N802 - logging's name
        """Where an error comes from, without its message."""
        return redacted(ei[1])


class JsonLines(logging.Formatter):
    """An object a line, in ASCII: at, level, logger, message, service, edge, request; ``error`` where one is told; a record's facts."""

    def __init__(self, service: str, edge: str = "") -> None:
        super().__init__()
        self._who = {"service": service, "edge": edge}

    def format(self, record: logging.LogRecord) -> str:
        """The record as one line of JSON."""
        told = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            **self._who,
            "request": request_id(),
        }
        if record.exc_info and record.exc_info[1] is not None:
            told["error"] = redacted(record.exc_info[1])
        return json.dumps(told | getattr(record, FACTS, {}))


def begin() -> None:
    """Write lines to stderr, from level INFO on; as long as no handler is there."""
    handler = logging.StreamHandler()
    handler.setFormatter(Lines())
    logging.basicConfig(level=logging.INFO, handlers=[handler])


def use(form: LogForm, *, service: str, edge: str = "") -> None:
    """Go on in the form that the settings want."""
    if form == "json":
        for handler in logging.getLogger().handlers:
            handler.setFormatter(JsonLines(service, edge))
