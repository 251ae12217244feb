import logging
import re
from types import SimpleNamespace

import pytest
from fastapi import FastAPI

from cloud_server.settings import CloudSettings
from edge_node.settings import EdgeSettings
from shared.errors import SettingsError
from shared.keyring import KeyRing
from shared.service import Server, doorkeeper, run, server_config, warn_of_strangers


def front(**changes):
    defaults = {"host": "127.0.0.1", "port": 0, "tls_cert": None, "tls_key": None, "behind_tls_proxy": False, "requests_per_minute": 60}
    return SimpleNamespace(**{**defaults, **changes})


def test_the_server_believes_no_forwarded_header_and_speaks_plain_http_by_default():
    config = server_config(FastAPI(), front())
    assert (config.proxy_headers, config.is_ssl, config.server_header) == (False, False, False)


def test_settings_that_cannot_work_end_with_one_line_and_status_1(caplog):
    def serve():
        raise SettingsError("no way", next_step="do this")

    with caplog.at_level(logging.CRITICAL):
        assert run(serve) == 1
    assert caplog.messages == ["no way – do this"]


def test_a_wrong_setting_ends_with_one_line_and_status_1(monkeypatch, caplog):
    monkeypatch.setenv("DGRAG_CLOUD_PORT", "lots")
    assert run(CloudSettings, prefix="DGRAG_CLOUD_") == 1
    assert len(caplog.messages) == 1
    assert "cannot be used: DGRAG_CLOUD_PORT: " in caplog.messages[0]


def test_settings_that_do_not_belong_together_end_with_one_line_and_status_1(monkeypatch, caplog):
    monkeypatch.setenv("DGRAG_EDGE_STRATEGY", "mix")
    assert run(EdgeSettings) == 1
    assert len(caplog.messages) == 1
    assert "needs the setting mix" in caplog.messages[0]


def test_a_mix_without_the_strategy_that_reads_it_is_refused(monkeypatch, caplog):
    monkeypatch.setenv("DGRAG_EDGE_MIX", "ketrag=0.5,erarag=0.5")
    assert run(EdgeSettings) == 1
    assert caplog.messages[0].startswith("the settings cannot be used: the setting mix changes nothing while the strategy is dgrag")


def test_a_misspelt_variable_is_named_with_what_may_be_meant(monkeypatch, caplog):
    monkeypatch.setenv("DGRAG_EDGE_STRATEGI", "erarag")
    warn_of_strangers(EdgeSettings())
    assert caplog.messages == ["DGRAG_EDGE_STRATEGI is no setting of this service and changes nothing; is DGRAG_EDGE_STRATEGY meant?"]


def test_ctrl_c_ends_a_service_with_its_status_and_no_traceback():
    def serve():
        raise KeyboardInterrupt

    assert run(serve) == 130


def test_a_service_that_ends_by_itself_has_status_0():
    assert run(lambda: None) == 0


@pytest.mark.parametrize(
    ("host", "with_key", "told"), [("127.0.0.1", False, "this machine only, no keys needed"), ("::1", True, "keys needed")]
)
async def test_a_service_says_where_it_answers_and_to_whom(tmp_path, caplog, host, with_key, told):
    ring = KeyRing(tmp_path)
    if with_key:
        ring.add("ops", "admin", now=0.0)
    app, settings = FastAPI(), front(host=host)
    app.state.guard = doorkeeper(settings, ring)
    server = Server(app, settings, name="edge ward")
    server.config.load()
    server.lifespan = server.config.lifespan_class(server.config)
    with caplog.at_level(logging.INFO, logger="dgrag"):
        await server.startup()
    await server.shutdown()
    app.state.guard.close()
    address = re.escape(f"[{host}]" if ":" in host else host)
    assert re.fullmatch(rf"edge ward is ready at http://{address}:[1-9]\d*; {told}", caplog.messages[-1])
