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
    "The response was filtered due to the prompt triggering Azure OpenAI's content management policy. Please modify your prompt and retry.",
    param="prompt",
    code="content_filter",
    innererror={"code": "ResponsibleAIPolicyViolation"},
)
NO_JSON = error(
    "Generated JSON does not match the expected schema. Please adjust your prompt. See 'failed_generation' for more details.",
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
    [(FILTER, "content filter", 1), (NO_JSON, "wrote no JSON", 2)],
    ids=["Azure", "Groq"],
)
async def test_what_the_request_says_is_refused_with_a_reason_and_in_no_other_form(failure, words, requests):
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
            return super().answers(body | {"n": 1, "logprobs": False} if len(self.seen) == 2 else body)

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
