"""Mails (.eml, .msg, .mbox, .mht): who wrote what to whom, and what is attached."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from email import policy
from email.errors import MessageError
from email.message import Message
from email.parser import BytesParser
from functools import partial
from itertools import count
from typing import Any

from edge_node.documents.blocks import Block, ParsedDocument, TextBlock
from edge_node.documents.parsers import DAMAGED_OLE, Parser
from edge_node.documents.text import check_pages, stem
from edge_node.plugins.parsers.mime import Attachment, MailBody, header
from edge_node.plugins.parsers.outlook import MAX_ATTACHED, as_mail
from edge_node.plugins.parsers.parts import Inside, Parts
from shared.errors import UnreadableDocument
from shared.plural import counted

MAX_FIELD_CHARS = 4_000  # some hundred receivers
MAX_PARTS = 2_000  # of a mail: its parser takes half a millisecond for each
MAX_MAILS = 2_000  # of a mailbox
_FIELDS = ("From", "To", "Cc", "Bcc", "Date")
_TELLING = ("Subject", "Received", "Message-ID", "MIME-Version", "Content-Type", *_FIELDS)
_MAILBOX_LINE = re.compile(  # "From a@x.test Mon Mar  2 10:00:00 2026", with a zone or without
    rb"^From (?=[^\r\n]*\b\d{1,2}:\d\d\b)[^\r\n]*\b(?:19|20)\d\d"
    rb"(?: ?[+-]\d{4}| [A-Z]{3,4})?[ \t]*\r?\n",
    re.MULTILINE,
)
_BLANK_LINE = (b"\n\n", b"\n\r\n")
_SPACED_FIELD = re.compile(rb"^([!-9;-~]{1,60})[ \t]{1,60}:", re.MULTILINE)  # of old programs
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_ESCAPED_LINE = re.compile(rb"^>(>*From )", re.MULTILINE)


class _Policy(policy.Compat32):
    """Fields of a head as they came: they are decoded where they are shown."""

    def header_fetch_parse(self, name: str, value: str) -> str:  # noqa: ARG002
        return value


_AS_IS = _Policy()


def parse_mail(name: str, data: bytes, inside: Inside) -> ParsedDocument:
    """A mail's people and day, its text and what is attached; the title is the subject.

    Raises UnreadableDocument (``bad_mail``); what is wrong with one part is a shortfall.
    """
    try:
        mail = _parsed(name, data)
        if not any(_is_sound(mail.get(field)) for field in _TELLING):
            raise _unreadable(name)
        return _document(name, mail, inside)
    except (MessageError, *DAMAGED_OLE) as error:
        raise _unreadable(name) from error


def parse_message(name: str, data: bytes, inside: Inside) -> ParsedDocument:
    """The same of a message of Outlook (.msg)."""
    try:
        mail, unread = as_mail(data)
        return _document(name, mail, inside, unread)
    except (MessageError, *DAMAGED_OLE) as error:
        raise _unreadable(name) from error


def parse_mailbox(name: str, data: bytes, inside: Inside) -> ParsedDocument:
    """Each mail of a mailbox (.mbox). Raises UnreadableDocument."""
    starts = list(_mail_starts(data))
    if not starts or data[: starts[0].start()].strip():
        return parse_mail(name, data, inside)
    ends = [*(start.start() for start in starts[1:]), len(data)]
    parts = Parts(name)
    for number, (start, end) in enumerate(zip(starts, ends, strict=True), start=1):
        if number > MAX_MAILS:
            break
        mail = _ESCAPED_LINE.sub(rb"\1", data[start.end() : end])
        parts.add_part(f"mail {number}", partial(inside, f"mail {number}.eml", mail))
    if (others := len(starts) - MAX_MAILS) > 0:
        message = f"{counted(others, 'mail')} behind the first {MAX_MAILS:,} were not read."
        parts.shortfalls.append(("part_unread", message))
    return parts.document(stem(name))


def _mail_starts(data: bytes) -> Iterator[re.Match[bytes]]:
    """The lines that begin mails: behind a blank one, with a date; others are of a mail's text."""
    for line in _MAILBOX_LINE.finditer(data):
        before = data[max(0, line.start() - 3) : line.start()]
        if before.endswith(_BLANK_LINE) or not before.strip():
            yield line


def parse_web_archive(name: str, data: bytes, inside: Inside) -> ParsedDocument:
    """The page of a web archive (.mht), without its pictures. Raises UnreadableDocument."""
    try:
        mail = _parsed(name, data)
        body = MailBody(inside)
        blocks = body.read(mail)
    except (MessageError, *DAMAGED_OLE) as error:
        raise _unreadable(name) from error
    if not blocks:
        raise _unreadable(name)
    return ParsedDocument(tuple(blocks), header(mail, "Subject"), tuple(body.shortfalls))


def _unreadable(name: str) -> UnreadableDocument:
    step = "save it as .eml or PDF again"
    return UnreadableDocument(name, "bad_mail", "is not a readable mail", next_step=step)


def _is_sound(value: str | None) -> bool:
    """Whether a field is there, and is no noise; letters may be in any encoding."""
    return value is not None and _CONTROL.search(value) is None


def _parsed(name: str, data: bytes) -> Message:
    """A mail with the mails in it. Raises UnreadableDocument (``too_large``) for too many parts."""
    numbers = count(1)

    def part(**arguments: Any) -> Message:
        check_pages(name, next(numbers), unit="parts", most=MAX_PARTS)
        return Message(**arguments)

    head, blank, body = data.removeprefix(b"\xef\xbb\xbf").lstrip().partition(b"\n\r\n")
    if not blank:
        head, blank, body = head.partition(b"\n\n")
    head = _SPACED_FIELD.sub(rb"\1:", head)
    return BytesParser(part, policy=_AS_IS).parsebytes(head + blank + body)


def _document(
    name: str, mail: Message, inside: Inside, unread: Sequence[str] = ()
) -> ParsedDocument:
    """``unread``: what is to be reported of attachments that hold no file."""
    subject = header(mail, "Subject")
    body = MailBody(inside)
    text = body.read(mail)
    has_more = subject or text or body.calendars or body.attachments
    if body.shortfalls and not has_more:  # of a text that is none
        raise _unreadable(name)
    parts = Parts(name)
    parts.add([*_head(mail, subject), *text, *body.calendars])
    parts.shortfalls += [*body.shortfalls, *(("part_unread", message) for message in unread)]
    for attachment in body.attachments[:MAX_ATTACHED]:
        parts.add_part(attachment.name, partial(_parsed_part, attachment, inside))
    if (others := len(body.attachments) - MAX_ATTACHED) > 0:
        verb = "was" if others == 1 else "were"
        message = f"{counted(others, 'attachment')} behind the first {MAX_ATTACHED} {verb} not read"
        parts.shortfalls.append(("part_unread", message))
    return parts.document(subject or stem(name))


def _head(mail: Message, subject: str) -> Iterator[Block]:
    if subject:
        yield TextBlock("heading", subject, 1)
    values = [(field, _short(header(mail, field))) for field in _FIELDS]
    if lines := [f"{field}: {value}" for field, value in values if value]:
        yield TextBlock("paragraph", "\n".join(lines))


def _short(value: str) -> str:
    """A field without the signs of an address that is not stated, and not beyond reason."""
    return value.replace(" <>", "")[:MAX_FIELD_CHARS]


def _parsed_part(attachment: Attachment, inside: Inside) -> ParsedDocument:
    try:
        return inside(attachment.name, attachment.data)
    except UnreadableDocument as error:
        if attachment.is_inline and error.reason == "empty":
            return ParsedDocument(())  # a picture without words
        raise


MAIL = Parser("mail", 4, parse_parts=parse_mail, media_types={".eml": "message/rfc822"})
MAILBOX = Parser("mailbox", 2, parse_parts=parse_mailbox, media_types={".mbox": "application/mbox"})
MESSAGE = Parser(
    "msg",
    3,
    parse_parts=parse_message,
    streams=("__substg1.0_",),
    media_types={".msg": "application/vnd.ms-outlook"},
)


def _is_web_archive(start: bytes) -> bool:
    return b"\ncontent-type: multipart/related" in start.lower()


WEB_ARCHIVE = Parser(
    "web archive",
    2,
    parse_parts=parse_web_archive,
    guess=_is_web_archive,
    media_types={
        ".mht": "multipart/related",
        ".mhtml": "multipart/related",
    },
)
