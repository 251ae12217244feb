"""Goal S8: what schemathesis makes of both OpenAPI documents, valid and not, brings no server error and no traceback."""

import asyncio
import contextlib
import json
import threading
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlencode, urlsplit

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode

from shared.http.keyring import SCHEMA
from shared.sqlite import Database
from tests.faults.report import MEMORY
from tests.support.both_services import SERVICES
from tests.support.hostile import fault
from tests.support.raw_asgi import send_request

pytestmark = pytest.mark.campaign

HELD = "/v1/edges/{edge}/poll"  # it may wait for a minute, as it is asked to
FREE = {"deadline": None, "database": None, "phases": [Phase.generate], "suppress_health_check": list(HealthCheck)}


class InThread:
    """A service that lives in an event loop of its own: hypothesis is synchronous."""

    def __init__(self, kind):
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=kind)
        self._folder = TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None)
        self.folder = self._folder.name
        self._context = SERVICES[kind](Path(self.folder))

    def __enter__(self):
        self._thread.start()
        self.service = self.run(self._context.__aenter__())
        return self

    def __exit__(self, *error):
        self.run(self._context.__aexit__(None, None, None))
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self._folder.cleanup()

    def run(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()


@pytest.fixture(scope="module", params=SERVICES)
def running(request):
    with InThread(request.param) as thread:
        yield thread


def request_of(service, case):
    """The case as a request of ours: signed where only an edge may call."""
    given = case.as_transport_kwargs(base_url="http://127.0.0.1")
    content = json.dumps(given["json"]).encode() if "json" in given else given.get("data")
    content = content if isinstance(content, bytes | None) else str(content).encode("utf-8", "replace")
    query = urlencode({key: value for key, value in (given.get("params") or {}).items() if value is not None}, doseq=True)
    if case.operation.path == HELD:
        query = "wait_s=0"
    headers = [(name, value) for name, value in given["headers"].items() if value.isascii() and value.isprintable()]
    target = urlsplit(given["url"]).path
    return service.request(given["method"], target, content=content, query=query, headers=headers)


def reopened(running):
    """Take all keys away: a first one ends open mode, and every later request would end at the door."""
    with contextlib.closing(Database(Path(running.folder) / "keys.db", migrations=SCHEMA)) as database, database.write() as tx:
        tx.execute("DELETE FROM keys")


def fuzz(running, *, examples, by_chance=False):
    """The faults by operation. What CI tries is the same in every run; ``by_chance`` it is new in each."""
    found = {}
    service = running.service
    schema = schemathesis.openapi.from_dict(service.app.openapi())
    for result in schema.get_all_operations():
        operation = result.ok()
        for mode in GenerationMode:

            @settings(max_examples=examples, derandomize=not by_chance, **FREE)
            @given(operation.as_strategy(generation_mode=mode))
            def tried(case):
                got = running.run(send_request(service.app, request_of(service, case)))
                if (got.status, case.operation.path) == (201, "/v1/keys"):
                    reopened(running)
                if why := fault(got):
                    found[f"{case.method} {case.operation.path}"] = why

            with contextlib.suppress(Unsatisfiable):  # nothing is invalid at a route that takes nothing
                tried()
    return found


def test_every_operation_takes_valid_and_invalid_input(running):
    assert fuzz(running, examples=6) == {}


@pytest.mark.long
def test_every_operation_takes_a_lot_of_valid_and_invalid_input(running):
    assert fuzz(running, examples=300, by_chance=True) == {}
