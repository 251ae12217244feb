"""Errors as a log may tell them: where they come from, without their messages, which may quote a document."""

from __future__ import annotations

import traceback

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
