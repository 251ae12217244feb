"""What happens once, or at another model's turn, teaches nothing of a server."""

import contextlib

import httpx2
import pytest

from shared.errors import ModelReplyError, ModelUnavailable
from shared.models.openai_compatible import OpenAIGenerator
from shared.ports import Message, Prompt
from tests.support.model_dialects import ANSWER, QUESTION, Dialect, served

SAMPLES = Prompt((Message("user", QUESTION),), 100, n=5, temperature=0.7, seed=3)
RUN = 3  # calls in which the failure stands in the middle


@contextlib.asynccontextmanager
async def generator_at(dialect):
    async with served(dialect) as url, httpx2.AsyncClient(base_url=url, trust_env=False) as http:
        yield OpenAIGenerator(http, model="m", retry_wait_s=0.0)


class Failing(Dialect):
    """Some requests, by their turn, fail."""

    def __init__(self, failure, *, turns):
        super().__init__()
        self.failure, self.turns = failure, turns

    def refuses(self, body):
        return self.failure if len(self.seen) in self.turns else None


def error(message, *, status=400, **more):
    return status, {"error": {"message": message, "type": "invalid_request_error"} | more}


FILTER = error(
    "The response was filtered due to the prompt triggering Azure OpenAI's content policy.",
    param="prompt",
    code="content_filter",
    innererror={"code": "ResponsibleAIPolicyViolation"},
)
NO_JSON = error(
    "Generated JSON does not match the expected schema. Please adjust your prompt.",
    code="json_validate_failed",
    failed_generation="",
)
PROVIDER = {"code": 502, "message": "Provider returned error"}
NO_CHOICE = {"index": 0, "message": {"content": ""}, "finish_reason": "error", "error": PROVIDER}


@pytest.mark.parametrize(
    "failure",
    [
        error("Bad Request"),
        error("Unprocessable", status=422),
        NO_JSON,
        (400, b"<html><body><h1>400</h1></body></html>"),
        (200, {"model": "m", "choices": [NO_CHOICE]}),
    ],
    ids=["400", "422", "Groq", "a page", "OpenRouter"],
)
async def test_a_failure_in_the_middle_of_a_run_is_asked_again_and_teaches_nothing(failure):
    dialect = Failing(failure, turns={2})
    async with generator_at(dialect) as generator:
        for _ in range(RUN):
            assert (await generator.generate(SAMPLES, deadline_s=30)).texts == (ANSWER,) * 5
        assert generator.shortfalls() == ()
    assert len(dialect.seen) == RUN + 1
    assert all(body["n"] == 5 and body["logprobs"] for body in dialect.seen)


async def test_two_failures_in_a_row_are_answered_by_less_and_forgotten():
    dialect = Failing(error("Bad Request"), turns={1, 2})
    async with generator_at(dialect) as generator:
        for _ in range(RUN):
            await generator.generate(SAMPLES, deadline_s=30)
        assert generator.shortfalls() == ()
    assert [dialect.seen[-1][field] for field in ("n", "logprobs")] == [5, True]


@pytest.mark.parametrize(
    ("failure", "words", "requests"),
    [(FILTER, "filter refuses", 1), (NO_JSON, "wrote no JSON", 2)],
    ids=["Azure", "Groq"],
)
async def test_a_request_that_is_refused_for_its_words_has_no_other_form(failure, words, requests):
    dialect = Failing(failure, turns=range(1, 100))
    async with generator_at(dialect) as generator:
        with pytest.raises(ModelReplyError, match=words) as caught:
            await generator.generate(SAMPLES, deadline_s=30)
        assert generator.shortfalls() == ()
    assert caught.value.next_step
    assert len(dialect.seen) == requests


async def test_one_reply_with_fewer_samples_teaches_nothing():
    class ShortOnce(Dialect):
        def answers(self, body):
            less = {"n": 1, "logprobs": False}
            return super().answers(body | less if len(self.seen) == 2 else body)

    dialect = ShortOnce()
    async with generator_at(dialect) as generator:
        for _ in range(RUN):
            assert (await generator.generate(SAMPLES, deadline_s=30)).texts == (ANSWER,) * 5
        assert generator.shortfalls() == ()
    assert [body["n"] for body in dialect.seen] == [5, 5, 4, 5]


async def test_a_model_that_always_fails_is_unavailable_and_no_server_of_single_samples():
    class Failed(Dialect):
        def answers(self, body):
            return 200, {"model": "m", "choices": [NO_CHOICE]}

    async with generator_at(Failed()) as generator:
        with pytest.raises(ModelUnavailable, match="502: Provider returned error"):
            await generator.generate(SAMPLES, deadline_s=30)
        assert generator.shortfalls() == ()


async def test_an_account_without_credit_is_said_to_be_so():
    words = "Insufficient credits. Add more using https://openrouter.ai/settings/credits"
    async with generator_at(Failing(error(words, status=402), turns={1})) as generator:
        with pytest.raises(ModelUnavailable) as caught:
            await generator.generate(SAMPLES, deadline_s=30)
    assert "has no credit" in caught.value.next_step


# ---------------------------------------------------------------- JSON

SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}}
AS_JSON = Prompt((Message("user", QUESTION),), 100, schema=SCHEMA)
NAME = '{"name": "Ida Tarrow"}'


class IgnoresFormat(Dialect):
    """It writes JSON only where the prompt asks for it, and says nothing of the field."""

    def text(self, body):
        wants_json = "JSON" in str(body["messages"]) or "JSON" in self.always
        return NAME if wants_json else "Her name is Ida Tarrow [1]."

    always = ""


def formats(dialect):
    return [body.get("response_format", {}).get("type", "none") for body in dialect.seen]


async def test_json_is_asked_for_in_words_where_the_field_is_ignored_in_silence():
    dialect = IgnoresFormat()
    async with generator_at(dialect) as generator:
        for _ in range(RUN):
            assert (await generator.generate(AS_JSON, deadline_s=30)).texts == (NAME,)
        lacks = [shortfall.lacks for shortfall in generator.shortfalls()]
    assert lacks == ["JSON by a schema"]
    assert formats(dialect) == ["json_schema", "json_object"] * 2 + ["json_object"]


async def test_one_text_that_is_no_json_teaches_nothing():
    class ProseOnce(IgnoresFormat):
        @property
        def always(self):
            return "" if len(self.seen) == 1 else "JSON"

    dialect = ProseOnce()
    async with generator_at(dialect) as generator:
        for _ in range(RUN):
            assert (await generator.generate(AS_JSON, deadline_s=30)).texts == (NAME,)
        assert generator.shortfalls() == ()
    assert formats(dialect) == ["json_schema", "json_object", "json_schema", "json_schema"]


async def test_a_model_that_writes_no_json_keeps_its_form_and_is_not_asked_for_ever():
    class Prose(Dialect):
        def text(self, body):
            return "Her name is Ida Tarrow [1]."

    dialect = Prose()
    async with generator_at(dialect) as generator:
        for _ in range(RUN):
            await generator.generate(AS_JSON, deadline_s=30)
        assert generator.shortfalls() == ()
    weaker = ["json_schema", "json_object", "none"]
    assert formats(dialect) == [*weaker, *weaker, "json_schema"]


async def test_the_probe_finds_that_the_field_is_ignored():
    async with generator_at(IgnoresFormat()) as generator:
        await generator.probe(deadline_s=30)
        assert [shortfall.lacks for shortfall in generator.shortfalls()] == ["JSON by a schema"]


# ---------------------------------------------------------------- names


class Router(Dialect):
    """Two models in turn, of which one lists no log-probabilities."""

    def answers(self, body):
        name = ("large", "small")[len(self.seen) % 2]
        self.logprobs = name == "large"
        status, made = super().answers(body)
        return status, made | {"model": name}


async def test_names_that_take_turns_do_not_make_a_server_unknown_for_ever():
    dialect = Router()
    async with generator_at(dialect) as generator:
        probes = []
        for _ in range(6):
            if generator._is_unknown.is_set():
                probes.append(len(dialect.seen))
                await generator.probe(deadline_s=30)
            await generator.generate(SAMPLES, deadline_s=30)
        assert len(probes) <= 2
        before = len(dialect.seen)
        await generator.generate(SAMPLES, deadline_s=30)
    assert len(dialect.seen) == before + 1


# ---------------------------------------------------------------- prompts


class CutsPrompts(Dialect):
    """It reads the end of a long prompt alone, in silence, and counts what it reads."""

    context = 4096

    def answers(self, body):
        status, made = super().answers(body)
        letters = sum(len(message["content"]) for message in body["messages"])
        made["usage"]["prompt_tokens"] = min(letters // 4, self.context)
        return status, made


def long_prompt(times):
    return Prompt((Message("user", "Ida Tarrow opened Merle Quarry in 1936. " * times),), 100)


async def test_a_prompt_that_is_cut_in_silence_is_a_shortfall_that_says_what_to_set():
    dialect = CutsPrompts()
    async with generator_at(dialect) as generator:
        await generator.generate(long_prompt(200), deadline_s=30)
        assert generator.shortfalls() == ()
        await generator.generate(long_prompt(2_000), deadline_s=30)
        [shortfall] = generator.shortfalls()
        assert shortfall.lacks == "the whole prompt"
        assert "4096 tokens" in shortfall.costs
        assert "num_ctx" in shortfall.costs
        dialect.context = 40_000
        await generator.generate(long_prompt(2_000), deadline_s=30)
        assert generator.shortfalls() == ()


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("梅尔采石场由艾达塔罗于一九三六年开设" * 400, 4_000),
        ("Donaudampfschifffahrtsgesellschaft " * 400, 3_200),
        ("x = 1\n" + " " * 20_000 + "-" * 20_000, 300),
        ("Who? " * 20, 30),
    ],
    ids=["CJK", "long words", "blanks and lines", "short"],
)
async def test_a_prompt_of_few_tokens_is_not_taken_for_a_cut_one(text, tokens):
    class Counts(Dialect):
        def answers(self, body):
            status, made = super().answers(body)
            made["usage"]["prompt_tokens"] = tokens
            return status, made

    async with generator_at(Counts()) as generator:
        await generator.generate(Prompt((Message("user", text),), 100), deadline_s=30)
        assert generator.shortfalls() == ()
