"""Finds numbers of persons, accounts and records in a text as a ``Shadow`` shows it, whatever language stands around them (goal P5)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache

from stdnum import iban, numdb
from stdnum.fr import nir
from stdnum.gb import nhs
from stdnum.us import ssn

from edge_node.policy.national_numbers import national_numbers
from edge_node.policy.rules import Identifier
from edge_node.policy.shadow import plain_letters

_GAP = "[ ._/-]"  # what stands between groups of digits
_WIDE_GAP = "(?: ?[|,-] ?|[ ._/])"  # of an IBAN, whose country, length and check digits tell it from the cells of a table
_DASH = "(?: ?- ?|[ ._/])"
_NO_CODE = re.compile(r"[^A-Za-z0-9]")
_CARD_GROUPS = re.compile(  # of four times four digits, or of 4, 6 and 5: there alone a comma or a bar may stand between them
    r"(?<![^\W_])(?:(?:[3-6]\d|2[2-7])\d\d(?P<gap> ?[|,-] ?)\d{4}(?P=gap)\d{4}(?P=gap)\d{4}"
    r"|3[47]\d\d(?P<other> ?[|,-] ?)\d{6}(?P=other)\d{5})(?!\d)",
    re.ASCII,
)
_LEAST_CARD = 13  # digits
_DOUBLED = (0, 2, 4, 6, 8, 1, 3, 5, 7, 9)  # the sum of the digits of twice a digit
_EMAIL = re.compile(r"[\w.!#$%&'*+/=?^`{|}~-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}")
_PERSON = re.compile(  # numbers of persons in the United States, Britain and France, whose shape or check digits are known
    rf"(?<!\d)(?:\d{{3}}{_DASH}?\d{{2}}{_DASH}?\d{{4}}|\d{{3}}{_DASH}?\d{{3}}{_DASH}?\d{{4}}|[12](?:{_DASH}?\d){{14}})(?!\d)", re.ASCII
)
TABLED = frozenset(("US", "GB", "FR"))  # whose numbers that pattern finds
_LABELS = """
mrn record patient case chart file account acct policy invoice customer member admission no nr number id
akte aktenzeichen aktennummer patientin patientennummer fallnummer kundennummer kontonummer versicherungsnummer versichertennummer
rechnung rechnungsnummer mitgliedsnummer nummer
dossier patiente client cliente facture compte numéro matricule n
expediente historia paciente factura cuenta póliza número socio ingreso
cartella paziente fattura conto polizza processo prontuário fatura conta
numer karta karty pacjent pacjenta konto polisa
номер карта карты пациент пациента счёт счет счёта счета полис полиса
"""  # words in front of a number of a record, by language
_SIGNS = ["编号", "编码", "号", "号码", "番号", "번호"]  # the same where no blanks stand between words
_GAP_BEHIND = r"[\s.:：°º#-]{0,4}"


def _folded(word: str) -> set[str]:
    """A word as a Shadow shows it, in small letters, with a capital, and in capitals: some letters look like Latin ones in one of them."""
    return {re.escape("".join(map(plain_letters, form))) for form in (word, word.capitalize(), word.upper())}


def _any_of(words: Iterable[str]) -> str:
    return "|".join(sorted(set().union(*map(_folded, words)), key=lambda word: (-len(word), word)))


_RECORD = re.compile(
    r"(?<![A-Za-z0-9_])(?P<code>[A-Z]{1,6}[-/_]?\d[\d-]{3,14}\d)(?![A-Za-z0-9_])"
    rf"|(?:(?<![^\W_])(?:{_any_of(_LABELS.split())})(?![^\W_])|(?:{_any_of(_SIGNS)}))"
    rf"{_GAP_BEHIND}(?:(?:no|nr|number|id|n)(?![^\W_]){_GAP_BEHIND})?(?P<number>[A-Z]{{0,6}}[-/_]?\d[\d./-]{{2,18}}\d)(?![A-Za-z0-9_])",
    re.IGNORECASE,
)


def _grouped(
    first: str, character: str, most: int, longest: Callable[[str], int], *, gap: str = _GAP
) -> Callable[[str], Iterator[tuple[int, int]]]:
    """A finder of codes with check digits, in groups or not: the longest one from each place counts.

    ``longest`` tells how many of at most so many characters are the longest right code; 0: none is. It is asked once for each place where
    a group begins, so the time is linear in the text.
    """
    begin = re.compile(rf"(?:(?<![^\W_])|(?<=\bIBAN)){first}", re.ASCII)
    run = re.compile(rf"{character}(?:{gap}?{character}){{0,{most - 1}}}")

    def find(text: str) -> Iterator[tuple[int, int]]:
        done = 0
        for match in begin.finditer(text):
            whole = run.match(text, match.start()) if match.start() >= done else None
            if whole is None:
                continue
            code = _NO_CODE.sub("", whole.group())
            if size := longest(code):
                done = [place for place, letter in enumerate(whole.group(), match.start() + 1) if letter.isalnum()][size - 1]
                yield match.start(), done

    return find


def _cards(text: str) -> Iterator[tuple[int, int]]:
    yield from _plain_cards(text)
    for match in _CARD_GROUPS.finditer(text):
        if _longest_card(code := _NO_CODE.sub("", match.group())) == len(code):
            yield match.span()


def _longest_card(digits: str) -> int:
    """Of the prefixes with 13 digits or more the length of the longest one with a right last digit (Luhn's sum, as ``stdnum.luhn`` has it).

    >>> _longest_card("41111111111111110"), _longest_card("4111111111111112")
    (16, 0)
    """
    plain = doubled = size = 0  # the sums of the prefix, its last digit taken once, or twice
    for number, digit in enumerate(map(int, digits), 1):
        plain, doubled = doubled + digit, plain + _DOUBLED[digit]
        if number >= _LEAST_CARD and plain % 10 == 0:
            size = number
    return size


def _longest_iban(code: str) -> int:
    """The length that the country's have, where the code begins with a right one.

    >>> _longest_iban("DE89370400440532013000AND"), _longest_iban("AB12AB12AB12AB12")
    (22, 0)
    """
    size = _iban_size(code[:2].upper())
    return size if 0 < size <= len(code) and iban.is_valid(code[:size]) else 0


@cache
def _iban_size(country: str) -> int:
    """How many characters a country's numbers have; 0: it has none."""
    form = numdb.get("iban").info(country)[0][1].get("bban", "")
    return 4 + sum(map(int, re.findall("[0-9]+", form))) if form else 0


def person_numbers(text: str, countries: Sequence[str] = ()) -> Iterator[tuple[int, int]]:
    """Numbers of persons, as ``national_numbers``; those of three countries also between the cells of a table."""
    yield from national_numbers(text, countries)
    if countries and TABLED.isdisjoint(countries):
        return
    for match in _PERSON.finditer(text):
        digits = "".join(filter(str.isdigit, match.group()))
        if ssn.is_valid(digits) or nhs.is_valid(digits) or nir.is_valid(digits):
            yield match.span()


def _emails(text: str) -> Iterator[tuple[int, int]]:
    return (match.span() for match in _EMAIL.finditer(text)) if "@" in text else iter(())


def _records(text: str) -> Iterator[tuple[int, int]]:
    for match in _RECORD.finditer(text):
        yield match.span("code" if match["code"] else "number")


_plain_cards = _grouped("[0-9]", "[0-9]", 19, _longest_card)
FINDERS: dict[Identifier, Callable[[str], Iterator[tuple[int, int]]]] = {
    "email": _emails,
    "iban": _grouped("[A-Za-z]{2}[0-9]{2}", "[A-Za-z0-9]", 34, _longest_iban, gap=_WIDE_GAP),
    "card": _cards,
    "ssn": person_numbers,
    "record": _records,
}
