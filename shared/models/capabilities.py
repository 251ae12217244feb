"""What a server can of OpenAI's chat format: learned from what it refuses and from what it leaves out. Pure.

Many servers speak a part of the format. A request that is refused names, as a rule, the field that the server does not take; the field
is left out from then on, or is given in another form. Nothing here knows a server by its name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from shared.models.thinking import Thinking
from shared.ports import Shortfall

VERDICT_SAMPLES = 3  # that stand for the probability of a word, where the server lists none
FEW_LOGPROBS = 5  # of a token: what servers allow that allow few
LOW_TEMPERATURE = 0.01  # where 0 is refused
USUAL_LEAST_TOKENS = 16  # where a server wants more of them, and does not say how many

TokenLimit = Literal["max_tokens", "max_completion_tokens", ""]
Temperature = Literal["any", "positive", "default"]
ResponseFormat = Literal["json_schema", "json_object", "prompt"]
RESPONSE_FORMATS: tuple[ResponseFormat, ...] = ("json_schema", "json_object", "prompt")
InstructionsRole = Literal["system", "developer", "user"]


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a server takes. The first one is that of a server of which nothing is known yet: it takes everything."""

    samples: int | None = None  # choices in one request; None: as many as are wanted
    doubted_samples: int | None = None  # one reply had so few; a second such one proves it
    logprobs: bool = True
    doubts_logprobs: bool = False  # one reply lacked them
    top_logprobs: int = 20
    limit_field: TokenLimit = "max_tokens"  # the field's name; "": there is none
    least_tokens: int = 1  # that the limit may be
    most_tokens: int | None = None
    temperature: Temperature = "any"
    stop: int = 16  # sequences
    blank_stops: bool = True  # a sequence may be of blanks and line ends alone
    seed: bool = True
    response_format: ResponseFormat = "json_schema"
    instructions: InstructionsRole = "system"
    content_parts: bool = False  # a message's content is a list of parts
    stream: bool = True
    prompt_tokens: int | None = None  # of a longer prompt, what the server reads in silence
    thinking: Thinking | None = None  # None: not known yet

    @property
    def thinks(self) -> bool:
        """Whether the model thinks before it answers."""
        return bool(self.thinking)

    @property
    def has_doubts(self) -> bool:
        """Whether one more reply is to show what the server can."""
        return self.doubted_samples is not None or self.doubts_logprobs

    @property
    def gives_distributions(self) -> bool:
        """Whether the first token's distribution is that of an answer's first word."""
        return self.logprobs and not self.thinks

    @property
    def verdict_samples(self) -> int:
        """How many replies of one word stand for its distribution; a model that thinks has weighed it already."""
        return 1 if self.thinks else VERDICT_SAMPLES

    def shortfalls(self) -> tuple[Shortfall, ...]:
        """What is off, and what that costs.

        >>> [shortfall.lacks for shortfall in Capabilities(samples=1, seed=False).shortfalls()]
        ['several samples in one request', 'seed']
        """
        return tuple(shortfall for is_short, shortfall in self._all() if is_short)

    def _all(self) -> Sequence[tuple[bool, Shortfall]]:
        several = "samples are drawn by several requests, so the server reads the prompt several times"
        words = f"the model's word decides, and {VERDICT_SAMPLES} short samples stand for a probability: coarser, at more requests"
        thinks = "its thoughts take tokens and time before each answer and each yes or no, and one word stands for a probability"
        cut = (
            f"it reads about {self.prompt_tokens} tokens of a prompt and drops the rest in silence,"
            " so passages are lost: give the model a larger context at its server (Ollama's"
            " num_ctx), or lower DGRAG_EDGE_CONTEXT_TOKENS (at a cloud"
            " DGRAG_CLOUD_EVIDENCE_BUDGET_TOKENS)"
        )
        return (
            (self.prompt_tokens is not None, Shortfall("the whole prompt", cut)),
            (self.samples is not None, Shortfall("several samples in one request", several)),
            (not self.logprobs, Shortfall("log-probabilities", words)),
            (self.thinks, Shortfall("answers without thinking", thinks)),
            (self.logprobs and self.top_logprobs < FEW_LOGPROBS, Shortfall("alternatives of a token", "probabilities are coarser")),
            (not self.limit_field, Shortfall("a limit of tokens", "an answer may be longer and slower than is set here")),
            (self.temperature == "default", Shortfall("temperature", "the same question may be answered in other words each time")),
            (self.stop == 0, Shortfall("stop sequences", "the model may write on; what is behind the end is cut here")),
            (not self.seed, Shortfall("seed", "the same question may be answered in other words each time")),
            (
                self.response_format != "json_schema",
                Shortfall("JSON by a schema", "more replies cannot be read when documents are indexed"),
            ),
            (self.instructions == "user", Shortfall("the system role", "instructions stand in the user's message, and count for less")),
            (not self.stream, Shortfall("streaming", "a text is shown when it is whole")),
        )


@dataclass(frozen=True, slots=True)
class Refusal:
    """A request that a server does not take: its status and its words.

    ``fields`` and ``codes``: of the request and the error, named outside of its words.
    """

    status: int
    message: str
    fields: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()


Body = Mapping[str, Any]
Change = Callable[[Capabilities, str, Body], Capabilities | None]  # of what is known, by the server's words and the body that it refuses


def adapted(capabilities: Capabilities, refusal: Refusal, body: Body) -> Capabilities | None:
    """What is known after a refusal of ``body``, by the field that the server names; None where it names none that can be changed.

    >>> refusal = Refusal(400, "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) is supported.")
    >>> adapted(Capabilities(), refusal, {"temperature": 0.0}).temperature
    'default'
    >>> adapted(Capabilities(), Refusal(400, "the prompt holds forbidden words"), {"temperature": 0.0, "n": 1}) is None
    True
    """
    if is_filtered(refusal) or is_spoilt(refusal):
        return None
    for field in _named(refusal, body):
        words = " ".join((refusal.message, *refusal.fields))
        learned = _CHANGES[field](capabilities, words, body)
        if learned is not None and learned != capabilities:
            return learned
    return None


def plainer(capabilities: Capabilities, body: Body) -> Capabilities | None:
    """What to try after a refusal that names nothing: without what servers lack most, then without all that can be left out, then nothing.

    >>> plainer(Capabilities(), {"n": 5, "logprobs": True, "temperature": 0.7}) == Capabilities(samples=1, logprobs=False)
    True
    """
    if "logprobs" in body or body.get("n", 1) > 1:
        return replace(capabilities, samples=1, logprobs=False)
    plain = replace(
        capabilities,
        samples=1,
        temperature="default",
        stop=0,
        seed=False,
        response_format="prompt",
        instructions="user",
        limit_field="max_completion_tokens",
    )
    return plain if plain != capabilities else None


_OVERFLOW_WORDS = (  # as many servers say it; the rest is one maker's each
    r"context[ _-]?(?:length|size|window|limit)|maximum context|n_ctx",
    r"exceeds? the (?:available |model'?s? )?context",
    r"(?:prompt|input|message|request|text)s? (?:is|are|was)? ?too (?:long|large)",
    r"too many (?:input |prompt )?tokens|input length|tokens? in the prompt",
    r"(?:prompt|input) tokens? .{0,60}(?:exceed|too)|reduce (?:the length|your prompt)",
    r"exceed\w{0,3} .{0,40}(?:max_model_len|token limit|total tokens? limit)",
    r"`inputs` tokens|inputs. must have (?:less|fewer) than",  # TGI, Together
    r"(?:input|prompt|requested) token count .{0,40}exceed",  # Gemini, Copilot
    r"max(?:imum)? (?:prompt|model|input) len",  # xAI, vLLM, TensorRT-LLM
    r"max_seq_len|max_num_tokens",  # TabbyAPI, TensorRT-LLM
    r"prompt (?:length )?.{0,20}exceeds max",  # Zhipu
)
_OVERFLOW = re.compile("|".join(_OVERFLOW_WORDS), re.IGNORECASE)
_OVERFLOW_CODES = re.compile(r"context[_ ]?(?:length|window|size)", re.IGNORECASE)
_TOO_LARGE = 413


def weaker_formats(known: ResponseFormat) -> Sequence[ResponseFormat]:
    """The ways to ask for JSON that want less of a server, the next one first.

    >>> weaker_formats("json_object")
    ('prompt',)
    """
    return RESPONSE_FORMATS[RESPONSE_FORMATS.index(known) + 1 :]


_FILTERED = re.compile(
    r"content[ _-]?(?:filter|polic|management|moderation)|responsible ?ai|safety (?:system|polic)"
    r"|data_?inspection|moderation|prompt_blocked|policy_violation",
    re.IGNORECASE,
)
_SPOILT = re.compile(
    r"json_validate_failed|failed_generation|failed to generate json",
    re.IGNORECASE,
)


def is_filtered(refusal: Refusal) -> bool:
    """Whether a server refuses what the request says, and no form of it.

    >>> is_filtered(Refusal(400, "The response was filtered", codes=("content_filter",)))
    True
    """
    return _has(_FILTERED, refusal)


def is_spoilt(refusal: Refusal) -> bool:
    """Whether the model's own text was refused, by chance: it was not the JSON that was wanted.

    >>> is_spoilt(Refusal(400, "Failed to generate JSON. Please adjust your prompt."))
    True
    """
    return _has(_SPOILT, refusal)


def _has(pattern: re.Pattern[str], refusal: Refusal) -> bool:
    return any(map(pattern.search, (refusal.message, *refusal.codes)))


def is_overflow(refusal: Refusal) -> bool:
    """Whether the request has more tokens than the model can read.

    >>> is_overflow(Refusal(400, "This model's maximum context length is 4096 tokens, you requested 5000"))
    True
    """
    words = " ".join((refusal.message, *refusal.fields))
    is_by_code = any(map(_OVERFLOW_CODES.search, refusal.codes))
    return refusal.status == _TOO_LARGE or is_by_code or bool(_OVERFLOW.search(words))


# How a message names a field, where it names it in words. Only fields that were sent count.
_NAMES = {
    "top_logprobs": re.compile(r"top[_ ]?log[_ -]?probs?|top_n_tokens", re.IGNORECASE),
    "logprobs": re.compile(r"(?<!top_)(?<!top )(?<!top)(?<!n_)log[_ -]?prob(?:s|abilit\w+)?|logits_all", re.IGNORECASE),
    "n": re.compile(
        r"['\"`]n['\"`]|\bn\s*(?:=|>|<|≤|≥|:|must|should|has to|is\b|are\b|cannot|greater|larger|above|not\b)"
        r"|(?:parameter|field|argument|property|option|value|for|with|of|than one)\s+n\b"
        r"|(?:multiple|several|more than one|number of|parallel)\s+(?:\w+\s+)?"
        r"(?:choice|completion|generation|sample|output|candidate|response)s?\b",
        re.IGNORECASE,
    ),
    "max_tokens": re.compile(r"\bmax[_ ]?(?:new[_ ])?tokens\b", re.IGNORECASE),
    "max_completion_tokens": re.compile(r"\bmax[_ ]?(?:completion[_ ])?tokens\b", re.IGNORECASE),
    "temperature": re.compile(r"\btemperature\b", re.IGNORECASE),
    "stop": re.compile(
        r"['\"`]stop['\"`]|\bstop[ _-]?(?:sequences?|words?|strings?|tokens?|param\w*)|\bstop\b(?=[:=]| is| must| param)", re.IGNORECASE
    ),
    "seed": re.compile(r"\bseed\b", re.IGNORECASE),
    "response_format": re.compile(
        r"response[ _]?format|json[ _]?(?:schema|object|mode)|structured[ _]outputs?|guided|grammar|additionalProperties|\bschemas?\b",
        re.IGNORECASE,
    ),
    "stream": re.compile(r"\bstream(?:ing|s|ed)?\b", re.IGNORECASE),
    "messages": re.compile(
        r"\b(?:system|developer)\b.{0,40}\b(?:roles?|messages?|prompts?|instructions?)\b|\broles?\b.{0,60}\b(?:system|developer|alternate)\b"
        r"|unknown role|unsupported role|invalid role|content.{0,40}(?:array|list|sequence)|(?:array|list|sequence).{0,40}content",
        re.IGNORECASE | re.DOTALL,
    ),
}
_ALLOWED = re.compile(
    r"(?:supported|allowed|accepted|known|valid|permitted) (?:parameters|fields|keys|arguments|properties|options)\b", re.IGNORECASE
)
_CONTENT_PARTS = re.compile(r"content.{0,40}(?:array|list|sequence)|(?:array|list|sequence).{0,40}content", re.IGNORECASE | re.DOTALL)
_ROLE = re.compile(r"\broles?\b|\bsystem\b|\bdeveloper\b", re.IGNORECASE)
_BLANK = re.compile(r"white ?space|blank", re.IGNORECASE)
_NUMBER = re.compile(r"(?<![\w.])\d{1,7}(?![\w]|\.\d)")
_TOO_FEW = re.compile(r"at least|minimum|>=|≥|greater than|larger than|too (?:small|low)|below", re.IGNORECASE)
_TOO_MANY = re.compile(r"at most|\bmax\b|maximum|greater than|<=|≤|less than|exceed|too (?:large|high|big|many)|up to|above", re.IGNORECASE)
_POSITIVE = re.compile(r"positive|greater than (?:0|zero)|> ?0|above (?:0|zero)|non-?zero", re.IGNORECASE)


def _named(refusal: Refusal, body: Body) -> list[str]:
    """The fields of ``body`` that a refusal names: those outside of its words, else those in them, in their order."""
    outside = [field for name in refusal.fields if (field := _field_of(name)) in body and field in _CHANGES]
    if outside:
        return outside
    listed = _ALLOWED.search(refusal.message)
    places = list[tuple[int, str]]()
    for field in (field for field in _NAMES if field in body):
        match = _NAMES[field].search(refusal.message)
        if match is not None:
            is_listed = listed is not None and match.start() > listed.start()
            places.append((match.start() + is_listed * len(refusal.message), field))
    return [field for _, field in sorted(places)]


def _field_of(name: str) -> str:
    """A field of the body in what a server calls it: ``body.n``, ``messages[0].role``, ``$.response_format.json_schema``."""
    parts = [part for part in re.split(r"[.\[\]/$]+", name) if part and part != "body"]
    return parts[0] if parts else ""


def _numbers_below(words: str, value: float) -> list[int]:
    return [number for number in map(int, _NUMBER.findall(words)) if number < value]


def _samples(known: Capabilities, words: str, body: Body) -> Capabilities:
    fewer = [number for number in _numbers_below(words, body["n"]) if number > 0]
    return replace(known, samples=max(fewer, default=1))


def _logprobs(known: Capabilities, words: str, body: Body) -> Capabilities:
    """None from then on, unless the server names how many of a token it allows."""
    fewer = [number for number in _numbers_below(words, body.get("top_logprobs", 0)) if number > 0]
    if fewer and _TOO_MANY.search(words):
        return replace(known, top_logprobs=max(fewer))
    return replace(known, logprobs=False)


def _top_logprobs(known: Capabilities, words: str, body: Body) -> Capabilities:
    sent = body["top_logprobs"]
    usual = FEW_LOGPROBS if sent > FEW_LOGPROBS else 0
    return replace(known, top_logprobs=max(_numbers_below(words, sent), default=usual))


def _token_limit(known: Capabilities, words: str, body: Body) -> Capabilities:
    value, numbers = body[known.limit_field], [int(number) for number in _NUMBER.findall(words)]
    names_other = known.limit_field == "max_tokens" and "max_completion_tokens" in words
    more = [number for number in numbers if number > value]
    if _TOO_FEW.search(words) and not names_other and not _TOO_MANY.search(words):
        least = min(more, default=USUAL_LEAST_TOKENS)
        if least > value:
            return replace(known, least_tokens=least)
    fewer = [number for number in numbers if USUAL_LEAST_TOKENS <= number < value]
    if _TOO_MANY.search(words) and fewer:
        return replace(known, most_tokens=max(fewer))
    return replace(known, limit_field="max_completion_tokens" if known.limit_field == "max_tokens" else "")


def _temperature(known: Capabilities, words: str, body: Body) -> Capabilities:
    is_positive = known.temperature == "any" and not body["temperature"] and _POSITIVE.search(words)
    return replace(known, temperature="positive" if is_positive else "default")


def _stop(known: Capabilities, words: str, body: Body) -> Capabilities:
    if _BLANK.search(words) and not all(stop.strip() for stop in body["stop"]):
        return replace(known, blank_stops=False)
    return replace(known, stop=max(_numbers_below(words, len(body["stop"])), default=0))


def _seed(known: Capabilities, words: str, body: Body) -> Capabilities:
    del words, body
    return replace(known, seed=False)


def _response_format(known: Capabilities, words: str, body: Body) -> Capabilities | None:
    del words, body
    weaker = weaker_formats(known.response_format)
    return replace(known, response_format=weaker[0]) if weaker else None


def _stream(known: Capabilities, words: str, body: Body) -> Capabilities:
    del words, body
    return replace(known, stream=False)


def _messages(known: Capabilities, words: str, body: Body) -> Capabilities | None:
    if _CONTENT_PARTS.search(words) and not known.content_parts:
        return replace(known, content_parts=True)
    if known.instructions == "user" or not _instructs(body) or not _ROLE.search(words):
        return None
    may_be_developer = known.instructions == "system" and "developer" in words
    return replace(known, instructions="developer" if may_be_developer else "user")


def _instructs(body: Body) -> bool:
    return any(message["role"] in ("system", "developer") for message in body.get("messages") or ())


_CHANGES: dict[str, Change] = {
    "top_logprobs": _top_logprobs,
    "logprobs": _logprobs,
    "n": _samples,
    "max_tokens": _token_limit,
    "max_completion_tokens": _token_limit,
    "temperature": _temperature,
    "stop": _stop,
    "seed": _seed,
    "response_format": _response_format,
    "stream": _stream,
    "messages": _messages,
}
