"""Messages of Outlook (.msg): compound files ([MS-CFB], read by olefile) of MAPI properties ([MS-OXMSG]), told as the same mail in MIME."""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage

from olefile import OleFileIO

MAX_ATTACHED = 200
MAX_DEPTH = 4  # of messages in messages
DAMAGED = (OSError, struct.error, ValueError, LookupError, TypeError, AttributeError, RecursionError)  # olefile's, on hostile bytes
UNICODE, ANSI, BINARY, OBJECT = "001F", "001E", "0102", "000D"  # types of properties
SUBJECT, BODY, RICH, HTML = "0037", "1000", "1009", "1013"
SENDER, SENDER_MAILS = "0C1A", ("5D01", "0C1F")
NAME, MAILS = "3001", ("39FE", "3003")  # of a receiver
DATA, FILE_NAMES = "3701", ("3707", "3704")  # of an attachment
SENT, RECEIVED, CODE_PAGE, HIDDEN, KIND = 0x00390040, 0x0E060040, 0x3FFD0003, 0x7FFE000B, 0x0C150003  # numbers with their types
LISTS = {1: "To", 2: "Cc"}
EPOCH = datetime(1601, 1, 1, tzinfo=UTC)
WINDOW = 4_096
PRESET = (  # what every packed text may refer to
    b"{\\rtf1\\ansi\\mac\\deff0\\deftab720{\\fonttbl;}{\\f0\\fnil \\froman \\fswiss \\fmodern \\fscript \\fdecor "
    b"MS Sans SerifSymbolArialTimes New RomanCourier{\\colortbl\\red0\\green0\\blue0\r\n\\par \\pard\\plain\\f0\\fs20\\b\\i\\u\\tab\\tx"
)


def names_of(data: bytes) -> frozenset[str]:
    """What stands at the top of a compound file; nothing of a damaged one."""
    try:
        with OleFileIO(io.BytesIO(data)) as file:
            return frozenset(path[0] for path in file.listdir(storages=True))
    except DAMAGED:
        return frozenset()


def as_mail(data: bytes) -> EmailMessage:
    """The message with its attachments; a message that is attached is one there too. Raises one of ``DAMAGED``."""
    with OleFileIO(io.BytesIO(data)) as file:
        return _mail(_Stored(file, ()), depth=0)


@dataclass(frozen=True, slots=True)
class _Stored:
    """A message, a receiver or an attachment in the file."""

    file: OleFileIO
    path: tuple[str, ...]

    def stream(self, name: str) -> bytes | None:
        path = [*self.path, name]
        return self.file.openstream(path).read() if self.file.get_type(path) == 2 else None

    def text(self, *numbers: str) -> str:
        """The first of these properties that says something."""
        for number in numbers:
            if raw := self.stream(f"__substg1.0_{number}{UNICODE}"):
                return raw.decode("utf-16-le", errors="replace")
            if raw := self.stream(f"__substg1.0_{number}{ANSI}"):
                return raw.decode(f"cp{self.page}", errors="replace")
        return ""

    @property
    def page(self) -> int:
        return _Stored(self.file, ()).number(CODE_PAGE) or 1252

    def number(self, tag: int) -> int:
        """A property of the table of the short ones, whose rows begin with the tag and end with the value; 0 where it is not there."""
        table = self.stream("__properties_version1.0") or b""
        start = 32 if not self.path else 24 if self.path[-1].startswith(f"__substg1.0_{DATA}") else 8
        rows = struct.iter_unpack("<I4xQ", table[start : start + (len(table) - start) // 16 * 16])
        return next((value & 0xFFFFFFFF if tag & 0xFFFF == 3 else value for found, value in rows if found == tag), 0)

    def below(self, kind: str) -> Iterator[_Stored]:
        names = sorted({path[len(self.path)] for path in self.file.listdir(streams=False, storages=True) if self._holds(path)})
        return (_Stored(self.file, (*self.path, name)) for name in names if name.startswith(kind))

    def _holds(self, path: list[str]) -> bool:
        return len(path) > len(self.path) and tuple(path[: len(self.path)]) == self.path


def _mail(stored: _Stored, *, depth: int) -> EmailMessage:
    mail = EmailMessage()
    heads = {"Subject": stored.text(SUBJECT), "From": _person(stored, SENDER, SENDER_MAILS)}
    for one in stored.below("__recip_version1.0_"):
        if field := LISTS.get(one.number(KIND)):
            heads[field] = ", ".join(filter(None, (heads.get(field), _person(one, NAME, MAILS))))
    for field, said in heads.items():
        if line := " ".join(said.replace("\0", "").split()):
            mail[field] = line
    if moment := stored.number(SENT) or stored.number(RECEIVED):
        mail["Date"] = EPOCH + timedelta(microseconds=moment // 10)
    _say(mail, stored)
    for attached in [one for one in stored.below("__attach_version1.0_") if not one.number(HIDDEN)][:MAX_ATTACHED]:
        _attach(mail, attached, depth)
    return mail


def _person(stored: _Stored, name: str, mails: tuple[str, ...]) -> str:
    """As a head of a mail has it; an address within an organisation, which is a path, is left out."""
    said, mail = stored.text(name).replace('"', ""), stored.text(*mails)
    return f'"{said}" <{mail}>' if "@" in mail and said != mail else mail if "@" in mail else f'"{said}" <>' if said else ""


def _say(mail: EmailMessage, stored: _Stored) -> None:
    """Its text, else its HTML, else its rich text, which is attached."""
    html = stored.stream(f"__substg1.0_{HTML}{BINARY}") or stored.text(HTML).encode()
    mail.set_content(stored.text(BODY))
    if not mail.get_content().strip() and html:
        mail.set_content(html, maintype="text", subtype="html")
    elif not mail.get_content().strip() and (rich := stored.stream(f"__substg1.0_{RICH}{BINARY}")):
        mail.add_attachment(unpacked(rich), maintype="application", subtype="rtf", filename="text.rtf")


def unpacked(data: bytes) -> bytes:
    """Rich text as it was before Outlook packed it ([MS-OXRTFCP]): bytes, and references to the last 4,096 of them."""
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


def _attach(mail: EmailMessage, attached: _Stored, depth: int) -> None:
    name = attached.text(*FILE_NAMES) or attached.text(NAME)
    inside = _Stored(attached.file, (*attached.path, f"__substg1.0_{DATA}{OBJECT}"))
    if inside.stream("__properties_version1.0") is not None and depth < MAX_DEPTH:
        mail.add_attachment(_mail(inside, depth=depth + 1), filename=f"{inside.text(SUBJECT) or name or 'message'}.eml")
    elif raw := attached.stream(f"__substg1.0_{DATA}{BINARY}"):
        mail.add_attachment(raw, maintype="application", subtype="octet-stream", filename=name or "attachment")
