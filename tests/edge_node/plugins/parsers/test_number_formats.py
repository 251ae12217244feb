"""Numbers as sheets show them."""

import pytest

from edge_node.plugins.parsers.number_formats import general, is_percent, is_plain, shown


@pytest.mark.parametrize(
    ("value", "code", "text"),
    [
        (0.25, "0%", "25%"),
        (0.0375, "0.00%", "3.75%"),
        (123, "00000", "00123"),
        (1234.5, "#,##0 €", "1,235 €"),
        (1234.5, "#,##0.00 [$€-407]", "1,234.50 €"),
        (-1599.99, '"$"#,##0.00_);[Red]("$"#,##0.00)', "($1,599.99)"),
        (-5, "0.0", "-5.0"),
        (12_500_000, '#,##0.0,,"M"', "12.5M"),
        (5_551_234, "000-0000", "555-1234"),
        (2_125_551_234, "(000) 000-0000", "(212) 555-1234"),
        (198_356_388, "0.00E+00", "1.98E+08"),
        (0.125, "0.00", "0.13"),
        (1.005, "0.00", "1.01"),
        (0, '_-* #,##0_-;-* #,##0_-;_-* "-"??_-;_-@_-', "-"),
        (15, '[<10]0" low";0" high"', "15 high"),
        (3, '0 "mg"', "3 mg"),
        (7, ";;;", ""),
        (2.5, "# ?/?", "2.5"),
        (7, "GENERAL", "7"),
        (5, 'General" mg"', "5 mg"),
        (-2.5, 'Standard" °C"', "-2.5 °C"),
        (-3, '"up "General;"down "General', "down 3"),
        (1e300, "#,##0", "1e+300"),
    ],
)
def test_a_number_is_shown_by_its_format(value: float, code: str, text: str):
    assert shown(value, code) == text


def test_whole_numbers_are_said_in_full():
    assert general(1234567890123456.0) == "1234567890123456"
    assert general(1e20) == "100000000000000000000"
    assert general(0.1 + 0.2) == "0.3"


def test_formats_of_days_and_of_none_change_nothing():
    assert all(map(is_plain, ("General", "@", "yyyy-mm-dd", "[h]:mm", "")))
    assert not any(map(is_plain, ("0.00", "0%", '0 "d"')))
    assert is_percent("0.0%")
    assert not is_percent('0.0"%"')


@pytest.mark.parametrize("code", ['"' * 999, "[" * 300, "0" * 5_000, "\\" * 99, "[<1e9", "E+", "%%%%0", ",,,", "0.0.0", "0E+0E+0"])
@pytest.mark.parametrize("value", [0, -1.5, 1e20, 12345.678])
def test_no_format_breaks_the_reading(value: float, code: str):
    assert isinstance(shown(value, code), str)
