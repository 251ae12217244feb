"""How a service starts, and how it says that it cannot."""

import pytest
from fastapi import FastAPI

from cloud_server.settings import CloudSettings
from shared.errors import SettingsError
from shared.service import run, server_config


@pytest.mark.parametrize("host", ["0.0.0.0", "10.1.2.3", "example.org"])
def test_an_address_that_others_can_reach_is_refused(host):
    with pytest.raises(SettingsError, match=host):
        server_config(FastAPI(), host=host, port=0)


def test_a_wrong_setting_ends_with_one_line_and_status_1(monkeypatch, caplog):
    monkeypatch.setenv("DGRAG_CLOUD_PORT", "lots")
    assert run(CloudSettings) == 1
    assert len(caplog.messages) == 1
    assert "port" in caplog.messages[0]


def test_an_open_address_ends_with_one_line_and_status_1(caplog):
    assert run(lambda: server_config(FastAPI(), host="0.0.0.0", port=0)) == 1
    assert len(caplog.messages) == 1
    assert "credentials" in caplog.messages[0]


def test_a_service_that_ends_by_itself_has_status_0():
    assert run(lambda: None) == 0
