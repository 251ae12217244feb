"""A text as a search for what is masked reads it: without accents, markup and what is invisible (goal P5)."""

from __future__ import annotations

import html
import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import unquote

_LINE_END = r"[^\S\n]*+\n\s*+"  # with blanks around it; possessive, so that no run of white space is looked at twice
_PIECE = re.compile(
    r"(?P<entity>&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z]{2,8});)"
    rf"|(?P<joined>-{_LINE_END}(?=[a-z])|(?<=-){_LINE_END}(?=\d)|(?<=@){_LINE_END}|{_LINE_END}(?=@)"  # what the end of a line cuts
    r"|\*{1,3}|\\(?=[^\w\s]))"  # Markdown
    r"|(?P<percent>(?:%[0-9A-Fa-f]{2}){1,12})"  # of an address
    r"|(?P<inline></?(?:b|em|font|i|mark|small|span|strong|u)(?:\s[^<>\n]{0,200})?>)"
    r"|(?P<tag></?[A-Za-z][^<>\n]{0,200}>)"
    r"|(?P<space>\s+)"
    r"|(?P<character>.)",
    re.DOTALL,
)
_PLAIN = re.compile(r"(?:[^\W_]|[.,;:!?@/#()'\"-]| (?! ))*", re.ASCII)  # most texts: nothing here means anything else
# Cyrillic, Greek and Armenian letters that are drawn as Latin ones
_LOOKS_LIKE = str.maketrans(
    "АВЕЅІЈКМНОРСТУХԚԜаеіјорсухѕԛԝһԁΑΒΕΖΗΙΚΜΝΟΡΤΥΧοαινρυՕՍՏԼօսհոյցզ",
    "ABESIJKMHOPCTYXQWaeijopcyxsqwhdABEZHIKMNOPTYXoaivpuOUSLouhnjgq",
)


@dataclass(frozen=True, slots=True)
class Shadow:
    """``text`` to be searched, and for each of its characters where what it stands for begins and ends in the original."""

    text: str
    places: tuple[tuple[int, int], ...] | None  # None: the same as in the original

    @classmethod
    def of(cls, original: str, *, joined: bool = False) -> Shadow:
        r"""Compatibility forms become plain ones, digits 0-9, dashes "-", white space one blank; accents and what is invisible go.

        A tag is a blank; ``joined``: one inside a line, as <b>, is nothing.

        >>> Shadow.of("4111\u00ad **1111**, Nightin-\ngale").text
        '4111 1111, Nightingale'
        """
        if _PLAIN.fullmatch(original):
            return cls(original, None)
        text, places = list[str](), list[tuple[int, int]]()
        for piece in _PIECE.finditer(original):
            for character in "" if joined and piece["inline"] else _meant(piece):
                text.append(character)
                places.append(piece.span())
        return cls("".join(text), tuple(places))

    @classmethod
    def readings(cls, original: str) -> list[Shadow]:
        """A text as its words are written, and, where a tag inside a line may cut one, as they are read."""
        apart = cls.of(original)
        return [apart, cls.of(original, joined=True)] if "<" in original and ">" in original else [apart]

    def place(self, start: int, end: int) -> tuple[int, int]:
        """Where [start, end) of ``text`` stands in the original; never empty for what is not."""
        if self.places is None or start >= end:
            return start, end
        return self.places[start][0], self.places[end - 1][1]


def _meant(piece: re.Match[str]) -> str:
    if piece["joined"]:
        return ""
    if piece["space"] or piece["tag"] or piece["inline"]:
        return " "
    if piece["percent"]:
        return "".join(map(plain_letters, unquote(piece["percent"])))
    if piece["entity"]:
        return "".join(map(plain_letters, html.unescape(piece["entity"])))
    return plain_letters(piece["character"])


@lru_cache(4_096)
def plain_letters(character: str) -> str:
    """What one character means."""
    category = unicodedata.category(character)
    if category == "Nd":
        return str(unicodedata.decimal(character))
    if category == "Pd" or character == "\u2212":
        return "-"
    if category in {"Cf", "Mn", "Me"}:
        return ""
    whole = unicodedata.normalize("NFKD", character.translate(_LOOKS_LIKE))
    return "".join(part for part in whole if not unicodedata.combining(part))
