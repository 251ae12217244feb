"""Whatever is sent, the answer is a 4xx problem and the service lives on."""

import json

import pytest

BIG = 2**63
NUL_PATH = "/v1/edges/a%00b/poll"


async def check_refused(service, response, *allowed):
    assert response.status_code in (allowed or (400, 404, 413, 422)), response.text
    assert response.headers["content-type"] == "application/problem+json"
    assert len(response.content) < 2_000
    assert (await service.http.get("/health")).status_code == 200


RAW = [
    b'{"seq": NaN}',
    b'{"seq": Infinity}',
    b'{"seq": 1e999}',
    b'{"seq": -1}',
    b'{"seq": "\\ud800"}',
    b'{"\\ud800": 1}',
    b'{"seq": 1, "more": NaN}',
    b"",
    b"{",
    b"[]",
    b"null",
    b"\xff\xfe",
    b"[" * 100_000,
    b"9" * 100_000,
    b'{"seq": ' + b"9" * 5_000 + b"}",
    b'{"seq": [[[[]]]]}',
]


@pytest.mark.parametrize("content", RAW, ids=[repr(raw[:20]) for raw in RAW])
async def test_a_body_that_is_nonsense(service, kit, content):
    await kit.enrol(service.http, "ward", "pumps")
    response = await service.http.put("/v1/edges/ward/ledger", content=content, headers={"content-type": "application/json"})
    await check_refused(service, response, 400, 413, 422)
    assert b"NaN" not in response.content


@pytest.mark.parametrize("edge", ["", "A", "a/b", "../x", "a" * 64, "a\u0000b", "-a", "a b", "é", None, 7, "\ud800", "a\n"])
async def test_a_name_that_no_edge_may_have(service, edge):
    content = json.dumps({"edge": edge, "public_key": "A" * 43 + "="})
    response = await service.http.post("/v1/edges", content=content, headers={"content-type": "application/json"})
    await check_refused(service, response)


@pytest.mark.parametrize(
    "path",
    [NUL_PATH, "/v1/edges/%2e%2e%2fx/poll", "/v1/edges/" + "a" * 5_000 + "/poll", "/v1/edges/%ff/poll", "/v1/edges/a%0d%0ab/poll"],
)
async def test_a_path_that_no_edge_may_have(service, kit, path):
    await kit.enrol(service.http, "ward", "pumps")
    await check_refused(service, await service.http.post(path, auth=kit.signed(service.http, "ward")))


@pytest.mark.parametrize("wait_s", ["NaN", "Infinity", "1e999", "-1", "61", "", "x", "%00", "1&wait_s=x"])
async def test_a_wait_that_no_poll_may_have(service, kit, wait_s):
    await kit.enrol(service.http, "ward", "pumps")
    await check_refused(service, await service.http.post(f"/v1/edges/ward/poll?wait_s={wait_s}"))


@pytest.mark.parametrize("request_id", ["%00", "a" * 5_000, "%ff", "..%2f", "a%20b"])
async def test_a_request_id_that_none_may_have(service, kit, request_id):
    await kit.enrol(service.http, "ward", "pumps")
    path = f"/v1/edges/ward/replies/{request_id}"
    await check_refused(service, await service.http.post(path, json={}, auth=kit.signed(service.http, "ward")))


@pytest.mark.parametrize(
    "change",
    [
        {"version": BIG},
        {"version": -1},
        {"version": 1.5},
        {"base_version": BIG},
        {"epoch": ""},
        {"epoch": "x" * 65},
        {"epoch": "\ud800"},
        {"upserts": [{"summary_id": "s", "text": "t", "entities": BIG, "relations": 0}]},
        {"upserts": [{"summary_id": "s", "text": "", "entities": 0, "relations": 0}]},
        {"upserts": [{"summary_id": "s", "text": "x" * 8_001, "entities": 0, "relations": 0}]},
        {"upserts": [{"summary_id": "s", "text": "\ud800", "entities": 0, "relations": 0}]},
        {"upserts": [{"summary_id": "s" * 129, "text": "t", "entities": 0, "relations": 0}]},
        {"upserts": [{"summary_id": "s", "text": "t", "entities": 0, "relations": 0, "vector": [1.0]}]},
        {"upserts": [{"summary_id": f"s{i}", "text": "t", "entities": 0, "relations": 0} for i in range(5_001)]},
        {"removals": ["s"] * 5_001},
        {"removals": ["\ud800"]},
        {"removals": [None]},
        {"extra": 1},
    ],
    ids=str,
)
async def test_a_delta_with_a_field_out_of_range(service, kit, change):
    await kit.enrol(service.http, "ward", "pumps")
    content = json.dumps({**kit.delta(1, 2), **change})
    response = await service.http.put("/v1/edges/ward/summaries", content=content, headers={"content-type": "application/json"})
    await check_refused(service, response, 400, 413, 422)


@pytest.mark.parametrize("text", ["nul \u0000 inside", "\u202e turned", "\n\n\n", " ", "'; DROP TABLE edges; --", "𝔘𝔫𝔦", "x " * 4_000])
async def test_a_strange_but_legal_summary_is_stored_as_it_is(service, kit, text):
    await kit.enrol(service.http, "ward", "pumps")
    response = await service.http.put("/v1/edges/ward/summaries", json=kit.delta(1, 2, kit.summary("s9\u0000", text)))
    assert response.status_code == 200
    (stored,) = [row.body.text for row in service.cloud.summaries.load("ward") if row.body.summary_id == "s9\u0000"]
    assert stored == text


@pytest.mark.parametrize(
    "change",
    [
        {"score": 0.5},
        {"span": [-1, 3]},
        {"span": [1]},
        {"span": [0, "x"]},
        {"text": ""},
        {"text": "x" * 16_001},
        {"text": "\ud800"},
        {"edge": "bank"},
        {"chunk_id": "c" * 201},
    ],
    ids=str,
)
async def test_a_passage_with_a_field_out_of_range(service, kit, change):
    await kit.enrol(service.http, "ward", "pumps")
    content = json.dumps({"evidence": [{**kit.evidence("x"), **change}]})
    response = await service.http.post("/v1/edges/ward/replies/r1", content=content, headers={"content-type": "application/json"})
    await check_refused(service, response, 400, 422)


async def test_a_reply_with_too_many_passages(service, kit):
    await kit.enrol(service.http, "ward", "pumps")
    response = await service.http.post("/v1/edges/ward/replies/r1", json={"evidence": [kit.evidence("x")] * 65})
    await check_refused(service, response, 422)


@pytest.mark.parametrize("question", ["", "x" * 4_001, None, 7, "\ud800"])
async def test_a_question_that_is_none(service, question):
    content = json.dumps({"question": question})
    for path in ("/v1/questions", "/v1/match"):
        response = await service.http.post(path, content=content, headers={"content-type": "application/json"})
        await check_refused(service, response, 400, 422)


async def test_a_question_without_words_is_answered_with_nothing(service):
    assert (await service.http.post("/v1/questions", json={"question": "???"})).json()["answered"] is False


@pytest.mark.parametrize("question", [" ", "\u0000", "\u202e"])
async def test_a_question_of_which_nothing_can_be_seen_is_refused(service, question):
    await check_refused(service, await service.http.post("/v1/questions", json={"question": question}), 422)


@pytest.mark.parametrize("remaining", ["NaN", "-5", "0", str(BIG), "1e9", ""])
async def test_a_remaining_time_that_is_none(service, remaining):
    response = await service.http.post("/v1/questions", json={"question": "why?"}, headers={"deadline-ms": remaining})
    await check_refused(service, response, 422)


async def test_a_body_over_the_cap_is_cut_while_it_comes(service):
    read = 0

    async def endless():
        nonlocal read
        while True:
            read += 2**20
            yield b"x" * 2**20

    response = await service.http.post("/v1/questions", content=endless(), headers={"content-type": "application/json"}, auth=None)
    await check_refused(service, response, 413)
    assert response.json()["code"] == "too_large"
    assert read <= service.cloud.settings.max_body_bytes + 2**20


async def test_a_declared_length_over_the_cap_is_refused_unread(service):
    headers = {"content-type": "application/json", "content-length": str(300 * 2**20)}
    response = await service.http.post("/v1/questions", content=b"{}", headers=headers)
    await check_refused(service, response, 413)


async def test_unknown_routes_and_methods_are_problems_too(service):
    await check_refused(service, await service.http.get("/nothing/here"), 404)
    await check_refused(service, await service.http.patch("/v1/edges"), 405)
