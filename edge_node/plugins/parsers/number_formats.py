"""Numbers as a spreadsheet shows them, by their format codes (ECMA-376 part 1, 18.8.30-31)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import lru_cache

BUILT_IN = {  # by number; dates and times are not among them
    1: "0",
    2: "0.00",
    3: "#,##0",
    4: "#,##0.00",
    5: '"$"#,##0_);("$"#,##0)',
    6: '"$"#,##0_);("$"#,##0)',
    7: '"$"#,##0.00_);("$"#,##0.00)',
    8: '"$"#,##0.00_);("$"#,##0.00)',
    9: "0%",
    10: "0.00%",
    11: "0.00E+00",
    37: "#,##0_);(#,##0)",
    38: "#,##0_);(#,##0)",
    39: "#,##0.00_);(#,##0.00)",
    40: "#,##0.00_);(#,##0.00)",
    41: "#,##0_);(#,##0)",
    42: '"$"#,##0_);("$"#,##0)',
    43: "#,##0.00_);(#,##0.00)",
    44: '"$"#,##0.00_);("$"#,##0.00)',
    48: "##0.0E+0",
}
MAX_CODE_CHARS = 255
MAX_DECIMALS = 30
MAX_FLOAT_WHOLE = 1e9  # what is larger, or nearly half, is rounded by its decimal digits
NEARLY_HALF = 1e-4
DIGITS = "0#?"
DATES = "ymdhsYMDHS"
SIGNS = f"{DIGITS}.,%/{DATES}"
GENERAL = "@"  # the place of a number that is shown as without a format
MAX_SERIAL = 2_958_466  # the day behind the last one of the year 9999
_ISO_LENGTHS = {"d": 10, "m": 7, "y": 4}  # of a day, a month, a year
_MINUTES = 24 * 60  # of a day
_EPOCH = datetime(1899, 12, 30)  # noqa: DTZ001 - a sheet's days have no zone
_DAYS_TO_1904 = 1_462
_PRECISE = Context(prec=60)
MAX_WHOLE = 1e21  # a whole number below is written in full
_TOKEN = re.compile(
    r'"(?P<quoted>[^"]*)"?|\\(?P<escaped>.)|_(?P<pad>.)|\*(?P<fill>.)'
    r"|\[\$(?P<currency>[^\]\[-]*+)[^\]\[]*+\]|\[(?P<bracket>[^\]\[]*+)\]"
    r"|(?P<general>General|Standard)|(?P<power>E[+-])|(?P<other>.)",
    re.DOTALL | re.IGNORECASE,
)
_CONDITION = re.compile(r"(<=|>=|<>|<|>|=)\s*(-?\d+(?:\.\d+)?)")
_COMPARED: dict[str, Callable[[float, float], bool]] = {
    "<": lambda value, limit: value < limit,
    "<=": lambda value, limit: value <= limit,
    ">": lambda value, limit: value > limit,
    ">=": lambda value, limit: value >= limit,
    "=": lambda value, limit: value == limit,
    "<>": lambda value, limit: value != limit,
}


@dataclass(frozen=True, slots=True)
class _Plan:
    """How digits are written: at least ``least_whole`` before the point and ``least`` after it."""

    prefix: str
    suffix: str
    places: int
    least: int
    least_whole: int
    is_grouped: bool
    power: int  # of ten, that the number is multiplied with
    is_in_one_piece: bool  # no text stands between the digits


@dataclass(frozen=True, slots=True)
class _Section:
    """One of the formats of a code: literal text, and the signs "0#?.,%E/@" as themselves.

    ``parts``: text and whether it is literal.
    """

    parts: tuple[tuple[str, bool], ...]
    condition: tuple[str, float] | None
    is_number: bool
    is_percent: bool
    plan: _Plan | None


def general(value: float) -> str:
    """A number without a format: whole numbers in full, others with up to twelve digits.

    >>> general(28.0), general(1234567890123456.0), general(0.1 + 0.2)
    ('28', '1234567890123456', '0.3')
    """
    if float(value).is_integer() and abs(value) < MAX_WHOLE:
        return str(int(value))
    return f"{value:.12g}"


def shown(value: float, code: str) -> str:
    """A number by a format code; by none where the code is for dates or fractions.

    >>> [shown(0.0375, "0.00%"), shown(12500000, '#,##0,,"M"'), shown(1234, "00000")]
    ['3.75%', '13M', '01234']
    >>> [shown(-553, "#,##0;(#,##0)"), shown(12.5, "0.00 [$€-407]"), shown(198356388, "0.00E+00")]
    ['(553)', '12.50 €', '1.98E+08']
    """
    section, is_signed = _chosen(_sections(code[:MAX_CODE_CHARS]), value)
    if not section.is_number or abs(value) >= MAX_WHOLE:
        return general(value)
    text = _formatted(abs(value), section)
    return f"-{text}" if value < 0 and is_signed else text


def stated(value: float, code: str) -> str:
    """As ``shown``, and where that hides digits, the number beside it.

    >>> [stated(0.25, "0%"), stated(0.2534, "0%"), stated(12500000, '0,,"M"')]
    ['25%', '25% (0.2534)', '13M (12500000)']
    """
    text = shown(value, code)
    hides_digits = is_percent(code) and len(percent(value)) > len(text)
    return f"{text} ({general(value)})" if hides_digits or is_scaled(code) else text


def percent(value: float) -> str:
    """A number as a hundred times as much, with all its digits."""
    return f"{value * 100:.12g}%"


def moment(value: float, code: str, *, is_1904: bool = False) -> str:
    """A day or a time by its number, as ISO writes it; "" where the code is for neither.

    ``is_1904``: days count from 1904, not from 1900.

    >>> [moment(45413, "d/m/yyyy"), moment(45413.375, "d.m.yy h:mm"), moment(0.5, "h:mm")]
    ['2024-05-01', '2024-05-01 09:00', '12:00']
    >>> [moment(45413, "mmm yy"), moment(45292, "yyyy"), moment(45413, "0")]
    ['2024-05', '2024', '']
    """
    signs = _date_signs(code)
    days = value + _DAYS_TO_1904 if is_1904 else value
    if not signs or not 0 <= days < MAX_SERIAL - 1:
        return ""
    if not signs & set("yd") and signs & set("hs"):
        hours, minutes = divmod(round(value * _MINUTES), 60)
        return f"{hours}:{minutes:02}"
    day = _EPOCH + timedelta(minutes=round(days * _MINUTES))
    if "h" in signs:
        return day.isoformat(sep=" ", timespec="minutes")
    length = next(size for sign, size in _ISO_LENGTHS.items() if sign in signs)
    return day.date().isoformat()[:length]


def _date_signs(code: str) -> set[str]:
    section = _sections(code[:MAX_CODE_CHARS])[0]
    signs = "".join([text for text, is_literal in section.parts if not is_literal]).lower()
    return set(signs) & set(DATES)


def is_percent(code: str) -> bool:
    """Whether numbers of a format are shown as a hundred times as much, with a sign."""
    return _sections(code[:MAX_CODE_CHARS])[0].is_percent


def is_scaled(code: str) -> bool:
    """Whether numbers of a format are shown as thousands or millions of what they are."""
    plan = _sections(code[:MAX_CODE_CHARS])[0].plan
    return plan is not None and plan.power < 0


def is_plain(code: str) -> bool:
    """Whether numbers of a format are shown as without one, or are dates."""
    return not any(section.is_number for section in _sections(code[:MAX_CODE_CHARS]))


@lru_cache(maxsize=500)
def _sections(code: str) -> tuple[_Section, ...]:
    sections = list[_Section]()
    parts = list[tuple[str, bool]]()
    condition: tuple[str, float] | None = None
    for token in [*_TOKEN.finditer(code or "General"), None]:
        if token is None or token["other"] == ";":
            sections.append(_section(parts, condition))
            parts, condition = [], None
        elif token["bracket"] is not None:
            if found := _CONDITION.fullmatch(token["bracket"]):
                condition = found[1], float(found[2])
            elif token["bracket"].strip("hmsHMS") == "":
                parts.append((token["bracket"], False))
        elif token["general"] or token["other"] == "@":
            parts.append((GENERAL, False))
        else:
            parts += _part(token)
    return tuple(sections)


def _section(parts: Sequence[tuple[str, bool]], condition: tuple[str, float] | None) -> _Section:
    signs = "".join([text for text, is_literal in parts if not is_literal])
    is_date = any(sign in f"/{DATES}" for sign in signs)
    has_own_text = GENERAL not in signs or (signs == GENERAL and len(parts) > 1)
    is_number = not is_date and has_own_text
    has_digits = any(sign in DIGITS for sign in signs) and "E" not in signs.upper()
    plan = _plan(parts, signs) if is_number and has_digits else None
    return _Section(tuple(parts), condition, is_number, "%" in signs, plan)


def _plan(parts: Sequence[tuple[str, bool]], signs: str) -> _Plan:
    last = max(at for at, sign in enumerate(signs) if sign in DIGITS)
    whole, _, decimals = signs[: last + 1].partition(".")
    at_digits = [at for at, (text, literal) in enumerate(parts) if not literal and text in "0#?.,"]
    inner = parts[at_digits[0] : at_digits[-1] + 1]
    return _Plan(
        prefix=_literals(parts[: at_digits[0]]),
        suffix=_literals(parts[at_digits[-1] + 1 :]),
        places=min(sum(sign in DIGITS for sign in decimals), MAX_DECIMALS),
        least=decimals.count("0"),
        least_whole=whole.count("0"),
        is_grouped="," in whole,
        power=2 * signs.count("%") - 3 * signs[last + 1 :].count(","),
        is_in_one_piece=not any(is_literal for _, is_literal in inner),
    )


def _literals(parts: Sequence[tuple[str, bool]]) -> str:
    return "".join([text for text, is_literal in parts if is_literal or text == "%"])


def _part(token: re.Match[str]) -> Sequence[tuple[str, bool]]:
    if token["pad"] or token["fill"]:
        return ()
    for name in ("quoted", "escaped", "currency"):
        if token[name] is not None:
            return ((token[name], True),)
    sign = token["power"] or token["other"]
    return ((sign, len(sign) == 1 and sign not in SIGNS),)


def _chosen(sections: Sequence[_Section], value: float) -> tuple[_Section, bool]:
    """The section for a value, and whether a minus is to be put before it."""
    if any(section.condition for section in sections):
        fitting = (section for section in sections[:3] if _is_met(section.condition, value))
        return next(fitting, sections[-1]), True
    if len(sections) == 1 or value > 0:
        return sections[0], len(sections) == 1
    if value < 0:
        return sections[1], False
    return sections[2 if len(sections) > 2 else 0], False


def _is_met(condition: tuple[str, float] | None, value: float) -> bool:
    return condition is None or _COMPARED[condition[0]](value, condition[1])


def _formatted(value: float, section: _Section) -> str:
    plan = section.plan
    if plan is None:
        signs = [text for text, is_literal in section.parts if not is_literal]
        if signs == [GENERAL]:
            parts = [text if is_literal else general(value) for text, is_literal in section.parts]
            return "".join(parts).strip()
        has_power = any(sign[0] in "Ee" for sign in signs)
        return _scientific(value, section) if has_power else _literals(section.parts).strip()
    whole, _, decimals = _rounded(value, plan.power, plan.places).partition(".")
    decimals = decimals[: plan.least] + decimals[plan.least :].rstrip("0")
    is_blank = whole == "0" and not plan.least_whole and not decimals
    digits = "" if is_blank else whole.rjust(plan.least_whole, "0")
    if not plan.is_in_one_piece:
        return _filled(section, digits, decimals, is_grouped=plan.is_grouped).strip()
    if plan.is_grouped and len(digits) > 3:
        digits = f"{int(digits):,}"
    number = f"{digits}.{decimals}" if decimals else digits
    return f"{plan.prefix}{number}{plan.suffix}".strip()


def _rounded(value: float, power: int, places: int) -> str:
    """A number times a power of ten with so many decimals, halves rounded up."""
    number = value * 10.0**power
    rest = number * 10.0**places % 1
    if abs(rest - 0.5) > NEARLY_HALF and number < MAX_FLOAT_WHOLE:
        return f"{number:.{places}f}"
    exact = Decimal(repr(value)).scaleb(power, _PRECISE)
    return f"{exact.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP, _PRECISE):f}"


def _filled(section: _Section, digits: str, decimals: str, *, is_grouped: bool) -> str:
    """The parts of a section with digits in place of its signs; text between digits stays there."""
    signs = "".join([text for text, is_literal in section.parts if not is_literal])
    places = sum(sign in DIGITS for sign in signs.partition(".")[0])
    texts = list[str]()
    seen = 0
    is_decimal = False
    for text, is_literal in section.parts:
        if is_literal or text == "%":
            texts.append(text)
        elif text == ".":
            is_decimal = True
            texts.append(f".{decimals}" if decimals else "")
        elif text in DIGITS and not is_decimal:
            seen += 1
            texts.append(_digits_at(digits, seen, places, is_grouped=is_grouped))
    return "".join(texts)


def _digits_at(digits: str, seen: int, places: int, *, is_grouped: bool) -> str:
    """What stands at the ``seen``-th of ``places`` signs: a digit, at the first all the rest."""
    end = len(digits) - (places - seen)
    begin = 0 if seen == 1 else end - 1
    if end <= 0:
        return ""
    if not is_grouped:
        return digits[max(0, begin) : end]
    grouped = ""
    for at in range(max(0, begin), end):
        left = len(digits) - at - 1
        grouped += f"{digits[at]}," if left and left % 3 == 0 else digits[at]
    return grouped


def _scientific(value: float, section: _Section) -> str:
    signs = "".join([text for text, is_literal in section.parts if not is_literal])
    mantissa, _, power = signs.upper().partition("E")
    places = min(sum(sign in DIGITS for sign in mantissa.partition(".")[2]), MAX_DECIMALS)
    number, _, exponent = f"{value:.{places}E}".partition("E")
    sign = exponent[0] if exponent[0] == "-" or power.startswith("+") else ""
    return f"{number}E{sign}{exponent[1:].lstrip('0').rjust(power.count('0'), '0')}"
