"""Text that no viewer makes active: no link, image, HTML or address that can be followed; what they showed stays (goal S9)."""

from __future__ import annotations

import html
import re

from shared.text.fence import INVISIBLE

MAX_PASSES = 8  # each takes off one layer of markup that hides markup; nobody honest needs more
_TARGET = r"\([^()]{0,2000}(?:\([^()]{0,500}\)[^()]{0,500})?\)"
_BLANKED = str.maketrans(dict.fromkeys("&<[]:\\", " "))  # without these there is no markup
_BROKEN = (  # what is left of an open form is broken, so that nothing printed behind the text closes it
    (re.compile(r"<(?=[a-zA-Z/!?])"), "< "),
    (re.compile(r"\](?=\()"), "] "),
    (re.compile(r"\](?=:)"), "] "),  # the definition of a reference link
)


_REMOVED = (  # in this order, each until none is left: markup hidden in markup appears when the outer one goes
    (re.compile(r"&(?:#\d{1,8}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,32});"), lambda m: _unescaped(m[0])),
    (INVISIBLE, ""),
    (re.compile(rf"!\[([^\[\]]{{0,500}})\]{_TARGET}"), r"\1"),
    (re.compile(rf"\[(\d{{1,4}})\]{_TARGET}"), r"[\1]"),  # a linked marker is a marker
    (re.compile(rf"\[([^\[\]]{{0,500}})\]{_TARGET}"), r"\1"),
    (re.compile(r"<([a-zA-Z][a-zA-Z0-9+.-]{1,31}:[^<>\s]{0,2000})>"), r"\1"),  # <https://x> shows its address
    (re.compile(r"<([^<>\s@]{1,200}@[^<>\s@]{1,200})>"), r"\1"),
    (re.compile(r"<!--(?:(?!<!--).){0,5000}?-->|</?[a-zA-Z][^<>]{0,2000}>", re.DOTALL), ""),
    (re.compile(r"[a-z][a-z0-9+.-]{0,31}\\?:(?:\\?/){2,}|(?<![a-z0-9])www\\?\.(?=\w)", re.IGNORECASE), ""),
    (re.compile(r"(?:javascript|vbscript|livescript|mailto)\s{0,9}\\?:", re.IGNORECASE), ""),
    (re.compile(r"(?<![a-z])data\s{0,9}:(?=\s{0,9}[\w+.-]{1,40}/[\w+.-]{1,40}\s{0,9}[,;])", re.IGNORECASE), ""),
    (re.compile(r"\\(?=(?:href|url|includegraphics|html[a-zA-Z]+)\b)"), ""),
)


def inert(text: str) -> str:
    """Return text in which no link, image, HTML, address with a scheme or control character is left; what they showed stays.

    Idempotent. Addresses lose their scheme and "www.", entities become the characters that they stand for.

    >>> inert("See [the manual](http://x.example/a) <img src=x onerror=alert(1)> ![plan](p.png), https://www.y.example/b; 3 &lt; 5.")
    'See the manual  plan, y.example/b; 3 < 5.'
    """
    text, done = _peeled(text.encode("utf-8", "replace").decode("utf-8"))
    if not done:
        text, _ = _peeled(text.translate(_BLANKED))
    for pattern, replacement in _BROKEN:
        text = pattern.sub(replacement, text)
    return text


def _peeled(text: str) -> tuple[str, bool]:
    """Without the markup that so many passes find, and whether that is all."""
    for _ in range(MAX_PASSES):
        previous = text
        for pattern, replacement in _REMOVED:
            text = pattern.sub(replacement, text)
        if text == previous:
            return text, True
    return text, False


def _unescaped(entity: str) -> str:
    """The character of an entity; of one that nobody knows, its name, so that no viewer knows it either."""
    character = html.unescape(entity)
    return character.encode("utf-8", "replace").decode("utf-8") if character != entity else entity[1:-1]
