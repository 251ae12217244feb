"""``python -m benchmarks``: run a benchmark, report it, compare two results, calibrate the gate."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NoReturn

import httpx2
import orjson
import typer
from pydantic import TypeAdapter
from rich.console import Console

from benchmarks import calibration
from benchmarks.board import Board, headline, plan_table
from benchmarks.cluster import drop_settings_of_the_shell
from benchmarks.config import WORK, RunConfig, load_config
from benchmarks.errors import BenchmarkError
from benchmarks.evidence import DONE, Given, chosen, folder_of, indexes, lacking, made, planned
from benchmarks.machine import code
from benchmarks.records import AnswerRow
from benchmarks.runner import Result, Runner, written
from benchmarks.summary import calibrations, rescored, with_bertscore
from deploy.lab.no_model import STAND_INS
from shared.errors import DgragError

INTERRUPTED = 130
app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, help=__doc__)
Config = Annotated[Path, typer.Argument(help="A run: a TOML file; the shipped ones are in benchmarks/configs.")]
Limit = Annotated[int | None, typer.Option(min=0, help="At most so many questions of each split and scenario; 0: all of them.")]
Seed = Annotated[int | None, typer.Option(min=0, help="Of splits, samples and intervals.")]
Work = Annotated[Path, typer.Option(help="Where states and journals are kept; a killed run goes on from here.")]
Out = Annotated[Path, typer.Option(file_okay=False, help="Folder of the result.")]
Data = Annotated[Path | None, typer.Option(help="Root of the data, instead of the config's.")]
Model = Annotated[str | None, typer.Option(help="Who writes, instead of the config's: the URL of a server, or a name of the catalogue.")]
AtOnce = Annotated[int | None, typer.Option(min=1, help="Questions at once; then seconds are no longer those of one question alone.")]
FIELDS = calibration.Matching.__dataclass_fields__
OUT = Path("benchmarks/results")
RESULTS_PAGE = Path("docs/results.md")


@app.command()
def run(
    config: Config,
    limit: Limit = None,
    seed: Seed = None,
    model: Model = None,
    at_once: AtOnce = None,
    work: Work = WORK,
    out: Out = OUT,
    data: Data = None,
) -> None:
    """Make a run, or go on with it; then say where the result is."""
    result = _made(_given(load_config(config), limit=limit, seed=seed, data=data, model=model, at_once=at_once), work, out)
    console = Console()
    for table in headline(result.figures):
        console.print(table)
    console.print(f"result: {result.file}", markup=False)
    console.print(f"next: python -m benchmarks report {result.file}", markup=False)


@app.command("all")
def run_all(
    only: Annotated[list[str] | None, typer.Option(help="This configuration alone; may be given again for others.")] = None,
    listing: Annotated[bool, typer.Option("--list", help="Say what would run, and the hours that it took last time; run nothing.")] = False,
    dry_run: Annotated[bool, typer.Option(help="Say also which indexes are there, and what is lacking; run nothing.")] = False,
    limit: Limit = None,
    model: Model = None,
    at_once: AtOnce = None,
    work: Work = WORK,
    out: Out = OUT,
    data: Data = None,
) -> None:
    """Run every configuration, those that share an index one after another, into one dated folder below OUT.

    A killed command goes on where it was, as long as the code is the same.
    """
    configs = [_given(config, limit=limit, data=data, model=model, at_once=at_once) for config in chosen(only or ())]
    if listing or dry_run:
        _told(configs, work, out, checks=dry_run)
        return
    given = Given(limit or 0, model or "", at_once or 1)
    folder = folder_of(out, datetime.now(UTC), given)
    record = made(configs, folder, lambda config: _made(config, work, folder), given, now=partial(datetime.now, UTC))
    for name, outcome in record["runs"].items():
        typer.echo(f"{name}: {outcome}")
    typer.echo(f"results: {folder}\nnext: python -m benchmarks tables {folder}")
    if failed := [config.name for config in configs if record["runs"][config.name] != DONE]:
        raise BenchmarkError(f"{', '.join(failed)} failed", next_step="mend it; the same command runs what is left")


@app.command()
def tables(
    folder: Annotated[Path, typer.Argument(help="Of results.", exists=True, file_okay=False)],
    page: Annotated[Path, typer.Option(help="The text to fill.", exists=True, dir_okay=False)] = RESULTS_PAGE,
) -> None:
    """Fill the marked tables of docs/results.md from the results of a folder, and draw its plots; of others they stay."""
    from benchmarks.report.marked import drawn, filled  # with its plots: see above

    text = filled(page.read_text(encoding="utf-8"), folder)
    page.write_text(text, encoding="utf-8")
    (plots := page.parent / "plots").mkdir(exist_ok=True)
    for name, svg in drawn(text, Path()).items():
        (plots / f"{name}.svg").write_bytes(svg)


@app.command()
def report(results: Annotated[list[Path], typer.Argument(help="Result files.")], out: Out = WORK / "report") -> None:
    """Write a page, its plots and a CSV file of each table."""
    from benchmarks.report import report as write  # matplotlib takes seconds, and only this verb needs it

    typer.echo(f"report: {write(results, out)}")


@app.command()
def compare(a: Annotated[Path, typer.Argument(help="A result.")], b: Annotated[Path, typer.Argument(help="Another one.")]) -> None:
    """Show two results side by side, with what of their difference is clear."""
    from benchmarks.report import compare as compared

    typer.echo(compared(a, b))


@app.command()
def calibrate(
    source: Annotated[Path, typer.Argument(help="A config: its splits, and none of its questions. Or a result with answers beside it.")],
    limit: Limit = None,
    seed: Seed = None,
    work: Work = WORK,
    out: Out = OUT,
    data: Data = None,
) -> None:
    """Sweep thresholds over labelled questions: the gate's, with ROC and chosen point, and summary matching's.

    Of a config it asks questions that `run` with the same seed does not ask; of a result it takes the reported ones.
    """
    if source.suffix == ".toml":
        source = _made(_given(load_config(source), limit=limit, seed=seed, data=data).calibrating(), work, out).file
    for table in _swept_matching(source):
        typer.echo(table)
    found = list(calibrations([asdict(row) for row in _answers(source.with_suffix(".answers.jsonl"))]))
    if not found:
        raise BenchmarkError(
            f"{source} has no split with answers that a gate has judged, within and out of domain",
            next_step="run dgrag with within and out",
        )
    for split, best in found:
        typer.echo(f"The gate by threshold, split {split}:")
        typer.echo(calibration.render(best))


@app.command()
def score(
    result: Annotated[Path, typer.Argument(help="A result with its answers beside it.")],
    bertscore: Annotated[
        str | None, typer.Option(help="Also by BERTScore, which needs torch: an encoder that Hugging Face knows, or its folder.")
    ] = None,
) -> None:
    """Score a result's answers anew, by today's metrics (with BERTScore, DGRAG §IV-B), and write that into the result."""
    from benchmarks.report import load  # with its plots: see above

    answers, said = [asdict(row) for row in _answers(result.with_suffix(".answers.jsonl"))], {"scored": code()["commit"]}
    if bertscore:
        from benchmarks.metrics.bertscore import bertscore as scorer

        answers, said = with_bertscore(answers, scorer(bertscore)), said | {"bertscore": bertscore}
    typer.echo(f"result: {written(rescored(load(result), answers, **said), answers, result).file}")


@app.command()
def memory(results: Annotated[list[Path], typer.Argument(help="Results with answers of fdrag-slow beside them.")]) -> None:
    """Choose the least score at which each kind of memory may answer: from the even questions, checked on the odd ones."""
    rows = [asdict(row) for file in results for row in _answers(file.with_suffix(".answers.jsonl"))]
    if not (found := list(calibration.looked(rows))):
        raise BenchmarkError(
            "no answer was looked at by memories, whatever their score", next_step="run fdrag-slow on questions with answers"
        )
    typer.echo(f"Memories' thresholds, {len(found)} questions:")
    typer.echo(calibration.render_thresholds(calibration.thresholds(found)))


def _swept_matching(result: Path) -> Iterator[str]:
    from benchmarks.report import load  # with its plots: see above

    found = load(result).get("matching", [])
    halves = {0: "every other question, to choose on", 1: "the other half, to check on"}
    for split, half in dict.fromkeys((row["split"], row["half"]) for row in found):
        rows = [row for row in found if (row["split"], row["half"]) == (split, half)]
        yield f"Summary matching by threshold, split {split}, {halves[half]}:"
        yield calibration.render_matching([calibration.Matching(**{name: row[name] for name in FIELDS}) for row in rows])


def _told(configs: Sequence[RunConfig], work: Path, out: Path, *, checks: bool) -> None:
    Console().print(plan_table(list(planned(configs, out))))
    if not checks:
        return
    lacks = [f"{config.name}: {what}" for config in configs for what in lacking(config)]
    if lacks:
        raise BenchmarkError("; ".join(lacks), next_step="put the data there, or give --data; `dgrag model fetch` fetches weights")
    for config in configs:
        for split, is_there in indexes(config, work):
            typer.echo(f"{config.name}, {split}: its index {'is there' if is_there else 'will be made'}")


def _given(asked: RunConfig, *, data: Path | None, model: str | None = None, **said: int | None) -> RunConfig:
    """The config with what the command says otherwise. ``model`` takes no stand-in's place: that run asks nobody."""
    given: dict[str, Any] = {name: value for name, value in said.items() if value is not None}
    if data is not None:
        given["data"] = asked.data.model_copy(update={"root": data})
    if model is not None and asked.models.generator not in STAND_INS:
        given["models"] = asked.models.model_copy(update={"generator": model})
    return asked.model_copy(update=given)


def _made(asked: RunConfig, work: Path, out: Path) -> Result:
    try:
        with Board() as board:
            return Runner(asked, work, board).run(out)
    except KeyboardInterrupt:
        _fail("interrupted, and the services are stopped", "the same command goes on where it was", code=INTERRUPTED)


def _answers(file: Path) -> list[AnswerRow]:
    try:
        lines = file.read_bytes().splitlines()
    except OSError as error:
        raise BenchmarkError(
            f"{file} cannot be read: {error.strerror}", next_step="it lies beside its result when the run has ended"
        ) from error
    return [TypeAdapter(AnswerRow).validate_python(orjson.loads(line)) for line in lines]


def main() -> None:
    """The command; 1 with one line for what cannot be done, 130 when it was interrupted."""
    drop_settings_of_the_shell()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        app(prog_name="python -m benchmarks")
    except DgragError as error:
        _fail(error.message, error.next_step, code=1)
    except httpx2.HTTPError as error:
        _fail(f"a service does not answer: {type(error).__name__}: {error}", "read its log; the same command goes on where it was", code=1)
    except (ValueError, OSError) as error:  # a result that is none, a file that cannot be written
        _fail(str(error), "check the file", code=1)


def _fail(message: str, next_step: str, *, code: int) -> NoReturn:
    Console(stderr=True).print(f"error: {message}\n  next: {next_step}", markup=False, soft_wrap=True, highlight=False)
    sys.exit(code)


if __name__ == "__main__":
    main()
