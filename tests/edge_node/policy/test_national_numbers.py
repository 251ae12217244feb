"""Numbers that states give to persons are masked, in whatever country (C24)."""

import random
import re
import time

import pytest
from pydantic import ValidationError
from stdnum.util import get_number_modules

from edge_node.policy.national_numbers import PERSONS, PUBLIC, country_of, known_countries, national_numbers
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


def test_a_country_without_a_number_is_refused_with_its_name():
    with pytest.raises(ValidationError, match="'XX'"):
        Redact(countries=["XX"])


def test_every_country_of_the_library_is_known_and_no_module_is_misspelt():
    names = {module.__name__.removeprefix("stdnum.") for module in get_number_modules()}
    assert {country_of(name) for name in names} - {"", "EU"} <= known_countries()
    assert {name for shapes in PERSONS.values() for name in shapes} | PUBLIC <= names


def test_time_is_linear_in_the_text():
    def seconds(text):
        began = time.process_time()
        list(national_numbers(text))
        return time.process_time() - began

    for part in ("1 ", "12345 ", "1-", "A1", "12345678901234567890 "):
        seconds(part * 100)  # the modules are loaded
        once, often = (min(seconds(part * size) for _ in range(3)) for size in (2_000, 16_000))
        assert often < 30 * once, part
