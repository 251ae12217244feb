"""What a federation of one edge a file takes: ``python -m benchmarks.clouds.federation FILE...`` prints one JSON line.

Real processes with the default models: a cloud, and an edge for each split of UltraDomain. All edges read their texts at the same time;
then the questions of all splits are asked of the cloud, whose language model answers at once, and of its ``/v1/evidence``, which asks the
edges for whole passages and no model.
"""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import httpx2
import orjson
import typer

from benchmarks.cluster import drop_settings_of_the_shell
from benchmarks.edges.indexing import WARM_UP, texts_and_questions
from benchmarks.machine import code, machine
from benchmarks.meters import percentile_ms
from benchmarks.peers.run import model_server
from benchmarks.under_load import edge_process, service_process, wait_settled


def _post(http: httpx2.Client, path: str, body: dict[str, Any]) -> Any:
    answer = http.post(path, json=body)
    answer.raise_for_status()
    return answer.json()


def measured(top: Path, splits: list[tuple[list[str], list[str]]]) -> dict[str, Any]:
    """Index each split at an edge of its own, then ask the cloud."""
    with ExitStack() as stack:
        folder = top / "cloud"
        folder.mkdir()
        model = stack.enter_context(model_server("instant", top))
        cloud, _ = stack.enter_context(service_process("cloud_server", "DGRAG_CLOUD", folder, DGRAG_MODEL_URL=f"{model}/v1"))
        edges = []
        for number in range(len(splits)):
            folder = top / f"edge-{number}"
            folder.mkdir()
            told = {"DGRAG_EDGE_ID": folder.name, "DGRAG_EDGE_CLOUD_URL": str(cloud.base_url)}
            edges.append(stack.enter_context(edge_process(folder, **told))[0])
        began = time.perf_counter()
        for edge, (texts, _) in zip(edges, splits, strict=True):
            for number, text in enumerate(texts):
                _post(edge, "/v1/documents", {"name": f"{number}.md", "text": text})
        status = wait_settled(edges)
        wall_s = round(time.perf_counter() - began, 1)
        questions = [question for _, questions in splits for question in questions]
        asked = {name: _asked(cloud, f"/v1/{name}", questions) for name in ("questions", "evidence")}
    counted = {name: sum(one[name] for one in status) for name in ("chunks", "tokens", "entities", "subgraphs")}
    return {**counted, "wall_s": wall_s, **asked}


def _asked(cloud: httpx2.Client, path: str, questions: list[str]) -> dict[str, float]:
    """How long answers take, how many edges are asked for one, and how long each step takes in the mean."""
    seconds, edges, steps = list[float](), 0, Counter[str]()
    for question in questions:
        began = time.perf_counter()
        found = _post(cloud, path, {"question": question})
        seconds.append(time.perf_counter() - began)
        edges += len(found["edges"])
        for step in found["trace"]:
            steps[step["step"].partition(": ")[2] or step["step"]] += step["ms"]
    told = {f"p{q}_ms": percentile_ms(seconds[WARM_UP:], q) for q in (50, 95)}
    shares = {f"{name}_ms": round(ms / len(questions), 1) for name, ms in steps.items()}
    return {**told, "edges": round(edges / len(questions), 2), **shares}


def main(
    files: Annotated[list[Path], typer.Argument(help="Splits of UltraDomain: an edge for each.", exists=True, dir_okay=False)],
    chars: Annotated[int, typer.Option(min=1, help="At most so many characters of the texts of each.")] = 100_000_000,
    questions: Annotated[int, typer.Option(min=1, help="At most so many questions of each.")] = 40,
) -> None:
    """Index splits at the edges of a fresh federation, and print what it took."""
    drop_settings_of_the_shell()
    splits = [(texts, asked[:questions]) for texts, asked in (texts_and_questions([file], chars) for file in files)]
    with tempfile.TemporaryDirectory() as top:
        found = measured(Path(top), splits)
    asked = {"files": [file.name for file in files], "questions": sum(len(asked) for _, asked in splits)}
    typer.echo(orjson.dumps({**code(), "machine": machine(), **asked, **found}))


if __name__ == "__main__":
    typer.run(main)
