"""Goal R13: four times as many questions as an edge can answer, while documents come; a real process, a stub model server."""

import asyncio
import contextlib
import itertools
import json
import os
import re
import signal
import socket
import sys
from dataclasses import dataclass, field
from pathlib import Path

import httpx2

from shared.http.open_mode import CALLER

ROOT = Path(__file__).parents[2]
MODEL_S = 0.1  # what the stub takes for one answer
PROBE_S = 0.05  # between two looks at /health
KEPT_S = 2.0  # a connection that waits: the server closes it after 5 s, and a question that is on its way then is lost
DOCUMENT_S = 0.25  # between two documents
WAITING = re.compile(r"(\d+) requests are being answered, and (\d+) wait")


@dataclass
class Figures:
    """What a run of the load showed. Times in seconds, memory in MiB."""

    statuses: dict[int, int] = field(default_factory=dict)
    accepted_s: list[float] = field(default_factory=list)
    health_s: list[float] = field(default_factory=list)
    without_time: int = 0  # refusals that do not say when to come again
    most_waiting: int = 0
    documents: int = 0
    capacity: float = 0.0  # questions a second that it answers
    offered: float = 0.0
    grown_mb: float = 0.0
    normal_after_s: float = 0.0

    def __str__(self):
        health, accepted = percentile(self.health_s, 0.99), percentile(self.accepted_s, 0.99)
        return (
            f"offered {self.offered:.0f}/s, answers {self.capacity:.0f}/s, statuses {self.statuses}, accepted p99 {accepted:.2f} s, "
            f"waiting at most {self.most_waiting}, /health p50 {percentile(self.health_s, 0.5) * 1000:.0f} ms p99 {health * 1000:.0f} ms, "
            f"documents {self.documents}, memory +{self.grown_mb:.0f} MiB, normal again after {self.normal_after_s:.2f} s"
        )


def percentile(values, share):
    """The value below which this share lies."""
    return sorted(values)[min(int(len(values) * share), len(values) - 1)] if values else 0.0


def free_port():
    """A port that nobody uses now."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@contextlib.asynccontextmanager
async def stub_model(gate=None):
    """Answers every chat request after MODEL_S seconds and not before this event is set; yields its URL."""

    async def answer(reader, writer):
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = int(re.search(rb"content-length: (\d+)", head, re.IGNORECASE)[1])
                asked = json.loads(await reader.readexactly(length))
                await asyncio.sleep(MODEL_S)
                if gate:
                    await gate.wait()
                body = json.dumps(completion(asked)).encode()
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body) + body)
                await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    finally:
        server.close()


def completion(asked):
    """The answer to a chat request in OpenAI's form, with the first token's likelihoods."""
    best = [{"token": token, "logprob": value} for token, value in (("Yes", -0.1), ("A", -0.2), ("No", -2.5))]
    token = {"token": "Yes", "logprob": -0.1, "top_logprobs": best}
    message = {"role": "assistant", "content": "Juniper Ward reported it [1]."}
    choice = {"message": message, "finish_reason": "stop", "logprobs": {"content": [token]}}
    return {"choices": [{"index": n, **choice} for n in range(asked.get("n") or 1)], "usage": {"prompt_tokens": 90, "completion_tokens": 9}}


@contextlib.asynccontextmanager
async def edge_process(folder, model_url, **settings):
    """The edge in a process of its own, with further settings of its own; yields its pid and a client."""
    port = free_port()
    command = (sys.executable, "-m", "tests.faults.edge_process", str(folder), str(port), model_url)
    chosen = {f"DGRAG_EDGE_{name.upper()}": str(value) for name, value in settings.items()}
    process = await asyncio.create_subprocess_exec(*command, cwd=ROOT, env={**os.environ, **chosen})
    limits = httpx2.Limits(max_connections=300, max_keepalive_connections=100, keepalive_expiry=KEPT_S)
    try:
        async with httpx2.AsyncClient(
            headers=CALLER, base_url=f"http://127.0.0.1:{port}", limits=limits, timeout=60, trust_env=False
        ) as http:
            async with asyncio.timeout(60):
                while not await ready(http):  # noqa: ASYNC110 - nothing announces it
                    await asyncio.sleep(0.05)
            yield process.pid, http
    finally:
        process.send_signal(signal.SIGTERM)
        await process.wait()


async def ready(http):
    with contextlib.suppress(httpx2.TransportError):
        return (await http.get("/ready")).status_code == 200
    return False


def rss_mb(pid):
    """Memory of a process in MiB."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


async def ask(http, figures):
    """One question; its status, time and, where it was refused, what it was told."""
    began = asyncio.get_running_loop().time()
    response = await http.post("/v1/query", json={"question": "Who reported the pumps?", "mode": "local", "n": 1})
    figures.statuses[response.status_code] = figures.statuses.get(response.status_code, 0) + 1
    if response.status_code == 200:
        figures.accepted_s.append(asyncio.get_running_loop().time() - began)
    elif response.status_code == 503:
        figures.without_time += not response.headers.get("retry-after", "").isdigit()
        told = WAITING.search(response.text)
        figures.most_waiting = max(figures.most_waiting, int(told[2]) if told else 0)
    return response.status_code


async def probe(http, figures):
    """Look at /health until cancelled."""
    loop = asyncio.get_running_loop()
    while True:
        began = loop.time()
        assert (await http.get("/health")).status_code == 200
        figures.health_s.append(loop.time() - began)
        await asyncio.sleep(PROBE_S)


async def feed(http, figures):
    """Send documents until cancelled."""
    while True:
        text = f"Ward {figures.documents} reported the failure of infusion pump {figures.documents}. " * 20
        response = await http.post("/v1/documents", json={"name": f"{figures.documents}.md", "text": text})
        assert response.status_code == 202
        figures.documents += 1
        await asyncio.sleep(DOCUMENT_S)


async def capacity(http, *, seconds, at_once=4):
    """Questions a second with as many at once as the edge takes."""
    warm_up, ends = Figures(), asyncio.get_running_loop().time() + seconds

    async def worker():
        while asyncio.get_running_loop().time() < ends:
            await ask(http, warm_up)

    await asyncio.gather(*(worker() for _ in range(at_once)))
    return len(warm_up.accepted_s) / seconds


async def under_load(folder, *, seconds, times=4, **settings):
    """The whole run: what it showed."""
    figures, loop = Figures(), asyncio.get_running_loop()
    async with stub_model() as model_url, edge_process(folder, model_url, **settings) as (pid, http):
        await http.post("/v1/documents", json={"name": "a.md", "text": "Juniper Ward reported the failure of four infusion pumps."})
        await ask(http, Figures())  # the first one loads what all others share
        figures.capacity = await capacity(http, seconds=2)
        figures.offered, baseline = figures.capacity * times, rss_mb(pid)
        async with asyncio.TaskGroup() as group:
            others = [group.create_task(work(http, figures)) for work in (probe, feed)]
            began, sent = loop.time(), 0
            asked = []
            while loop.time() < began + seconds:
                while sent < (loop.time() - began) * figures.offered:
                    asked.append(group.create_task(ask(http, figures)))
                    sent += 1
                await asyncio.sleep(0.01)
            await asyncio.wait(asked[-1000:])
            for task in others:
                task.cancel()
        figures.grown_mb, ended = rss_mb(pid) - baseline, loop.time()
        while await ask(http, Figures()) != 200:  # noqa: ASYNC110 - nothing announces it
            await asyncio.sleep(0.1)
        figures.normal_after_s = loop.time() - ended
    return figures


async def full_house(folder, *, questions, refused, **settings):
    """Questions while the model answers none, until so many were refused; then it answers: what that showed."""
    figures, model_answers = Figures(), asyncio.Event()
    async with stub_model(model_answers) as model_url, edge_process(folder, model_url, **settings) as (_, http):
        await http.post("/v1/documents", json={"name": "a.md", "text": "Juniper Ward reported the failure of four infusion pumps."})
        while not (await http.get("/v1/status")).json()["settled"]:  # noqa: ASYNC110 - nothing announces it
            await asyncio.sleep(0.05)
        async with asyncio.TaskGroup() as group:
            asked = [group.create_task(ask(http, figures)) for _ in range(questions)]
            for answered in itertools.islice(asyncio.as_completed(asked), refused):
                await answered
            accepted = await http.post("/v1/documents", json={"name": "b.md", "text": "The pumps failed."})
            figures.documents += accepted.status_code == 202
            model_answers.set()
    return figures
