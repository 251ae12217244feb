"""How many edges a cloud bears: ``python -m benchmarks.clouds.thousand_edges [--edges 1000] [--each 100] [--seconds 600] [--rate 20]``.

Real cloud processes, and light edges in a few processes: they join, tell of summaries, hold polls, come and go, lie or are slow, and
ask 20 questions a second among them (``/v1/evidence``: no language model). ``--clouds 3``: so many replicas over a PostgreSQL from a
package; ``--postgres``: one cloud over it. ``--embedder default``: the real embedding model, which 100,000 summaries keep busy for an
hour; else hashed words over HTTP. Prints one JSON line. The shorter form for a look: ``--edges 100 --each 10 --seconds 30 --rate 5``.
"""

from __future__ import annotations

import multiprocessing
import shutil
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal

import orjson
import typer

from benchmarks.clouds.hnsw import server
from benchmarks.clouds.light_edges import Load, Told, run
from benchmarks.cluster import drop_settings_of_the_shell
from benchmarks.machine import code, machine
from benchmarks.meters import percentile_ms
from benchmarks.peers.run import model_server
from benchmarks.under_load import process_row, service_process

HOUR_S = 3600.0
PATIENCE_S = 3600.0  # of all edges that join
Process = subprocess.Popen[bytes]


@contextmanager
def clouds(folder: Path, count: int, database: str, environment: dict[str, str]) -> Iterator[tuple[list[str], list[Process]]]:
    """So many clouds; their addresses and processes. With a database they have one key, as replicas must."""
    with ExitStack() as stack:
        urls, processes = list[str](), list[Process]()
        for number in range(count):
            state = folder / f"cloud-{number}"
            state.mkdir()
            if number:
                shutil.copytree(folder / "cloud-0" / "identity", state / "identity")
            shared = {"DGRAG_CLOUD_DATABASE_URL": database, "DGRAG_CLOUD_REPLICA": f"cloud-{number}"} if database else {}
            http, process = stack.enter_context(service_process("cloud_server", "DGRAG_CLOUD", state, **environment, **shared))
            urls.append(str(http.base_url).rstrip("/"))
            processes.append(process)
        yield urls, processes


def loads(edges: int, processes: int, rate: float, **same: Any) -> list[Load]:
    """What each process of light edges does.

    >>> same = dict(each=2, clouds=("http://a",), seconds=1.0, leaving=0.0, leave_s=1.0, lying=0.0, slow=0.0)
    >>> [list(load.edges) for load in loads(5, 2, 20.0, **same)]
    [[0, 2, 4], [1, 3]]
    """
    return [Load(range(first, edges, processes), edges, rate=rate / processes, **same) for first in range(processes)]


def ran(loads: Sequence[Load], watched: Sequence[Process]) -> tuple[list[Told], list[dict[str, float]], float]:
    """Run the light edges; what they saw, what each of ``watched`` used while questions were asked, and for how many seconds."""
    context = multiprocessing.get_context("spawn")
    ready, told = context.Barrier(len(loads) + 1), context.Queue()
    children = [context.Process(target=run, args=(load, ready, told)) for load in loads]
    for child in children:
        child.start()
    ready.wait(PATIENCE_S)
    began, before = time.perf_counter(), [process_row(process) for process in watched]
    seen: list[Told] = [told.get(timeout=loads[0].seconds + PATIENCE_S) for _ in loads]
    wall_s, after = time.perf_counter() - began, [process_row(process) for process in watched]
    for child in children:
        child.join()
    used = [
        {"cpu_s": round(late["cpu_s"] - early["cpu_s"], 1), "rss_mb": late["rss_mb"], "rss_peak_mb": late["rss_peak_mb"]}
        for early, late in zip(before, after, strict=True)
    ]
    return seen, used, wall_s


def row(seen: Sequence[Told], *, edges: int, wall_s: float) -> dict[str, Any]:
    """The figures of all processes together."""
    asked, pushed = [s for told in seen for s in told.asked_s], [s for told in seen for s in told.pushed_s]
    counts = {name: dict(sum((getattr(told, name) for told in seen), Counter[str]())) for name in ("reports", "errors", "repeats")}
    fair = sum(told.fair for told in seen)
    return {
        "joined_s": round(max(told.joined_s for told in seen), 1),
        "pushed_p50_ms": percentile_ms(pushed, 50),
        "pushed_p95_ms": percentile_ms(pushed, 95),
        "answered": len(asked),
        "answered_a_second": round(len(asked) / wall_s, 2),
        **({f"p{q}_ms": percentile_ms(asked, q) for q in (50, 95, 99)} if asked else {}),
        "found": sum(told.found for told in seen),
        "honest_edge_there": fair,
        "found_there": round(sum(told.fair_found for told in seen) / fair, 4) if fair else None,
        **counts,
        "replies": sum(told.replies for told in seen),
        "edge_cpu_ms_a_minute": round(sum(told.cpu_s for told in seen) * 60_000 / wall_s / edges, 1),
        "edge_sent_kb_an_hour": round(sum(told.sent for told in seen) / edges / wall_s * HOUR_S / 1000, 1),
        "edge_received_kb_an_hour": round(sum(told.received for told in seen) / edges / wall_s * HOUR_S / 1000, 1),
    }


def main(
    edges: Annotated[int, typer.Option(min=1)] = 1000,
    each: Annotated[int, typer.Option(min=1, help="Summaries of an edge.")] = 100,
    seconds: Annotated[float, typer.Option(help="For which questions are asked.")] = 600.0,
    rate: Annotated[float, typer.Option(help="Questions a second.")] = 20.0,
    processes: Annotated[int, typer.Option(min=1, help="Of light edges.")] = 2,
    count: Annotated[int, typer.Option("--clouds", min=1)] = 1,
    postgres: Annotated[bool, typer.Option("--postgres", help="One cloud too has its store in a PostgreSQL; several share one.")] = False,
    embedder: Annotated[Literal["hashed", "default"], typer.Option()] = "hashed",
    leaving: Annotated[float, typer.Option(help="Share of edges that leave and come again, each 30 s.")] = 0.1,
    lying: Annotated[float, typer.Option(help="Share of edges that lie.")] = 0.01,
    slow: Annotated[float, typer.Option(help="Share of edges that answer too late.")] = 0.05,
) -> None:
    """Run it, and print the figures."""
    drop_settings_of_the_shell()
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder, environment = Path(name), dict[str, str]()
        if embedder == "hashed":
            environment["DGRAG_MODEL_EMBEDDER_URL"] = f"{stack.enter_context(model_server('instant', folder))}/v1"
        database = stack.enter_context(server(folder / "database")) if postgres or count > 1 else ""
        urls, running = stack.enter_context(clouds(folder, count, database, environment))
        same = {"each": each, "clouds": tuple(urls), "seconds": seconds, "leaving": leaving, "leave_s": 30.0, "lying": lying, "slow": slow}
        seen, used, wall_s = ran(loads(edges, processes, rate, **same), running)
    figures = row(seen, edges=edges, wall_s=wall_s)
    store = "postgresql" if database else "sqlite"
    asked = {"edges": edges, "each": each, "seconds": seconds, "rate": rate, "clouds": count, "embedder": embedder, "store": store}
    print(orjson.dumps({**asked, **figures, "cloud": used, "machine": machine(), **code()}).decode())


if __name__ == "__main__":
    typer.run(main)
