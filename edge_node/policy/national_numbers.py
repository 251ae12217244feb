"""Finds the numbers that states give to persons, by shape and check digits as python-stdnum knows them (goal P5)."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import cast

from stdnum import isbn
from stdnum.util import get_number_modules

_GAP = r"(?: ?[-+./] ?|[ _])"
_RUN = re.compile(rf"(?<![^\W_])[A-Za-z0-9]{{1,20}}(?:{_GAP}[A-Za-z0-9]{{1,20}})*(?![^\W_])", re.ASCII)
_GROUP = re.compile(r"[A-Za-z0-9]+")
_BETWEEN = re.compile(r"[^A-Za-z0-9]")
_BLANKS = re.compile(r" ?([-+./]) ?")  # around a mark between groups
MOST_GROUPS = 8  # that a number is written in; a French one has seven
SIZES = range(6, 25)  # characters of a number, without what stands between its groups
LEAST_DIGITS = 4  # of a number with letters: an Indian one has no more
OLD = {"in_": "IN", "is_": "IS"}  # modules of countries whose code is a word of Python

# Numbers of persons that tell themselves by their check digits or a date in them, with the shape of each. The countries that were part of
# Yugoslavia share one. So do Czechs and Slovaks: ``sk.rc`` is ``cz.rc``, named here for the numbers from before 1954, without check digit.
PERSONS = {
    "AR": {"ar.cuit": r"\d{11}"},
    "AT": {"at.vnr": r"\d{10}", "at.tin": r"\d{9}"},
    "AU": {"au.tfn": r"\d{9}"},
    "BA": {"si.emso": r"\d{13}"},
    "BE": {"be.ssn": r"\d{11}", "be.eid": r"\d{12}"},
    "BG": {"bg.egn": r"\d{10}", "bg.pnf": r"\d{10}"},
    "BR": {"br.cpf": r"\d{11}"},
    "CA": {"ca.sin": r"\d{9}", "ca.bc_phn": r"\d{10}"},
    "CH": {"ch.ssn": r"756\d{10}"},
    "CL": {"cl.rut": r"\d{8}[\dK]|\d{7}K"},
    "CN": {"cn.ric": r"\d{17}[\dX]"},
    "CU": {"cu.ni": r"\d{11}"},
    "CY": {"cy.vat": r"(?:CY)?\d{8}[A-Z]"},
    "CZ": {"cz.rc": r"\d{10}", "sk.rc": r"\d{9}"},
    "DE": {"de.idnr": r"\d{11}"},
    "DK": {"dk.cpr": r"\d{10}"},
    "DO": {"do.cedula": r"\d{11}"},
    "EC": {"ec.ci": r"\d{10}"},
    "EE": {"ee.ik": r"\d{11}"},
    "ES": {"es.dni": r"\d{8}[A-Z]", "es.nie": r"[XYZ]\d{7}[A-Z]"},
    "FI": {"fi.hetu": r"\d{6}[A-FU-Y]?\d{3}[\dA-Y]"},
    "FR": {"fr.nir": r"\d{5}[\dAB]\d{9}|\d{6}[AB]\d{8}", "fr.nif": r"[0-3]\d{12}"},
    "GB": {"gb.nhs": r"\d{10}", "gb.utr": r"\d{10}K?", "gb.upn": r"[A-Z]\d{11}[\dA-Z]"},
    "GR": {"gr.amka": r"\d{11}", "gr.vat": r"(?:EL|GR)?\d{9}"},
    "HR": {"hr.oib": r"(?:HR)?\d{11}", "si.emso": r"\d{13}"},
    "ID": {"id.nik": r"\d{16}", "id.npwp": r"\d{15}"},
    "IE": {"ie.pps": r"\d{7}[A-Z]{1,2}"},
    "IL": {"il.idnr": r"\d{9}"},
    "IN": {"in_.aadhaar": r"\d{12}", "in_.pan": r"[A-Z]{5}\d{4}[A-Z]", "in_.epic": r"[A-Z]{3}\d{7}", "in_.vid": r"\d{16}"},
    "IS": {"is_.kennitala": r"\d{10}"},
    "IT": {"it.codicefiscale": r"[A-Z]{6}[\dL-V]{2}[A-Z][\dL-V]{2}[A-Z][\dL-V]{3}[A-Z]"},
    "JP": {"jp.in_": r"\d{12}"},
    "KE": {"ke.pin": r"A\d{9}[A-Z]"},
    "KR": {"kr.rrn": r"\d{13}"},
    "LT": {"lt.asmens": r"\d{11}"},
    "LV": {"lv.pvn": r"(?:LV)?\d{11}"},
    "ME": {"si.emso": r"\d{13}"},
    "MK": {"si.emso": r"\d{13}"},
    "MU": {"mu.nid": r"[A-Z]\d{12}[\dA-Z]"},
    "MX": {"mx.curp": r"[A-Z]{4}\d{6}[A-Z]{6}[\dA-Z]\d", "mx.rfc": r"[A-Z]{4}\d{6}[\dA-Z]{3}"},
    "MY": {"my.nric": r"\d{12}"},
    "NL": {"nl.bsn": r"\d{9}", "nl.onderwijsnummer": r"\d{9}"},
    "NO": {"no.fodselsnummer": r"\d{11}"},
    "NZ": {"nz.ird": r"\d{9}"},
    "PE": {"pe.cui": r"\d{8}[\dA-Z]"},
    "PL": {"pl.pesel": r"\d{11}"},
    "PT": {"pt.cc": r"\d{9}[\dA-Z]{2}\d", "pt.nif": r"(?:PT)?\d{9}"},
    "RO": {"ro.cnp": r"\d{13}"},
    "RS": {"si.emso": r"\d{13}"},
    "RU": {"ru.inn": r"\d{12}"},
    "SE": {"se.personnummer": r"\d{10}|\d{12}"},
    "SI": {"si.emso": r"\d{13}"},
    "SK": {"cz.rc": r"\d{10}", "sk.rc": r"\d{9}"},
    "TH": {"th.pin": r"\d{13}"},
    "TR": {"tr.tckimlik": r"\d{11}"},
    "UA": {"ua.rntrc": r"\d{10}"},
    "US": {"us.ssn": r"\d{9}", "us.itin": r"\d{9}", "us.ptin": r"P\d{8}"},
    "VE": {"ve.rif": r"[VE]\d{9}"},
    "ZA": {"za.idnr": r"\d{13}"},
}
# Kinds of which many numbers, or words with a number behind them, would be right ones. Only their usual groups join these.
UNCHECKED = frozenset(
    (
        *("us.ssn", "us.itin", "us.ptin", "us.atin", "us.ein", "us.tin"),
        *("ar.dni", "cr.cpf", "de.stnr", "dz.nif", "eg.tn", "fi.veronumero", "fo.vn", "in_.pan", "kr.brn", "li.peid", "pk.cnic", "sk.rc"),
    )
)
MOST_UNUSUAL_GROUPS = 4  # of a number that is not written in the groups of its kind
LONG_GROUP = 6  # characters, as of a date of birth; by chance blanks hardly ever join one to another number

# What has digits and marks but is no number of a person: dates, times, addresses of computers, versions, amounts, measures.
_DAY, _MONTH, _YEAR = r"(?:0?[1-9]|[12]\d|3[01])", r"(?:0?[1-9]|1[0-2])", r"(?:19|20)\d\d"
_DATE = (
    rf"(?:{_YEAR}(?P<iso>[-./]){_MONTH}(?P=iso){_DAY}"
    rf"|{_DAY}(?P<dmy>[-./]) ?{_MONTH}(?P=dmy) ?(?:{_YEAR}|\d\d)"
    rf"|{_MONTH}/{_DAY}/(?:{_YEAR}|\d\d)"
    rf"|{_YEAR}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?=[ T_]))"
)
_TIME = r"(?:[01]?\d|2[0-3])[.:][0-5]\d(?:[.:][0-5]\d)?"
_BYTE = r"(?:25[0-5]|2[0-4]\d|1?\d?\d)"
_ADDRESS = rf"{_BYTE}(?:\.{_BYTE}){{3}}"
_VERSION = r"\d{1,2}(?:\.\d{1,2}){2,3}"
_AMOUNT = r"(?:\d{1,3}(?:\.\d{3}){1,2}|\d(?:\.\d{3}){3}|\d+\.\d\d?)"  # a German tax number has a digit more
_MEASURE = r"\d{1,3}\.\d{1,8}"
_PLAIN = (
    re.compile(rf"(?<![\w.,/:+]){_DATE}(?![^\W_T]|[.,/:-]\d)", re.ASCII),
    re.compile(rf"(?<![\w.,/:+]){_TIME}(?!\w|[.,/:+]\d)", re.ASCII),
    re.compile(rf"(?<![\w.,/:+-])(?:{_ADDRESS}|{_VERSION}|{_AMOUNT}|{_MEASURE})(?!\w|[.,/:+-]\w)", re.ASCII),
    re.compile(rf"(?<![^\W_]){_YEAR}(?:\D{{1,3}}{_YEAR})+(?![^\W_])", re.ASCII),  # several years
)
_BOOK = re.compile(r"(?<![\w-])(?:97[89](?:[- ]?\d){9}[- ]?\d|\d-\d{1,7}-\d{1,7}-[\dXx])(?![\w-])", re.ASCII)
_BIRTHDAY_FIRST = re.compile(r"\d\d\.\d\d\.\d\d[-+]\d{3,5}", re.ASCII)  # the date is a part of the number
# Numbers without a check digit: their groups tell them.
_AS_WRITTEN = re.compile(r"\d{5}-\d{7}-\d")  # Pakistan's
# python-stdnum has no module for these; the first is Britain's National Insurance number, the second Singapore's identity card.
OWN_SHAPES = {"GB": [r"(?!BG|GB|KN|NK|NT|TN|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z]\d{6}[A-D]"], "SG": [r"[STFGM]\d{7}[A-Z]"]}
# Of a country's other numbers those that name no person, firm or account.
PUBLIC = frozenset(
    (
        *("at.postleitzahl", "es.postal_code", "nl.postcode", "se.postnummer"),
        *("nl.brin", "it.aic", "de.wkn", "gb.sedol", "us.rtn", "es.referenciacatastral"),
        *("be.iban", "es.iban", "no.iban", "me.iban"),  # of the kind "iban"
    )
)
# Of firms and associations, beside better ones of their countries; any six digits are right ones.
TOO_SHORT = frozenset(("fi.associationid", "is_.vsk"))


@dataclass(frozen=True, slots=True)
class NumberKind:
    """One kind of number: its shape, in capitals and without gaps, and whether such a code is a right one."""

    shape: re.Pattern[str]
    is_right: Callable[[str], bool]
    usual: Callable[[str], str] = str  # a code as it is usually written, in groups
    is_checked: bool = True  # few other numbers are right ones
    is_of_persons: bool = True

    def fits(self, code: str) -> bool:
        """Whether a code is such a number."""
        return self.shape.fullmatch(code) is not None and self.is_right(code)

    def is_written(self, code: str, written: str, *, is_plain: bool) -> bool:
        """Whether a code of this kind would be written like this; plain: a part of it looks like a date, an amount or the like.

        >>> kind = NumberKind(re.compile(r"[0-9]{9}"), str.isdigit, lambda code: f"{code[:3]}-{code[3:5]}-{code[5:]}", is_checked=False)
        >>> [kind.is_written("123456789", written, is_plain=False) for written in ("123456789", "123.45.6789", "123 45 6789")]
        [True, True, False]
        """
        usual = self.usual(code)
        if written == code:
            return not is_plain
        if written == usual:
            return True
        if is_plain:
            return False
        groups, gaps = _GROUP.findall(written), set(_BETWEEN.findall(written))
        if groups == _GROUP.findall(usual):
            return self.is_checked or " " not in gaps or max(map(len, groups)) >= LONG_GROUP
        if not self.is_checked or len(groups) > MOST_UNUSUAL_GROUPS:
            return False
        if not self.is_of_persons and code[0].isdigit():  # without its country in front
            return False
        return len(gaps) == 1 or _BIRTHDAY_FIRST.fullmatch(written) is not None


def national_numbers(text: str, countries: Iterable[str] = ()) -> Iterator[tuple[int, int]]:
    """Where numbers of persons stand in a text as a ``Shadow`` shows it; of several from one place the longest.

    With ``countries`` (ISO 3166, two letters) all numbers of these that python-stdnum knows, those of firms and accounts too; without,
    the numbers of persons of all countries that have a check digit or a date.
    """
    if not any(map(str.isdigit, text)):
        return
    kinds = kinds_by_size(tuple(sorted(set(countries))))
    plain = _plain_places(text)
    for run in _RUN.finditer(text):
        groups = [(run.start() + group.start(), run.start() + group.end()) for group in _GROUP.finditer(run.group())]
        done = 0
        for first, (start, _) in enumerate(groups):
            if start >= done and (end := _longest(text, groups[first : first + MOST_GROUPS], kinds, plain)):
                done = end
                yield start, end


def _plain_places(text: str) -> bytearray:
    """For each character 1 where a date, a time, an amount, a list of years or the number of a book stands."""
    matches = [match for pattern in _PLAIN for match in pattern.finditer(text)]
    matches += [match for match in _BOOK.finditer(text) if isbn.is_valid(match.group())]
    places = bytearray(len(text))
    for match in matches:
        places[match.start() : match.end()] = b"\1" * len(match.group())
    return places


def _longest(text: str, groups: list[tuple[int, int]], kinds: dict[int, list[NumberKind]], plain: bytearray) -> int:
    """Where the longest number ends that begins with the first group; 0: none does."""
    found, code = 0, ""
    begin = groups[0][0]
    for start, end in groups:
        code += text[start:end].upper()
        if len(code) > SIZES[-1]:
            break
        if sum(map(str.isdigit, code)) < LEAST_DIGITS:
            continue
        written = _BLANKS.sub(r"\1", text[begin:end]).upper()
        is_plain = 1 in plain[begin:end]
        fitting = (kind for kind in kinds.get(len(code), ()) if kind.fits(code))
        if any(kind.is_written(code, written, is_plain=is_plain) for kind in fitting) or _AS_WRITTEN.fullmatch(text, begin, end):
            found = end
    return found


@cache
def kinds_by_size(countries: tuple[str, ...]) -> dict[int, list[NumberKind]]:
    """The kinds of numbers of some countries, or those of persons of all, by how many characters they may have."""
    found = defaultdict[int, list[NumberKind]](list)
    for kind in _of_countries(countries) if countries else _of_persons(PERSONS.keys() | OWN_SHAPES.keys()):
        for size in SIZES:
            found[size].append(kind)
    return dict(found)


def _of_persons(countries: Iterable[str]) -> Iterator[NumberKind]:
    shapes = {entry for country in countries for entry in PERSONS.get(country, {}).items()}
    for name, shape in sorted(shapes):
        yield NumberKind(re.compile(shape), _check_of(name), _usual_of(name), is_checked=name not in UNCHECKED)
    for country in sorted(countries):
        usual = _in_pairs if country == "GB" else str
        yield from (NumberKind(re.compile(shape), lambda _: True, usual) for shape in OWN_SHAPES.get(country, ()))


def _of_countries(countries: Iterable[str]) -> Iterator[NumberKind]:
    yield from _of_persons(countries)
    anything = re.compile(r"(?=(?:.*\d){4})[A-Z\d]+")
    for module in _modules():
        name = module.__name__.removeprefix("stdnum.")
        country = country_of(name)
        if country in countries and name not in PUBLIC | TOO_SHORT and name not in PERSONS.get(country, {}):
            yield NumberKind(anything, _check_of(name), _usual_of(name), is_checked=name not in UNCHECKED, is_of_persons=False)


def _in_pairs(code: str) -> str:
    """As Britain's insurance numbers are written.

    >>> _in_pairs("AB123456C")
    'AB 12 34 56 C'
    """
    return " ".join(code[start : start + 2] for start in range(0, len(code), 2))


def country_of(name: str) -> str:
    """The country of one of python-stdnum's modules; "": it is nobody's.

    >>> country_of("in_.pan"), country_of("de.idnr"), country_of("luhn"), country_of("eu.vat")
    ('IN', 'DE', '', 'EU')
    """
    package, dot, _ = name.partition(".")
    if not dot or len(package.rstrip("_")) != len("DE"):
        return ""
    return OLD.get(package, package.upper())


def _modules() -> Iterable[ModuleType]:
    return cast("Iterable[ModuleType]", get_number_modules())


def known_countries() -> frozenset[str]:
    """Countries of which a number is known."""
    named = (country_of(module.__name__.removeprefix("stdnum.")) for module in _modules())
    return frozenset(filter(None, named)) - {"EU"} | PERSONS.keys() | OWN_SHAPES.keys()


def _check_of(name: str) -> Callable[[str], bool]:
    module: ModuleType = import_module(f"stdnum.{name}")

    def is_right(code: str) -> bool:
        try:
            return bool(module.is_valid(code))
        except (LookupError, ValueError):  # some modules trip over what is no number, as cn.ric over a region without counties
            return False

    if name == "fi.hetu":  # its sign of the century may be a mark that stood between the groups
        return lambda code: is_right(code) or is_right(f"{code[:6]}-{code[6:]}")
    return is_right


def _usual_of(name: str) -> Callable[[str], str]:
    """How python-stdnum writes the codes of a module: in groups, or as they are."""
    module: ModuleType = import_module(f"stdnum.{name}")

    def usual(code: str) -> str:
        try:
            return str(module.format(code))
        except (LookupError, ValueError, TypeError):  # of some kinds it cannot write all
            return code

    return usual if hasattr(module, "format") else str
