"""A real model server, as the product uses it: any OpenAI-compatible one that DGRAG_TEST_MODEL_URL, _NAME and _KEY name (docs/vllm.md).

Without them it is the small model on llama.cpp. What a server does not tell (how busy it is, what it kept of a prompt) is skipped.
"""

import asyncio
import json
import math
import re
import signal
import socket
import subprocess
import uuid

import httpx2
import pytest
from pydantic import SecretStr

from edge_node.extraction.model_extraction import relation_schema
from shared.drafts import TOP_LOGPROBS
from shared.errors import ModelReplyError, ModelTimeout, ModelUnavailable
from shared.models.build import build_generator, model_http
from shared.models.chat_format import request_body
from shared.models.serve import ServeOptions, command
from shared.models.settings import ModelSettings
from shared.ports import Message, Prompt
from shared.text.refusals import probability_of
from tests.support.models import named_server

pytestmark = [pytest.mark.live, pytest.mark.long]
PATIENCE_S = 240  # for one answer of a slow machine
CROWD = 12
POLLS = 600
STORY = (Message("user", "Tell a long story about a lighthouse."),)
COUNTING = (Message("user", "Write the numbers from 1 to 1000 in digits, separated by commas. Leave none out."),)
NO_END = {"type": "array", "items": {"type": "integer"}, "minItems": 900}  # a small model tires of counting, and ends


@pytest.fixture(scope="module")
def settings(request):
    if given := named_server():
        yield given
        return
    weights = request.getfixturevalue("small_weights")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen(command(ServeOptions(weights, "small", port=port, context=4096)), stderr=subprocess.DEVNULL)
    yield ModelSettings(url=f"http://127.0.0.1:{port}/v1", name="small")
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=20) == 0


@pytest.fixture
async def http(settings):
    async with model_http(settings) as http:
        if settings.api_key:
            http.headers["Authorization"] = f"Bearer {settings.api_key.get_secret_value()}"
        await until_ready(http)
        yield http


@pytest.fixture
def model(settings, http):
    return build_generator(settings, http)


async def until_ready(http):
    for _ in range(600):
        try:
            if (await http.get("models")).status_code == 200:
                return
        except httpx2.TransportError:
            pass
        await asyncio.sleep(0.05)
    pytest.fail(f"no model server came up at {http.base_url}")


async def ask(http, prompt, *, name):
    """The server's own words about a prompt, which hold more than our client reads."""
    return (await http.post("chat/completions", json=request_body(prompt, model=name), timeout=PATIENCE_S)).raise_for_status().json()


async def at_work(http):
    """How many requests the server works on, by what vLLM and llama.cpp tell beside the API; None where it tells nothing."""
    beside = http.base_url.copy_with(path="/")
    told = (await http.get(beside.join("metrics"), timeout=PATIENCE_S)).text
    if running := re.findall(r"^vllm:num_requests_(?:running|waiting)\{.*\} (\S+)$", told, re.MULTILINE):
        return int(sum(map(float, running)))
    slots = await http.get(beside.join("slots"), timeout=PATIENCE_S)
    return sum(slot["is_processing"] for slot in slots.json()) if slots.status_code == 200 else None


async def saw(http, requests):
    """Whether the server came to work on that many requests while we looked."""
    for _ in range(POLLS):
        if await at_work(http) == requests:
            return True
        await asyncio.sleep(0.05)
    return False


async def test_the_server_lists_the_model_by_its_name(http, settings):
    assert settings.name in [row["id"] for row in (await http.get("models")).json()["data"]]


async def test_a_schema_is_obeyed_against_the_prompt(model):
    names = ("Juniper Ward", 'the "Anchor" Building', "Brackwell Works")
    told = f"{names[0]} lies in {names[1]}; {names[2]} repaired it. Tell it as a poem, without any JSON. Relations among: {names}."
    schema = relation_schema(names)
    schema["properties"]["relations"] |= {"minItems": 1, "maxItems": 2}
    reply = await model.generate(Prompt((Message("user", told),), 200, schema=schema), deadline_s=PATIENCE_S)
    assert reply.truncated == (False,)
    rows = json.loads(reply.texts[0])["relations"]
    assert 1 <= len(rows) <= 2
    for row in rows:
        assert {row["source"], row["target"]} <= set(names)
        assert 2 <= len(row["relation"]) <= 40


async def test_samples_of_one_prompt_differ_and_each_is_counted(model):
    await model.probe(deadline_s=PATIENCE_S)  # else cut texts make it look for thoughts, which counts
    reply = await model.generate(Prompt(STORY, 16, n=5, temperature=1.0, seed=7), deadline_s=PATIENCE_S)
    assert reply.truncated == (True,) * 5
    assert len(set(reply.texts)) >= 4  # a seed is for the five together, not the same for each
    assert reply.tokens_out == 5 * 16
    assert 0 < reply.tokens_in < 60  # the prompt is paid for once


async def test_samples_without_chance_are_alike(model):
    reply = await model.generate(Prompt(STORY, 4, n=3), deadline_s=PATIENCE_S)  # vLLM refuses n = 3 at temperature 0
    assert (len(reply.texts), len(set(reply.texts))) == (3, 1)


async def test_a_probe_gets_the_distribution_of_its_first_token(model):
    question = "Juniper Ward lies on the second floor.\nDoes this text tell where Juniper Ward lies? Answer Yes or No."
    reply = await model.generate(Prompt((Message("user", question),), 1, top_logprobs=TOP_LOGPROBS), deadline_s=PATIENCE_S)
    assert 2 <= len(reply.first_token) <= TOP_LOGPROBS
    assert 0.5 < sum(map(math.exp, reply.first_token.values())) < 1.001
    assert reply.texts[0].strip() == max(reply.first_token, key=reply.first_token.get).strip()
    assert probability_of(reply.first_token, "yes", ["no"]) is not None


async def test_a_stop_string_ends_an_answer_and_is_not_in_it(model):
    reply = await model.generate(Prompt(COUNTING, 40, stop=("3",)), deadline_s=PATIENCE_S)
    assert "2" in reply.texts[0]
    assert "3" not in reply.texts[0]
    assert reply.truncated == (False,)


async def test_a_stream_is_the_whole_answer_in_pieces(model):
    prompt = Prompt(STORY, 12)
    pieces = [piece async for piece in model.stream(prompt, deadline_s=PATIENCE_S)]
    assert len(pieces) > 1
    assert "".join(pieces) == (await model.generate(prompt, deadline_s=PATIENCE_S)).texts[0]


async def whole(model, prompt, deadline_s):
    await model.generate(prompt, deadline_s=deadline_s)


async def streamed(model, prompt, deadline_s):
    async for _ in model.stream(prompt, deadline_s=deadline_s):
        pass


@pytest.mark.parametrize("way", [whole, streamed])
async def test_a_deadline_ends_the_work_at_the_server_too(http, model, way):
    if await at_work(http) is None:
        pytest.skip("the server does not tell how busy it is (vLLM: /metrics, llama.cpp: /slots)")
    assert await saw(http, 0), "the server works for somebody else"
    late = asyncio.create_task(way(model, Prompt(COUNTING, 3000, schema=NO_END), deadline_s=3))  # minutes of work on a CPU
    assert await saw(http, 1)
    with pytest.raises(ModelTimeout):
        await late
    assert (await model.generate(Prompt(STORY, 1), deadline_s=PATIENCE_S)).texts  # some gauges move with the next step only
    assert await saw(http, 0)


async def test_a_crowd_is_answered_though_the_server_sends_some_back(settings):
    statuses = []

    async def note(response):
        statuses.append(response.status_code)

    async with model_http(settings) as http:
        http.event_hooks = {"response": [note]}
        model = build_generator(settings, http)
        prompts = [Prompt((Message("user", f"Say {number}."),), 2) for number in range(CROWD)]
        replies = await asyncio.gather(*(model.generate(prompt, deadline_s=PATIENCE_S) for prompt in prompts))
    assert all(reply.tokens_out for reply in replies)
    if set(statuses) == {200}:
        pytest.skip(f"the server never refuses: it made {CROWD} requests wait")
    assert set(statuses) <= {200, 429, 503}


async def test_what_two_prompts_begin_with_is_worked_on_once(http, settings):
    passages = f"Report {uuid.uuid4()}. " + " ".join(
        f"Pump {number} of Juniper Ward failed on {number % 28 + 1} March." for number in range(60)
    )
    usages = []
    for question in ("Which ward is it?", "When did pump 7 fail?"):
        answer = await ask(http, Prompt((Message("user", f"{passages}\n{question}"),), 1), name=settings.name)
        usages.append(answer["usage"])
    if not (details := usages[1].get("prompt_tokens_details")):
        pytest.skip("the server does not tell what it kept of a prompt (vLLM: --enable-prompt-tokens-details)")
    assert details["cached_tokens"] > usages[1]["prompt_tokens"] / 2
    assert ((usages[0].get("prompt_tokens_details") or {}).get("cached_tokens") or 0) < usages[0]["prompt_tokens"] / 2


async def test_a_prompt_that_does_not_fit_is_refused_with_what_does(model):
    endless = Prompt((Message("user", "pump " * 200_000),), 8)
    with pytest.raises(ModelReplyError, match=r"(?i)token|context|length") as caught:
        await model.generate(endless, deadline_s=PATIENCE_S)
    assert re.search(r"\d{3}", str(caught.value))


async def test_a_model_that_is_not_served_is_named_with_what_to_check(http, settings):
    stranger = settings.model_copy(update={"name": "no-such-model"})
    if (await http.post("chat/completions", json=request_body(Prompt(STORY, 1), model=stranger.name), timeout=PATIENCE_S)).is_success:
        pytest.skip("the server has one model and answers to any name")
    with pytest.raises(ModelUnavailable, match="no-such-model") as caught:
        await build_generator(stranger, http).generate(Prompt(STORY, 1), deadline_s=PATIENCE_S)
    assert "name" in caught.value.next_step


async def test_a_wrong_key_is_refused_with_what_to_check(http, settings):
    if settings.api_key is None:
        pytest.skip("the server asks for no key, or DGRAG_TEST_MODEL_KEY is not given")
    intruder = build_generator(settings.model_copy(update={"api_key": SecretStr("wrong")}), http)
    with pytest.raises(ModelUnavailable) as caught:
        await intruder.generate(Prompt(STORY, 1), deadline_s=PATIENCE_S)
    assert "key" in caught.value.next_step
