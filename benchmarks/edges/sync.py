"""What ``dgrag sync`` takes where nothing has changed: ``python -m benchmarks.edges.sync [FILES]`` writes one JSON line.

An edge in this process behind a real socket holds a document of each file, as if all were indexed; the command is a process of its own.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import httpx2
import orjson
import uvicorn

from edge_node.api.app import create_app
from edge_node.build import Adapters, build_node
from edge_node.documents.store import DocumentStore
from edge_node.maintenance import open_store
from edge_node.settings import EdgeSettings
from shared.models.fake import HashEmbedder, ScriptedGenerator, WordTokenizer
from shared.ports import SystemClock

FILES = 10_000
IN_A_FOLDER = 100
SOURCE = "benchmark"
ALL_INDEXED = "UPDATE documents SET status = 'indexed'"
ALL_ENDED = "UPDATE jobs SET ended_at = created_at"


def made(root: Path, files: int) -> None:
    """A folder of so many short files."""
    for number in range(files):
        path = root / f"{number // IN_A_FOLDER:04}" / f"{number:06}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"Ward {number} reported that pump {number * 7} failed at night.\n" * 20, encoding="utf-8")


def held(state: Path, root: Path) -> None:
    """A store that has all of them."""
    state.mkdir()
    database = open_store(state / "edge.db", SystemClock())
    store = DocumentStore(database, SystemClock())
    for path in sorted(root.rglob("*.txt")):
        name = path.relative_to(root).as_posix()
        store.accept(name, path.read_bytes(), reader=name, source=SOURCE)
    with database.write() as tx:
        tx.execute(ALL_INDEXED)
        tx.execute(ALL_ENDED)
    database.close()


def serve(state: Path, port: int) -> tuple[uvicorn.Server, threading.Thread]:
    """The edge, in a thread."""
    models = ScriptedGenerator(lambda prompt: [""] * prompt.n), HashEmbedder(), WordTokenizer()
    node = build_node(EdgeSettings(state_dir=state, strategy="naive"), Adapters(*models, None))
    server = uvicorn.Server(uvicorn.Config(create_app(node), port=port, log_level="error"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not ready(port):
        time.sleep(0.1)
    return server, thread


def ready(port: int) -> bool:
    """Whether the edge answers."""
    try:
        return httpx2.get(f"http://127.0.0.1:{port}/ready", trust_env=False).is_success
    except httpx2.TransportError:
        return False


def timed(root: Path, port: int, home: Path) -> tuple[dict[str, float], int]:
    """Seconds of one sync, and how many files it found unchanged."""
    command = (sys.executable, "-P", "-m", "deploy.cli.main", "sync", str(root), "--edge", f"http://127.0.0.1:{port}", "--source", SOURCE)
    options = ("--state", str(home), "--no-wait", "--json")
    before, cache = cpu_s(), ("/usr/bin/env", f"XDG_CACHE_HOME={home}")
    began, edge_began = time.perf_counter(), time.process_time()
    done = subprocess.run((*cache, *command, *options), check=True, stdout=subprocess.PIPE)  # noqa: S603 - our own command
    wall_s, edge_s = time.perf_counter() - began, time.process_time() - edge_began
    row = {"wall_s": wall_s, "command_cpu_s": cpu_s() - before, "edge_cpu_s": edge_s}
    return {key: round(seconds, 2) for key, seconds in row.items()}, orjson.loads(done.stdout)["unchanged"]


def cpu_s() -> float:
    """Seconds of processor that all commands have taken so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Make folder and edge, and run the command four times, first without its cache."""
    files, port = int(sys.argv[1]) if len(sys.argv) > 1 else FILES, 8193
    with tempfile.TemporaryDirectory() as home:
        root, state = Path(home) / "docs", Path(home) / "edge"
        made(root, files)
        held(state, root)
        time.sleep(3)  # what was written less than two seconds ago is read again
        server, thread = serve(state, port)
        try:
            runs = [timed(root, port, Path(home)) for _ in range(4)]
        finally:
            server.should_exit = True
            thread.join()
    without, *later = runs
    row = {"files": files, "unchanged": without[1], "without_cache": without[0], "runs": [row for row, _ in later]}
    print(orjson.dumps(row).decode())


if __name__ == "__main__":
    main()
