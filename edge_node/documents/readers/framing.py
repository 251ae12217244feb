"""What an edge and a reader's child say to each other: lengths, JSON and UTF-8, never objects, as a child has read hostile bytes."""

from __future__ import annotations

import struct
from dataclasses import asdict, dataclass, replace
from io import BufferedIOBase
from typing import Any, Literal, TypeAlias

import orjson

from edge_node.documents.text import MAX_PLACE_CHARS, MAX_TEXT_CHARS, ReadText
from edge_node.records import Cell, Table
from shared.errors import ReaderUnavailable, UnreadableDocument
from shared.plural import counted

HEAD = struct.Struct(">Q")
MAX_HEADER_BYTES = 65_536
MAX_SHORTFALLS = 40
MAX_OUTPUT_BYTES = 4 * MAX_TEXT_CHARS  # of the text in UTF-8
MAX_PARSERS = 64  # of one document and what is inside
MAX_WORD_CHARS = 64
MAX_MESSAGE_CHARS = 1_000
TABLES_DROPPED = ("tables_dropped", "Its tables are too large to be kept as tables: their rows are in the text alone.")


@dataclass(frozen=True, slots=True)
class Request:
    """What a child is to do with the document that follows: its text, or a picture of a page as ``PageImage`` draws it.

    ``versions``, ``media_types``: those of all parsers, as JSON; of no document.
    """

    name: str
    task: Literal["read", "page", "versions", "media_types"] = "read"
    page: int = 0
    mark: str = ""
    width: int = 0


class BrokenAnswerError(ValueError):
    """An answer that no reader of ours gives, or half of one."""


@dataclass(frozen=True, slots=True)
class Failed:
    """Why a document cannot be read, as ``UnreadableDocument`` or ``ReaderUnavailable`` has it.

    ``detail``: what the library that failed said of it, for the log; it may quote the document.
    """

    reason: str
    message: str
    next_step: str
    detail: str = ""

    @classmethod
    def of(cls, error: UnreadableDocument | ReaderUnavailable) -> Failed:
        """The error without the document's name, which may be long."""
        next_step = error.next_step[:MAX_MESSAGE_CHARS]
        if isinstance(error, ReaderUnavailable):
            return cls(error.code, error.message[:MAX_MESSAGE_CHARS], next_step, error.detail[:MAX_MESSAGE_CHARS])
        message = error.message.removeprefix(f"{error.name}: ")
        detail = str(error.__cause__ or "")
        return cls(error.reason[:MAX_WORD_CHARS], message[:MAX_MESSAGE_CHARS], next_step, detail[:MAX_MESSAGE_CHARS])

    def to_error(self, name: str) -> UnreadableDocument | ReaderUnavailable:
        """The error again."""
        if self.reason == ReaderUnavailable.code:
            return ReaderUnavailable(self.message, detail=self.detail, next_step=self.next_step)
        error = UnreadableDocument(name, self.reason, self.message, next_step=self.next_step)
        error.__cause__ = RuntimeError(self.detail) if self.detail else None
        return error


Answer: TypeAlias = "ReadText | Failed | bytes"  # bytes: a picture, or JSON


def write_request(stream: BufferedIOBase, request: Request, raw: bytes) -> None:
    """Send a child its task and its document."""
    name = request.name.encode("utf-8", errors="replace").decode("utf-8")
    mark = request.mark.encode("utf-8", errors="replace").decode("utf-8")
    _write(stream, orjson.dumps(asdict(request) | {"name": name, "mark": mark}), raw)


def take_request(stream: BufferedIOBase) -> tuple[Request, bytes]:
    """What ``write_request`` sent. Raises BrokenAnswerError if that breaks off."""
    header, raw = _take(stream, most_header=2**32, most_body=2**62)
    return Request(**orjson.loads(header)), raw


def write_answer(stream: BufferedIOBase, answer: Answer, *, most_bytes: int) -> None:
    """Send what became of a document; more than ``most_bytes``, of a text in UTF-8, becomes a failure.

    >>> import io
    >>> stream = io.BytesIO()
    >>> write_answer(stream, ReadText("Ward", "28 beds."), most_bytes=100)
    >>> _ = stream.seek(0)
    >>> take_answer(stream, most_bytes=100)
    ReadText(title='Ward', text='28 beds.', places=(), shortfalls=(), tables=(), parsers=())
    """
    body = _body(answer)
    if len(body) > most_bytes and isinstance(answer, ReadText) and answer.tables:
        answer = replace(answer, tables=(), shortfalls=(TABLES_DROPPED, *answer.shortfalls))
        body = _body(answer)
    if len(body) > most_bytes:
        answer, body = Failed("too_large", f"holds more than {most_bytes} bytes of text", "split the document and add the parts"), b""
    _write(stream, orjson.dumps(_header(answer)), body)


def take_answer(stream: BufferedIOBase, *, most_bytes: int) -> Answer:
    """What a child answered. Raises BrokenAnswerError for anything else, after ``most_bytes`` of it at most."""
    header, body = _take(stream, most_header=MAX_HEADER_BYTES, most_body=most_bytes)
    try:
        match orjson.loads(header):
            case {"is_text": False}:
                return body
            case {"title": str(title), "length": int(length), "shortfalls": list(said), "parsers": list(tags)} if 0 <= length <= len(body):
                parsers = tuple(str(tag)[:MAX_WORD_CHARS] for tag in tags[:MAX_PARSERS])
                beside = orjson.loads(body[length:] or b"{}")
                places = tuple((int(at), str(place)[:MAX_PLACE_CHARS]) for at, place in beside.get("places", ()))
                shortfalls = tuple((str(code)[:MAX_WORD_CHARS], str(text)[:MAX_MESSAGE_CHARS]) for code, text in said[:MAX_SHORTFALLS])
                tables = tuple(_table(table) for table in beside.get("tables", ()))
                return ReadText(title, body[:length].decode("utf-8"), places, shortfalls, tables, parsers)
            case {"reason": str(reason), "message": str(message), "next_step": str(step), "detail": str(detail)}:
                texts = (text[:MAX_MESSAGE_CHARS] for text in (message, step, detail))
                return Failed(reason[:MAX_WORD_CHARS], *texts)
    except (ValueError, TypeError, AttributeError) as error:
        raise BrokenAnswerError("neither JSON nor UTF-8") from error
    raise BrokenAnswerError("another form")


def _body(answer: Answer) -> bytes:
    """Of a text: it, and behind it where its places begin, and its tables."""
    if isinstance(answer, Failed):
        return b""
    if isinstance(answer, bytes):
        return answer
    beside = {"places": answer.places, "tables": answer.tables}
    return answer.text.encode("utf-8") + (orjson.dumps(beside) if answer.places or answer.tables else b"")


def _table(told: dict[str, Any]) -> Table:
    """A table that a child tells of. Raises TypeError for anything else."""
    match told:
        case {"name": str(name), "headings": list(headings), "rows": list(rows), "first_row": int(first_row)}:
            cells = tuple(tuple(map(_cell, row)) for row in rows)
            return Table(name[:MAX_PLACE_CHARS], tuple(map(str, headings)), cells, first_row)
    raise TypeError("no table")


def _cell(told: Any) -> Cell:
    return told if told is None or isinstance(told, str | int | float) else str(told)


def _header(answer: Answer) -> dict[str, Any]:
    if isinstance(answer, Failed):
        return asdict(answer)
    if isinstance(answer, bytes):
        return {"is_text": False}
    return {
        "title": answer.title,
        "length": len(answer.text.encode("utf-8")),
        "shortfalls": _bounded(answer.shortfalls),
        "parsers": answer.parsers[:MAX_PARSERS],
    }


def _bounded(shortfalls: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """The first shortfalls, and how many more there are."""
    if len(shortfalls) <= MAX_SHORTFALLS:
        return shortfalls
    listed = shortfalls[: MAX_SHORTFALLS - 1]
    others = counted(len(shortfalls) - len(listed), "more shortfall")
    return (*listed, ("more_shortfalls", f"{others} of this document are not listed."))


def _write(stream: BufferedIOBase, header: bytes, body: bytes) -> None:
    stream.write(HEAD.pack(len(header)) + HEAD.pack(len(body)) + header)
    stream.write(body)
    stream.flush()


def _take(stream: BufferedIOBase, *, most_header: int, most_body: int) -> tuple[bytes, bytes]:
    header_bytes, body_bytes = (HEAD.unpack(_exactly(stream, HEAD.size))[0] for _ in range(2))
    if header_bytes > most_header or body_bytes > most_body:
        raise BrokenAnswerError("longer than it may be")
    return _exactly(stream, header_bytes), _exactly(stream, body_bytes)


def _exactly(stream: BufferedIOBase, count: int) -> bytes:
    found = stream.read(count)
    if len(found) < count:
        raise BrokenAnswerError("it breaks off")
    return found
