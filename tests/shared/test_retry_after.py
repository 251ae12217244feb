import pytest

from shared.limits import LONGEST_RETRY_S, retry_after_s

NOON = "Wed, 21 Oct 2026 12:00:00 GMT"


@pytest.mark.parametrize(("value", "seconds"), [("0", 0.0), ("7", 7.0), ("9" * 30, LONGEST_RETRY_S), ("9" * 5000, LONGEST_RETRY_S)])
def test_seconds_are_kept_up_to_a_day(value, seconds):
    assert retry_after_s(value, date="") == seconds


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("Wed, 21 Oct 2026 12:01:30 GMT", 90.0), ("Wed, 21 Oct 2026 11:00:00 GMT", 0.0), ("Fri, 21 Oct 2036 12:00:00 GMT", LONGEST_RETRY_S)],
)
def test_a_date_counts_from_the_servers_own(value, seconds):
    assert retry_after_s(value, date=NOON) == seconds


@pytest.mark.parametrize("value", ["", "-1", "1e9", "1.5", "²", "soon", "nan", "Wed, 99 Foo 2026", "21 Oct 99999 12:00:00 GMT"])
def test_nonsense_is_none(value):
    assert retry_after_s(value, date=NOON) is None


def test_a_date_without_the_servers_date_is_none():
    assert retry_after_s(NOON, date="") is None
