"""How a service writes its log: lines for people or objects for machines, with the request's id and without an error's own words."""

from __future__ import annotations

import json
import logging
import os
import re
import sys
import threading
import traceback
from datetime import UTC, datetime
from types import TracebackType
from typing import Literal, TypeAlias

from shared.telemetry.correlation import request_id

LogForm = Literal["text", "json"]
log = logging.getLogger("dgrag")
FACTS = "facts"  # extra of a record: further fields of its object; names and values of closed lists
QUOTING = ("asyncio", "uvicorn.error")  # loggers whose messages quote errors, arguments of callbacks, whole tracebacks
_CONSTANT = re.compile(r" *(Exception in callback|(?:[A-Za-z -]|\(\)|\.(?=\w))*)")  # up to where a value may begin
ErrorInfo: TypeAlias = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]

MAX_FRAMES = 6  # the innermost ones
MAX_DEPTH = 8  # causes and parts of causes; an error can be its own cause


def redacted(error: BaseException | None, *, depth: int = MAX_DEPTH) -> str:
    """The kind of an error and the lines that it came through, innermost first; then the same of its parts and its cause.

    >>> redacted(ValueError("a secret"))
    'ValueError'
    >>> redacted(ExceptionGroup("a secret", [KeyError("a secret"), OSError()]))
    'ExceptionGroup [KeyError; OSError]'
    """
    if error is None:
        return "no error"
    if depth == 0:
        return "..."
    frames = traceback.extract_tb(error.__traceback__)[: -MAX_FRAMES - 1 : -1]
    told = type(error).__name__ + " at " * bool(frames)
    told += " < ".join(f"{frame.filename.rpartition('/')[2]}:{frame.lineno}" for frame in frames)
    if isinstance(error, BaseExceptionGroup):
        told += f" [{'; '.join(redacted(part, depth=depth - 1) for part in error.exceptions)}]"
    return f"{told}, from {redacted(error.__cause__, depth=depth - 1)}" if error.__cause__ else told


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


class Unquoted(logging.Filter):
    """Of what a library logs, the words that it always says, and kind and place of the error: the rest may quote anything."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Rewrite the record; it is logged in any case."""
        error, record.msg, record.args = _error_of(record), _constant(record), ()
        if error is not None:
            record.exc_info = type(error), error, error.__traceback__
            record.exc_text = redacted(error)  # for a formatter that knows no better
        return True


_UNQUOTED = Unquoted()  # one: a logger takes the same filter once


def begin() -> None:
    """Write lines to stderr, from level INFO on; as long as no handler is there.

    From now on neither libraries nor Python itself tell an error's own words there, whoever does not catch it.
    """
    handler = logging.StreamHandler()
    handler.setFormatter(Lines())
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    for name in QUOTING:
        logging.getLogger(name).addFilter(_UNQUOTED)
    sys.excepthook = _on_end
    sys.unraisablehook = _on_unraisable
    threading.excepthook = _on_end_of_thread


def use(form: LogForm, *, service: str, edge: str = "") -> None:
    """Go on in the form that the settings want."""
    if form == "json":
        for handler in logging.getLogger().handlers:
            handler.setFormatter(JsonLines(service, edge))


def _error_of(record: logging.LogRecord) -> BaseException | None:
    """The error that a record tells of; one that is told as text of many lines is the one that is handled just now."""
    if isinstance(record.msg, BaseException):
        return record.msg
    if record.exc_info:
        return record.exc_info[1]
    return sys.exception() if "\n" in str(record.msg) else None


def _constant(record: logging.LogRecord) -> str:
    """What a message says whatever it is about: of one with arguments its form, filled in where all are numbers."""
    if isinstance(record.msg, OSError) and record.msg.errno:
        return os.strerror(record.msg.errno)
    if not isinstance(record.msg, str):
        return "an error"
    if record.args:
        numbers = isinstance(record.args, tuple) and all(isinstance(value, int | float) for value in record.args)
        return record.getMessage() if numbers else record.msg
    found = _CONSTANT.match(record.msg)
    return (found[1].strip() if found else "") or "an error"


def _on_end(_: type[BaseException], error: BaseException, __: TracebackType | None) -> None:
    log.critical("ended by an error that nobody expected", exc_info=error)


def _on_unraisable(told: sys.UnraisableHookArgs) -> None:
    log.error("an error where none can be raised", exc_info=told.exc_value)


def _on_end_of_thread(told: threading.ExceptHookArgs) -> None:
    if told.exc_type is not SystemExit:
        log.error("a thread ended by an error", exc_info=told.exc_value)
