"""The OpenAI chat format, both ways: our Prompt to a request body, a reply's bytes to our Reply. Pure."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from shared.errors import ModelReplyError, ModelUnavailable
from shared.ports import Prompt, Reply
from shared.text.fence import without_control_tokens

THINKING = re.compile(r"^.*?</think>|<think>.*?(?:</think>|\Z)", re.DOTALL)
STREAM_END = "[DONE]"
LEAST_CHANCE = 1e-5  # a temperature below it is none: vLLM's own limit
ENDED = ("stop", "length")  # a sample that is whole, or cut at its limit; not one that became a tool call or was filtered


def request_body(prompt: Prompt, *, model: str, stream: bool = False) -> dict[str, Any]:
    """The JSON body that asks for ``prompt.n`` samples in one request, so that the server holds the prompt once.

    Without chance they are all alike, and one is asked for: vLLM refuses more.
    A message's text holds no control token of a chat template: servers would take it for the end of the message (llama.cpp does).
    Only standard fields: strict servers refuse others, and llama.cpp and vLLM reuse common prefixes without being told.
    """
    samples = 1 if stream else _distinct(prompt)
    body: dict[str, Any] = {
        "model": model,
        "messages": [{"role": message.role, "content": without_control_tokens(message.content)} for message in prompt.messages],
        "max_tokens": prompt.max_tokens,
        "temperature": prompt.temperature,
        "n": samples,
    }
    if prompt.schema is not None:
        body["response_format"] = {"type": "json_schema", "json_schema": {"name": "reply", "schema": prompt.schema}}
    if prompt.stop:
        body["stop"] = list(prompt.stop)
    if prompt.seed is not None:
        body["seed"] = prompt.seed
    if stream:
        return {**body, "stream": True}
    if prompt.top_logprobs or samples > 1:  # llama.cpp's usage counts one sample only; the listed tokens count them all
        body |= {"logprobs": True, "top_logprobs": max(prompt.top_logprobs, 1)}
    return body


def parse_reply(raw: bytes, prompt: Prompt) -> Reply:
    """A server's whole answer. Raises ModelReplyError when it is not the OpenAI format, or not as many samples as were asked for.

    Where one stands for all (``request_body``), each text is that one, and its tokens are counted once, as they were made once.
    A server that lists no log-probabilities gives ``first_token`` and ``log_probability`` None, one that tells no usage 0 tokens in.
    ``content: null`` is an empty text where the sample ended by itself or at its limit (vLLM and llama.cpp, when all of it was thinking),
    else an error.
    """
    try:
        completion = _Completion.model_validate_json(raw)
    except ValidationError as error:
        where = ".".join(str(part) for part in error.errors()[0]["loc"]) or "body"
        raise ModelReplyError(f"the model server's answer is not the OpenAI format ({where}: {error.errors()[0]['msg']})") from error
    choices, asked = completion.choices, _distinct(prompt)
    if len(choices) != asked:
        raise ModelReplyError(f"the model server gave {len(choices)} samples, {asked} were asked for")
    if any(choice.message.content is None and choice.finish_reason not in ENDED for choice in choices):
        raise ModelReplyError(f"the model server gave no text (finish reason {str(choices[0].finish_reason)[:40]})")
    usage = completion.usage or _Usage()
    listed = sum(len(choice.tokens) for choice in choices)
    return Reply(
        texts=tuple(without_thinking(choice.message.content or "") for choice in choices) * (prompt.n // asked),
        tokens_in=usage.prompt_tokens,
        tokens_out=max(usage.completion_tokens, listed),
        first_token=_distribution(choices[0]) if prompt.top_logprobs else None,
        log_probability=_log_probability(choices[0]) if prompt.top_logprobs else None,
        truncated=tuple(choice.finish_reason == "length" for choice in choices) * (prompt.n // asked),
    )


def parse_event(data: str) -> str:
    """The text in one event of a stream. Raises ModelReplyError, or ModelUnavailable when the event tells of a failure."""
    try:
        event = _Event.model_validate_json(data)
    except ValidationError as error:
        raise ModelReplyError("the model server's stream is not the OpenAI format") from error
    if event.error is not None:
        raise ModelUnavailable(f"the model server broke off: {error_text(data.encode())}")
    return "".join(choice.delta.content or "" for choice in event.choices[:1])


def error_text(raw: bytes) -> str:
    """What a server says about a failure, on one line.

    >>> error_text(b'{"error": {"message": "too long"}}')
    'too long'
    >>> error_text(b"")
    'no reason given'
    """
    try:
        error = _Failure.model_validate_json(raw).error
    except ValidationError:
        error = raw.decode("utf-8", errors="replace")
    text = error.message if isinstance(error, _Message) else error
    return " ".join(text.split())[:200] or "no reason given"


def without_thinking(text: str) -> str:
    """The text less a reasoning model's ``<think>`` block, closed or cut off; some templates swallow the opening tag.

    >>> without_thinking("<think>Hm.</think> Yes")
    'Yes'
    """
    return THINKING.sub("", text).lstrip() if "think>" in text else text


class ThinkingFilter:
    """Removes ``<think>`` blocks from a text that comes in pieces.

    >>> view = ThinkingFilter()
    >>> [view.feed(piece) for piece in ("<th", "ink>Hm", ".</thi", "nk>Yes", " < 5")], view.rest()
    (['', '', '', 'Yes', ' < 5'], '')
    """

    def __init__(self) -> None:
        self._held = ""
        self._hidden = False

    def feed(self, piece: str) -> str:
        """The part of the text that is sure to be visible."""
        self._held += piece
        shown = ""
        while True:
            tag = "</think>" if self._hidden else "<think>"
            before, found, after = self._held.partition(tag)
            if not found:
                break
            shown += "" if self._hidden else before
            self._held, self._hidden = after, not self._hidden
        keep = _open_end(self._held, tag)  # it may become a tag with the next piece
        sure, self._held = self._held[: len(self._held) - keep], self._held[len(self._held) - keep :]
        return shown + ("" if self._hidden else sure)

    def rest(self) -> str:
        """What was held back at the end of the text."""
        held, self._held = self._held, ""
        return "" if self._hidden else held


def _open_end(text: str, tag: str) -> int:
    return next((size for size in range(min(len(text), len(tag) - 1), 0, -1) if text.endswith(tag[:size])), 0)


def _distinct(prompt: Prompt) -> int:
    """How many of the prompt's samples can differ."""
    return 1 if prompt.temperature < LEAST_CHANCE else prompt.n


def _distribution(choice: _Choice) -> dict[str, float] | None:
    if not choice.tokens or not choice.tokens[0].top_logprobs:
        return None
    best: dict[str, float] = {}
    for token in choice.tokens[0].top_logprobs:
        if token.logprob is not None:  # null is llama.cpp's minus infinity
            best[token.token] = max(token.logprob, best.get(token.token, token.logprob))
    return best


def _log_probability(choice: _Choice) -> float | None:
    """The sum over all its tokens; None where one of them is not told."""
    told = [token.logprob for token in choice.tokens]
    return sum(one for one in told if one is not None) if told and None not in told else None


class _Format(BaseModel):
    model_config = ConfigDict(allow_inf_nan=False, frozen=True)


class _Message(_Format):
    message: str


class _Failure(_Format):
    error: _Message | str


class _TopToken(_Format):
    token: str
    logprob: float | None


class _Token(_Format):
    logprob: float | None = None
    top_logprobs: list[_TopToken] = []


class _Logprobs(_Format):
    content: list[_Token] | None = None


class _Content(_Format):
    content: str | None


class _Choice(_Format):
    message: _Content
    finish_reason: str | None = None
    logprobs: _Logprobs | None = None

    @property
    def tokens(self) -> list[_Token]:
        """The tokens that the server listed."""
        return (self.logprobs.content if self.logprobs else None) or []


Count = Annotated[int, Field(ge=0, le=2**31)]  # a sum of them fits the store


class _Usage(_Format):
    prompt_tokens: Count = 0
    completion_tokens: Count = 0


class _Completion(_Format):
    choices: list[_Choice]
    usage: _Usage | None = None


class _Delta(_Format):
    content: str | None = None


class _EventChoice(_Format):
    delta: _Delta = _Delta()


class _Event(_Format):
    choices: list[_EventChoice] = []
    error: Any = None
