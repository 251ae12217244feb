"""A server's answer in the OpenAI chat format, whole or in pieces, as our records. Pure.

Servers speak many dialects of it. What is odd and needless counts as absent; only an answer without any choice is no answer.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from shared.errors import ModelReplyError
from shared.models.capabilities import Capabilities
from shared.models.chat_format import distinct
from shared.models.server_errors import has_failed
from shared.models.thinking import Thinking, parted
from shared.models.verdicts import distribution
from shared.ports import Prompt, Reply
from shared.text.surrogates import well_formed

MAX_USAGE = 2**31  # a sum of such counts fits the store
MAX_FINISH_CHARS = 40
MARKUP_TOKENS = 8  # of a reply, beside those of its text
ROUNDING = 0.01  # of a log-probability above 0
CUT = "length"  # the finish reason of a text that ends at its limit
CUT_WORDS = ("length", "max_tokens", "max_length", "max_output_tokens")  # as servers call it
NOT_THE_FORMAT = "the model server's answer is not the OpenAI format"
ANY_SERVER = "check the model's address: it must be that of a server with OpenAI's chat completions"
LOOK_AT_LOG = "look at the model server's log"
_FENCED = re.compile(r"```[\w-]*\s*\n?(.*?)(?:```|\Z)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Sample:
    """One choice of a reply. ``text`` is without thoughts; ``tokens``: how many the server listed."""

    text: str
    finish: str = ""  # why it ends, in the server's word
    thinking: Thinking = ""  # whether it has thoughts, and how they were given
    tokens: int = 0
    is_listed: bool = False  # log-probabilities came with it
    first_token: dict[str, float] | None = None
    log_probability: float | None = None

    @property
    def is_cut(self) -> bool:
        """Whether it ends at the limit of tokens."""
        return self.finish == CUT


@dataclass(frozen=True, slots=True)
class Completion:
    """A whole reply: at least one sample. ``model``: the name that the server gives itself."""

    samples: tuple[Sample, ...]
    failed: int = 0  # choices that are failures
    tokens_in: int = 0
    tokens_out: int = 0
    reasoning_tokens: int = 0
    model: str = ""


def model_names(body: Any) -> list[str]:
    """The names in a server's list of models, as OpenAI's servers write it and as others do; those of embedding models last.

    Raises ValueError for what is no such list.

    >>> model_names({"data": [{"id": "nomic-embed-text"}, {"id": "qwen3"}]}), model_names({"models": [{"name": "a"}]})
    (['qwen3', 'nomic-embed-text'], ['a'])
    """
    rows = body.get("data", body.get("models")) if isinstance(body, dict) else body
    if body == [] or not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ValueError("no list of models")
    names = [str(name) for row in rows if (name := row.get("id") or row.get("name") or row.get("model"))]
    if len(names) < len(rows):
        raise ValueError("a model without a name")
    return sorted(names, key=lambda name: "embed" in name.lower())


def parse_completion(
    raw: bytes,
    thinking: Thinking | None = None,
    ends_early: bool = False,
) -> Completion:
    """A server's whole answer. Raises ModelReplyError where there is no choice.

    ``thinking``: what is known of its model; ``ends_early``: as of ``may_end_early``.
    """
    answer, failed = _without_failures(decoded(raw))
    try:
        body = _Body.model_validate(answer)
    except ValidationError as error:
        where = ".".join(str(part) for part in error.errors()[0]["loc"]) or "body"
        raise ModelReplyError(f"{NOT_THE_FORMAT} ({where}: {error.errors()[0]['msg']})", next_step=ANY_SERVER) from error
    if not body.choices:
        found = "failures only" if failed else "no samples"
        raise ModelReplyError(f"the model server gave {found}", next_step=LOOK_AT_LOG)
    samples = tuple(_sample(choice, thinking, ends_early) for choice in body.choices)
    tokens_out = max(body.usage.completion_tokens, sum(sample.tokens for sample in samples))
    usage = body.usage
    return Completion(
        samples,
        failed=failed,
        tokens_in=usage.prompt_tokens,
        tokens_out=tokens_out,
        reasoning_tokens=usage.completion_tokens_details.reasoning_tokens,
        model=body.model,
    )


def _without_failures(body: Any) -> tuple[Any, int]:
    """An answer without the choices that failed, and how many those are."""
    if not isinstance(body, dict) or not isinstance(choices := body.get("choices"), list):
        return body, 0
    left = [choice for choice in choices if not has_failed(choice)]
    return {**body, "choices": left}, len(choices) - len(left)


def stopped(completion: Completion, stops: Sequence[str]) -> Completion:
    """A reply with its texts cut where they were to stop, for a server that does not know of it."""
    samples = list[Sample]()
    for sample in completion.samples:
        ends = [at for stop in stops if (at := sample.text.find(stop)) >= 0]
        samples.append(replace(sample, text=sample.text[: min(ends)], finish="stop") if ends else sample)
    return replace(completion, samples=tuple(samples))


def reply_of(prompt: Prompt, sent: Prompt, completions: Sequence[Completion]) -> Reply:
    """The reply to a prompt that was sent as ``sent`` (``as_sent``), of one request or several.

    Where one sample stands for all (``distinct``), each text is that one. A sample without text is left out. Raises ModelReplyError where
    all of them are without.
    """
    wanted = distinct(sent)
    samples = [sample for completion in completions for sample in completion.samples][:wanted]
    told = [(text, sample) for sample in samples if (text := _answer(sample, prompt)).strip() or _may_be_blank(sample, prompt)]
    if not told:
        raise no_answer(samples)
    first = samples[0]
    is_by_words = prompt.choices and sent is not prompt
    texts = [text for text, _ in told]
    first_token = distribution(texts, prompt.choices) if is_by_words else first.first_token
    repeats = prompt.n // wanted if wanted < prompt.n else 1
    return Reply(
        texts=tuple(texts[: prompt.n]) * repeats,
        tokens_in=sum(completion.tokens_in for completion in completions),
        tokens_out=sum(completion.tokens_out for completion in completions),
        first_token=first_token if prompt.top_logprobs else None,
        log_probability=first.log_probability if prompt.top_logprobs and not is_by_words else None,
        truncated=tuple(sample.is_cut for _, sample in told[: prompt.n]) * repeats,
    )


def no_answer(samples: Sequence[Sample]) -> ModelReplyError:
    """Why a model gave no text, for whoever runs it: that is never the documents' fault."""
    finish = next((sample.finish for sample in samples if sample.finish), "none given")[:MAX_FINISH_CHARS]
    if any(sample.thinking for sample in samples):
        if finish == CUT:
            message = "the model gave no answer: all its tokens went into its thoughts"
            return ModelReplyError(message, next_step="raise DGRAG_MODEL_THINKING_TOKENS, or switch off the model's thinking at its server")
        return ModelReplyError(
            "the model gave thoughts and no answer", next_step="ask again, or switch off the model's thinking at its server"
        )
    return ModelReplyError(
        f"the model gave no text (finish reason {finish})", next_step="look at the model server's log, or try another model there"
    )


def observed(capabilities: Capabilities, body: Mapping[str, Any], completion: Completion) -> Capabilities:
    """What is known of a server after a reply to ``body``: what it left out, and whether the model thinks."""
    samples = completion.samples
    has_text = any(sample.text.strip() for sample in samples)
    learned = capabilities
    if body.get("n", 1) > 1 and not completion.failed:
        learned = _samples_seen(learned, len(samples), body["n"])
    if body.get("logprobs") and has_text:
        is_listed = any(sample.is_listed for sample in samples)
        lacks = not is_listed and learned.doubts_logprobs
        learned = replace(learned, logprobs=not lacks, doubts_logprobs=not is_listed and not lacks)
    for sample in samples:
        if sample.thinking:
            return replace(learned, thinking=sample.thinking)
    if completion.reasoning_tokens:
        return replace(learned, thinking="apart")
    if any(sample.is_cut and not sample.text for sample in samples):
        return learned if learned.thinks else replace(learned, thinking="hidden")  # tokens are gone
    is_whole = has_text and not any(sample.is_cut for sample in samples)
    if learned.thinking is None and is_whole:
        return replace(learned, thinking="")
    if learned.thinking == "hidden" and is_whole and not _has_more_tokens(completion):
        return replace(learned, thinking="")
    return learned


def _has_more_tokens(completion: Completion) -> bool:
    """Whether a reply used more tokens than its texts can have: for thoughts that are not shown."""
    letters = sum(len(sample.text) for sample in completion.samples)
    return completion.tokens_out > letters + MARKUP_TOKENS


def _samples_seen(known: Capabilities, count: int, wanted: int) -> Capabilities:
    """What a reply of so few samples shows, where another one had too few already."""
    if count >= wanted:
        return replace(known, doubted_samples=None)
    if known.doubted_samples is None:
        return replace(known, doubted_samples=count)
    return replace(known, samples=max(count, known.doubted_samples), doubted_samples=None)


def needs_another_form(sent: Prompt, completions: Sequence[Completion], *, before: Capabilities, after: Capabilities) -> bool:
    """Whether a prompt is to be asked again, by what its own replies have shown: the model thinks, or lists no distributions."""
    lists = after.gives_distributions and not after.doubts_logprobs
    if sent.choices and before.gives_distributions and not lists:
        return True
    is_cut = any(sample.is_cut for completion in completions for sample in completion.samples)
    return after.thinks and not before.thinks and is_cut


def bare_json(text: str) -> str:
    r"""The JSON in a text that was to be JSON: out of a code block, or of the words around it; the text where there is none.

    >>> bare_json("Here it is:\n```json\n[1]\n```"), bare_json('Sure: {"a": 1} as you asked.')
    ('[1]', '{"a": 1}')
    """
    fenced = [match[1] for match in _FENCED.finditer(text)]
    spans = [(text.find(opening), text.rfind(closing)) for opening, closing in ("{}", "[]")]
    inner = [text[begin : end + 1] for begin, end in sorted(spans) if 0 <= begin < end]
    for candidate in (text, *fenced, *inner):
        try:
            json.loads(candidate)
        except (ValueError, RecursionError):
            continue
        return candidate.strip()
    return text


def lacks_json(completions: Sequence[Completion], schema: Mapping[str, Any]) -> bool:
    """Whether texts that were to be JSON of a schema are whole, and none of them is of its type."""
    samples = [sample for completion in completions for sample in completion.samples]
    whole = [sample for sample in samples if sample.text.strip() and not sample.is_cut]
    return bool(whole) and not any(_is_json(sample.text, schema) for sample in samples)


def _is_json(text: str, schema: Mapping[str, Any]) -> bool:
    try:
        value = json.loads(bare_json(text))
    except (ValueError, RecursionError):
        return False
    wanted = {"object": dict, "array": list}.get(schema.get("type", ""), object)
    return isinstance(value, wanted)


def _answer(sample: Sample, prompt: Prompt) -> str:
    """A sample's text as the prompt wants it: of what was to be JSON, the JSON alone."""
    return bare_json(sample.text) if prompt.schema is not None else sample.text


def _may_be_blank(sample: Sample, prompt: Prompt) -> bool:
    """Whether no text is an answer: of one line that ended at once, and of a first token whose distribution is what is wanted."""
    is_one_line = "\n" in prompt.stop and not sample.is_cut and sample.finish == "stop"
    return not sample.thinking and (is_one_line or bool(prompt.top_logprobs and sample.first_token))


def _sample(choice: _Choice, known: Thinking | None, ends_early: bool) -> Sample:
    message = choice.message
    is_cut = ends_early or choice.finish_reason == CUT
    parts = parted(message.content.text, known, is_cut=is_cut)
    thinking: Thinking = "apart" if message.thoughts else parts.thinking
    tokens = choice.logprobs
    return Sample(
        parts.answer,
        choice.finish_reason,
        thinking,
        len(tokens),
        is_listed=any(token.is_known for token in tokens),
        first_token=_distribution(tokens) if not thinking else None,  # of a thought it says nothing of the answer
        log_probability=_log_probability(tokens) if not thinking else None,
    )


def _distribution(tokens: Sequence[_Token]) -> dict[str, float] | None:
    if not tokens:
        return None
    best: dict[str, float] = {}
    for text, logprob in tokens[0].top or ((tokens[0].text, tokens[0].logprob),):
        if logprob is not None:  # null is llama.cpp's minus infinity
            best[text] = max(logprob, best.get(text, logprob))
    return best or None


def _log_probability(tokens: Sequence[_Token]) -> float | None:
    """The sum over all tokens; None where one of them is not known."""
    known = [token.logprob for token in tokens if token.logprob is not None]
    return sum(known) if known and len(known) == len(tokens) else None


# ---------------------------------------------------------------- what is read


def decoded(raw: bytes) -> Any:
    """What JSON holds, NaN and halves of surrogate pairs too. Raises ModelReplyError."""
    try:
        return json.loads(raw.decode("utf-8-sig", errors="replace"))
    except (ValueError, RecursionError) as error:
        raise ModelReplyError(f"{NOT_THE_FORMAT} (it is no JSON)", next_step=ANY_SERVER) from error


@dataclass(frozen=True, slots=True)
class _Content:
    text: str = ""
    thoughts: str = ""


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    logprob: float | None
    top: tuple[tuple[str, float | None], ...] = ()

    @property
    def is_known(self) -> bool:
        """Whether any probability of it is."""
        return self.logprob is not None or any(logprob is not None for _, logprob in self.top)


def _content(value: Any) -> _Content:
    """The text of a content and the thoughts in it: a text, a part, or a list of both."""
    if value is None:
        return _Content()
    if isinstance(value, str):
        return _Content(well_formed(value))
    if isinstance(value, list):
        parts = [_content(part) for part in value]
        return _Content("".join(part.text for part in parts), "".join(part.thoughts for part in parts))
    if not isinstance(value, dict):
        raise ValueError("no text")
    if thoughts := value.get("thinking") or value.get("reasoning"):
        return _Content(thoughts=_content(thoughts).text)
    inner = _content(value.get("text", value.get("value")))
    return _Content(thoughts=inner.text) if value.get("type") in ("thinking", "reasoning") else inner


def _any_text(value: Any) -> str:
    """A text of thoughts, of any form; only whether there are any counts."""
    return well_formed(value) if isinstance(value, str) else json.dumps(value) if value else ""


def _finish(value: Any) -> str:
    word = value.lower() if isinstance(value, str) else ""
    return CUT if word in CUT_WORDS else word


def _logprob(value: Any) -> float | None:
    """A log-probability; None for what is none: NaN, infinity, above 0 by more than rounding."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value > ROUNDING:
        return None
    return min(float(value), 0.0)


def _tokens(value: Any) -> tuple[_Token, ...]:
    """The tokens that a server lists, in the form of chats or in that of completions; what is odd is left out."""
    if not isinstance(value, dict):
        return ()
    if isinstance(content := value.get("content"), list):
        return tuple(_token(token) for token in content if isinstance(token, dict))
    texts, logprobs = value.get("tokens"), value.get("token_logprobs")
    if not isinstance(texts, list) or not isinstance(logprobs, list):
        return ()
    tops = value.get("top_logprobs")
    listed = tops if isinstance(tops, list) and len(tops) == len(texts) else [None] * len(texts)
    return tuple(_Token(str(text), _logprob(one), _pairs(top)) for text, one, top in zip(texts, logprobs, listed, strict=False))


def _token(value: dict[str, Any]) -> _Token:
    return _Token(well_formed(str(value.get("token", ""))), _logprob(value.get("logprob")), _pairs(value.get("top_logprobs")))


def _pairs(value: Any) -> tuple[tuple[str, float | None], ...]:
    if isinstance(value, dict):
        return tuple((well_formed(str(text)), _logprob(logprob)) for text, logprob in value.items())
    listed = value if isinstance(value, list) else []
    return tuple((well_formed(str(top.get("token", ""))), _logprob(top.get("logprob"))) for top in listed if isinstance(top, dict))


def _count(value: Any) -> int:
    """A number of tokens; 0 for what cannot be one."""
    return value if isinstance(value, int) and 0 <= value <= MAX_USAGE and not isinstance(value, bool) else 0


def _dictionary(value: Any) -> Any:
    return value if isinstance(value, dict) else {}


class Lenient(BaseModel):
    """What is read of a server's JSON; other fields are ignored."""

    model_config = ConfigDict(frozen=True, arbitrary_types_allowed=True)


AnyText = Annotated[str, BeforeValidator(_any_text)]
Finish = Annotated[str, BeforeValidator(_finish)]
Count = Annotated[int, BeforeValidator(_count)]


class MessageBody(Lenient):
    """A message, or a piece of one, with its thoughts in whatever field."""

    content: Annotated[_Content, BeforeValidator(_content)] = _Content()
    reasoning_content: AnyText = ""
    reasoning: AnyText = ""
    thinking: AnyText = ""

    @property
    def thoughts(self) -> str:
        """All of them, wherever they stand."""
        return self.reasoning_content or self.reasoning or self.thinking or self.content.thoughts


class _Choice(Lenient):
    message: MessageBody
    finish_reason: Finish = ""
    logprobs: Annotated[tuple[_Token, ...], BeforeValidator(_tokens)] = ()


class _Details(Lenient):
    reasoning_tokens: Count = 0


class _Usage(Lenient):
    prompt_tokens: Count = 0
    completion_tokens: Count = 0
    completion_tokens_details: Annotated[_Details, BeforeValidator(_dictionary)] = _Details()


class _Body(Lenient):
    choices: list[_Choice]
    usage: Annotated[_Usage, BeforeValidator(_dictionary)] = _Usage()
    model: AnyText = ""
