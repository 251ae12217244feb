"""A mail's tree (MIME, RFC 2045-2049): which parts are its text, and which are attached."""

from __future__ import annotations

import binascii
import codecs
import quopri
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from email.message import Message
from itertools import groupby

from edge_node.documents.blocks import Block, TextBlock
from edge_node.documents.grids import Grid
from edge_node.documents.text import suffix
from edge_node.plugins.parsers.charsets import decoded
from edge_node.plugins.parsers.content_lines import calendar_blocks
from edge_node.plugins.parsers.parts import Inside
from edge_node.plugins.parsers.plain import paragraphs
from edge_node.plugins.parsers.wrapping import unwrapped
from shared.errors import UnreadableDocument

UNREAD = "part_unread"
MIN_FULL = 0.8  # of the words of the fullest alternative: a later one with so many is as full
_SUFFIXES = {  # of parts that have no name, or a name without one
    "application/json": ".json",
    "application/msword": ".doc",
    "application/pdf": ".pdf",
    "application/rtf": ".rtf",
    "application/zip": ".zip",
    "image/jpeg": ".jpg",
    "image/png": ".png",
    "image/tiff": ".tif",
    "message/rfc822": ".eml",
    "text/calendar": ".ics",
    "text/csv": ".csv",
    "text/directory": ".vcf",
    "text/html": ".html",
    "text/markdown": ".md",
    "text/plain": ".txt",
    "text/rtf": ".rtf",
    "text/vcard": ".vcf",
    "text/x-vcard": ".vcf",
}
_BODY_KINDS = "text/html text/plain text/enriched text/richtext text/rfc822-headers"
_BODIES = frozenset(_BODY_KINDS.split())
_CALENDARS = frozenset({"application/ics", "text/calendar"})
_UNSEEN_KINDS = """
application/applefile application/pgp-encrypted application/pgp-keys application/pgp-signature
application/pkcs7-signature application/x-pkcs7-signature
text/css text/javascript text/watch-html text/x-amp-html
"""
_UNSEEN = frozenset(_UNSEEN_KINDS.split())  # what a mail program shows nobody
_ENCODED_WORD = re.compile(r"=\?([^?\s*]{1,60})(?:\*[^?\s]*)?\?([bBqQ])\?([^?]*)\?=")
_BETWEEN_WORDS = re.compile(r"(?<=\?=)[ \t\r\n]+(?==\?[^?\s]{1,60}\?[bBqQ]\?)")
_FOLD = re.compile(r"\r?\n[ \t]*")
_QUOTE = re.compile(r"^(?:> ?)+")
_WORD = re.compile(r"\w+")
_URL = re.compile(r"<?https?://\S+")
_MARKUP = re.compile(r"<[^<>]{0,200}>")


@dataclass(frozen=True, slots=True)
class Attachment:
    """A part with a name. ``is_inline``: the text shows it, as a letterhead's picture."""

    name: str
    data: bytes
    is_inline: bool = False


@dataclass
class MailBody:
    """What a tree of parts holds: fill it with ``read``."""

    inside: Inside
    attachments: list[Attachment] = field(default_factory=list)
    shortfalls: list[tuple[str, str]] = field(default_factory=list)
    calendars: list[Block] = field(default_factory=list)
    has_text: bool = False  # so that a text with a name is an attachment

    def read(self, part: Message) -> list[Block]:
        """The text of a part, of several alternatives the fullest; what is attached is noted."""
        kind = part.get_content_type()
        if kind in _UNSEEN:
            return []
        if not part.is_multipart():
            return self._leaf(part, kind)
        children = [child for child in part.get_payload() if isinstance(child, Message)]
        match kind:
            case "multipart/alternative":
                return self._fullest(children)
            case "multipart/encrypted":
                self.shortfalls.append((UNREAD, "The text of the mail is encrypted."))
                return []
            case "message/rfc822":
                self._attach_mail(part, children)
                return []
            case "message/delivery-status":
                return [TextBlock("paragraph", _fields(child)) for child in children]
            case _:
                return [block for child in children for block in self.read(child)]

    def _fullest(self, parts: list[Message]) -> list[Block]:
        """The last alternative, the richest, of those that have about as many words as any.

        What is not well read in the words of the others is not reported.
        """
        alternatives = list[tuple[list[Block], list[tuple[str, str]]]]()
        for part in parts:
            start = len(self.shortfalls)
            self.has_text = False
            blocks = self.read(part)
            alternatives.append((blocks, self.shortfalls[start:]))
            del self.shortfalls[start:]
        counts = [_count_words(blocks) for blocks, _ in alternatives]
        least = MIN_FULL * max(counts, default=0)
        chosen = max((at for at, count in enumerate(counts) if 0 < count >= least), default=-1)
        for at, (_, shortfalls) in enumerate(alternatives):
            is_shown = at == chosen or not counts[at]
            self.shortfalls += [each for each in shortfalls if is_shown or each[0] == UNREAD]
        return alternatives[chosen][0] if chosen >= 0 else []

    def _leaf(self, part: Message, kind: str) -> list[Block]:
        data = part.get_payload(decode=True)
        if not isinstance(data, bytes) or not data.strip():
            return []
        name = _file_name(part)
        if kind in _CALENDARS and self._has_calendar(data, part):
            return []
        is_attached = part.get_content_disposition() == "attachment" or (name and self.has_text)
        is_text = kind in _BODIES or kind.startswith("multipart/")  # one whose parts nobody parted
        if is_text and not is_attached:
            self.has_text = True
            return self._text(part, data)
        self._attach(part, name, data)
        return []

    def _attach(self, part: Message, name: str, data: bytes) -> None:
        kind = part.get_content_type()
        name = name or f"attachment {len(self.attachments) + 1}"
        name = name if suffix(name) else name + _SUFFIXES.get(kind, "")
        label = str(part.get_content_charset() or "")
        if label and kind.startswith("text/"):
            data, lost = _in_utf8(data, label)
            self.shortfalls += [(code, f"{name}: {message}") for code, message in lost]
        is_inline = part.get_content_disposition() != "attachment" and "Content-ID" in part
        is_picture = part.get_content_maintype() == "image"
        self.attachments.append(Attachment(name, data, is_inline=is_inline and is_picture))

    def _attach_mail(self, part: Message, children: list[Message]) -> None:
        for child in children:
            title = _file_name(part) or header(child, "Subject")
            name = title or f"attachment {len(self.attachments) + 1}"
            name = name if suffix(name) == ".eml" else f"{name}.eml"
            self.attachments.append(Attachment(name, child.as_bytes()))

    def _has_calendar(self, data: bytes, part: Message) -> bool:
        """Whether it is an invitation, which is noted once, however often it is attached."""
        try:
            source = decoded("", data, str(part.get_content_charset() or ""))
        except UnreadableDocument:
            return False
        blocks = list(calendar_blocks(source.text))
        if others := [block for block in blocks if block not in self.calendars]:
            self.calendars += others
            self.shortfalls += source.shortfalls
        return bool(blocks)

    def _text(self, part: Message, data: bytes) -> list[Block]:
        label = str(part.get_content_charset() or "")
        try:
            if part.get_content_subtype() == "html":
                page, lost = _in_utf8(data, label) if label else (data, ())
                document = self.inside("mail.html", page)
                self.shortfalls += [*lost, *document.shortfalls]
                return list(document.blocks)
            source = decoded("mail.txt", data, label)
        except UnreadableDocument as error:
            if error.reason != "empty":
                self.shortfalls.append((UNREAD, f"text of the mail: {error.message}"))
            return []
        self.shortfalls += source.shortfalls
        text = source.text.replace("\r\n", "\n").replace("\r", "\n")
        if part.get_content_subtype() in ("enriched", "richtext"):
            return list(paragraphs(_MARKUP.sub("", text)))
        if str(part.get_param("format", "")).lower() == "flowed":
            text = flowed(text, is_deleting=str(part.get_param("delsp", "")).lower() == "yes")
        return list(paragraphs("\n".join(_unquoted_lines(text))))


def _count_words(blocks: list[Block]) -> int:
    texts = list[str]()
    for block in blocks:
        match block:
            case TextBlock():
                texts.append(block.text)
            case Grid():
                texts += [cell.text for row in block.slots for cell in row]
    return len(_WORD.findall(_URL.sub("", "\n".join(texts))))


def _in_utf8(data: bytes, label: str) -> tuple[bytes, tuple[tuple[str, str], ...]]:
    """A text as any parser of its format reads it, whatever it says of its encoding.

    With it what is to be reported of characters that are lost.
    """
    try:
        source = decoded("", data, label)
    except UnreadableDocument:
        return data, ()
    return codecs.BOM_UTF8 + source.text.encode("utf-8", errors="replace"), source.shortfalls


def _unquoted_lines(text: str) -> Iterator[str]:
    """Wrapped lines on one, those of earlier mails behind one mark of quotation."""
    for mark, lines in groupby(text.split("\n"), key=_quotation):
        if not mark:
            yield unwrapped("\n".join(lines))
            continue
        bare = "\n".join(_QUOTE.sub("", line) for line in lines)
        yield from (f"{mark} {line}".rstrip() for line in unwrapped(bare).split("\n"))


def _quotation(line: str) -> str:
    found = _QUOTE.match(line)
    return found.group().replace(" ", "") if found else ""


def flowed(text: str, *, is_deleting: bool) -> str:
    r"""Lines of ``format=flowed`` (RFC 3676) joined: one that ends in a blank goes on.

    >>> flowed("The pump \nstands here.\n> Where \n> is it?\n-- \nMira", is_deleting=False)
    'The pump stands here.\n> Where is it?\n-- \nMira'
    """
    lines = list[str]()
    before = None  # the quotation of the line that goes on
    for line in text.split("\n"):
        mark = _quotation(line)
        content = line[len(mark) :] if line.startswith(mark) else _QUOTE.sub("", line)
        content = content.removeprefix(" ")
        is_open = content.endswith(" ") and content != "-- "
        piece = content[:-1] if is_open and is_deleting else content
        if before == mark and content != "-- ":
            lines[-1] += piece
        else:
            lines.append(f"{mark} {piece}" if mark else piece)
        before = mark if is_open else None
    return "\n".join(lines)


def _fields(message: Message) -> str:
    return "\n".join(f"{name}: {_shown(str(value))}" for name, value in message.raw_items())


def header(message: Message, name: str) -> str:
    """A field of a mail's head as its reader sees it, on one line; "" if it has none."""
    values = [value for key, value in message.raw_items() if key.lower() == name.lower()]
    return _shown(str(values[0])) if values else ""


def _shown(value: str) -> str:
    """Encoded words and bytes as characters, by the web's labels, else by a guess."""
    value = _FOLD.sub(" ", value)
    if not value.isascii():
        value = _characters(value.encode("utf-8", errors="surrogateescape"), "")
    value = _BETWEEN_WORDS.sub("", value)
    pieces = list[str]()
    end = 0
    for label, words in groupby(_ENCODED_WORD.finditer(value), key=_Run()):
        found = list(words)
        pieces.append(value[end : found[0].start()])
        raw = b"".join(_word_bytes(word[2].lower(), word[3]) for word in found)
        pieces.append(_characters(raw, label[1]))
        end = found[-1].end()
    return " ".join("".join([*pieces, value[end:]]).split())


class _Run:
    """A key of encoded words that follow one another in one encoding: together they are letters."""

    def __init__(self) -> None:
        self._end = -1
        self._number = 0
        self._label = ""

    def __call__(self, word: re.Match[str]) -> tuple[int, str]:
        label = word[1].lower()
        if word.start() != self._end or label != self._label:
            self._number += 1
        self._end, self._label = word.end(), label
        return self._number, label


def _word_bytes(form: str, text: str) -> bytes:
    raw = text.encode("ascii", errors="replace")
    if form == "q":
        return quopri.decodestring(raw, header=True)
    try:
        return binascii.a2b_base64(raw + b"=" * (-len(raw) % 4))
    except binascii.Error:
        return raw


def _characters(raw: bytes, label: str) -> str:
    try:
        return decoded("", raw, label).text
    except UnreadableDocument:
        return raw.decode("latin-1")


def _file_name(part: Message) -> str:
    """The name of an attachment, "" if it has none."""
    return _shown(part.get_filename() or "").replace("\\", "/").rsplit("/", 1)[-1]
