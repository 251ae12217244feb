"""Does the cloud's store change what is found: ``python -m benchmarks.clouds.same_stores [--data DATA] [--only NAME]``.

The sets of ``multihop.toml`` are asked for all sites' passages, and two textbooks of ``paper.toml`` are matched at each m, once over the
cloud's file and once over a PostgreSQL from a package; each with an index of its own. What is found is compared row by row: documents,
edges and cosines, in their order. No language model. A killed run goes on. Prints one JSON line a set.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import orjson
import typer

from benchmarks.board import Board
from benchmarks.clouds.hnsw import server
from benchmarks.cluster import drop_settings_of_the_shell
from benchmarks.config import CONFIGS, WORK, DataConfig, ModelsConfig, RunConfig, SplitConfig, load_config
from benchmarks.journal import Journal
from benchmarks.machine import code
from benchmarks.runner import Runner

BOOKS = ("standin_textbooks/economics.jsonl", "standin_textbooks/politics.jsonl")
ASKED = ("federated", "federated-operator")
URL = "DGRAG_CLOUD_DATABASE_URL"
WHAT = {"retrieval": ("found", "asked_edges", "error"), "routing": ("edges", "scores")}  # of a row of each stage
SHOWN = 5

Rows: TypeAlias = Mapping[str, tuple[Any, ...]]  # what was found, by asking


def splits() -> list[SplitConfig]:
    """What is asked: the multi-hop sets, and the books."""
    sets = [split.model_copy(update={"retrieval": ASKED}) for split in load_config(CONFIGS / "multihop.toml").split]
    (domain,) = load_config(CONFIGS / "paper.toml").split
    only_routing = {"within": 0, "out": 0, "systems": (), "more": {}, "routing_plain": False, "storage": False}
    return [*sets, domain.model_copy(update={"name": "textbooks", "files": BOOKS, **only_routing})]


def found(split: SplitConfig, data: DataConfig, work: Path, url: str) -> dict[str, Rows]:
    """Run one set over the store at ``url``, or a file where it is empty. Raises BenchmarkError."""
    environment = {URL: url} if url else {}
    config = RunConfig(name="stores", data=data, split=(split,), models=ModelsConfig(generator="none"), environment=environment)
    with Board() as board:
        Runner(config, work, board).run(work / "out")
    (file,) = work.glob(f"{config.name}-{config.key()}-*/journal.jsonl")
    with Journal(file) as journal:
        return {stage: _rows(journal.rows(stage), fields) for stage, fields in WHAT.items()}


def _rows(rows: Iterable[Mapping[str, Any]], fields: Iterable[str]) -> Rows:
    asked = ("system", "m", "question_id")
    return {"/".join(str(row[name]) for name in asked if name in row): tuple(row[field] for field in fields) for row in rows}


def compared(one: Rows, other: Rows) -> dict[str, Any]:
    """How many askings there are, and for how many of them both stores gave the same in the same order.

    >>> compared({"a": ("d1",), "b": ("d2",)}, {"a": ("d1",), "b": ("d3",)})
    {'n': 2, 'equal': 1, 'different': ['b']}
    """
    asked = sorted(one.keys() | other.keys())
    different = [key for key in asked if key not in one or key not in other or one[key] != other[key]]
    return {"n": len(asked), "equal": len(asked) - len(different), "different": different[:SHOWN]}


def main(
    data: Annotated[Path | None, typer.Option(help="Root of the data, instead of the configurations'.")] = None,
    only: Annotated[list[str] | None, typer.Option(help="This set alone; may be given again for others.")] = None,
    work: Annotated[Path, typer.Option(help="Where states and journals are kept.")] = WORK,
) -> None:
    """Ask both, and say how much is equal."""
    drop_settings_of_the_shell()
    root, work = DataConfig(root=data) if data else DataConfig(), work.resolve()
    for split in splits():
        if only and split.name not in only:
            continue
        by_file = found(split, root, work, "")
        with server(work / f"postgres-{split.name}") as url:
            by_postgres = found(split, root, work, url)
        rows = {stage: compared(by_file[stage], by_postgres[stage]) for stage in WHAT if by_file[stage] or by_postgres[stage]}
        typer.echo(orjson.dumps({"set": split.name, **code(), **rows}))


if __name__ == "__main__":
    typer.run(main)
