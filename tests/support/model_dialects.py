"""Model servers that call themselves OpenAI-compatible: real HTTP, one model that knows one answer, many dialects.

A dialect refuses some fields as such servers do, in their words, and speaks in its own form. A token is a word; the limit of tokens holds.
"""

import asyncio
import contextlib
import json
import math
import re
from dataclasses import dataclass, field
from itertools import pairwise

ANSWER = "Merle Quarry was opened by Ida Tarrow [1]."
QUESTION = "Who opened Merle Quarry?"
DOCUMENT = "Ida Tarrow opened Merle Quarry in 1936. It has two pits and a small railway."
THOUGHT = " ".join(["Okay, the user asks something, and the first passage may well tell it."] * 4)
WORDS = re.compile(r"\s*\S+|\s+\Z")
FIELDS = frozenset(
    {"model", "messages", "max_tokens", "temperature", "n", "stop", "seed", "stream", "logprobs", "top_logprobs", "response_format"}
)


def said(body):
    """What the model says to a request: its answer, Yes, or the letter A."""
    content = body["messages"][-1]["content"]
    text = content if isinstance(content, str) else "".join(part["text"] for part in content)
    last = text.rpartition("\n")[2] + text.rpartition("\n\n")[2]
    if "letter only" in last:
        return "A"
    return "Yes" if "Yes or No" in last else ANSWER


def tokens_of(text):
    """Words with the blanks before them."""
    return WORDS.findall(text)


def refusal(message, *, status=400, param=None, code=None):
    """An error as OpenAI's servers write it."""
    return status, {"error": {"message": message, "type": "invalid_request_error", "param": param, "code": code}}


def limit_of(body):
    """The limit of tokens, by either name."""
    return body.get("max_completion_tokens", body.get("max_tokens", 10_000))


def listed(token):
    """A token as a list of log-probabilities has it, with what else it might have been."""
    other = "No" if token == "Yes" else "Perhaps"
    top = [{"token": token, "logprob": -0.02}, {"token": other, "logprob": -4.0}]
    return {"token": token, "logprob": -0.02, "top_logprobs": top}


def choice(body, text, *, index=0, thoughts="", key="reasoning_content", logprobs=True, thinks_first=True):
    """One choice: the text, cut at the limit of tokens; ``thoughts`` in a field of their own use the limit up first."""
    limit = limit_of(body)
    thought, answer = tokens_of(thoughts)[:limit], tokens_of(text)[: max(0, limit - len(tokens_of(thoughts)))]
    is_cut = len(thought) + len(answer) < len(tokens_of(thoughts)) + len(tokens_of(text))
    message = {"role": "assistant", "content": "".join(answer)}
    if thoughts:
        message |= {key: "".join(thought)}
    made = {"index": index, "message": message, "finish_reason": "length" if is_cut else "stop"}
    if logprobs and body.get("logprobs"):
        made["logprobs"] = {"content": [listed(token.strip()) for token in answer]}
    return made


def completion(choices, **more):
    """A whole answer."""
    return {"object": "chat.completion", "model": "m", "choices": choices, "usage": {"prompt_tokens": 50, "completion_tokens": 9}} | more


@dataclass
class Dialect:
    """A server of the base kind: it takes all fields, and gives all that is asked for."""

    samples: int | None = None  # the most choices that it gives; None: as many as are asked for
    logprobs: bool = True  # it lists them
    before: str = ""  # what stands before each text: thoughts
    thoughts: str = ""  # in a field of their own
    thoughts_key: str = "reasoning_content"
    paths: tuple[str, ...] = ("/v1",)
    seen: list = field(default_factory=list)  # bodies

    @contextlib.asynccontextmanager
    async def turn(self):
        """Around each request: whether it may come in."""
        yield True

    def admits(self, path, headers):
        """The status and body for a request that may not come in; None: it may."""
        return

    def refuses(self, body):
        """The status and body of a refusal; None: it takes the request."""
        return

    def text(self, body):
        """The whole text, thoughts and all."""
        return self.before + said(body)

    def answers(self, body):
        """The status and body of an answer."""
        count = body.get("n", 1) if self.samples is None else min(self.samples, body.get("n", 1))
        made = {"thoughts": self.thoughts, "key": self.thoughts_key, "logprobs": self.logprobs}
        return 200, completion([choice(body, self.text(body), index=n, **made) for n in range(count)])

    def respond(self, path, body):
        """The status and body for a request; bytes are sent as they are, another object as JSON."""
        if not any(path == f"{prefix}/chat/completions" for prefix in self.paths):
            return 404, {"detail": "Not Found"}
        self.seen.append(body)
        return self.refuses(body) or self.answers(body)


class Ollama(Dialect):
    """One choice whatever n is, no log-probabilities, in silence."""

    def __init__(self):
        super().__init__(samples=1, logprobs=False)


class LlamaCppPython(Dialect):
    """One choice; log-probabilities are a failure of the server, by its status."""

    def __init__(self):
        super().__init__(samples=1)

    def refuses(self, body):
        if body.get("logprobs"):
            return refusal("logprobs is not supported for models created with logits_all=False", status=500)
        return None


class LMStudio(Dialect):
    """One choice, ``logprobs: null``, errors as a string, and a wrong route is a success by its status."""

    def __init__(self):
        super().__init__(samples=1, logprobs=False)

    def respond(self, path, body):
        if not path.startswith("/v1/"):
            return 200, {"error": f"Unexpected endpoint or method. (POST {path})"}
        return super().respond(path, body)

    def refuses(self, body):
        if body.get("response_format", {}).get("type") == "json_object":
            return 400, {"error": "'response_format.type' must be 'json_schema' or 'text'"}
        return None


class RefusesSamples(Dialect):
    """A hosted one."""

    def refuses(self, body):
        return refusal("'n' : number must be at most 1", param="n") if body.get("n", 1) > 1 else None


class RefusesLogprobs(Dialect):
    """A hosted one."""

    def refuses(self, body):
        return refusal("This model does not support `logprobs`.") if "logprobs" in body else None


class NoLogprobs(Dialect):
    """It ignores the field."""

    def __init__(self):
        super().__init__(logprobs=False)


class OpenAICurrent(Dialect):
    """Hidden thoughts that use up the limit, under another name; the default temperature only; no stop, no log-probabilities."""

    hidden = len(tokens_of(THOUGHT))

    def refuses(self, body):
        if "max_tokens" in body:
            return refusal(
                "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
                param="max_tokens",
                code="unsupported_parameter",
            )
        if body.get("temperature", 1) != 1:
            return refusal(
                f"Unsupported value: 'temperature' does not support {body['temperature']} with this model."
                " Only the default (1) value is supported.",
                param="temperature",
                code="unsupported_value",
            )
        for name in ("stop", "logprobs", "top_logprobs"):
            if name in body:
                return refusal(f"Unsupported parameter: '{name}' is not supported with this model.", param=name)
        return None

    def answers(self, body):
        left = {**body, "max_completion_tokens": max(0, limit_of(body) - self.hidden)}
        details = {"reasoning_tokens": min(self.hidden, limit_of(body))}
        made = completion([choice(left, said(body), index=n) for n in range(body.get("n", 1))])
        made["usage"]["completion_tokens_details"] = details
        return 200, made


class Mistral(Dialect):
    """Content in parts; fields that it does not know are a 422 with their places."""

    def refuses(self, body):
        unknown = [name for name in ("seed", "logprobs", "top_logprobs") if name in body]
        if unknown:
            extra = {"type": "extra_forbidden", "msg": "Extra inputs are not permitted"}
            return 422, {"object": "error", "message": {"detail": [extra | {"loc": ["body", name]} for name in unknown]}}
        return None

    def answers(self, body):
        status, made = super().answers(body)
        for one in made["choices"]:
            one["message"]["content"] = [{"type": "text", "text": token} for token in tokens_of(one["message"]["content"])]
        return status, made


class Magistral(Mistral):
    """Thoughts are parts of the content."""

    def answers(self, body):
        limit, thought = limit_of(body), tokens_of(THOUGHT)
        text = "".join(tokens_of(said(body))[: max(0, limit - len(thought))])
        parts = [{"type": "thinking", "thinking": [{"type": "text", "text": "".join(thought[:limit])}]}]
        parts += [{"type": "text", "text": text}] if text else []
        made = {"index": 0, "message": {"content": parts}, "finish_reason": "stop" if text == said(body) else "length"}
        return 200, completion([made])


class StrictVLLM(Dialect):
    """It knows its own limits, and no further field."""

    def refuses(self, body):
        if unknown := set(body) - FIELDS:
            return 400, {"object": "error", "message": f"Extra inputs are not permitted: {sorted(unknown)}", "code": 400}
        if body.get("n", 1) > 1 and body.get("temperature", 1) < 1e-5:
            return 400, {"object": "error", "message": "n must be 1 when using greedy sampling, got 5.", "code": 400}
        if body.get("top_logprobs", 0) > 5:
            message = f"Requested sample logprobs of {body['top_logprobs']}, which is greater than max allowed: 5"
            return 400, {"object": "error", "message": message, "type": "BadRequestError", "param": None, "code": 400}
        return None


class SmallContext(Dialect):
    """It reads few words."""

    def __init__(self, words):
        super().__init__()
        self.words = words

    def refuses(self, body):
        words = sum(len(str(message["content"]).split()) for message in body["messages"]) + limit_of(body)
        if words > self.words:
            message = (
                f"This model's maximum context length is {self.words} tokens. However, you requested {words} tokens."
                " Please reduce the length of the messages or completion."
            )
            return refusal(message, param="messages", code="context_length_exceeded")
        return None


class BreaksOff(Dialect):
    """Each second answer is cut in its middle, and the connection is closed."""

    def answers(self, body):
        status, made = super().answers(body)
        raw = json.dumps(made).encode()
        return status, (raw, len(raw) // 2) if len(self.seen) % 2 else made


class NaNLogprobs(Dialect):
    """As servers that run out of numbers."""

    def answers(self, body):
        status, made = super().answers(body)
        for one in made["choices"]:
            for token in (one.get("logprobs") or {}).get("content", ()):
                token["logprob"] = math.nan
                token["top_logprobs"] = [{"token": "Yes", "logprob": math.nan}, {"token": "No", "logprob": -math.inf}]
        return status, made


class NoReason(Dialect):
    """It refuses log-probabilities by a page of HTML without a reason."""

    def refuses(self, body):
        return (400, b"<html><head><title>400</title></head><body><h1>Bad Request</h1></body></html>") if "logprobs" in body else None


class NoSystemRole(Dialect):
    """A chat template that wants user and assistant in turn."""

    def refuses(self, body):
        roles = [message["role"] for message in body["messages"]]
        if "system" in roles or any(one == other for one, other in pairwise(roles)):
            return 400, {"detail": "System role not supported: conversation roles must alternate user/assistant/user/assistant/..."}
        return None


class TGI(Dialect):
    """A temperature of 0 is none; a list is an error."""

    def refuses(self, body):
        if body.get("temperature", 1) <= 0:
            return 422, {"error": "Input validation error: `temperature` must be strictly positive", "error_type": "validation"}
        if body.get("n", 1) > 1:
            return 422, ["n is not supported, except n=1"]
        if body.get("top_logprobs", 0) > 5:
            message = "Input validation error: `top_n_tokens` must be >= 0 and <= 5"
            return 422, {"error": message, "error_type": "validation"}
        return None


class SmallTGI(TGI):
    """It reads few words, and says so in words of its own."""

    words = 1_500

    def refuses(self, body):
        words = sum(len(message["content"].split()) for message in body["messages"])
        limit = limit_of(body)
        if words + limit > self.words:
            message = (
                f"Input validation error: `inputs` tokens + `max_new_tokens` must be <="
                f" {self.words}. Given: {words} `inputs` tokens and {limit} `max_new_tokens`"
            )
            return 422, {"error": message, "error_type": "validation"}
        return super().refuses(body)


class Anthropic(Dialect):
    """One sample, no log-probabilities, no stop sequence of blanks; the form of JSON is ignored."""

    def __init__(self):
        super().__init__(samples=1, logprobs=False)

    def refuses(self, body):
        if not all(stop.strip() for stop in body.get("stop", ())):
            return refusal("stop_sequences: each stop sequence must contain non-whitespace")
        return None


class OpenRouter(Dialect):
    """Each third reply is a failure, by a status of success; names take turns."""

    def answers(self, body):
        if len(self.seen) % 3 == 2:
            error = {"code": 502, "message": "Provider returned error"}
            failed = {"message": {"role": "assistant", "content": ""}, "error": error}
            return 200, {"model": "m", "choices": [failed | {"finish_reason": "error"}]}
        status, made = super().answers(body)
        return status, made | {"model": ("vendor/m", "vendor/m:free")[len(self.seen) % 2]}


class NoExtras(Dialect):
    """Neither stop nor seed; fields are unknown one by one, by a 501."""

    def refuses(self, body):
        for name in ("stop", "seed", "n"):
            if name in body:
                return 501, {"message": f"Unknown field: {name}"}
        return None


class OddReplies(Dialect):
    """More choices than were asked for, a negative usage, half of a surrogate pair, an odd list of log-probabilities."""

    def answers(self, body):
        status, made = super().answers({**body, "n": body.get("n", 1) + 1})
        made["usage"] = {"prompt_tokens": -5, "completion_tokens": "many"}
        for one in made["choices"]:
            one["message"]["content"] = (
                one["message"]["content"].replace("Tarrow", "Tarrow\ud83d") if limit_of(body) > 99 else one["message"]["content"]
            )
            one["logprobs"] = ["odd"]
        return status, made


class Azure(Dialect):
    """Routes before the query, a key in a header of its own, no list of models."""

    address = "/openai/deployments/d?api-version=2024-10-21"
    key = "k3y"

    def admits(self, path, headers):
        routes = ("/chat/completions", "/embeddings")
        if path not in [self.address.replace("?", f"{route}?") for route in routes]:
            return 404, {"error": {"code": "404", "message": "Resource not found"}}
        if headers.get("api-key") != self.key:
            message = (
                "Access denied due to invalid subscription key or wrong API endpoint. Make sure to"
                " provide a valid key for an active subscription and use a correct regional API"
                " endpoint for your resource."
            )
            return 401, {"error": {"code": "401", "message": message}}
        return None

    def respond(self, path, body):
        self.seen.append(body)
        if "input" in body:
            vector = [0.6, 0.8]
            rows = [{"index": n, "embedding": vector} for n in range(len(body["input"]))]
            return 200, {"data": rows}
        return self.answers(body)


class OneAtATime(Dialect):
    """It gives one choice, and is busy for whoever asks beside another."""

    def __init__(self):
        super().__init__(samples=1)
        self.at_work = 0

    @contextlib.asynccontextmanager
    async def turn(self):
        """A while in which others are refused."""
        self.at_work += 1
        try:
            yield self.at_work == 1
            await asyncio.sleep(0.01)
        finally:
            self.at_work -= 1


class StreamsOnly(Dialect):
    """It sends a stream, whatever is asked for."""

    def answers(self, body):
        _, made = super().answers(body)
        return 200, events_of(made["choices"][0])


class SmallContextThatThinks(SmallContext):
    """It has no room for many thoughts, and no opening tag."""

    def __init__(self):
        super().__init__(words=1_000)
        self.before = f"{THOUGHT}\n</think>\n\n"


def events_of(made, *, done=True, ending="\n\n", head="data: "):
    """A choice as a stream: comments between, a last chunk without choices."""
    deltas = [{"content": token} for token in tokens_of(made["message"]["content"])]
    chunks = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    chunks += [
        {"choices": [{"index": 0, "delta": {}, "finish_reason": made["finish_reason"]}]},
        {"choices": [], "usage": {"prompt_tokens": 3}},
    ]
    lines = [f": keep-alive{ending}", *(f"{head}{json.dumps(chunk)}{ending}" for chunk in chunks), f"{head}[DONE]{ending}" if done else ""]
    return Stream("".join(lines).encode())


CLOSED_CHANNEL = "<|end|><|start|>assistant<|channel|>final<|message|>"
DIALECTS = {
    "ollama": Ollama,
    "llama-cpp-python": LlamaCppPython,
    "LM Studio": LMStudio,
    "hosted: 400 on n": RefusesSamples,
    "hosted: 400 on logprobs": RefusesLogprobs,
    "silently no logprobs": NoLogprobs,
    "OpenAI's current models": OpenAICurrent,
    "Mistral: parts": Mistral,
    "Magistral: thoughts as parts": Magistral,
    "<think> first": lambda: Dialect(before=f"<think>\n{THOUGHT}\n</think>\n\n"),
    "<thinking> first, no logprobs, no n": lambda: Dialect(before=f"<thinking>{THOUGHT}</thinking>", logprobs=False, samples=1),
    "[THINK] first": lambda: Dialect(before=f"[THINK]{THOUGHT}[/THINK]"),
    "channels": lambda: Dialect(before=f"<|channel|>analysis<|message|>{THOUGHT}{CLOSED_CHANNEL}"),
    "reasoning_content": lambda: Dialect(thoughts=THOUGHT),
    "reasoning": lambda: Dialect(thoughts=THOUGHT, thoughts_key="reasoning", logprobs=False),
    "swallowed opening tag": lambda: Dialect(before=f"{THOUGHT}\n</think>\n\n"),
    "swallowed opening tag, no logprobs": lambda: Dialect(before=f"{THOUGHT}\n</think>\n\n", logprobs=False, samples=1),
    "vLLM, strict": StrictVLLM,
    "breaks off": BreaksOff,
    "NaN logprobs": NaNLogprobs,
    "400 without a reason": NoReason,
    "no system role": NoSystemRole,
    "TGI": TGI,
    "TGI, a small context": SmallTGI,
    "Anthropic's OpenAI route": Anthropic,
    "OpenRouter": OpenRouter,
    "neither stop nor seed": NoExtras,
    "odd replies": OddReplies,
    "streams only": StreamsOnly,
    "one at a time": OneAtATime,
    "small context, swallowed opening tag": SmallContextThatThinks,
}


@contextlib.asynccontextmanager
async def served(dialect):
    """A running server of that dialect; yields its address, with the version at its end."""

    async def serve(reader, writer):
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            method, path, _ = head.split(b" ", 2)
            length = re.search(rb"content-length: (\d+)", head.lower())
            raw = await reader.readexactly(int(length.group(1))) if length else b"{}"
            lines = head.decode().lower().split("\r\n")[1:-2]
            headers = dict(line.split(": ", 1) for line in lines)
            if (shut := dialect.admits(path.decode(), headers)) is not None:
                status, made = shut
            elif method == b"GET":
                status, made = 200, {"object": "list", "data": [{"id": "another-name"}]}
            else:
                async with dialect.turn() as is_free:
                    status, made = dialect.respond(path.decode(), json.loads(raw)) if is_free else (429, {"error": "busy"})
            send(writer, status, made)
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client went away
        finally:
            writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1"
    finally:
        listening.close()
        await listening.wait_closed()


def send(writer, status, made):
    """Write an answer: bytes, JSON, or bytes with the number after which the connection breaks; a stream where it is a list of events."""
    cut = None
    if isinstance(made, tuple):
        made, cut = made
    is_stream = isinstance(made, Stream)
    raw = made.raw if is_stream else made if isinstance(made, bytes) else json.dumps(made).encode()
    kind = "text/event-stream" if is_stream else "text/html" if isinstance(made, bytes) else "application/json"
    head = f"HTTP/1.1 {status} Any\r\nContent-Type: {kind}\r\nConnection: close\r\n"
    head += "" if is_stream else f"Content-Length: {len(raw)}\r\n"
    writer.write(head.encode() + b"\r\n" + (raw if cut is None else raw[:cut]))


@dataclass
class Stream:
    """The bytes of a stream."""

    raw: bytes
