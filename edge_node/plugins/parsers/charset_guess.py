"""Which old encoding bytes without a label are in: the one that gives words of a language."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

SAMPLE_BYTES = 16_384
MIN_SCORE = 0.5  # of 1, for each character beyond ASCII
_WESTERN = ("cp1252", "cp850", "mac_roman", "iso8859_15", "cp437")
_CENTRAL = ("cp1250", "iso8859_2", "cp852", "mac_latin2")
_CYRILLIC = ("cp1251", "koi8_u", "cp866", "mac_cyrillic", "iso8859_5", "cp855")
_CHINESE = ("gb18030", "big5hkscs")
_LATIN = (  # letters beyond ASCII of a language, and the encodings that it was written in
    ("äöüß", _WESTERN),
    ("éèàçêâîôûëïùœæ", _WESTERN),
    ("áéíóúñü¿¡ºª", _WESTERN),
    ("áâãàçéêíóôõúüºª", _WESTERN),
    ("àèéìòù", _WESTERN),
    ("åäöæøéü", _WESTERN),
    ("çğıöşüİâîû", ("cp1254", "cp857", "mac_turkish")),
    ("áðéíóúýþæö", _WESTERN),
    ("ąćęłńóśźż", _CENTRAL),
    ("áčďéěíňóřšťúůýžäôľĺŕ", _CENTRAL),
    ("áéíóöőúüű", _CENTRAL),
    ("ăâîşţ", _CENTRAL),
    ("čćđšž", _CENTRAL),
    ("āčēģīķļņšūžąęėįųõäöü", ("cp1257",)),
)
_CYRILLIC_LETTERS = (
    ("оеаинт", 1.0),
    ("срвлкмдпуі", 0.9),
    ("яыьгзбчйх", 0.75),
    ("жшюцщэфъёєїґ", 0.5),
)
_GREEK = "αβγδεζηθικλμνξοπρσςτυφχψω"
_ACCENTED_GREEK = "άέήίόύώϊϋΐΰ"
_HEBREW = "".join(map(chr, range(0x5D0, 0x5EB)))
_COMMON_HEBREW = "יוהלאתרמבשםנעדחכק"
_ARABIC = "".join(map(chr, range(0x621, 0x64B)))
_COMMON_ARABIC = "اليمونرتهبعدسفكقحأة"
_THAI = "".join(map(chr, range(0xE01, 0xE5B)))
_SIGNS = frozenset("€‘’‚“”„‹›–—…«»°§£©®½¼¾²³·•µ×±†™№\xa0\xad")
_FRAMES = frozenset(map(chr, range(0x2500, 0x25A0)))
_IN_WORDS = frozenset("’·\xad")


@dataclass(frozen=True, slots=True)
class _Alphabet:
    """What a character is worth in a language, from -1.5 to 1.2, and the encodings to try."""

    worth: dict[str, float]
    encodings: tuple[str, ...]
    is_latin: bool = False


def guessed_encoding(data: bytes) -> str:
    """Python's name of the likeliest encoding that is neither ASCII nor of Unicode; else "".

    >>> guessed_encoding("Kühlraum der Gärtnerei".encode("mac_roman"))
    'mac_roman'
    """
    sample = _sample(data)
    scores = [(score, encoding) for encoding, score in _scores(sample)]
    best, encoding = max(scores, key=lambda pair: pair[0])
    return encoding if best >= MIN_SCORE else ""


def _sample(data: bytes) -> bytes:
    """The first lines that hold more than ASCII."""
    lines = list[bytes]()
    length = 0
    for line in data.split(b"\n"):
        if not line.isascii():
            lines.append(line[:SAMPLE_BYTES])
            length += len(line)
        if length > SAMPLE_BYTES:
            break
    return b"\n".join(lines)


def _scores(sample: bytes) -> Iterator[tuple[str, float]]:
    """Each encoding with its score in the language that it fits best; likelier ones first."""
    for alphabet in _ALPHABETS:
        for encoding in alphabet.encodings:
            yield encoding, _score(sample.decode(encoding, errors="replace"), alphabet)
    for encoding in ("cp932", "euc_jp", "cp949", *_CHINESE):
        yield encoding, _east_asian_score(sample.decode(encoding, errors="replace"), encoding)


def _alphabets() -> Iterator[_Alphabet]:
    for letters, encodings in _LATIN:
        yield _Alphabet(_cased(letters, 1.0), encodings, is_latin=True)
    cyrillic = dict[str, float]()
    for letters, worth in _CYRILLIC_LETTERS:
        cyrillic |= _cased(letters, worth)
    yield _Alphabet(cyrillic, _CYRILLIC)
    greek = _cased(_GREEK, 0.7) | _cased(_ACCENTED_GREEK, 1.2)
    yield _Alphabet(greek, ("cp1253", "iso8859_7", "cp737"))
    hebrew = _cased(_HEBREW, 0.7) | _cased(_COMMON_HEBREW, 1.0)
    yield _Alphabet(hebrew, ("cp1255", "cp862"))
    arabic = _cased(_ARABIC, 0.5) | _cased(_COMMON_ARABIC, 0.9)
    yield _Alphabet(arabic, ("cp1256", "iso8859_6"))
    yield _Alphabet(_cased(_THAI, 0.85), ("cp874",))


def _cased(letters: str, worth: float) -> dict[str, float]:
    return dict.fromkeys(letters + letters.upper().replace("SS", ""), worth)


_ALPHABETS = tuple(_alphabets())


def _score(text: str, alphabet: _Alphabet) -> float:
    """The mean worth of the characters beyond ASCII, each seen between its neighbours."""
    total = count = 0.0
    padded = f" {text} "
    for at, character in enumerate(text, start=1):
        if character <= "\x7f":
            continue
        count += 1
        total += _worth(padded[at - 1], character, padded[at + 1], alphabet)
    return total / count if count else 0.0


def _worth(before: str, character: str, after: str, alphabet: _Alphabet) -> float:
    is_inside = before.isalpha() and after.isalpha()
    if character in _SIGNS or character in _FRAMES:
        return -1.5 if is_inside and character not in _IN_WORDS else 0.6
    worth = alphabet.worth.get(character, -1.5)
    if not character.isalpha():
        return worth
    if not (before.isalpha() or after.isalpha()):
        return min(worth, 0.3)  # few letters beyond ASCII stand alone
    if (before.islower() and character.isupper()) or (character.islower() and after.isupper()):
        return -1.5
    is_mixed = any(each.isalpha() and each <= "\x7f" for each in (before, after))
    if not alphabet.is_latin:
        return -1.5 if is_mixed else worth
    return worth if is_mixed else min(worth, 0.3)


def _east_asian_score(text: str, encoding: str) -> float:
    """The mean worth of the characters beyond ASCII in Japanese, Korean or Chinese."""
    is_japanese = encoding in ("cp932", "euc_jp")
    total = count = 0.0
    padded = f" {text} "
    for at, character in enumerate(text, start=1):
        if character <= "\x7f":
            continue
        count += 1
        worth = _east_asian_worth(character, encoding, is_japanese=is_japanese)
        neighbours = padded[at - 1] + padded[at + 1]
        is_in_latin_word = any(each.islower() for each in neighbours)
        total += min(worth, 0.0) if is_in_latin_word else worth
    return total / count if count else 0.0


def _east_asian_worth(character: str, encoding: str, *, is_japanese: bool) -> float:
    if "\u3040" <= character <= "\u30ff":
        return 1.0 if is_japanese else 0.3
    if "\uac00" <= character <= "\ud7a3":
        return 0.95 if 0xB0 <= _lead_byte(character, "euc_kr") <= 0xC8 else -1.0
    if "\u3000" <= character <= "\u303f" or "\uff01" <= character <= "\uff5e":
        return 0.9
    if "\u4e00" <= character <= "\u9fff":
        return _worth_of_ideograph(character, encoding)
    return 0.1 if "\uff61" <= character <= "\uff9f" else -1.0


def _worth_of_ideograph(character: str, encoding: str) -> float:
    if encoding == "cp949":  # Korean is written with few of them
        return -0.2 if _lead_byte(character, "euc_kr") else -1.0
    return 0.9 if _is_common_ideograph(character, encoding) else -1.0


def _is_common_ideograph(character: str, encoding: str) -> bool:
    """Whether it is of the first level of its national standard."""
    match encoding:
        case "cp932" | "euc_jp":
            return 0xB0 <= _lead_byte(character, "euc_jp") <= 0xCF
        case "gb18030":
            return 0xB0 <= _lead_byte(character, "gb2312") <= 0xD7
        case "big5hkscs":
            return 0xA4 <= _lead_byte(character, "big5") <= 0xC6
        case _:
            return False


def _lead_byte(character: str, encoding: str) -> int:
    return (character.encode(encoding, errors="ignore") or b"\0")[0]
