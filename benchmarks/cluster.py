"""The services under test, as processes that ``dgrag`` starts and stops: one cluster at a time, one model server for all."""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
import signal
import sys
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeAlias

import httpx2
import orjson

from benchmarks.errors import BenchmarkError
from benchmarks.link import LinkConfig
from benchmarks.machine import foreign
from deploy.cluster.launch import is_url
from deploy.cluster.names import Ports
from deploy.lab.no_model import STAND_INS
from shared.models.settings import ModelSettings

DGRAG = (sys.executable, "-P", "-m", "deploy.cli.main")
CODE_ROOT = Path(__file__).parent.parent
FIRST_PORT, PORTS = 20_000, 12_000  # below the ports that the system hands out by itself
ROOM = 128  # ports of one fleet
POLL_S = 0.5
READY_S = 300.0  # a model of 1 GB from a cold disk takes a minute
OK = 200


Carried: TypeAlias = Callable[[str, str, Mapping[str, int]], None]  # (state, edge, bytes "up" and "down") when a cluster has stopped


@dataclass(frozen=True, slots=True)
class Cluster:
    """Where a running cluster answers."""

    cloud: str
    edges: Mapping[str, str]  # URL by edge id


class Fleet:
    """Starts clusters on state folders below ``work``, one at a time, and stops what it has started."""

    def __init__(
        self,
        work: Path,
        generator: str,
        http: httpx2.AsyncClient,
        environment: Mapping[str, str],
        link: LinkConfig | None = None,
        carried: Carried = lambda *_: None,
    ) -> None:
        """``environment``: settings of all services. ``link``: what there is to be between edges and cloud; ``carried``: is told of it."""
        self._work = work
        self._generator = generator
        self._http = http
        self._environment = environment
        self._carried = carried
        self._model: asyncio.subprocess.Process | None = None
        self._stand_in: asyncio.Server | None = None
        self._running: Path | None = None
        # a place of its own for each work folder: two runs that start at once would take the same free port otherwise
        self._port = FIRST_PORT + zlib.crc32(str(work).encode()) % (PORTS // ROOM) * ROOM
        self._model_url = generator.rstrip("/") if is_url(generator) else ""
        self.model_key = ModelSettings().key() if self._model_url else secrets.token_urlsafe(32)  # none but this run's processes have it
        self._link = link

    async def __aenter__(self) -> Self:
        for state in sorted(self._work.glob("clusters/*/cluster.json")):  # left by a run that was killed
            await self._dgrag("down", "--state", str(state.parent))
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.down()
        if self._stand_in:
            self._stand_in.close()
        if self._model and self._model.returncode is None:
            self._model.terminate()
            await self._model.wait()

    def state(self, name: str) -> Path:
        """The state folder of a cluster."""
        return self._work / "clusters" / name

    async def up(self, name: str, edges: Sequence[str], environment: Mapping[str, str]) -> Cluster:
        """Start a cluster on the state that is there. Raises BenchmarkError when it does not start."""
        await self.down()
        model = await self.model()
        self._running = self.state(name)
        words = ("up", "--names", ",".join(edges), "--edges", str(len(edges)), "--model", model, "--share", "full", "--detach", "--json")
        ports = ("--cloud-port", str(self._port + 1), "--edge-port", str(self._port + 2))
        links = ("--runtime", "netns", "--link", self._link.words()) if self._link else ()
        said = orjson.loads(await self._dgrag(*words, *ports, *links, "--state", str(self._running), environment=environment))
        cluster = Cluster(said["cloud"], {edge["edge"]: edge["url"] for edge in said["edges"]})
        await self._in_step(cluster)
        return cluster

    async def down(self) -> None:
        """Stop the running cluster; its stores are whole on the disk then."""
        if self._running is not None:
            try:
                await self._tell_carried(self._running)
            finally:
                await self._dgrag("down", "--state", str(self._running))
            self._running = None

    async def _tell_carried(self, state: Path) -> None:
        """Tell what has passed over each link since the cluster was started; nothing where it was not."""
        if self._link and (state / "cluster.json").exists():
            for row in orjson.loads(await self._dgrag("net", "stats", "--json", "--state", str(state)))["links"]:
                self._carried(state.name, row["edge"], {"up": row["up"]["bytes"], "down": row["down"]["bytes"]})

    async def add(self, edge: str, file: Path) -> None:
        """Give an edge of the running cluster a collection, and wait until it is indexed. Raises BenchmarkError if a row is lost."""
        await self._dgrag("add", str(file), "--edge", edge, "--state", str(self._running), "--json")

    def copy(self, source: str, name: str) -> None:
        """A state for a system that would change the original."""
        draft = self.state(f"{name}.draft")
        shutil.rmtree(draft, ignore_errors=True)
        shutil.copytree(self.state(source), draft, ignore=shutil.ignore_patterns("cluster.json", "logs"))
        draft.replace(self.state(name))

    # ------------------------------------------------------------ the model

    async def model(self) -> str:
        """The URL of the one model server, which is started at the first need; of ``STAND_INS`` none is loaded."""
        if self._model and self._model.returncode is not None:
            raise BenchmarkError("the model server has ended", next_step=f"read {self._work / 'model.log'}, then run again: it goes on")
        if self._model_url:
            return self._model_url
        stand_in = STAND_INS.get(self._generator)
        fetched = [] if stand_in else [self._generator]
        await self._dgrag("model", "fetch", *fetched, "minilm", "--json")
        port = Ports().take(self._port)
        if stand_in:
            self._stand_in = await stand_in(port)
            self._model_url = f"http://127.0.0.1:{port}/v1"
            return self._model_url
        command = (sys.executable, "-P", "-m", "deploy.cluster.child", str(os.getpid()), *DGRAG, "model", "serve", self._generator)
        with (self._work / "model.log").open("ab") as log:
            self._model = await asyncio.create_subprocess_exec(
                *command,
                "--port",
                str(port),
                env=self._env({}),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        url = f"http://127.0.0.1:{port}/v1"
        await until(lambda: self._answers(f"{url}/models"), what="the model server", alive=self._model_alive)
        self._model_url = url
        return url

    async def model_name(self) -> str:
        """What the model is called at its server."""
        return str((await self._get(f"{await self.model()}/models", "data"))[0]["id"])

    def _model_alive(self) -> bool:
        return self._model is not None and self._model.returncode is None

    # ------------------------------------------------------------ processes

    async def _dgrag(self, *words: str, environment: Mapping[str, str] | None = None) -> bytes:
        """Run a verb to its end; cancelled, it is asked to stop and waited for. Raises BenchmarkError with its last words."""
        starting = asyncio.create_task(
            asyncio.create_subprocess_exec(
                *DGRAG,
                *words,
                env=self._env(environment or {}),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,  # a Ctrl-C reaches us alone: we decide what stops in which order
            )
        )
        try:
            process = await asyncio.shield(starting)  # cancelled while it begins, it would be killed
            out, told = await process.communicate()
        except asyncio.CancelledError:
            process = await starting
            if process.returncode is None:
                process.send_signal(signal.SIGTERM)
                await process.wait()
            raise
        if process.returncode:
            lines = told.decode(errors="replace").strip().splitlines() or [f"exit status {process.returncode}"]
            raise BenchmarkError(f"`dgrag {words[0]}` failed: {lines[-1]}", next_step="when that is mended, the same command goes on")
        return out

    def _env(self, more: Mapping[str, str]) -> dict[str, str]:
        strange = foreign(os.environ)
        kept = {name: value for name, value in os.environ.items() if name not in strange}
        path = os.pathsep.join(filter(None, [str(CODE_ROOT), kept.get("PYTHONPATH", "")]))
        return {**kept, "PYTHONPATH": path, "DGRAG_MODEL_API_KEY": self.model_key, **self._environment, **more}

    # ------------------------------------------------------------ waiting

    async def _in_step(self, cluster: Cluster) -> None:
        """Wait until every edge is settled and on line, and the cloud has its summaries. Raises BenchmarkError for one in safe mode."""

        async def ready() -> bool:
            told = {edge: await self.status(url) for edge, url in cluster.edges.items()}
            for edge, status in told.items():
                if "cloud" not in status:  # it serves nothing but its status, until its store is mended
                    raise BenchmarkError(
                        f"edge {edge} is in safe mode: {status.get('failed', '')}",
                        next_step=f"delete {self._running} to index it anew, then run again: it goes on",
                    )
            known = {row["edge"]: row for row in await self._get(f"{cluster.cloud}/v1/edges", "edges")}
            return all(
                status["settled"] and status["cloud"]["connected"] and known.get(edge, {}).get("online") for edge, status in told.items()
            )

        await until(ready, what=f"the cluster in {self._running}")

    async def status(self, url: str) -> dict[str, Any]:
        """``GET /v1/status`` of an edge."""
        response = await self._http.get(f"{url}/v1/status")
        return dict(response.raise_for_status().json())

    async def _get(self, url: str, field: str) -> list[dict[str, Any]]:
        response = await self._http.get(url, headers=self._shown(url))
        return list(response.raise_for_status().json()[field])

    def _shown(self, url: str) -> dict[str, str]:
        """The model server's key, for its own addresses alone."""
        own = bool(self.model_key) and (not self._model_url or url.startswith(self._model_url))
        return {"Authorization": f"Bearer {self.model_key}"} if own else {}

    async def _answers(self, url: str) -> bool:
        try:
            return (await self._http.get(url, timeout=2.0, headers=self._shown(url))).status_code == OK
        except httpx2.TransportError:
            return False


async def served(fleet: Fleet, generator: str) -> dict[str, str]:
    """What the server at a URL calls its model, as ``served``; nothing of a model of the catalogue, or where the server does not say."""
    try:
        return {"served": await fleet.model_name()} if is_url(generator) else {}
    except httpx2.HTTPError:
        return {}


def drop_settings_of_the_shell() -> None:
    """Take them from this process too: tokenizer, embedder and judge read settings here."""
    for name in foreign(os.environ):
        del os.environ[name]


async def until(true: Callable[[], Any], *, what: str, alive: Callable[[], bool] = lambda: True, seconds: float = READY_S) -> None:
    """Wait for an awaitable truth. Raises BenchmarkError when it does not come in time, or cannot come any more."""
    deadline = time.monotonic() + seconds
    while not await true():
        if not alive() or time.monotonic() > deadline:
            raise BenchmarkError(f"{what} does not become ready", next_step="read its log, then run again: it goes on")
        await asyncio.sleep(POLL_S)
