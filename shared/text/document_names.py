"""The name of a document: what a person sees of it is all that it is. Pure."""

from __future__ import annotations

import re
import unicodedata

from shared.errors import InputError
from shared.wire import MAX_NAME_CHARS

# Default_Ignorable_Code_Point of Unicode 16, and what looks like a blank: characters without a shape.
_SHAPELESS = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_CATEGORIES = frozenset(("Cc", "Cf", "Cs"))  # controls, formats, halves of surrogate pairs


def visible(text: str) -> str:
    r"""A name, or a part of one, as it is compared: composed (NFC), in one line, without characters that cannot be seen.

    >>> visible("Ku\u0308hl\u00adraum\u2028\u202e.txt") == "Kühlraum .txt", visible("a\xa0b\t\r\nc")
    (True, 'a b c')
    """
    if text.isascii() and text.isprintable():
        return text
    line = re.sub(r"[\t\n\v\f\r\x1c-\x1f\x85\u2028\u2029]+", " ", text)
    shaped = (" " if unicodedata.category(char) == "Zs" else char for char in _SHAPELESS.sub("", line))
    return unicodedata.normalize("NFC", "".join(char for char in shaped if unicodedata.category(char) not in _CATEGORIES))


def document_name(text: str) -> str:
    r"""The name that a document gets for the one that was sent.

    Raises InputError where nothing of it can be seen, or too much, and for a null character, at which other programs would cut it.

    >>> document_name(" notes/pl\u200ban.txt\n")
    'notes/plan.txt'
    """
    if "\0" in text:
        raise InputError("the document's name holds a null character", next_step="give a file name")
    name = visible(text).strip()
    if not name:
        raise InputError("the document's name has no character that can be seen", next_step="give it a name such as 'report.pdf'")
    if len(name) > MAX_NAME_CHARS:
        raise InputError(f"the document's name has more than {MAX_NAME_CHARS} characters", next_step="give it a shorter one")
    return name


def is_as_seen(name: str) -> bool:
    """Whether a stored name is as ``document_name`` makes it."""
    return name != "" and visible(name).strip() == name


def as_seen(text: str) -> str:
    """As ``document_name``; a name that it refuses stays as it is, and is refused with its document."""
    try:
        return document_name(text)
    except InputError:
        return text
