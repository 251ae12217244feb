"""Goal S13: no document, question, key or vector of anybody in logs, in errors or in metrics, while all sorts of things go wrong."""

import logging

import pytest

from shared.errors import ModelUnavailable
from shared.models.fake import HashEmbedder, ScriptedGenerator
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
