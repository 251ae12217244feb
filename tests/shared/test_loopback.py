import pytest

from shared.tls import is_loopback


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "[::1]", "localhost", "LOCALHOST"])
def test_addresses_of_this_machine_are_loopback(host):
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "localhost.example.org", "", "127.0.0.1.example.org"])
def test_anything_else_is_not(host):
    assert not is_loopback(host)
