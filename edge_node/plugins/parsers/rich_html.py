"""HTML that Outlook has wrapped in rich text ([MS-OXRTFEX]), unwrapped again."""

from __future__ import annotations

import re
from codecs import BOM_UTF8

MAX_HEAD = 2_000  # bytes before the fonts
_TOKEN = re.compile(
    rb"\\u(-?\d{1,6}) ?(?:\\'[0-9a-fA-F]{2}|[^\\{}])?"  # a letter, and one for old readers
    rb"|\\([a-zA-Z]{1,32})(-?\d{1,10})? ?"  # a word with its number
    rb"|((?:\\'[0-9a-fA-F]{2})+)"  # letters by their code
    rb"|(\\\*|[{}])"
    rb"|\\([^a-zA-Z])"
    rb"|([^\\{}\r\n]+)"
)
_WORDS = {
    b"par": "\r\n",
    b"line": "\r\n",
    b"tab": "\t",
    b"lquote": "‘",
    b"rquote": "’",
    b"ldblquote": "“",
    b"rdblquote": "”",
    b"bullet": "•",
    b"endash": "–",
    b"emdash": "—",
}
_SIGNS = {b"~": "\xa0", b"_": "-", b"-": "\xad"}
_SKIPPED = frozenset({b"fonttbl", b"colortbl", b"stylesheet", b"info", b"pntext"})


def is_wrapped_html(rich: bytes) -> bool:
    """Whether rich text stands for HTML."""
    return b"\\fromhtml" in rich[:MAX_HEAD]


def unwrapped_html(rich: bytes) -> bytes:
    r"""The HTML, in UTF-8 with its mark.

    Groups ``{\*\htmltag ...}`` are its tags; what stands between ``\htmlrtf`` and ``\htmlrtf0`` is
    for readers of rich text.

    >>> unwrapped_html(rb"{\rtf1\fromhtml1{\*\htmltag <b>}\htmlrtf {\b \htmlrtf0 5\'96{}10}")[3:]
    b'<b>5\xe2\x80\x9310'
    """
    page = re.search(rb"\\ansicpg(\d{3,5})", rich[:MAX_HEAD])
    encoding = f"cp{page.group(1).decode()}" if page else "cp1252"
    pieces = list[str]()
    depth = skipped = 0  # how many groups are open; which of them holds no text
    is_starred = is_for_rich = False
    for letter, word, number, codes, mark, sign, text in _TOKEN.findall(rich):
        if mark == b"{":
            depth += 1
        elif mark == b"}":
            skipped = 0 if skipped == depth else skipped
            depth -= 1
        elif word == b"htmlrtf":
            is_for_rich = number != b"0"
        elif not skipped and (word in _SKIPPED or (is_starred and word != b"htmltag")):
            skipped = depth
        elif not (skipped or is_for_rich or mark):
            pieces.append(_piece(letter, word, codes, sign, text, encoding))
        is_starred = mark == b"\\*"
    return BOM_UTF8 + "".join(pieces).encode("utf-8", errors="replace")


def _piece(
    letter: bytes, word: bytes, codes: bytes, sign: bytes, text: bytes, encoding: str
) -> str:
    if letter:
        return chr(int(letter) % 0x10000)
    if word:
        return _WORDS.get(word, "")
    if codes:
        return bytes.fromhex(codes.replace(rb"\'", b"").decode()).decode(encoding, "replace")
    if sign:
        return _SIGNS.get(sign, sign.decode("latin-1"))
    return text.decode(encoding, "replace")
