"""Mails (.eml, .msg): who wrote what to whom, and what is attached."""

from __future__ import annotations

from collections.abc import Iterator
from email import message_from_bytes, policy
from email.errors import MessageError
from email.message import EmailMessage

from edge_node.documents.readers.archive import Inner, joined
from edge_node.documents.readers.extracted import extracted, paged
from edge_node.documents.readers.text import ReadText, stem
from shared.errors import UnreadableDocument

MAX_ATTACHED = 200
MAX_HEAD_CHARS = 4_000  # of one head: some hundred receivers
_SAID = ("From", "To", "Cc", "Date")
_DAMAGED = (MessageError, LookupError, ValueError, TypeError, AttributeError, RecursionError)  # the standard parser's, on hostile headers


def read_mail(name: str, data: bytes, inner: Inner) -> ReadText:
    """Return a mail's sender, receivers, day, text and attachments, each below its name; the title is the subject.

    The plain text is taken, else the HTML. Raises UnreadableDocument: ``bad_mail``, or as ``joined``.
    """
    bad = UnreadableDocument(name, "bad_mail", "is not a readable mail", next_step="save it as .eml or PDF again")
    try:
        mail = message_from_bytes(data, policy=policy.default)
        if not isinstance(mail, EmailMessage) or not any(mail[field] for field in ("From", "Subject", "Received")):
            raise bad
        subject, heads = str(mail["Subject"] or ""), [f"{field}: {mail[field]}"[:MAX_HEAD_CHARS] for field in _SAID if mail[field]]
        text, attached = _body(mail, inner), list(_attached(mail))
    except _DAMAGED as error:
        raise bad from error
    return joined(name, subject or stem(name), _whole(subject, heads, text), attached, inner)


def read_msg(name: str, data: bytes) -> ReadText:
    """Return an Outlook message's text; attachments are named as shortfalls. Raises UnreadableDocument: ``encrypted``, ``bad_mail``."""
    found = extracted(name, data, "application/vnd.ms-outlook", bad="bad_mail")
    told = found.metadata
    subject = str(told.get("subject") or "")
    attached = [str(one) for one in told.get("attachments") or ()][:MAX_ATTACHED]
    shortfalls = [("part_unread", f"the attachment {one} was not read: add it as a file") for one in attached]
    return ReadText(subject or stem(name), "\n".join(paged(found.content).values()), shortfalls=tuple(shortfalls))


def _whole(subject: str, heads: list[str], text: str) -> str:
    return "\n\n".join(filter(None, (f"# {subject}" if subject else "", "\n".join(heads), text)))


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
