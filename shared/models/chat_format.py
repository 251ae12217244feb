"""Our Prompt as the body of a request in the OpenAI chat format, as a server takes it. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from shared.models.capabilities import LOW_TEMPERATURE, Capabilities
from shared.models.verdicts import WORD_TOKENS
from shared.ports import Prompt
from shared.text.fence import without_control_tokens
from shared.text.prompts import load_prompt
from shared.text.surrogates import well_formed

JSON_REPLY = load_prompt("shared", "json_reply")
LEAST_CHANCE = 1e-5  # a temperature below it is none: vLLM's own limit
VERDICT_TEMPERATURE = 1.0  # at which samples come as often as the model's probabilities say


def as_sent(prompt: Prompt, capabilities: Capabilities) -> Prompt:
    """The prompt as the server can answer it: where it lists no distribution of a word that is wanted, short samples take its place."""
    if not prompt.choices or capabilities.gives_distributions:
        return prompt
    samples = capabilities.verdict_samples
    temperature = VERDICT_TEMPERATURE if samples > 1 else prompt.temperature
    return replace(prompt, n=samples, temperature=temperature, max_tokens=max(prompt.max_tokens, WORD_TOKENS), top_logprobs=0)


def distinct(prompt: Prompt) -> int:
    """How many of the prompt's samples can differ: without chance all are alike, and one is asked for (vLLM refuses more)."""
    return 1 if prompt.temperature < LEAST_CHANCE else prompt.n


def request_body(
    prompt: Prompt,
    *,
    model: str,
    capabilities: Capabilities = Capabilities(),  # noqa: B008 - it is frozen
    samples: int | None = None,
    thinking_tokens: int = 0,
    stream: bool = False,
) -> dict[str, Any]:
    """The JSON body that asks for ``samples`` of the prompt's samples, at first all that can differ: the server holds their prompt once.

    ``thinking_tokens``: beside ``prompt.max_tokens``, where the model thinks. A message's text holds no control token of a chat template:
    servers would take it for the end of the message (llama.cpp does). Only standard fields: strict servers refuse others.
    """
    samples = 1 if stream else samples or distinct(prompt)
    body: dict[str, Any] = {"model": model, "messages": _messages(prompt, capabilities)}
    if capabilities.limit_field:
        body[capabilities.limit_field] = _limit(prompt, capabilities, thinking_tokens)
    if capabilities.temperature != "default":
        least = 0.0 if capabilities.temperature == "any" else LOW_TEMPERATURE
        body["temperature"] = max(prompt.temperature, least)
    if capabilities.samples is None or samples > 1:  # one sample is what a server gives that does not know the field
        body["n"] = samples
    if prompt.schema is not None and capabilities.response_format != "prompt":
        body["response_format"] = _response_format(prompt.schema, capabilities)
    if stops := _stops(prompt, capabilities):
        body["stop"] = stops
    if prompt.seed is not None and capabilities.seed:
        body["seed"] = prompt.seed
    if stream:
        return {**body, "stream": True}
    if capabilities.logprobs and (prompt.top_logprobs or samples > 1):
        # several samples: llama.cpp's usage counts one of them only; the listed tokens count them all
        body |= {"logprobs": True}
        if top := min(max(prompt.top_logprobs, 1), capabilities.top_logprobs):
            body["top_logprobs"] = top
    return body


def _limit(prompt: Prompt, capabilities: Capabilities, thinking_tokens: int) -> int:
    wanted = prompt.max_tokens + (thinking_tokens if capabilities.thinks else 0)
    most = wanted if capabilities.most_tokens is None else capabilities.most_tokens
    return max(min(wanted, most), capabilities.least_tokens)


def _stops(prompt: Prompt, capabilities: Capabilities) -> list[str]:
    """The stop sequences, none where they would end a thought."""
    if capabilities.thinks:
        return []
    taken = [stop for stop in prompt.stop if capabilities.blank_stops or stop.strip()]
    return taken[: capabilities.stop]


def _response_format(schema: Mapping[str, Any], capabilities: Capabilities) -> dict[str, Any]:
    if capabilities.response_format == "json_object":
        return {"type": "json_object"}
    return {"type": "json_schema", "json_schema": {"name": "reply", "schema": schema}}


def _messages(prompt: Prompt, capabilities: Capabilities) -> list[dict[str, Any]]:
    """The messages, neighbours of one role joined: some chat templates want user and assistant in turn."""
    messages = list(prompt.messages)
    if prompt.schema is not None and capabilities.response_format != "json_schema":
        messages += JSON_REPLY.render(schema=json.dumps(prompt.schema, ensure_ascii=False))
    turns = list[tuple[str, str]]()
    for message in messages:
        role = capabilities.instructions if message.role == "system" else message.role
        text = without_control_tokens(well_formed(message.content))
        if turns and turns[-1][0] == role:
            text = f"{turns.pop()[1]}\n\n{text}"
        turns.append((role, text))
    if capabilities.content_parts:
        return [{"role": role, "content": [{"type": "text", "text": text}]} for role, text in turns]
    return [{"role": role, "content": text} for role, text in turns]
