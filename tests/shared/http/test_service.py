import asyncio
import logging
import re
import socket
import sys
import threading
from types import SimpleNamespace

import httpx2
import pytest
from fastapi import FastAPI, Request
from fastapi.responses import StreamingResponse

from cloud_server.settings import CloudSettings
from edge_node.settings import EdgeSettings
from shared.errors import SettingsError
from shared.http import service
from shared.http.keyring import KeyRing
from shared.http.middleware import while_connected
from shared.http.open_mode import CALLER
from shared.http.problems import install_problems
from shared.http.service import Server, doorkeeper, run, server_config, warn_of_strangers
from tests.support.waiting import until


@pytest.fixture(autouse=True)
def hooks(monkeypatch):
    """``run`` sets them for the whole process: they are as before afterwards."""
    for module, name in ((sys, "excepthook"), (sys, "unraisablehook"), (threading, "excepthook")):
        monkeypatch.setattr(module, name, getattr(module, name))


def front(**changes):
    defaults = {
        "host": "127.0.0.1", "port": 0, "tls_cert": None, "tls_key": None, "behind_tls_proxy": False, "requests_per_minute": 60,
        "head_s": 10.0, "connections_per_address": 0, "oidc_issuer": "", "trusted_proxies": (), "proxy_header": "x-forwarded-for",
    }  # fmt: skip
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


async def test_a_service_whose_port_is_taken_says_which(tmp_path, caplog):
    app = FastAPI()
    app.state.guard = doorkeeper(front(), KeyRing(tmp_path))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        server = Server(app, front(port=port), name="edge ward")
        with pytest.raises(SystemExit):
            await server.serve()
    app.state.guard.close()
    assert caplog.messages[-1] == f"edge ward cannot listen at 127.0.0.1:{port}"


@pytest.fixture
async def interrupted(tmp_path, monkeypatch):
    """A request that is answered when the service is told to stop, or never; its reply."""
    monkeypatch.setattr(service, "GRACE_S", 0)

    async def reply(answer):
        app, began = FastAPI(), asyncio.Event()
        install_problems(app, max_body_bytes=1)
        app.state.guard = doorkeeper(front(), KeyRing(tmp_path))

        @app.get("/slow")
        async def slow(request: Request):
            began.set()
            return await while_connected(request, answer())  # as every question is

        server = Server(app, front(), name="edge ward")
        serving = asyncio.create_task(server.serve())
        await until(lambda: server.started)
        url = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/slow"
        async with httpx2.AsyncClient(trust_env=False) as http:
            asking = asyncio.create_task(http.get(url))
            await began.wait()
            server.should_exit = True
            await serving
            try:
                return await asking
            finally:
                app.state.guard.close()

    return reply


async def never():
    await asyncio.Event().wait()


async def test_a_request_that_a_stop_cuts_short_is_told_so_and_when_to_come_again(interrupted, caplog):
    got = await interrupted(never)
    assert (got.status_code, got.headers["content-type"], got.headers["retry-after"]) == (503, "application/problem+json", "10")
    assert (got.json()["code"], got.json()["next_step"]) == ("stopping", "ask again when it is back")
    assert not [record for record in caplog.records if record.exc_info]


async def test_a_stream_that_a_stop_cuts_short_breaks_off_without_an_end(interrupted):
    async def pieces():
        yield b"first"
        await never()

    async def stream():
        return StreamingResponse(pieces())

    with pytest.raises(httpx2.RemoteProtocolError):
        await interrupted(stream)


async def test_a_cancellation_that_is_no_stop_goes_on_as_it_came():
    app = FastAPI()
    install_problems(app, max_body_bytes=1)
    app.get("/slow")(never)
    async with httpx2.AsyncClient(headers=CALLER, transport=httpx2.ASGITransport(app), base_url="http://edge") as http:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await http.get("/slow")
