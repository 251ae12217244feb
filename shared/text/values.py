"""Figures, dates and codes of a text as values: "1,250" is 1250, "5mg" is 5 mg, "27 April 2026" is 2026-04-27, "IS-200" is is200."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
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
    "am": "am", "pm": "pm", "a.m.": "am", "p.m.": "pm", "uhr": "h", "v": "v", "kv": "kv", "w": "w", "mw": "mw", "hz": "hz", "khz": "khz",
    "mhz": "mhz", "ppm": "ppm", "ppb": "ppb", "rpm": "rpm", "ntu": "ntu", "mmol": "mmol", "mol": "mol", "pa": "pa", "kpa": "kpa",
    "mpa": "mpa", "ha": "ha", "gb": "gb", "mb": "mb", "kb": "kb", "lb": "lb", "oz": "oz", "ft": "ft",
}  # fmt: skip
_UNIT = "|".join(sorted(map(re.escape, UNITS), key=len, reverse=True))
_ISO = re.compile(r"(?<![\w-])(\d{4})-(\d{1,2})(?:-(\d{1,2}))?(?![\w-])")
_DOTTED = re.compile(r"(?<![\w.])(\d{1,2})([./])(\d{1,2})\2(\d{4}|\d{2})?(?!\d)")
_CODE = re.compile(r"(?<![\w/-])(?=[\w/-]*\d)(?=[\w/-]*[^\W\d_])\w+(?:[-/]\w+)*(?![\w-])")
_DIGITS = r"\d{1,3}(?:[.,'’\u00a0\u2009\u202f]\d{3})+(?:[.,]\d+)?|\d+(?:[.,:]\d+)?"
_NUMBER = re.compile(rf"(?<![\w.,])(?P<before>[$€])?\s?(?P<digits>{_DIGITS})\s?(?P<unit>{_UNIT})?(?!\w)", re.IGNORECASE)
_WITH_UNIT = re.compile(rf"(?<![\w.,/-])(\d[\d.,]*+)-?({_UNIT})(?!\w)", re.IGNORECASE)
_UNIT_ALONE = re.compile(rf"(?<![^\W\d_])({_UNIT})(?!\w)", re.IGNORECASE)
_ORDINAL = re.compile(r"\b(\d+)(?:st|nd|rd|th)\b", re.IGNORECASE)
_MINUS = re.compile(r"(?:(?<![\w.,)])(?P<sign>[-–\u2212])|\b(?P<word>minus))\s?$", re.IGNORECASE)
_TENS_AND_ONE = re.compile(r"\b(twenty|thirty|forty|fifty|sixty)[- ](one|two|three|four|five|six|seven|eight|nine)\b")
_YEAR_BEFORE = re.compile(
    r"(?:^|\(|\b(?:in|since|of|by|from|until|till|before|after|around|year|jahr|seit|im|ab|bis|vor|nach|en|de|del|depuis|dès|desde|hasta))"
    r"\s*$",
    re.IGNORECASE,
)
_GROUPS = re.compile(r"['’\u00a0\u2009\u202f]")


@dataclass(frozen=True, slots=True)
class Value:
    """``readings``: what its digits may mean, as "1.250" is 1250 or 1.25; ``unit``: "" where none stands behind it.

    ``is_year``: its digits may be one, and stand where years do.
    """

    readings: frozenset[str]
    unit: str = ""
    is_year: bool = field(default=False, compare=False)

    @property
    def kind(self) -> str:
        """Values of two kinds say nothing of each other: a day or year, a code, a number.

        >>> [min(values_in(text), key=str).kind for text in ("on 27 April 2026", "in 1917", "IS-200", "at 34", "5 mg")]
        ['time', 'time', 'code', 'number', 'number']
        """
        reading = min(self.readings, default="")
        if any(map(str.isalpha, reading)):
            return "code"
        return "time" if self.is_year or _is_date(reading) or ":" in reading else "number"

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


def units_in(text: str) -> frozenset[str]:
    """The units that a text names, beside a figure or not.

    >>> sorted(units_in("Max. yield (m³/h): 95; price: 3 €"))
    ['eur', 'h', 'm³']
    """
    return frozenset(UNITS[unit.casefold()] for unit in _UNIT_ALONE.findall(text))


def _found(text: str, *, whole: bool) -> Iterator[Value]:
    rest = text
    for pattern, parts_of in ((_ISO, _iso), (_worded_dates(), _worded), (_DOTTED, _dotted)):
        spans = list[tuple[int, int]]()
        for match in pattern.finditer(rest):
            parts = parts_of(match)
            if parts is None:
                continue
            spans.append(match.span())
            yield from _dates(parts, match, is_whole=whole)
        if not whole:  # a text that holds a date holds its figures as well
            rest = _blanked(rest, spans)
    rest = _ORDINAL.sub(r"\1", _WITH_UNIT.sub(r"\1 \2 ", rest))
    codes = [match.span() for match in _CODE.finditer(rest)]
    yield from (_plain(re.sub(r"\W", "", rest[start:end]).casefold()) for start, end in codes)
    rest = _blanked(rest, codes)
    yield from (_numbered(match) for match in _NUMBER.finditer(rest))
    words, spoken = _words(), rest.casefold()
    for tens, one in _TENS_AND_ONE.findall(spoken):
        yield _plain(str(int(words[tens]) + (1 if one == "one" else int(words[one]))))
    spoken = _TENS_AND_ONE.sub(" ", spoken)
    yield from (_plain(words[word]) for word in re.findall(r"[^\W\d_]+", spoken) if word in words)


def _numbered(match: re.Match[str]) -> Value:
    """A number with its sign and unit."""
    digits, before = match["digits"], match.string[: match.start()]
    unit = UNITS.get((match["unit"] or match["before"] or "").casefold(), "")
    is_year = not unit and digits.isdecimal() and 1500 <= int(digits) < 2100 and bool(_YEAR_BEFORE.search(before))
    minus = _MINUS.search(before)
    is_sign = minus is not None and (minus["sign"] not in ("-", "–") or unit == "°c")  # else a dash
    sign = "-" if is_sign else ""
    return Value(frozenset(sign + one for one in _readings(digits)), unit, is_year)


def _is_date(reading: str) -> bool:
    """Whether it has parts; a sign is none."""
    return "-" in reading[1:]


def _dates(parts: tuple[str, str, str], match: re.Match[str], *, is_whole: bool) -> Iterator[Value]:
    """A date, or what it holds; "7.3." at the end of a sentence may be a number as well."""
    year, _, _ = parts
    if is_whole:
        yield from map(_plain, _forms(*parts))
    elif match.re is _DOTTED and not year:
        yield Value(frozenset({*_forms(*parts)[:1], *_readings(match[0].rstrip("."))}))
    else:
        yield from map(_plain, _forms(*parts)[:1])


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
    first, separator, second, year = match.groups(default="")
    if not year and separator == "/":
        return None
    is_month_first = separator == "/" and int(second) > 12
    day, month = (second, first) if is_month_first else (first, second)
    return _checked(f"20{year}" if len(year) == 2 else year, int(month), day)


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
