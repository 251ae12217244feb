"""What each reader finds in real files, and what it costs: ``python -m benchmarks.files.readers FOLDER``.

``FOLDER`` holds ``facts.jsonl`` (what a person reads in each file), ``files/`` and ``score.py``, which says whether a text has a fact.
Each file is read by a process of each reader, in its own environment; the peers need their packages from the index.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import tempfile
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import typer

from benchmarks.errors import BenchmarkError
from benchmarks.files import reading_process
from benchmarks.machine import code, machine
from benchmarks.peers.environments import environment, python_of
from edge_node.documents.text import suffix
from shared.intervals import wilson_interval

RESULT = Path(__file__).parent.parent / "results" / "readers.json"
READ_S = 300.0  # of one file
ONLY = {"pdfium": {".pdf"}}  # what a reader is for, where it is not for all

Facts = Mapping[str, Sequence[dict[str, Any]]]  # by file


def facts_of(folder: Path) -> Facts:
    """The facts by file."""
    by_file = defaultdict[str, list[dict[str, Any]]](list)
    for line in (folder / "facts.jsonl").read_text(encoding="utf-8").splitlines():
        fact = json.loads(line)
        by_file[fact["file"]].append(fact)
    return by_file


def scorer(folder: Path) -> ModuleType:
    """The module that says whether a text has a fact. Raises BenchmarkError."""
    spec = importlib.util.spec_from_file_location("fixture_score", folder / "score.py")
    if spec is None or spec.loader is None:
        raise BenchmarkError(f"{folder} has no score.py", next_step="give the folder of the files with facts")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def right(module: ModuleType, facts: Sequence[dict[str, Any]], text: str) -> int:
    """How many facts a text has."""
    plain, units = module.plain(module.html.unescape(text)), module.units(text)
    return sum(bool(text) and module.is_right(fact, plain, units) for fact in facts)


def read_one(system: str, work: Path, file: Path, out: Path) -> dict[str, Any]:
    """What a reader's process told of one file: CPU seconds and the largest memory; {} where it did not read it."""
    command = [str(python_of(system, work)), "-P", reading_process.__file__, system, str(file), str(out)]
    done = subprocess.run(  # noqa: S603 - our own script
        command, capture_output=True, text=True, env=environment(system, work), timeout=READ_S, check=False
    )
    costs: dict[str, Any] = json.loads(done.stdout) if done.returncode == 0 else {}
    return costs


def measured(folder: Path, systems: Sequence[str], work: Path) -> dict[str, dict[str, dict[str, Any]]]:
    """Of each format and reader: facts, those that are right, CPU seconds and the largest memory in MB."""
    module = scorer(folder)
    rows = defaultdict[str, dict[str, dict[str, Any]]](lambda: defaultdict(Counter))
    for system, (name, facts) in product(systems, sorted(facts_of(folder).items())):
        kind = suffix(name)
        if kind not in ONLY.get(system, {kind}):
            continue
        out = work / "texts" / system / f"{name}.txt"
        out.parent.mkdir(parents=True, exist_ok=True)
        costs = read_one(system, work, folder / "files" / name, out)
        row = rows[kind][system]
        row["files"] += 1
        row["unread"] += not costs
        row["facts"] += len(facts)
        row["right"] += right(module, facts, out.read_text(encoding="utf-8")) if costs else 0
        row["cpu_s"] = round(row["cpu_s"] + costs.get("cpu_s", 0.0), 2)
        row["peak_mb"] = max(row["peak_mb"], costs.get("peak_mb", 0))
    return {kind: dict(of) for kind, of in rows.items()}


def table(rows: Mapping[str, Mapping[str, Mapping[str, Any]]], systems: Sequence[str]) -> str:
    """Facts that are right, by format and reader; then CPU seconds and peak memory."""
    lines = ["| format | facts | " + " | ".join(systems) + " |", "| --- " * (2 + len(systems)) + "|"]
    for kind in sorted(rows):
        of = rows[kind]
        cells = (f"{of[one]['right']} ({of[one]['cpu_s']} s, {of[one]['peak_mb']} MB)" if one in of else "–" for one in systems)
        lines.append(f"| {kind[1:]} | {max(one['facts'] for one in of.values())} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main(
    folder: Annotated[Path, typer.Argument(help="Files with facts: facts.jsonl, files/ and score.py.", exists=True, file_okay=False)],
    systems: Annotated[str, typer.Option(help="Readers, with commas between them.")] = ",".join(reading_process.SYSTEMS),
    work: Annotated[Path | None, typer.Option(help="Where environments and texts are kept; default: a temporary folder.")] = None,
    out: Annotated[Path, typer.Option(help="Where the result is written.")] = RESULT,
) -> None:
    """Read all files with each reader; print and write what it found and what it cost."""
    chosen = [one for one in systems.split(",") if one]
    if strange := [one for one in chosen if one not in reading_process.SYSTEMS]:
        raise typer.BadParameter(f"there is no reader {strange[0]}; there are {', '.join(reading_process.SYSTEMS)}")
    with tempfile.TemporaryDirectory() as temporary:
        rows = measured(folder, chosen, work or Path(temporary))
    every = {one: [of[one] for of in rows.values() if one in of] for one in chosen}
    totals = {one: (sum(row["right"] for row in of), sum(row["facts"] for row in of)) for one, of in every.items()}
    result = {
        **code(),
        "machine": machine(),
        "by_format": rows,
        "all": {one: {"right": good, "facts": n, "interval": wilson_interval(good / max(n, 1), n)} for one, (good, n) in totals.items()},
    }
    out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    typer.echo(table(rows, chosen))
    for one, (good, n) in totals.items():
        typer.echo(f"{one}: {good} of {n} ({good / max(n, 1):.1%})")


if __name__ == "__main__":
    typer.run(main)
