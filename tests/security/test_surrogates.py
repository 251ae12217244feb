"""Half of a character in any text of any route is a 422, in the form of that API (B11): some chat programs cut an emoji in two."""

import json

import pytest

from shared.http import doorkeeper
from tests.support.both_services import SERVICES, filled

HALVES = (rb"\ud83d", rb"\uDE00", rb"\ud83d\ud83d\ude00", rb"\\\ud83d", b"\xed\xa0\xbd")
MARK = "@half@"
FORMS = {
    "/v1/chat/completions": lambda body: body["error"]["type"] == "invalid_request_error" and body["error"]["code"] == "bad_input",
    "/v1/embeddings": lambda body: body["error"]["type"] == "invalid_request_error",
    "/api/chat": lambda body: set(body) == {"error"},
    "/api/generate": lambda body: set(body) == {"error"},
    "/api/show": lambda body: set(body) == {"error"},
    "/retrieval": lambda body: body["error_code"] == 422,
    "/mcp": lambda body: body["error"]["code"] == -32700 and body["id"] is None,
}


def with_mark(value):
    """The same JSON value with a mark in one of its strings, for each of them, keys included."""
    if isinstance(value, str):
        yield value + MARK
    elif isinstance(value, list | tuple):
        for place, item in enumerate(value):
            yield from ([*value[:place], other, *value[place + 1 :]] for other in with_mark(item))
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from (value | {key: other} for other in with_mark(item))
        yield value | {f"more{MARK}": 1}


async def statuses(service):
    """(method, path, status, body) of every route for every string of its body, cut in every way."""
    for (method, path), body in service.bodies.items():
        for marked in with_mark(body):
            for half in HALVES:
                content = json.dumps(marked).encode().replace(MARK.encode(), half)
                reply = await service.call(method, filled(path), content=content)
                yield method, path, reply.status, json.loads(reply.body)


@pytest.mark.parametrize("kind", SERVICES)
async def test_half_a_character_is_a_422_in_every_text_of_every_route(kind, tmp_path):
    wrong, seen = [], set()
    async with SERVICES[kind](tmp_path) as service:
        async for method, path, status, body in statuses(service):
            seen.add(path)
            if status != 422 or not FORMS.get(path, lambda body: body["code"] == "bad_input")(body):
                wrong.append((method, path, status, body))
    assert wrong == []
    assert seen >= set(FORMS) if kind == "edge" else "/v1/questions" in seen


async def test_without_the_look_at_the_door_some_routes_take_it(tmp_path, monkeypatch):
    """The null control: as it was, chat and Ollama's routes fell over it, and a message's other fields were taken."""
    monkeypatch.setattr(doorkeeper, "holds_half_a_pair", lambda body: False)
    async with SERVICES["edge"](tmp_path) as service:
        found = {path for _, path, status, _ in [one async for one in statuses(service)] if status != 422}
    assert {"/v1/chat/completions", "/api/chat", "/api/generate"} <= found


@pytest.mark.parametrize("text", [r"a \ud83d\ude00 pump?", r"what is \\ud83d?", "a \U0001f600 pump?"])
async def test_whole_characters_and_their_spelling_are_asked(text, tmp_path):
    async with SERVICES["edge"](tmp_path) as service:
        content = json.dumps({"question": MARK, "mode": "local"}).encode().replace(MARK.encode(), text.encode())
        assert (await service.call("POST", "/v1/query", content=content)).status == 200


async def test_a_file_is_bytes_and_may_hold_anything(tmp_path):
    form = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.md"\r\n\r\nThe text says "\\ud83d".\r\n--x--\r\n'
    async with SERVICES["edge"](tmp_path) as service:
        reply = await service.call("POST", "/v1/documents", content=form, headers={"content-type": "multipart/form-data; boundary=x"})
        assert reply.status == 202
