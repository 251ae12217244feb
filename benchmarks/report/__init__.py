"""From results to a page with plots and CSV files, and two results side by side."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import orjson

from benchmarks.errors import BenchmarkError
from benchmarks.report import answers, goals, memory, overviews, peers, prices, retrieval, upkeep
from benchmarks.report.compare import side_by_side
from benchmarks.report.csvs import as_csv, as_text
from benchmarks.report.page import Chapter, page, stem
from benchmarks.report.tables import Row, Section, Table
from benchmarks.report.timing import shown

PARTS = ("run", "index", "storage", "routing", "systems", "differences", "tokens", "components", "wins", "retrieval", "peers")
NEXT = "give the NAME.json that `python -m benchmarks run` wrote"


def report(results: Sequence[Path], out: Path) -> Path:
    """Write ``index.html``, an SVG file for each figure and a CSV file for each table into ``out``; return the page's path.

    Raises BenchmarkError where a file is no result, or two results have one name.
    """
    loaded = [load(path) for path in results]
    named = [stem(result["run"]["name"]) for result in loaded]
    if twice := sorted({name for name in named if named.count(name) > 1}):
        raise BenchmarkError(f"two results are named {twice[0]!r}", next_step="give one of them, or compare the two")
    chapters = [chapter(result) for result in loaded]
    out.mkdir(parents=True, exist_ok=True)
    for one in chapters:
        for section in one.sections:
            for figure in section.figures:
                (out / f"{figure.name}.svg").write_bytes(figure.svg)
            for table in section.tables:
                (out / f"{table.name}.csv").write_text(as_csv(table), encoding="utf-8")
    written = out / "index.html"
    written.write_text(page(chapters, _resource("page.html")), encoding="utf-8")
    return written


def compare(first: Path, second: Path) -> str:
    """Put two results side by side as text, with a paired bootstrap where their answers lie beside them.

    Raises BenchmarkError where a file is no result, or the two have nothing in common.
    """
    table = side_by_side(load(first), load(second), beside(first), beside(second))
    if not table.rows:
        raise BenchmarkError(f"{first} and {second} have no system of the same split in common", next_step="compare two runs of one config")
    return as_text(table)


def load(path: Path) -> dict[str, Any]:
    """Read a run's result. Raises BenchmarkError with the file's name and what is wrong with it."""
    found = parsed(path)
    if not isinstance(found, dict) or (missing := [part for part in PARTS if part not in found]):
        what = f"it lacks {', '.join(missing)}" if isinstance(found, dict) else "it is no object"
        raise BenchmarkError(f"{path} is no result of a run: {what}", next_step=NEXT)
    if not isinstance(found["run"], dict) or not isinstance(found["run"].get("name"), str):
        raise BenchmarkError(f"{path} is no result of a run: its run has no name", next_step=NEXT)
    return found


def parsed(path: Path) -> Any:
    """Read any result, a single question's too. Raises BenchmarkError where the file is not there or no JSON."""
    try:
        return orjson.loads(path.read_bytes())
    except OSError as error:
        raise BenchmarkError(f"{path} cannot be read: {error.strerror}", next_step=NEXT) from error
    except orjson.JSONDecodeError as error:
        raise BenchmarkError(f"{path} is no JSON: {error}", next_step=NEXT) from error


def beside(path: Path) -> list[dict[str, Any]]:
    """Read the answers that lie beside a result; none where they are not there. Raises BenchmarkError for a line that is no JSON."""
    answers_file = path.with_suffix(".answers.jsonl")
    if not answers_file.exists():
        return []
    try:
        return [orjson.loads(line) for line in answers_file.read_bytes().splitlines() if line]
    except orjson.JSONDecodeError as error:
        raise BenchmarkError(
            f"{answers_file} has a line that is no JSON: {error}", next_step="remove it to compare without answers"
        ) from error


def headlines(result: Row) -> Table:
    """Return the goals of a run with what was measured and whether each is met."""
    found = goals.section(result, _reference())
    return found.tables[0] if found.tables else Table("goals", "Goals", (), ())


def chapter(result: Mapping[str, Any]) -> Chapter:
    """Make a result's sections, its files named after the run."""
    run = result["run"]["name"]
    return Chapter(result["run"], tuple(_named(section, run) for section in sections(result, _reference())))


def sections(result: Row, reference: Row) -> Iterator[Section]:
    """Yield all sections in the order of the page; those without data are empty."""
    result = shown(result)
    yield goals.section(result, reference)
    yield answers.against_references(result)
    yield prices.escalation(result, reference)
    yield prices.quality_over_price(result)
    yield prices.costs(result, reference)
    yield prices.components(result)
    yield prices.links(result)
    yield prices.storage(result, reference)
    yield retrieval.routing(result)
    yield retrieval.thresholds(result)
    yield answers.by_claims(result, reference)
    yield overviews.overviews(result)
    yield overviews.levels(result)
    yield memory.fast_path(result)
    yield memory.thresholds(result)
    yield retrieval.multi_hop(result, reference)
    yield peers.peers(result)
    yield upkeep.calibration(result)
    yield upkeep.index(result)
    yield upkeep.skipped(result)


def _named(section: Section, run: str) -> Section:
    figures = tuple(replace(figure, name=stem(f"{run}-{figure.name}")) for figure in section.figures)
    tables = tuple(replace(table, name=stem(f"{run}-{table.name}")) for table in section.tables)
    return replace(section, figures=figures, tables=tables)


def _reference() -> dict[str, Any]:
    return tomllib.loads(_resource("reference.toml"))


def _resource(name: str) -> str:
    return files(__name__).joinpath(name).read_text(encoding="utf-8")
