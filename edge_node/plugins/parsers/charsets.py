"""Which characters bytes stand for: by mark, by label as the web means it, else by a guess."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from itertools import islice

import webencodings
from charset_normalizer import from_bytes

from edge_node.documents.text import not_text
from edge_node.plugins.parsers.charset_guess import guessed_encoding
from shared.plural import counted

LOST = "\ufffd"  # what stands for bytes that are no character
_BOMS = (  # UTF-32 first: its little-endian mark begins with that of UTF-16
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
WESTERN = frozenset(
    "€‘’‚“”„…–—•«»°§£©®½·¡¿ªº\xa0ÄÖÜäöüßÀÁÂÃÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕØŒÙÚÛàáâãåæçèéêëìíîïñòóôõøœùúûÿ"
)
_MAX_CONTROL_SHARE = 0.01
_MAX_NUL_SHARE = 0.25  # of a text whose fields are filled up with NULs
_MIN_WIDE_SHARE = 0.02  # of NULs in UTF-16, for the blanks and line ends of any script
_ASCII = bytes(range(32, 127)) + b"\t\n\r"
_CONTROLS = bytes(code for code in range(1, 32) if code not in b"\t\n\r\x0b\x0c\x1a\x1b")
_SAMPLE = 65_536
_BEYOND = bytes(range(0x80, 0x100))
_MIN_ASCII = 0.7  # of a text that has a few bytes of no known encoding
# Python counts these among its encodings; no file is written in one of them.
_NO_CHARSETS = {"idna", "punycode", "undefined", "unicode-escape", "raw-unicode-escape"}
_MIN_SOUND = 4  # sound letters of UTF-8 to each bad byte: then it is UTF-8 that was damaged
_WIDE = ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be")
_BEYOND_ASCII = re.compile(rb"[\xc2-\xf4][\x80-\xbf]+")
_AS_WESTERN = re.compile(rb"[\xc2\xc3][\x80-\xbf]|\xe2[\x80-\x84][\x80-\xbf]")  # Ã¼, â€“
_ESCAPES = re.compile(rb"\x1b\$(?:\)C|[@B])")


@dataclass(frozen=True, slots=True)
class DecodedText:
    """Characters, Python's name of their encoding, and how many of them are lost (U+FFFD)."""

    text: str
    encoding: str
    lost: int = 0

    @property
    def shortfalls(self) -> tuple[tuple[str, str], ...]:
        """What a document says about the lost characters; nothing where there are none."""
        if not self.lost:
            return ()
        verb = "is" if self.lost == 1 else "are"
        return (("characters_lost", f"{counted(self.lost, 'character')} {verb} not readable."),)


def decoded(name: str, data: bytes, label: str = "") -> DecodedText:
    r"""The characters of ``data``; ``label`` is what its file or mail calls the encoding, or "".

    In this order: a byte order mark; UTF-8 where nearly all of it is valid; the label as the
    WHATWG's Encoding Standard means it; a guess. Raises UnreadableDocument (``not_text``) for
    bytes that stand for no text.

    >>> decoded("a.txt", "Zürich – £5".encode("cp1252"), "iso-8859-1").text
    'Zürich – £5'
    """
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return _as(encoding, data[len(mark) :])
    stated = python_encoding(label)
    utf8 = _as("utf-8", data)
    sound = list(islice(_BEYOND_ASCII.finditer(data), _MIN_SOUND))
    is_utf8 = not utf8.lost and len(sound) == _MIN_SOUND
    if not is_utf8 and (found := _by_wide_label(data, stated)):
        return found
    if encoding := _unmarked_wide(data) or _by_escapes(data):
        return _as(encoding, data)
    if _looks_binary(data):
        raise not_text(name)
    if not utf8.lost or _is_damaged_utf8(data, utf8.lost):
        return utf8
    if stated and not _is_multibyte(stated):
        return _as(stated, data)
    return _guessed(name, data)


def _by_wide_label(data: bytes, stated: str) -> DecodedText | None:
    """The text if a label of letters that take several bytes is true of the bytes."""
    if stated in _WIDE:
        return _as(stated, data) if b"\0" in data else None
    if not stated or stated.startswith("utf-") or not _is_multibyte(stated):
        return None
    found = _as(stated, data)
    return found if found.lost * _MIN_SOUND <= _beyond_ascii(found.text) else None


def python_encoding(label: str) -> str:
    """Python's name of the encoding that the web means by a label; "" for one that nobody knows.

    >>> python_encoding("iso-8859-1"), python_encoding(" Shift_JIS"), python_encoding("martian")
    ('cp1252', 'cp932', '')
    """
    label = label.encode("ascii", errors="ignore").decode()
    known = webencodings.lookup(label)
    return _python_codec(known.codec_info.name if known else "") or _python_codec(label.strip())


def _python_codec(name: str) -> str:
    """Python's name of an encoding; "" for those that only the web has, as "replacement"."""
    try:
        info = codecs.lookup(name)
    except (LookupError, ValueError):
        return ""
    return info.name if info._is_text_encoding and info.name not in _NO_CHARSETS else ""


def _as(encoding: str, data: bytes) -> DecodedText:
    text = data.decode(encoding, errors="replace")
    lost = text.count(LOST)
    if lost and encoding == "utf-8":
        lost -= data.count(LOST.encode())  # these stand in the file so
    return DecodedText(text, encoding, lost)


def _is_multibyte(encoding: str) -> bool:
    """Whether a letter beyond ASCII takes more than one byte."""
    if encoding.startswith(("utf-", "iso2022", "hz")):
        return True
    return len(bytes(range(0x80, 0x100)).decode(encoding, errors="replace")) < 0x80


def _beyond_ascii(text: str) -> int:
    return len(text) - len(text.encode("ascii", errors="ignore"))


def _is_damaged_utf8(data: bytes, lost: int) -> bool:
    """Whether bytes that are not quite UTF-8 are UTF-8 nevertheless: most letters are sound."""
    sound = sum(1 for _ in _BEYOND_ASCII.finditer(data))
    if sound >= _MIN_SOUND * lost or sum(1 for _ in _AS_WESTERN.finditer(data)) > lost:
        return True
    tail = codecs.getincrementaldecoder("utf-8")(errors="strict")
    try:
        tail.decode(data)
    except UnicodeDecodeError:
        return False
    pending = len(tail.getstate()[0])  # bytes of a letter that was cut at the end
    return sound > 0 or pending > 1


def _unmarked_wide(data: bytes) -> str:
    """The encoding of UTF-16 or UTF-32 without a mark, by where its NULs stand; else ""."""
    head = data[: _SAMPLE // 4 * 4]
    nuls = head.count(0)
    if not nuls or len(data) % 2:
        return ""
    for encoding, width, zero in (("utf-32-le", 4, 3), ("utf-32-be", 4, 0)):
        is_filled = len(data) % width == 0 and not any(head[zero::width])
        if is_filled and _is_sound(head, encoding):
            return encoding
    is_ascii = nuls == len(head.translate(None, _ASCII))
    share = _MAX_NUL_SHARE if is_ascii else _MIN_WIDE_SHARE  # half of ASCII as UTF-16 is NULs
    if nuls <= len(head) * share:
        return ""
    for encoding, zero in (("utf-16-le", 1), ("utf-16-be", 0)):
        if head[zero::2].count(0) == nuls and _is_sound(head, encoding):
            return encoding
    return ""


def _by_escapes(data: bytes) -> str:
    """The encoding of seven bits that shifts to other letters by escapes; else ""."""
    escape = _ESCAPES.search(data[:_SAMPLE])
    if escape is None or not data.isascii():
        return ""
    return "iso2022_kr" if escape.group() == b"\x1b$)C" else "iso2022_jp_ext"


def _is_sound(data: bytes, encoding: str) -> bool:
    text = data.decode(encoding, errors="replace")
    controls = sum(sign < " " and sign not in "\t\n\r" for sign in text)
    signs = sum(map(str.isprintable, text)) + text.count("\n") + text.count("\r")
    is_readable = signs >= 0.9 * len(text) or data.count(0) > 0.2 * len(data)
    return is_readable and not controls and LOST not in text[:-1]


def _looks_binary(data: bytes) -> bool:
    head = data[:_SAMPLE]
    if head.count(0) > _MAX_NUL_SHARE * len(head):
        return True
    return len(head) - len(head.translate(None, _CONTROLS)) > _MAX_CONTROL_SHARE * len(head)


def _guessed(name: str, data: bytes) -> DecodedText:
    if encoding := guessed_encoding(data):
        return _as(encoding, data)
    western = _as("cp1252", data)
    if WESTERN.issuperset(sign for sign in western.text if sign > "\x7f"):
        return western  # words of several languages, which none of them fits
    if guess := from_bytes(data).best():
        return _as(guess.encoding, data)
    letters = data[:_SAMPLE].translate(None, _BEYOND)
    if len(letters) < _MIN_ASCII * len(data[:_SAMPLE]):
        raise not_text(name)
    return _as("cp1252", data)
