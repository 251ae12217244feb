"""A chat model behind any server that speaks OpenAI's chat completions: vLLM, llama.cpp, Ollama, a hosted one."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import partial
from http import HTTPStatus
from typing import Any

import httpx2

from shared.errors import ContextOverflow, ModelError, ModelReplyError, ModelTimeout, ModelUnavailable
from shared.limits import RetryBudget
from shared.models.capabilities import (
    Capabilities,
    Refusal,
    ResponseFormat,
    adapted,
    is_filtered,
    is_overflow,
    is_spoilt,
    plainer,
    weaker_formats,
)
from shared.models.chat_format import as_sent, distinct, request_body
from shared.models.chat_replies import (
    LOOK_AT_LOG,
    Completion,
    lacks_json,
    needs_another_form,
    observed,
    parse_completion,
    reply_of,
    stopped,
)
from shared.models.chat_server import (
    NO_JSON,
    NO_JSON_STEP,
    BrokeOff,
    ChatServer,
    ServerAway,
    is_framed,
)
from shared.models.chat_streams import EventLines, TextStream, completion_of_events, is_event_stream
from shared.models.served_models import VAIN_TRIES, ServedModels
from shared.models.server_errors import MAX_ERROR_CHARS, NO_REASON
from shared.models.thinking import may_end_early
from shared.models.verdicts import begins_a_choice
from shared.ports import Message, Prompt, Reply, Shortfall

log = logging.getLogger("dgrag.models")
ADAPTATIONS = 16  # of one request to what its server refuses; each leaves out or changes another field
ROUNDS = 4  # of one prompt: what is learned from a reply may ask for another form
MOST_AT_ONCE = 4  # requests for the samples that a server did not give in one
THINKING_TOKENS, LEAST_THINKING_TOKENS = 2048, 128  # beside an answer's; below the least a request that does not fit is not made smaller
TOO_MANY = HTTPStatus.TOO_MANY_REQUESTS
UNNAMED = (400, 422, 501)  # statuses of a refusal that may be of any field
PROBES = 3  # at most: what one reply lacks by chance, the next one has
PROBE_S, PROBE_AGAIN_S = 120.0, 60.0  # for one probe; before the next one, where it failed
PROBE = Prompt(  # asks for all that is ever asked for, so that one request shows what is refused or left out
    (Message("system", "You answer with one word."), Message("user", "Is two more than one? Answer Yes or No.")),
    max_tokens=16,
    n=2,
    temperature=0.7,
    stop=("\nQuestion:",),
    top_logprobs=20,
    seed=1,
)
JSON_PROBE = Prompt(
    (Message("user", "What is two more than one? Put the number into the field sum."),),
    max_tokens=32,
    schema={
        "type": "object",
        "properties": {"sum": {"type": "integer"}},
        "required": ["sum"],
        "additionalProperties": False,
    },
)


@dataclass(frozen=True, slots=True)
class _Form:
    """How a request is made. ``refused``: the error of the form that is known to be right, where this one is a guess."""

    capabilities: Capabilities
    thinking_tokens: int
    refused: ModelError | None = None
    is_of_json: bool = False  # a guess at how JSON is to be asked for, which its text proves
    is_repeat: bool = False  # it was refused already, for no reason that is known


class OpenAIGenerator:
    """The port ``Generator`` over a ``ChatServer``. What the server can is learned from each refusal and each reply, and kept.

    ``max_reply_bytes`` caps one answer; ``retry_wait_s`` is the wait before a server that is busy or fails is asked again, when it
    names none. ``retries``: what all that repeat calls of this process share. ``thinking_tokens``: for a model's thoughts, beside those of
    its answer.
    """

    def __init__(
        self,
        http: httpx2.AsyncClient,
        *,
        model: str,
        api_key: str | None = None,
        max_reply_bytes: int = 4 * 1024 * 1024,
        retry_wait_s: float = 1.0,
        retries: RetryBudget | None = None,
        thinking_tokens: int = THINKING_TOKENS,
    ) -> None:
        self._server = ChatServer(
            http,
            model=model,
            api_key=api_key,
            max_reply_bytes=max_reply_bytes,
            retry_wait_s=retry_wait_s,
            retries=retries or RetryBudget(),
        )
        self._model = model
        self._thinking_tokens = thinking_tokens
        self._models = ServedModels()
        self._is_unknown = asyncio.Event()  # another server or model may answer than was probed
        self._is_unknown.set()

    @property
    def name(self) -> str:
        """The model's name at the server."""
        return self._model

    def shortfalls(self) -> tuple[Shortfall, ...]:
        """What the server lacks, as far as is known, and what that costs."""
        return self._capabilities.shortfalls()

    async def watch(self) -> None:
        """Probe the server now, and whenever another one or another model may answer, until cancelled. One that is away may come."""
        while True:
            await self._is_unknown.wait()
            try:
                await self.probe(deadline_s=PROBE_S)
            except ModelError as error:
                log.info("what the model server can is not known yet: %s", error.message)
                await asyncio.sleep(PROBE_AGAIN_S)

    async def probe(self, *, deadline_s: float) -> None:
        """Learn what the server can, by one request that asks for everything. Raises as ``generate``."""
        ends = asyncio.get_running_loop().time() + deadline_s
        try:
            async with asyncio.timeout_at(ends):
                for _ in range(PROBES):
                    completion = await self._completion(PROBE, distinct(PROBE), ends)
                    if self._models.current.guess is None and not self._capabilities.has_doubts:
                        break
                await self._find_thoughts(PROBE, [completion], ends)
                await self._probe_json(ends)
        except TimeoutError as error:
            raise ModelTimeout(deadline_s=deadline_s) from error
        self._is_unknown.clear()
        for shortfall in self.shortfalls():
            log.warning("the model server lacks %s: %s", shortfall.lacks, shortfall.costs)

    async def _probe_json(self, ends: float) -> None:
        """Find out how JSON is to be asked for. A model that writes none fails no probe."""
        with contextlib.suppress(ModelReplyError):
            await self._answer(JSON_PROBE, ends)
            if self._models.current.json_guess is not None:
                await self._answer(JSON_PROBE, ends)

    async def reach(self, *, deadline_s: float) -> None:
        """Ask the server for its list of models, which costs no turn of a model. Raises ModelTimeout, ModelUnavailable."""
        await self._server.reach(deadline_s=deadline_s)

    async def generate(self, prompt: Prompt, *, deadline_s: float) -> Reply:
        """Answer within ``deadline_s`` seconds in all, retries included. Raises ModelTimeout, ModelUnavailable, ModelReplyError.

        ContextOverflow where the prompt is too long for the model.
        """
        try:
            async with asyncio.timeout(deadline_s):
                return await self._answer(prompt, asyncio.get_running_loop().time() + deadline_s)
        except TimeoutError as error:
            raise ModelTimeout(deadline_s=deadline_s) from error
        except ServerAway:
            self._forget()
            raise

    async def stream(self, prompt: Prompt, *, deadline_s: float) -> AsyncIterator[str]:
        """Yield the text of one sample piece by piece, without thoughts. Raises as ``generate``."""
        ends = asyncio.get_running_loop().time() + deadline_s
        try:
            async with aclosing(self._pieces(prompt, ends)) as pieces:
                while (piece := await _next_before(ends, pieces)) is not None:
                    yield piece
        except TimeoutError as error:
            raise ModelTimeout(deadline_s=deadline_s) from error

    # ------------------------------------------------------------ one prompt

    async def _answer(self, prompt: Prompt, ends: float) -> Reply:
        """The reply, asked for in another form as long as the last one shows that the server needs it."""
        made = list[Completion]()
        for _ in range(ROUNDS):
            known = self._capabilities
            sent = as_sent(prompt, known)
            completions = await self._samples(sent, ends)
            made += [*completions, *await self._find_thoughts(prompt, completions, ends)]
            if not needs_another_form(sent, completions, before=known, after=self._capabilities):
                break
        if sent.schema is not None:
            others = await self._as_json(sent, completions, ends)
            made += others
            completions = others[-1:] or completions
        reply = reply_of(prompt, sent, completions)
        tokens_in = sum(completion.tokens_in for completion in made)
        return replace(reply, tokens_in=tokens_in, tokens_out=sum(completion.tokens_out for completion in made))

    async def _as_json(
        self,
        sent: Prompt,
        completions: Sequence[Completion],
        ends: float,
    ) -> list[Completion]:
        """Replies in weaker forms where texts that were to be JSON are none: the last of them is.

        Some servers ignore the form in silence.
        """
        model, schema = self._models.current, sent.schema or {}
        known = model.capabilities.response_format
        if not lacks_json(completions, schema):
            model.gave_json(known)
            return []
        made = list[Completion]()
        weaker_ones = weaker_formats(known) if model.vain_tries < VAIN_TRIES else ()
        for weaker in weaker_ones:
            with contextlib.suppress(ModelReplyError):  # the reply that is there is no worse
                made.append(await self._completion(sent, 1, ends, weaker))
            if made and not lacks_json(made[-1:], schema):
                model.gave_json(weaker)
                return made
        model.vain_tries += 1
        return []

    async def _samples(self, sent: Prompt, ends: float) -> list[Completion]:
        """As many samples as can differ: in one request, if the server gives them so, else by further ones with seeds of their own.

        Where it cannot answer several requests at once, they go one after the other.
        """
        wanted, at_once = distinct(sent), MOST_AT_ONCE
        completions = [await self._completion(sent, wanted, ends)]
        while (missing := wanted - _samples_in(completions)) > 0:
            size = self._capabilities.samples or missing
            starts = range(wanted - missing, wanted, size)[:at_once]
            seeds = [None if sent.seed is None else sent.seed + start for start in starts]
            requests = (self._completion(replace(sent, seed=seed), min(size, missing), ends) for seed in seeds)
            outcomes = await asyncio.gather(*requests, return_exceptions=True)
            found = [outcome for outcome in outcomes if isinstance(outcome, Completion)]
            failures = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
            if failures and not (found and all(isinstance(failure, ModelUnavailable) for failure in failures)):
                raise failures[0]
            at_once = 1 if failures else at_once
            completions += found
        return completions

    async def _find_thoughts(self, prompt: Prompt, completions: Sequence[Completion], ends: float) -> list[Completion]:
        """Find out whether texts that were cut are thoughts without an opening tag, which only their end shows: once for a server."""
        if self._capabilities.thinking is not None:
            return []
        samples = [sample for completion in completions for sample in completion.samples]
        is_word = prompt.choices and any(begins_a_choice(list(sample.first_token or ()), prompt.choices) for sample in samples)
        longer = list[Completion]()
        if not is_word:
            if not all(sample.is_cut and sample.text.strip() for sample in samples):
                return []
            longer += await self._longer(prompt, ends)
        if self._capabilities.thinking is None:
            self._capabilities = replace(self._capabilities, thinking="")
        return longer

    async def _longer(self, prompt: Prompt, ends: float) -> list[Completion]:
        """One sample with tokens for thoughts, as many as fit; none where not even few of them do."""
        for tokens in (self._thinking_tokens, self._thinking_tokens // 4, LEAST_THINKING_TOKENS):
            whole = replace(prompt, n=1, max_tokens=prompt.max_tokens + tokens, top_logprobs=0)
            with contextlib.suppress(ContextOverflow):
                return [await self._completion(whole, 1, ends)]
        return []

    async def _pieces(self, prompt: Prompt, ends: float) -> AsyncGenerator[str, None]:
        """The text, of a stream where the server has such; one that breaks off before it has begun is asked for once more."""
        form, is_repeat = self._form(), False
        for _ in range(ADAPTATIONS):
            if not form.capabilities.stream:
                yield (await self._answer(replace(prompt, n=1), ends)).texts[0]
                return
            body = self._body(prompt, 1, form, stream=True)
            outcome = await self._server.open(body, ends=ends, mends=partial(self._mends, form, body))
            if isinstance(outcome, Refusal):
                form = await self._next(form, outcome, body)
                continue
            has_begun = False
            try:
                async with aclosing(outcome), aclosing(self._read(outcome, prompt)) as pieces:
                    async for piece in pieces:
                        has_begun = True
                        yield piece
            except BrokeOff:
                if has_begun or is_repeat or not self._server.allows_repeat():
                    raise
                is_repeat = True
                continue
            self._taken(form, body)
            return
        raise self._no_form()

    async def _read(self, response: httpx2.Response, prompt: Prompt) -> AsyncGenerator[str, None]:
        """The text of a stream; that of a whole reply, where the server gives that in its place."""
        if "json" in response.headers.get("content-type", ""):
            completion = parse_completion(await self._server.whole(response), self._capabilities.thinking)
            yield reply_of(replace(prompt, n=1), prompt, [completion]).texts[0]
            return
        text = TextStream(prompt.stop, self._capabilities.thinking)
        try:
            async with aclosing(self._events(response)) as events:
                async for data in events:
                    if piece := text.feed(data):
                        yield piece
                    if text.is_over:
                        break
            if is_framed(response):
                text.ended()
            if piece := text.rest():
                yield piece
        finally:
            if text.thinking:
                self._capabilities = replace(self._capabilities, thinking=text.thinking)

    async def _events(self, response: httpx2.Response) -> AsyncGenerator[str, None]:
        """The data of each event."""
        lines = EventLines()
        async with aclosing(self._server.blocks(response)) as blocks:
            async for block in blocks:
                for data in lines.feed(block):
                    yield data
        for data in lines.rest():
            yield data

    # ------------------------------------------------------------ one request

    async def _completion(
        self,
        sent: Prompt,
        samples: int,
        ends: float,
        json_form: ResponseFormat | None = None,
    ) -> Completion:
        """One request for at most so many samples, in the form that the server takes.

        What its reply shows of the server is kept.
        ``json_form``: how JSON is to be asked for, other than is known to be right.
        """
        form = self._form() if json_form is None else self._json_form(json_form)
        for _ in range(ADAPTATIONS):
            body = self._body(sent, samples, form)
            outcome = await self._server.ask(body, ends=ends, mends=partial(self._mends, form, body))
            if isinstance(outcome, bytes):
                self._taken(form, body)
                unknown_stops = [stop for stop in sent.stop if stop not in body.get("stop", ())]
                return stopped(self._learned(outcome, body), unknown_stops)
            form = await self._next(form, outcome, body)
        raise self._no_form()

    def _form(self) -> _Form:
        return _Form(self._capabilities, self._thinking_tokens)

    def _json_form(self, response_format: ResponseFormat) -> _Form:
        known = replace(self._capabilities, response_format=response_format)
        refused = ModelReplyError(NO_JSON, next_step=NO_JSON_STEP)
        return _Form(known, self._thinking_tokens, refused, is_of_json=True)

    def _body(self, sent: Prompt, samples: int, form: _Form, *, stream: bool = False) -> dict[str, Any]:
        known = form.capabilities
        fewer = min(samples, known.samples or samples)
        thinking_tokens, model = form.thinking_tokens, self._model
        return request_body(sent, model=model, capabilities=known, samples=fewer, thinking_tokens=thinking_tokens, stream=stream)

    def _mends(self, form: _Form, body: Mapping[str, Any], refusal: Refusal) -> bool:
        """Whether a failure is of this form of the request, whatever its status."""
        return refusal.status != TOO_MANY and (is_overflow(refusal) or adapted(form.capabilities, refusal, body) is not None)

    async def _next(self, form: _Form, refusal: Refusal, body: Mapping[str, Any]) -> _Form:
        """How to ask after a refusal. Raises what it means, where there is no other way to ask."""
        if is_overflow(refusal):
            fewer = form.thinking_tokens // 2
            if form.capabilities.thinks and fewer >= LEAST_THINKING_TOKENS:
                return replace(form, thinking_tokens=fewer)
            raise ContextOverflow(refusal.message[:MAX_ERROR_CHARS] or NO_REASON)
        if form.refused is None and form.capabilities != self._capabilities:
            return replace(form, capabilities=self._capabilities)  # another request has learned something meanwhile
        learned = adapted(form.capabilities, refusal, body)
        if learned is not None and form.refused is None:
            log.info("the model server refuses a form of request: %s", refusal.message[:MAX_ERROR_CHARS])
            self._capabilities = learned
        if learned is not None:
            return replace(form, capabilities=learned)
        return await self._guessed(form, refusal, body)

    async def _guessed(self, form: _Form, refusal: Refusal, body: Mapping[str, Any]) -> _Form:
        """How to ask after a refusal that names nothing: once more as before, then with less."""
        refused = form.refused or await self._server.refused(refusal, body)
        may_pass = refusal.status in UNNAMED and not (is_filtered(refusal) or form.is_of_json)
        if not may_pass or not self._server.allows_repeat():
            raise refused
        is_new = form.refused is None and self._models.current.guess is None and not form.is_repeat
        if is_new or (is_spoilt(refusal) and not form.is_repeat):
            return replace(form, is_repeat=True)
        guess = None if is_spoilt(refusal) else plainer(form.capabilities, body)
        if guess is None:
            raise refused
        return replace(form, capabilities=guess, refused=refused)

    def _taken(self, form: _Form, body: Mapping[str, Any]) -> None:
        if not form.is_of_json:
            is_guess = form.refused is not None
            self._models.current.taken(form.capabilities, body, is_guess=is_guess)
            if is_guess and self._capabilities == form.capabilities:
                log.info("the model server takes a plainer form of request only")

    def _learned(self, raw: bytes, body: Mapping[str, Any]) -> Completion:
        """A reply, and what it shows of the model that has answered."""
        completion = self._parsed(raw, body)
        former = self._models.current
        if self._models.answered_as(completion.model):
            log.info("another model answers than before: what its server can is learned anew")
            self._is_unknown.set()
        if self._models.current is not former:
            completion = self._parsed(raw, body)  # by what is known of this one
        self._capabilities = observed(self._capabilities, body, completion)
        before = self._capabilities.prompt_tokens
        self._models.current.has_read(body, completion.tokens_in)
        if before is None and (tokens := self._capabilities.prompt_tokens) is not None:
            log.warning("the model server has read %d tokens of a longer prompt", tokens)
        return completion

    def _parsed(self, raw: bytes, body: Mapping[str, Any]) -> Completion:
        ends_early = may_end_early(body.get("stop", ()))
        known = self._capabilities.thinking
        if is_event_stream(raw):
            return completion_of_events(raw, known, ends_early)
        return parse_completion(raw, known, ends_early)

    @property
    def _capabilities(self) -> Capabilities:
        return self._models.current.capabilities

    @_capabilities.setter
    def _capabilities(self, value: Capabilities) -> None:
        self._models.current.capabilities = value

    def _forget(self) -> None:
        """Another server may answer from now on."""
        self._models = ServedModels()
        self._is_unknown.set()

    def _no_form(self) -> ModelReplyError:
        return ModelReplyError("the model server refuses every form of the request", next_step=LOOK_AT_LOG)


def _samples_in(completions: Sequence[Completion]) -> int:
    return sum(len(completion.samples) for completion in completions)


async def _next_before(ends: float, pieces: AsyncIterator[str]) -> str | None:
    """The next piece, or None at the end. The deadline stands around the read only: it must not strike in the caller's code."""
    async with asyncio.timeout_at(ends):
        return await anext(pieces, None)
