"""Mails (.eml, .msg): who wrote what to whom, and what is attached."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from email import policy
from email.errors import MessageError
from email.message import EmailMessage, Message
from email.parser import BytesParser
from itertools import count
from typing import Any

from edge_node.documents.readers.archive import Inner, joined
from edge_node.documents.readers.lines import unwrapped
from edge_node.documents.readers.outlook import DAMAGED, MAX_ATTACHED, as_mail
from edge_node.documents.readers.text import ReadText, check_pages, stem
from shared.errors import UnreadableDocument

MAX_HEAD_CHARS = 4_000  # of one head: some hundred receivers
MAX_PARTS = 2_000  # of a mail: its parser takes half a millisecond for each
_SAID = ("From", "To", "Cc", "Date")


def read_mail(name: str, data: bytes, inner: Inner) -> ReadText:
    """Return a mail's sender, receivers, day, text and attachments, each below its name; the title is the subject.

    The plain text is taken, else the HTML. Raises UnreadableDocument: ``bad_mail``, or as ``joined``.
    """
    return _read(name, lambda: _parsed(name, data), inner)


def _parsed(name: str, data: bytes) -> Message:
    """A mail, with the mails in it. Raises UnreadableDocument (``too_large``) at the first part too many."""
    made = count(1)

    def part(**arguments: Any) -> EmailMessage:
        check_pages(name, next(made), unit="parts", most=MAX_PARTS)
        return EmailMessage(**arguments)

    return BytesParser(part, policy=policy.default).parsebytes(data)


def read_msg(name: str, data: bytes, inner: Inner) -> ReadText:
    """Return the same of a message of Outlook."""
    return _read(name, lambda: as_mail(data), inner)


def _read(name: str, parsed: Callable[[], object], inner: Inner) -> ReadText:
    bad = UnreadableDocument(name, "bad_mail", "is not a readable mail", next_step="save it as .eml or PDF again")
    try:
        mail = parsed()
        if not isinstance(mail, EmailMessage) or not any(mail[field] for field in ("From", "Subject", "Received")):
            raise bad
        subject, heads = str(mail["Subject"] or ""), [f"{field}: {mail[field]}"[:MAX_HEAD_CHARS] for field in _SAID if mail[field]]
        text, attached = _body(mail, inner), list(_attached(mail))
    except (MessageError, *DAMAGED) as error:
        raise bad from error
    found = joined(name, subject or stem(name), _whole(subject, heads, text), attached, inner)
    unread = sum(1 for _ in mail.iter_attachments()) - MAX_ATTACHED
    if unread <= 0:
        return found
    shortfall = ("part_unread", f"{unread} attachments were not read: only the first {MAX_ATTACHED} of a mail are")
    return replace(found, shortfalls=(*found.shortfalls, shortfall))


def _whole(subject: str, heads: list[str], text: str) -> str:
    return "\n\n".join(filter(None, (f"# {subject}" if subject else "", "\n".join(heads), unwrapped(text.replace("\r\n", "\n")))))


def _body(mail: EmailMessage, inner: Inner) -> str:
    part = mail.get_body(("plain", "html"))
    if part is None:
        return ""
    if part.get_content_subtype() == "html":
        raw = part.get_payload(decode=True)
        return inner("mail.html", raw).text if isinstance(raw, bytes) and raw.strip() else ""
    return str(part.get_content())


def _attached(mail: EmailMessage) -> Iterator[tuple[str, bytes]]:
    for number, part in enumerate(mail.iter_attachments(), start=1):
        if number > MAX_ATTACHED:
            return
        title = part.get_filename() or (f"attachment {number}.eml" if part.get_content_type() == "message/rfc822" else "")
        inside = part.get_payload(0) if part.get_content_type() == "message/rfc822" else None
        content = inside.as_bytes() if isinstance(inside, EmailMessage) else part.get_payload(decode=True)
        if title and isinstance(content, bytes):
            yield title, content
