"""Numbers that states give to persons are masked, in whatever country (C24)."""

import random
import re
import time

import pytest
from pydantic import ValidationError
from stdnum.util import get_number_modules

from edge_node.policy.national_numbers import (
    PERSONS,
    PUBLIC,
    TOO_SHORT,
    UNCHECKED,
    country_of,
    kinds_by_size,
    known_countries,
    national_numbers,
)
from edge_node.policy.redaction import Redactor
from edge_node.policy.rules import Redact

# made for tests, or of the documentation of python-stdnum: nobody's
NUMBERS = {
    "AT": "1237 010180",
    "BE": "85.07.30-033.28",
    "BG": "752316 926 3",
    "BR": "390.533.447-05",
    "CH": "756.9217.0769.85",
    "CZ": "710319/2745",
    "DE": "36 574 261 809",
    "DK": "211062-5629",
    "EE": "368 0528 0109",
    "ES": "54362315-K",
    "FI": "131052-308T",
    "FR": "2 95 10 99 126 111 93",
    "GB": "943 476 5870",
    "GR": "01013099997",
    "HR": "33392005961",
    "IE": "6433435F",
    "IN": "234123412346",
    "IT": "RCCMNL83S18D969H",
    "LT": "33309240064",
    "LV": "161175-19997",
    "NL": "1112.22.333",
    "NO": "151086 95088",
    "PK": "34201-0891231-8",
    "PL": "44051401359",
    "PT": "00000000 0 ZZ4",
    "RO": "1630615123457",
    "RS": "0101006500006",
    "SE": "880320-0016",
    "SG": "S1234567D",
    "SK": "7103192745",
    "TR": "17291716060",
    "US": "536-90-4399",
    "ZA": "7503305044089",
}
MASKING = Redactor.of(Redact(identifiers=["ssn"]))


def shown(number):
    return re.sub(r"\W", "", number)


@pytest.mark.parametrize("country", NUMBERS)
def test_a_number_of_a_person_is_masked_without_a_word_about_countries(country):
    number = NUMBERS[country]
    together = number if country == "PK" else shown(number)  # its groups are all that tells it
    for sentence in (f"Her number is {number}.", f"{number}: admitted on 3 May", f"Nr {together}, ward 7"):
        masked = MASKING.mask(sentence)
        assert shown(number) not in shown(masked), masked
        assert len(masked) == len(sentence)


@pytest.mark.parametrize("size", [10, 11, 12, 13])
def test_most_numbers_without_right_check_digits_stay(size):
    chosen = random.Random(size)
    numbers = [str(chosen.randrange(10 ** (size - 1), 10**size)) for _ in range(1_000)]
    assert sum(MASKING.mask(number) == number for number in numbers) > 500


def test_a_site_that_names_its_countries_masks_their_numbers_alone():
    text = f"Polish {NUMBERS['PL']}, Swiss {NUMBERS['CH']}, a German firm DE 136 695 976"
    polish = Redactor.of(Redact(identifiers=["ssn"], countries=["PL"])).mask(text)
    assert NUMBERS["PL"] not in polish
    assert NUMBERS["CH"] in polish
    german = Redactor.of(Redact(identifiers=["ssn"], countries=["DE"])).mask("a German firm DE 136695976")
    assert "136695976" not in german


def test_telephone_numbers_of_the_sites_countries_are_masked_too():
    number = "22 123 45 67"
    assert number not in Redactor.of(Redact(identifiers=["phone"], countries=["PL"])).mask(f"call {number} now")
    assert number in Redactor.of(Redact(identifiers=["phone"])).mask(f"call {number} now")


def test_what_is_no_number_of_a_person_stays():
    text = "In 2026 some 1,204 beds, 8 wards, pump P-204, room 7/12, 20240131, 3.14159, 5 mg, ISO 9001:2015, v1.22.333"
    assert MASKING.mask(text) == text


OFFICE_LINES = """
On 28.11.2026 20 pumps failed
From 01.03.2026 12 rooms are closed
The audit of 2026-11-28 found 35 errors in 12 files
Delivered 28/11/2026, 120 boxes
Due 3/14/2026: 4 invoices
Log 2026-11-28 101500 restart of node 7
Backup 20261128 101500 done
Written 28.11.26 48 copies
Open from 08.30-12.45 and 13.15-17.00 in room 101
Shift 06:00-14:30, 22 nurses
Train at 14.05 from platform 12
Stay 01.02.2026-14.02.2026, 13 nights
Server 192.168.10.21 answers, 10.12.114.200 does not
Gateway 10.0.0.1, mask 255.255.255.0, port 8080
Address 172.16.254.13 12 users
Version 2.14.3 replaces 2.13.11
Release 4.12.0.17 of 12.05.2026
Rooms 12 13 14 15 16 17 are painted
Rooms 101 102 103
Beds: 28 14 19 22 30 5
Years 2021 2022 2023
Reports 2019, 2020, 2021 and 2022
Sales 2021 2022 2023 2024: 12 14 13 17
Budget 2025/2026 and 2026/2027
Prices 1.250.000 3.400
A loan of 12.500.000,00 EUR
Assets of 1.204.500.000 at the end of 2026
Revenue 3.400,50 and costs 2.900,10
USD 1,250,000.00 for 3 years
Total 98.50 12.75 110.25
Pi is 3.14159265 here
Position 48.2081 16.3738
Dose 500-1000 mg, 20 times
Take 2-3 of 4-6 tablets
ISBN 978-3-16-148410-0
ISBN 9783161484100
ISBN 978 3 16 148410 0
Book 3-16-148410-X
See pages 12-14, 33-35 and 120-125
Article 4711-12 costs 12.50
Order no 104032 of 12 January
Item 33-4120, 14 pieces
Article A1204-33 and B77
Pump P-204, filter F-17, bed 12
Form 12/2026, page 3 of 14
ISO 9001:2015 and DIN 4102
Paragraph 12.3.4 of annex 7
Chapters 1.2 1.3 1.4 1.5
Room 7/12, floor 3
Score 3-2 2-1 0-0 1-1
Ratios 1/2 1/4 1/8
Lot 22-114 until 05/2028
Weights 70 72 75 71 68 kg
Blood pressure 120/80 130/85 125/82
Temperature 36.6 37.1 38.2
1 2 3 4 5 6 7 8 9 10 11 12
Numbers 4 8 15 16 23 42
Zip 10115 Berlin, 80331 Munich
Meeting 28.11. 14.30 in 3.12
Postcode 1010, flat 22
Table 4: 12 14 16 18 20 22 24
Quarter 1: 120, quarter 2: 340
20 of 28 wards, 12 of 14 labs
Grades 1-2-1-3-2-2-1-4
Code AB-12 and XY-9
Built 1998-2004, rebuilt 2016-2019
""".strip().splitlines()
MODES = ((), ("DE", "AT"), ("US", "GB"), ("SE", "DK", "FI"), ("FR", "BE"))


@pytest.mark.parametrize("countries", MODES)
def test_ordinary_office_lines_stay(countries):
    assert len(OFFICE_LINES) >= 60
    found = [line for line in OFFICE_LINES if list(national_numbers(line, countries))]
    assert found == []


def test_dates_before_numbers_and_addresses_of_computers_stay():
    days = [
        f"on {day:02d}.{month:02d}.2026 {number} pumps" for day in range(1, 29) for month in (1, 5, 11) for number in (2, 20, 350, 4800)
    ]
    chosen = random.Random(7)
    addresses = [".".join(str(chosen.randrange(256)) for _ in range(4)) for _ in range(500)]
    assert [text for text in days + addresses if list(national_numbers(text))] == []


def test_blanks_join_no_number_that_has_no_check_digit():
    assert not list(national_numbers("500 12 3456", ["US"]))
    for written in ("500-12-3456", "500.12.3456", "500123456"):
        assert list(national_numbers(f"SSN {written}", ["US"]))


OTHER_FORMS = """
21.10.62-5629
211062 5629
710319 2745
480319 274
480319/274
AB 12 34 56 C
AB 123456 C
295109912611193
2951099126111 93
85073003328
85 07 30 033 28
36.574.261.809
00000000.0.ZZ4
390533447-05
1237.010180
19880320-0016
""".strip().splitlines()


@pytest.mark.parametrize("written", OTHER_FORMS)
def test_other_usual_forms_are_masked(written):
    assert (3, 3 + len(written)) in list(national_numbers(f"Nr {written}, ward 7"))


def test_number_kinds_that_most_numbers_fit_are_known_as_such():
    chosen = random.Random(5)
    codes = [str(chosen.randrange(10 ** (size - 1), 10**size)) for size in range(6, 15) for _ in range(30)]
    for country in known_countries():
        for kind in kinds_by_size((country,))[10]:
            fits = [len(code) for code in codes if kind.fits(code)]
            assert not kind.is_checked or max(map(fits.count, fits), default=0) <= 15, (country, kind)


def test_a_firms_number_in_unusual_groups_needs_the_letters_of_its_country():
    assert list(national_numbers("VAT DE 136 695 976", ["DE"]))
    assert list(national_numbers("VAT 136695976", ["DE"]))
    assert not list(national_numbers("rooms 136 695 976", ["DE"]))


def test_of_bare_numbers_a_bounded_part_is_taken_for_national_ones():
    """As docs/operations.md says; without a label nothing tells such an order number from a person's."""
    chosen = random.Random(11)
    bounds = {10: 0.5, 11: 0.4, 12: 0.4, 13: 0.2}
    for size, bound in bounds.items():
        numbers = [str(chosen.randrange(10 ** (size - 1), 10**size)) for _ in range(1_000)]
        share = sum(bool(list(national_numbers(number))) for number in numbers) / len(numbers)
        assert share <= bound


def test_a_country_without_a_number_is_refused_with_its_name():
    with pytest.raises(ValidationError, match="'XX'"):
        Redact(countries=["XX"])


def test_every_country_of_the_library_is_known_and_no_module_is_misspelt():
    names = {module.__name__.removeprefix("stdnum.") for module in get_number_modules()}
    assert {country_of(name) for name in names} - {"", "EU"} <= known_countries()
    assert {name for shapes in PERSONS.values() for name in shapes} | PUBLIC | TOO_SHORT | UNCHECKED <= names


def test_time_is_linear_in_the_text():
    def seconds(text):
        began = time.process_time()
        list(national_numbers(text))
        return time.process_time() - began

    for part in ("1 ", "12345 ", "1-", "A1", "12345678901234567890 "):
        seconds(part * 100)  # the modules are loaded
        once, often = (min(seconds(part * size) for _ in range(3)) for size in (2_000, 16_000))
        assert often < 30 * once, part
