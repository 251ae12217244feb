"""A stream in the OpenAI chat format: its events, and the text that they bring, without thoughts. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from shared.errors import ModelReplyError, ModelUnavailable
from shared.models.chat_replies import (
    ANY_SERVER,
    CUT,
    LOOK_AT_LOG,
    Completion,
    Finish,
    Lenient,
    MessageBody,
    Sample,
    decoded,
    no_answer,
)
from shared.models.server_errors import UNNAMED_FAILURE, error_text
from shared.models.thinking import (
    Thinking,
    ThoughtFilter,
    may_end_early,
    overlap,
    parted,
    unopened_end,
)

STREAM_END = "[DONE]"


@dataclass(frozen=True, slots=True)
class Piece:
    """What one event of a stream adds. ``finish``: why the text ends with it; "": it does not."""

    text: str = ""
    thoughts: str = ""
    finish: str = ""


def parse_event(data: str) -> Piece:
    """One event of a stream. Raises ModelReplyError, or ModelUnavailable when the event tells of a failure."""
    try:
        event = _Event.model_validate(decoded(data.encode("utf-8", "replace")))
    except (ValidationError, ModelReplyError) as error:
        raise ModelReplyError("the model server's stream is not the OpenAI format", next_step=ANY_SERVER) from error
    if event.error is not None:
        raise ModelUnavailable(f"the model server broke off: {error_text(data.encode())}", next_step=LOOK_AT_LOG)
    if not event.choices:
        return Piece()
    choice = event.choices[0]
    if choice.error or choice.finish_reason == "error":
        reason = error_text(json.dumps({"error": choice.error or UNNAMED_FAILURE}).encode())
        raise ModelUnavailable(f"the model server broke off: {reason}", next_step=LOOK_AT_LOG)
    message = choice.delta or choice.message or MessageBody()
    return Piece(message.content.text, message.thoughts, choice.finish_reason)


def is_event_stream(raw: bytes) -> bool:
    r"""Whether an answer is a stream, of a server that sends no other.

    >>> is_event_stream(b": ping\n\ndata: {}"), is_event_stream(b'{"choices": []}')
    (True, False)
    """
    return raw.lstrip().startswith((b"data:", b"event:", b":", b"id:"))


def completion_of_events(
    raw: bytes,
    thinking: Thinking | None,
    ends_early: bool = False,
) -> Completion:
    """The whole answer of a stream that has ended.

    Parameters and errors as of ``parse_completion``.
    """
    lines = EventLines()
    pieces = [parse_event(data) for data in (*lines.feed(raw), *lines.rest()) if data != STREAM_END]
    is_apart = any(piece.thoughts for piece in pieces)
    finish = next((piece.finish for piece in reversed(pieces) if piece.finish), "")
    is_cut = ends_early or finish == CUT
    parts = parted("".join(piece.text for piece in pieces), thinking, is_cut=is_cut)
    return Completion((Sample(parts.answer, finish, "apart" if is_apart else parts.thinking),))


class EventLines:
    r"""The data of server-sent events in bytes that come in blocks; also of lines that are JSON alone, as some servers send them.

    >>> lines = EventLines()
    >>> lines.feed(b': ping\r\n\r\ndata:{"a"'), lines.feed(b': 1}\n\ndata: [DONE]\n'), lines.rest()
    ([], ['{"a": 1}', '[DONE]'], [])
    """

    def __init__(self) -> None:
        self._waiting = b""

    def feed(self, block: bytes) -> list[str]:
        """The data of the lines that are whole."""
        *lines, self._waiting = (self._waiting + block).split(b"\n")
        return [data for line in lines if (data := _data(line))]

    def rest(self) -> list[str]:
        """The data of a last line without an end."""
        waiting, self._waiting = self._waiting, b""
        return [data] if (data := _data(waiting)) else []


class TextStream:
    """The text of one sample, out of its events."""

    def __init__(self, stops: Sequence[str], thinking: Thinking | None = None) -> None:
        """``thinking``: what is known of the model."""
        is_unopened = thinking == "unopened"
        self._thoughts = ThoughtFilter(is_unopened=is_unopened, thinks=thinking == "tags")
        self._ends_early = may_end_early(stops)
        self._stops = StopFilter(stops)
        self._shown = ""
        self._finish = ""
        self._is_apart = False
        self._is_unopened = is_unopened
        self.is_over = False  # nothing more is to come

    @property
    def is_whole(self) -> bool:
        """Whether the server said that the text is at its end."""
        return self.is_over or bool(self._finish)

    @property
    def thinking(self) -> Thinking:
        """Whether the model has thought, and how its thoughts were given."""
        if self._is_apart:
            return "apart"
        if self._is_unopened:
            return "unopened"
        return "tags" if self._thoughts.has_opened else ""

    def feed(self, data: str) -> str:
        """The text that an event adds. Raises as ``parse_event``, and ModelReplyError where what was shown turns out to be thoughts."""
        if data == STREAM_END:
            self.is_over = True
            return ""
        piece = parse_event(data)
        self._is_apart = self._is_apart or bool(piece.thoughts)
        self._finish = piece.finish or self._finish
        parts = self._thoughts.feed(piece.text)
        return self._show(self._stops.feed(parts.answer))

    def rest(self) -> str:
        """What was held back at the end. Raises ModelReplyError where the model gave no text, or too little of a stream came."""
        if not self.is_whole:
            raise ModelReplyError("the model server's stream broke off", next_step=LOOK_AT_LOG)
        parts = self._thoughts.rest(is_cut=self._ends_early or self._finish == CUT)
        text = self._show(self._stops.feed(parts.answer) + self._stops.rest())
        if not self._shown.strip():
            raise no_answer([Sample("", self._finish, self.thinking)])
        return text

    def ended(self) -> None:
        """The connection was closed in good order: the text is whole, whatever the server said."""
        self.is_over = True

    def _show(self, text: str) -> str:
        self._shown += text
        if text and not self.thinking and unopened_end(self._shown):
            self._is_unopened = True
            raise ModelReplyError(
                "the model's thoughts came without an opening tag, and were taken for its answer", next_step="ask again: it is known now"
            )
        return text


class StopFilter:
    r"""Ends a text that comes in pieces where it was to stop, also of a server that goes on.

    >>> view = StopFilter(["\nQuestion:"])
    >>> [view.feed(piece) for piece in ("Ada.", "\nQues", "tion: Who?", " More")], view.rest()
    (['Ada.', '', '', ''], '')
    """

    def __init__(self, stops: Sequence[str]) -> None:
        self._stops = stops
        self._waiting = ""
        self.is_over = False

    def feed(self, piece: str) -> str:
        """The part of the text that is sure to be before the end."""
        if self.is_over:
            return ""
        self._waiting += piece
        ends = [at for stop in self._stops if (at := self._waiting.find(stop)) >= 0]
        if ends:
            text, self._waiting, self.is_over = self._waiting[: min(ends)], "", True
            return text
        keep = max((overlap(self._waiting, stop) for stop in self._stops), default=0)
        sure = len(self._waiting) - keep
        text, self._waiting = self._waiting[:sure], self._waiting[sure:]
        return text

    def rest(self) -> str:
        """What was held back at the end of the text."""
        waiting, self._waiting = self._waiting, ""
        return waiting


def _data(line: bytes) -> str:
    text = line.strip()
    if text.startswith(b"data:"):
        text = text.removeprefix(b"data:").strip()
    elif not text.startswith(b"{"):
        return ""
    return text.decode("utf-8", errors="replace")


class _EventChoice(Lenient):
    delta: MessageBody | None = None
    message: MessageBody | None = None
    finish_reason: Finish = ""
    error: Any = None


class _Event(Lenient):
    choices: tuple[_EventChoice, ...] = ()
    error: Any = None
