"""Figures, dates and codes of a text as values: "1,250" is 1250, "5mg" is 5 mg, "27 April 2026" is 2026-04-27, "IS-200" is is200."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

UNITS = {
    "%": "%", "percent": "%", "prozent": "%", "°c": "°c", "µg": "µg", "μg": "µg", "mcg": "µg", "mg": "mg", "g": "g", "kg": "kg", "t": "t",
    "ml": "ml", "l": "l", "m³": "m³", "m3": "m³", "mm": "mm", "cm": "cm", "m": "m", "km": "km", "kw": "kw", "kwh": "kwh", "mwh": "mwh",
    "bar": "bar", "mbar": "mbar", "iu": "iu", "ie": "iu", "min": "min", "minute": "min", "minutes": "min", "minuten": "min", "h": "h",
    "hour": "h", "hours": "h", "stunde": "h", "stunden": "h", "second": "s", "seconds": "s", "sekunden": "s", "day": "day", "days": "day",
    "tag": "day", "tage": "day", "tagen": "day", "week": "week", "weeks": "week", "woche": "week", "wochen": "week", "month": "month",
    "months": "month", "monat": "month", "monate": "month", "monaten": "month", "year": "year", "years": "year", "jahr": "year",
    "jahre": "year", "jahren": "year", "eur": "eur", "euro": "eur", "euros": "eur", "€": "eur", "usd": "usd", "dollars": "usd", "$": "usd",
}  # fmt: skip
_UNIT = "|".join(sorted(map(re.escape, UNITS), key=len, reverse=True))
_ISO = re.compile(r"(?<![\w-])(\d{4})-(\d{1,2})(?:-(\d{1,2}))?(?![\w-])")
_DOTTED = re.compile(r"(?<![\w.])(\d{1,2})[./](\d{1,2})[./](\d{4})?(?![\d])")
_CODE = re.compile(r"(?<![\w/-])(?=[\w/-]*\d)(?=[\w/-]*[^\W\d_])\w+(?:[-/]\w+)*(?![\w-])")
_DIGITS = r"\d{1,3}(?:[.,'’\u00a0\u2009\u202f]\d{3})+(?:[.,]\d+)?|\d+(?:[.,:]\d+)?"
_NUMBER = re.compile(rf"(?<![\w.,])([$€])?\s?({_DIGITS})\s?({_UNIT})?(?!\w)", re.IGNORECASE)
_WITH_UNIT = re.compile(rf"(?<![\d.,])(\d[\d.,]*+)({_UNIT})", re.IGNORECASE)
_GROUPS = re.compile(r"['’\u00a0\u2009\u202f]")


@dataclass(frozen=True, slots=True)
class Value:
    """``readings``: what its digits may mean, as "1.250" is 1250 or 1.25; ``unit``: "" where none stands behind it."""

    readings: frozenset[str]
    unit: str = ""

    @property
    def kind(self) -> str:
        """Values of two kinds say nothing of each other: a day or year, a code, a number.

        >>> [min(values_in(text), key=str).kind for text in ("on 27 April 2026", "in 1917", "IS-200", "at 34", "5 mg")]
        ['time', 'time', 'code', 'number', 'number']
        """
        reading = min(self.readings, default="")
        if any(map(str.isalpha, reading)):
            return "code"
        is_year = not self.unit and any(one.isdecimal() and 1500 <= int(one) < 2100 for one in self.readings)
        return "time" if is_year or "-" in reading or ":" in reading else "number"

    def is_in(self, held: Iterable[Value]) -> bool:
        """Whether one of ``held`` says the same; a unit that only one of both names is no difference."""
        return any(self.readings & one.readings and (self.unit == one.unit or not (self.unit and one.unit)) for one in held)


def values_in(text: str) -> frozenset[Value]:
    """The values of a text, each date once, as it is written.

    >>> sorted(min(one.readings) + one.unit for one in values_in("Give 5 mg (1,250 in all) of IS-200 before April 27, 2026, twice."))
    ['1.25', '2', '2026-04-27', '5mg', 'is200']
    """
    return frozenset(_found(text, whole=False))


def values_held(texts: Iterable[str]) -> frozenset[Value]:
    """What texts hold: their values, and of each date its parts, so that "27 April" and "April 2026" stand in "27 April 2026"."""
    return frozenset(value for text in texts for value in _found(text, whole=True))


def missing_values(answer: str, texts: Iterable[str]) -> frozenset[Value]:
    """The values of an answer that no text holds.

    >>> held = ["Stock on 2026-04-27: 1250 pieces of 5mg."]
    >>> [len(missing_values(said, held)) for said in ("1,250 on 27 April", "5 g", "1,251", "twelve")]
    [0, 1, 1, 1]
    """
    held = values_held(texts)
    return frozenset(value for value in values_in(answer) if not value.is_in(held))


def _found(text: str, *, whole: bool) -> Iterator[Value]:
    rest = text
    for pattern, parts_of in ((_ISO, _iso), (_worded_dates(), _worded), (_DOTTED, _dotted)):
        spans = list[tuple[int, int]]()
        for match in pattern.finditer(rest):
            parts = parts_of(match)
            if parts is None:
                continue
            spans.append(match.span())
            yield from map(_plain, _forms(*parts) if whole else _forms(*parts)[:1])
        if not whole:  # a text that holds a date holds its figures as well
            rest = _blanked(rest, spans)
    rest = _WITH_UNIT.sub(r"\1 \2 ", rest)
    codes = [match.span() for match in _CODE.finditer(rest)]
    yield from (_plain(re.sub(r"\W", "", rest[start:end]).casefold()) for start, end in codes)
    rest = _blanked(rest, codes)
    for match in _NUMBER.finditer(rest):
        yield Value(_readings(match[2]), UNITS.get((match[3] or match[1] or "").casefold(), ""))
    words = _words()
    yield from (_plain(words[word]) for word in re.findall(r"[^\W\d_]+", rest.casefold()) if word in words)


def _plain(reading: str) -> Value:
    return Value(frozenset({reading}))


def _blanked(text: str, spans: Iterable[tuple[int, int]]) -> str:
    for start, end in spans:
        text = text[:start] + " " * (end - start) + text[end:]
    return text


def _readings(digits: str) -> frozenset[str]:
    r"""What digits may mean.

    >>> sorted(_readings("1.250")), sorted(_readings("1.290,50")), sorted(_readings("04:10")), sorted(_readings("7.03"))
    (['1.25', '1250'], ['1290.5'], ['04:10'], ['7.03'])
    """
    bare = _GROUPS.sub("", digits)
    if ":" in bare:
        return frozenset({bare.zfill(5)})
    last = max(bare.rfind("."), bare.rfind(","))
    if last < 0:
        return frozenset({_decimal(bare, "")})
    separators = {sign for sign in bare if not sign.isdigit()}
    head, tail = re.sub(r"[.,]", "", bare[:last]), bare[last + 1 :]
    is_repeated = bare.count(bare[last]) > 1
    readings = set[str]()
    if not is_repeated:
        readings.add(_decimal(head, tail))
    if len(tail) == 3 and (len(separators) == 1 or is_repeated):
        readings.add(_decimal(head + tail, ""))
    return frozenset(readings or {bare})


def _decimal(whole: str, fraction: str) -> str:
    fraction = fraction.rstrip("0")
    return f"{whole.lstrip('0') or '0'}{'.' if fraction else ''}{fraction}"


def _iso(match: re.Match[str]) -> tuple[str, str, str] | None:
    return _checked(match[1], int(match[2]), match[3] or "")


def _dotted(match: re.Match[str]) -> tuple[str, str, str] | None:
    return _checked(match[3] or "", int(match[2]), match[1]) if match[3] or match[0].endswith(".") else None


def _worded(match: re.Match[str]) -> tuple[str, str, str] | None:
    month = _months()[(match["month"] or match["month2"]).casefold()]
    day = match["day"] or match["day2"] or ""
    year = match["year"] or match["year2"] or ""
    return _checked(year, month, day) if day or year else None


def _checked(year: str, month: int, day: str) -> tuple[str, str, str] | None:
    if not 1 <= month <= 12 or (day and not 1 <= int(day) <= 31):
        return None
    return year, f"{month:02}", f"{int(day):02}" if day else ""


def _forms(year: str, month: str, day: str) -> list[str]:
    """The date, then its parts.

    >>> _forms("2026", "04", "27")
    ['2026-04-27', '04-27', '2026-04']
    """
    forms = [f"{year}-{month}-{day}"] if year and day else []
    forms += [f"{month}-{day}"] if day else []
    return [*forms, *([f"{year}-{month}"] if year else [])]


@cache
def _vocabulary() -> dict[str, dict[str, int]]:
    return tomllib.loads(files(__package__).joinpath("number_words.toml").read_text(encoding="utf-8"))


def _words() -> dict[str, str]:
    return {word: str(number) for word, number in _vocabulary()["numbers"].items()}


def _months() -> dict[str, int]:
    return _vocabulary()["months"]


@cache
def _worded_dates() -> re.Pattern[str]:
    months = "|".join(sorted(map(re.escape, _months()), key=len, reverse=True))
    return re.compile(
        rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th|\.|er)?\s+(?:of\s+|de\s+)?(?P<month>{months})\b\.?(?:,?\s+(?:de\s+)?(?P<year>\d{{4}}))?"
        rf"|\b(?P<month2>{months})\b\.?(?:\s+(?P<day2>\d{{1,2}})(?:st|nd|rd|th)?(?!\d))?(?:,?\s+(?P<year2>\d{{4}}))?",
        re.IGNORECASE,
    )
