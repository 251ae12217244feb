"""Messages of Outlook (.msg): compound files ([MS-CFB]) of MAPI properties ([MS-OXMSG]).

Each becomes the same mail in MIME.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage

from olefile import STGTY_STORAGE, OleFileIO

from edge_node.plugins.parsers.charsets import decoded
from edge_node.plugins.parsers.rich_html import is_wrapped_html, unwrapped_html

MAX_ATTACHED = 200
MAX_DEPTH = 4  # of messages in messages
UNICODE, ANSI, BINARY, OBJECT = "001F", "001E", "0102", "000D"  # types of properties
SUBJECT, BODY, RICH, HTML = "0037", "1000", "1009", "1013"
SENDERS, SENDER_MAILS = ("0C1A", "0042"), ("5D01", "5D02", "0C1F", "0065")
NAME, MAILS = "3001", ("39FE", "3003")  # of a receiver
DATA, FILE_NAMES = "3701", ("3707", "3704")  # of an attachment
SENT, RECEIVED, CODE_PAGE = 0x00390040, 0x0E060040, 0x3FFD0003  # numbers with their types
EVENT_START, EVENT_END, EVENT_PLACE = 0x820D, 0x820E, 0x8208  # names of numbered properties
TIME, FIRST_NAMED = 0x0040, 0x8000
HIDDEN, KIND = 0x7FFE000B, 0x0C150003
LISTS = {1: "To", 2: "Cc", 3: "Bcc"}
EPOCH = datetime(1601, 1, 1, tzinfo=UTC)
WINDOW = 4_096
PRESET = (  # what every packed text may refer to
    b"{\\rtf1\\ansi\\mac\\deff0\\deftab720{\\fonttbl;}{\\f0\\fnil \\froman \\fswiss \\fmodern "
    b"\\fscript \\fdecor MS Sans SerifSymbolArialTimes New RomanCourier{\\colortbl\\red0\\green0"
    b"\\blue0\r\n\\par \\pard\\plain\\f0\\fs20\\b\\i\\u\\tab\\tx"
)


def as_mail(data: bytes) -> tuple[EmailMessage, list[str]]:
    """The message with its attachments, which may be messages; and which of them hold no file.

    Raises one of ``DAMAGED_OLE``.
    """
    unread = list[str]()
    with OleFileIO(io.BytesIO(data)) as file:
        return _mail(_Stored(file, ()), unread, depth=0), unread


@dataclass(frozen=True, slots=True)
class _Stored:
    """A message, a receiver or an attachment in the file."""

    file: OleFileIO
    path: tuple[str, ...]

    def stream(self, name: str) -> bytes | None:
        path = [*self.path, name]
        return self.file.openstream(path).read() if self.file.get_type(path) == 2 else None

    def text(self, *numbers: str) -> str:
        """The first of these properties that is not empty."""
        for number in numbers:
            if raw := self.stream(f"__substg1.0_{number}{UNICODE}"):
                return raw.decode("utf-16-le", errors="replace")
            if raw := self.stream(f"__substg1.0_{number}{ANSI}"):
                return decoded("", raw, f"cp{self.page}").text
        return ""

    @property
    def page(self) -> int:
        return _Stored(self.file, ()).number(CODE_PAGE) or 1252

    def number(self, tag: int) -> int:
        """A property of the table of the short ones; 0 where it is not there.

        Its rows begin with the tag and end with the value.
        """
        table = self.stream("__properties_version1.0") or b""
        start = 8
        if not self.path:
            start = 32
        elif self.path[-1].startswith(f"__substg1.0_{DATA}"):
            start = 24
        end = start + (len(table) - start) // 16 * 16
        for each, value in struct.iter_unpack("<I4xQ", table[start:end]):
            if each == tag:
                return int(value) & 0xFFFFFFFF if tag & 0xFFFF == 3 else int(value)
        return 0

    def named_id(self, number: int) -> int:
        """The id under which this file keeps a property of appointments; 0 if it has none."""
        entries = _Stored(self.file, ("__nameid_version1.0",)).stream("__substg1.0_00030102") or b""
        rows = struct.iter_unpack("<IHH", entries[: len(entries) // 8 * 8])
        ids = [FIRST_NAMED + index for name, _, index in rows if name == number]
        return ids[0] if ids else 0

    def below(self, kind: str) -> Iterator[_Stored]:
        """Receivers or attachments of it, in order."""
        storages = self.file.listdir(streams=False, storages=True)
        names = sorted({path[len(self.path)] for path in storages if self._holds(path)})
        return (_Stored(self.file, (*self.path, name)) for name in names if name.startswith(kind))

    def _holds(self, path: list[str]) -> bool:
        return len(path) > len(self.path) and tuple(path[: len(self.path)]) == self.path


def _mail(stored: _Stored, unread: list[str], *, depth: int) -> EmailMessage:
    mail = EmailMessage()
    fields = {"Subject": stored.text(SUBJECT), "From": _person(stored, SENDERS, SENDER_MAILS)}
    for receiver in stored.below("__recip_version1.0_"):
        if field := LISTS.get(receiver.number(KIND)):
            people = (fields.get(field), _person(receiver, (NAME,), MAILS))
            fields[field] = ", ".join(filter(None, people))
    for field, value in fields.items():
        if line := " ".join(value.replace("\0", "").split()):
            mail[field] = line
    if moment := stored.number(SENT) or stored.number(RECEIVED):
        mail["Date"] = EPOCH + timedelta(microseconds=moment // 10)
    _add_text(mail, stored)
    if event := _event(stored):
        mail.add_attachment(event.encode(), maintype="text", subtype="calendar")
    files = [each for each in stored.below("__attach_version1.0_") if not each.number(HIDDEN)]
    for attached in files[: MAX_ATTACHED + 1]:  # one too many tells that there are others
        _attach(mail, attached, unread, depth)
    return mail


def _person(stored: _Stored, names: tuple[str, ...], mails: tuple[str, ...]) -> str:
    """As the head of a mail has it, without an address within an organisation, which is a path."""
    shown = stored.text(*names).replace('"', "")
    mail = stored.text(*mails)
    if "@" not in mail:
        return f'"{shown}" <>' if shown else ""
    return f'"{shown}" <{mail}>' if shown != mail else mail


def _add_text(mail: EmailMessage, stored: _Stored) -> None:
    """Its text and its HTML, as alternatives; else its rich text, which is attached."""
    text = stored.text(BODY)
    html = stored.stream(f"__substg1.0_{HTML}{BINARY}") or stored.text(HTML).encode()
    packed = stored.stream(f"__substg1.0_{RICH}{BINARY}") or b""
    rich = unpacked(packed) if packed and not html else b""
    if is_wrapped_html(rich):
        html = unwrapped_html(rich)
    mail.set_content(text)
    if html:
        mail.add_alternative(html, maintype="text", subtype="html")
    elif rich and not text.strip():
        mail.add_attachment(rich, maintype="application", subtype="rtf", filename="text.rtf")


def _event(stored: _Stored) -> str:
    """When and where an appointment is, as a calendar; "" for other messages."""
    start, end, place = (
        stored.named_id(number) for number in (EVENT_START, EVENT_END, EVENT_PLACE)
    )
    moments = [stored.number(tag << 16 | TIME) if tag else 0 for tag in (start, end)]
    if not moments[0]:
        return ""
    lines = ["BEGIN:VEVENT"]
    for name, moment in zip(("DTSTART", "DTEND"), moments, strict=True):
        if moment:
            lines.append(f"{name}:{EPOCH + timedelta(microseconds=moment // 10):%Y%m%dT%H%M%SZ}")
    if where := " ".join(stored.text(f"{place:04X}").split()) if place else "":
        lines.append("LOCATION:" + where.replace("\\", "\\\\"))
    return "\n".join([*lines, "END:VEVENT"])


def unpacked(data: bytes) -> bytes:
    """Rich text as it was before Outlook packed it ([MS-OXRTFCP]).

    It is bytes, and references to the last 4,096 of them.
    """
    if data[8:12] != b"LZFu":
        return data[16:]
    out, at = bytearray(PRESET), 16
    while at < len(data):
        control, at = data[at], at + 1
        for bit in range(8):
            if not control >> bit & 1:
                out += data[at : at + 1]
                at += 1
                continue
            (token,) = struct.unpack_from(">H", data, at)
            at += 2
            back = (len(out) - (token >> 4)) % WINDOW
            if back == 0:
                return bytes(out[len(PRESET) :])
            for _ in range((token & 15) + 2):
                out.append(out[-back])
    return bytes(out[len(PRESET) :])


def _attach(mail: EmailMessage, attached: _Stored, unread: list[str], depth: int) -> None:
    name = " ".join((attached.text(*FILE_NAMES) or attached.text(NAME)).split())
    inside = _Stored(attached.file, (*attached.path, f"__substg1.0_{DATA}{OBJECT}"))
    raw = attached.stream(f"__substg1.0_{DATA}{BINARY}")
    if inside.stream("__properties_version1.0") is not None:
        title = " ".join(inside.text(SUBJECT).split()) or name or "message"
        if depth == MAX_DEPTH:
            unread.append(f"{title}: a message more than {MAX_DEPTH} deep in others is not read.")
        else:
            inner = _mail(inside, unread, depth=depth + 1)
            mail.add_attachment(inner, filename=f"{title}.eml")
    elif raw:
        main, kind = "application", "octet-stream"
        mail.add_attachment(raw, maintype=main, subtype=kind, filename=name or "attachment")
    elif attached.file.get_type([*inside.path]) == STGTY_STORAGE:
        unread.append(f"{name or 'attachment'}: an embedded object is not read: add it as a file.")
    elif raw is None:
        unread.append(f"{name or 'attachment'}: the file is linked or removed: add it.")
