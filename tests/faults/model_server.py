"""A model server that misbehaves to order: a real HTTP server on the loopback, in the test's own event loop."""

import asyncio
import contextlib
import json
import re
from dataclasses import dataclass
from itertools import pairwise

import httpx2

from shared.http.open_mode import CALLER

BIG = 10 * 2**20
DRIP_S = 0.02  # between two bytes of a dripping answer; below any deadline of one read, as a real drip is
RETRY_AFTER_S = 1
ENTITIES = re.compile(r"Entities: ([^\n]*)\nPassage: ([^\n]*)\nRelations:\Z")  # of the last passage, not of the example before it


@dataclass
class Call:
    """One request: when it came (seconds of the loop's clock), the passage it asked about, and whether it was answered well."""

    at: float
    passage: str
    question: str
    good: bool


def first(k):
    """Misbehave at the first ``k`` calls."""
    return lambda server, passage: len(server.calls) < k


def always(server, passage):
    """Misbehave at every call."""
    return True


def never(server, passage):
    """Be a good server."""
    return False


def about(marker):
    """Misbehave at each call whose passage holds ``marker``."""
    return lambda server, passage: marker in passage


def completion(text, *, finish="stop", usage=None):
    """A whole answer as the OpenAI format has it."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish}
    return json.dumps({"choices": [choice], "usage": usage or {"prompt_tokens": 100, "completion_tokens": 10}}).encode()


TEN_MEGABYTES = completion("x" * BIG)


def relations(question):
    """What a good model says: the given entities in a row."""
    found = ENTITIES.search(question)
    names = found.group(1).split("; ") if found else []
    return "\n".join(f"{one} | stands beside | {other}" for one, other in pairwise(names)) or "NONE"


class ModelServer:
    """``profile``: a name in PROFILES; ``faulty(server, passage)`` says which calls get it, the others are answered well."""

    def __init__(self, profile="empty", faulty=never):
        self.profile = profile
        self.faulty = faulty
        self.calls = []
        self.url = ""
        self._open = set()

    def about(self, marker):
        """The calls about the passages that hold ``marker``."""
        return [call for call in self.calls if marker in call.passage]

    @property
    def base(self):
        """How many different questions were asked: what a faultless server would have been asked."""
        return len({call.question for call in self.calls})

    def client(self):
        """An HTTP client for it; who asks has a deadline of his own, and a busy machine takes longer than the client's usual 5 s."""
        return httpx2.AsyncClient(headers=CALLER, base_url=self.url, trust_env=False, timeout=None)

    async def serve(self, reader, writer):
        """One connection, one request."""
        task = asyncio.current_task()
        self._open.add(task)
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            body = json.loads(await reader.readexactly(int(re.search(rb"content-length: (\d+)", head.lower()).group(1))))
            question = body["messages"][-1]["content"]
            found = ENTITIES.search(question)
            passage = found.group(2) if found else question
            fault = self.faulty(self, passage)
            call = Call(asyncio.get_running_loop().time(), passage, question, good=not fault)
            self.calls.append(call)
            await (PROFILES[self.profile] if fault else good)(writer, question)
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client went away, as it should
        finally:
            self._open.discard(task)
            writer.close()

    async def stop(self):
        """Let the calls that hang go."""
        for task in list(self._open):
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)


@contextlib.asynccontextmanager
async def model_server(profile="empty", faulty=never):
    """A running server."""
    server = ModelServer(profile, faulty)
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    server.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1"
    try:
        yield server
    finally:
        listening.close()
        await server.stop()
        await listening.wait_closed()


def send(writer, body, *, status="200 OK", length=None, **headers):
    """Write an answer with its head."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body) if length is None else length}", "Connection: close"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + body)


# ---------------------------------------------------------------- profiles: async (writer, question)


async def good(writer, question):
    send(writer, completion(relations(question)))


async def busy(writer, question):
    send(writer, b'{"error": {"message": "too many requests"}}', status="429 Too Many Requests", Retry_After=RETRY_AFTER_S)


async def failing(writer, question):
    send(writer, b"<h1>Internal Server Error</h1>", status="500 Internal Server Error", Retry_After=0)


async def hanging(writer, question):
    await asyncio.Event().wait()


async def dripping(writer, question):
    send(writer, b"", length=BIG)
    while True:
        writer.write(b" ")
        await writer.drain()
        await asyncio.sleep(DRIP_S)


async def cut_json(writer, question):
    send(writer, completion(relations(question))[:-30])


async def whitespace(writer, question):
    send(writer, completion(" \n" * 160, finish="length"))


async def wrong_schema(writer, question):
    send(writer, json.dumps({"output": [{"text": relations(question)}]}).encode())


async def not_a_number(writer, question):
    send(writer, json.dumps({"choices": [{"message": {"content": float("nan")}}]}).encode())


async def ten_megabytes(writer, question):
    send(writer, TEN_MEGABYTES)


async def empty(writer, question):
    send(writer, completion(""))


async def refusing(writer, question):
    send(writer, completion("I'm sorry, but I cannot determine the relations from the given passage."))


async def thinking(writer, question):
    send(writer, completion("<think>" + "Let me see. " * 40))


PROFILES = {
    "429": busy,
    "500": failing,
    "hang": hanging,
    "drip": dripping,
    "cut": cut_json,
    "whitespace": whitespace,
    "schema": wrong_schema,
    "nan": not_a_number,
    "10MB": ten_megabytes,
    "empty": empty,
    "refusal": refusing,
    "think": thinking,
}
