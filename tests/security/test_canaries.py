"""Goal S13: no document, question, key or vector of anybody in logs, in errors or in metrics, while all sorts of things go wrong."""

import asyncio
import contextlib
import gc
import io
import logging
import subprocess
import sys
import threading
from types import SimpleNamespace

import pytest
import uvicorn
import uvloop
from fastapi import FastAPI

from shared.errors import ModelUnavailable
from shared.http.service import server_config
from shared.models.fake import HashEmbedder, ScriptedGenerator
from shared.telemetry import logs
from tests.support.both_services import QUERIES, SERVICES, filled
from tests.support.raw_asgi import send_request
from tests.support.running_edge import running_edge, scripted

DOCUMENT = "canary-document-5f1e"
QUESTION = "canary-question-9b2c"
KEY = "dgk_00aa11bb22cc_" + "canarykey" * 4 + "4321abc"
CANARIES = (DOCUMENT, QUESTION, KEY, "canarykey")
TEXT = f"Juniper Ward reported the {DOCUMENT} of four infusion pumps."


def broken(prompt):
    raise ModelUnavailable("no model server", next_step="start it")


def surprising(prompt):
    raise ValueError(f"a surprise that holds {prompt.messages[-1].content}")


def found_in(texts):
    return [canary for canary in CANARIES for text in texts if canary in text]


def logged(caplog):
    return [f"{record.getMessage()} {record.exc_text or ''}" for record in caplog.records]


@pytest.mark.parametrize(
    "generator", [scripted(), ScriptedGenerator(broken), ScriptedGenerator(surprising)], ids=["well", "away", "surprise"]
)
async def test_an_edge_shows_no_canary_in_logs_and_errors(tmp_path, caplog, generator):
    caplog.set_level(logging.DEBUG)
    headers = {"authorization": f"Bearer {KEY}"}
    errors = []
    async with running_edge(tmp_path, generator=generator, strategy="dgrag") as edge:
        await edge.add("report.md", TEXT)
        app = edge.http._transport.app
        edge.http._transport.raise_app_exceptions = False
        for path, body in [
            ("/v1/query", {"question": QUESTION, "mode": "local"}),
            ("/v1/query", {"question": QUESTION, "mode": "cloud"}),
            ("/v1/query", {"question": QUESTION, "mode": QUESTION}),
            ("/v1/query", {"question": [QUESTION]}),
            ("/v1/query", {"question": QUESTION, "unknown": QUESTION}),
            ("/v1/chat/completions", {"model": "dgrag-local", "messages": [{"role": "user", "content": QUESTION}]}),
            ("/v1/documents", {"name": 7, "text": DOCUMENT}),
            ("/v1/documents", {"name": "a.pdf", "text": DOCUMENT}),
            ("/v1/jobs/none/retry", {"why": QUESTION}),
        ]:
            response = await edge.http.post(path, json=body, headers=headers)
            errors += [response.text] if response.status_code >= 400 else []
        errors += [(await edge.http.get("/metrics")).text, (await edge.http.get("/v1/status")).text, (await edge.http.get("/ready")).text]
        assert app.state.guard.is_open()
    assert found_in(errors) == []
    assert found_in(logged(caplog)) == []


@pytest.mark.parametrize("kind", SERVICES)
async def test_wrong_keys_and_signatures_are_not_repeated(kind, tmp_path, caplog):
    caplog.set_level(logging.DEBUG)
    async with SERVICES[kind](tmp_path) as service:
        shown = []
        for method, path in service.routes:
            for headers in ({"authorization": f"Bearer {KEY}"}, {"signature": f"dgrag=:{KEY}:", "signature-input": f'dgrag=("{KEY}")'}):
                request = service.request(
                    method, filled(path), content=b'{"key": "' + KEY.encode() + b'", "NaN": NaN}', query=QUERIES.get(path, "")
                )
                got = await send_request(service.app, request, headers=headers.items())
                shown += [got.body.decode("utf-8", "replace"), str(got.headers)] if got.status >= 400 else []
    assert found_in(shown) == []
    assert found_in(logged(caplog)) == []


async def test_an_edges_private_key_and_its_vectors_leave_no_trace_in_logs(tmp_path, caplog):
    caplog.set_level(logging.DEBUG)
    async with running_edge(tmp_path, strategy="dgrag") as edge:
        await edge.add("report.md", TEXT)
        (vector,) = await HashEmbedder().embed([TEXT])
    secrets = [line for path in tmp_path.rglob("*.key") for line in path.read_text().splitlines() if line and "-----" not in line]
    numbers = [repr(float(number))[:10] for number in vector[:16]]
    assert [secret for secret in (*secrets, *numbers) for text in logged(caplog) if secret in text] == []


def test_a_canary_that_is_logged_is_found(caplog):
    """The null control."""
    logging.getLogger("dgrag.test").error("a question: %s", QUESTION)
    assert found_in(logged(caplog)) == [QUESTION]


class Telling:
    """A callback that shows what it holds."""

    def __repr__(self):
        return f"{DOCUMENT} {QUESTION}"

    def __call__(self, *_):
        raise ValueError(f"a surprise that holds {QUESTION}")


async def task_that_nobody_awaits():
    async def surprising():
        Telling()()

    task = asyncio.create_task(surprising())
    await asyncio.wait([task])
    del task
    gc.collect()


async def callback_with_arguments():
    asyncio.get_running_loop().call_soon(Telling(), KEY)
    await asyncio.sleep(0)
    await asyncio.sleep(0)


async def lifespan_that_fails():
    """The traceback that is logged as a message begins with the cause."""

    @contextlib.asynccontextmanager
    async def lifespan(_):
        raise ValueError(DOCUMENT) from KeyError(QUESTION)
        yield

    front = SimpleNamespace(host="127.0.0.1", port=0, tls_cert=None, tls_key=None, head_s=10.0)
    with contextlib.suppress(SystemExit):
        await uvicorn.Server(server_config(FastAPI(lifespan=lifespan), front)).serve()


FAILING = {
    task_that_nobody_awaits: ("Task exception was never retrieved", "ValueError at test_canaries.py:"),
    callback_with_arguments: ("Exception in callback", "ValueError at test_canaries.py:"),
    lifespan_that_fails: ("KeyError", "ValueError at test_canaries.py:", ", from KeyError"),
}


@pytest.fixture
def hooks(monkeypatch):
    """What a service sets for the whole process is as before afterwards."""
    for module, name in ((sys, "excepthook"), (sys, "unraisablehook"), (threading, "excepthook")):
        monkeypatch.setattr(module, name, getattr(module, name))
    yield
    for name in logs.QUOTING:
        logging.getLogger(name).removeFilter(logs._UNQUOTED)


def said_by(fails, loop):
    """The log of a failure, as a handler writes it that knows nothing of canaries."""
    out = io.StringIO()
    handler = logging.StreamHandler(out)
    logging.getLogger().addHandler(handler)
    try:
        with asyncio.Runner(loop_factory=loop) as runner:
            runner.run(fails())
    finally:
        logging.getLogger().removeHandler(handler)
    return out.getvalue()


LOOPS = [asyncio.new_event_loop, uvloop.new_event_loop]


@pytest.mark.parametrize("loop", LOOPS, ids=["asyncio", "uvloop"])
@pytest.mark.parametrize("fails", FAILING)
def test_what_fails_where_nobody_catches_it_is_told_by_kind_and_place(hooks, fails, loop):
    logs.begin()
    said = said_by(fails, loop)
    assert found_in([said]) == []
    assert [part for part in FAILING[fails] if part not in said] == []


@pytest.mark.parametrize("fails", FAILING)
def test_without_our_logging_the_same_failures_show_canaries(fails):
    """The null control."""
    assert found_in([said_by(fails, uvloop.new_event_loop)]) != []


ENDING = """
import sys, threading
from shared.http.service import run

class Closing:
    def __del__(self):
        raise KeyError(sys.argv[1])

def fail():
    raise ValueError(sys.argv[1])

def serve():
    Closing()
    thread = threading.Thread(target=fail)
    thread.start()
    thread.join()
    fail()

sys.exit(run(serve) if sys.argv[2] == "service" else serve())
"""


def ended(how):
    command = [sys.executable, "-c", ENDING, DOCUMENT, how]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.process
def test_a_service_that_ends_by_a_surprise_tells_its_kind_and_place_alone():
    end = ended("service")
    assert (end.returncode, found_in([end.stdout, end.stderr])) == (1, [])
    assert end.stderr.count("ValueError at <string>:") == 2  # of the thread, and of the service
    assert end.stderr.count("KeyError at <string>:") == 1
    assert " CRITICAL dgrag ended by an error that nobody expected" in end.stderr


@pytest.mark.process
def test_pythons_own_last_words_show_the_canary():
    """The null control."""
    assert found_in([ended("alone").stderr]) == [DOCUMENT]
