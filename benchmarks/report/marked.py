"""Tables and plots of a text that a program makes: each has a mark that names the results that it is made of.

A table stands between two marks; a plot is the file ``plots/NAME.svg`` beside the text, which the line after its mark shows.
"""

from __future__ import annotations

import re
from pathlib import Path

from benchmarks.errors import BenchmarkError
from benchmarks.report import chapter, load, parsed
from benchmarks.report.page import stem
from benchmarks.report.papers import HEADLINES
from benchmarks.report.tables import Cell, Column, Row, Table, interval, number
from deploy.cluster.launch import is_url
from deploy.evaluation.intervals import Estimate

END = "<!-- until here -->"
_REGION = re.compile(rf"<!-- made of (\S+\.json): ([\w-]+) -->\n(?:.*?\n)??{re.escape(END)}", re.DOTALL)
_PLOT = re.compile(r"<!-- drawn of ((?:\S+\.json )*\S+\.json): ([\w-]+) -->")
_SOURCE = re.compile(r"\S+\.json")
COMMIT_CHARS = 7


def filled(text: str, folder: Path) -> str:
    """The text with its tables made of the results in a folder; what is made of a result that is not there stays made of what it was."""

    def pointed(source: re.Match[str]) -> str:
        newer = folder / Path(source[0]).name
        return newer.as_posix() if newer.exists() else source[0]

    for marks in (_REGION, _PLOT):
        text = marks.sub(lambda mark: mark[0].replace(mark[1], _SOURCE.sub(pointed, mark[1]), 1), text)
    return remade(text, Path())


def drawn(text: str, root: Path) -> dict[str, bytes]:
    """The plots that a text shows by their names, as SVG, of the results that their marks name below ``root``.

    Raises BenchmarkError where a result is not there, or nothing draws such a plot.
    """
    if unknown := {name for _, name in _PLOT.findall(text)} - HEADLINES.keys():
        raise BenchmarkError(f"there is no plot {min(unknown)!r}", next_step=f"there are {', '.join(HEADLINES)}")
    return {name: HEADLINES[name]([parsed(root / source) for source in sources.split()]) for sources, name in _PLOT.findall(text)}


def remade(text: str, root: Path) -> str:
    """The text with each table made anew of the result that its mark names below ``root``. Raises BenchmarkError where there is none."""
    results = {source: _read(root / source) for source, _ in set(_REGION.findall(text))}

    def made(match: re.Match[str]) -> str:
        run, tables = results[match[1]]
        if match[2] not in tables:
            raise BenchmarkError(f"{match[1]} has no table {match[2]!r}", next_step=f"it has {', '.join(tables) or 'none'}")
        return f"<!-- made of {match[1]}: {match[2]} -->\n{as_markdown(tables[match[2]])}\n\n{provenance(run)}\n{END}"

    return _REGION.sub(made, text)


def _read(file: Path) -> tuple[Row, dict[str, Table]]:
    """The run of a result, and its tables by their names within it."""
    result = load(file)
    own = f"{stem(result['run']['name'])}-"
    return result["run"], {table.name.removeprefix(own): table for section in chapter(result).sections for table in section.tables}


def provenance(run: Row) -> str:
    """One line: how to make it again, when and on what it was made."""
    seen = "with changes that no commit has" if run.get("dirty") else "as committed"
    machine = run.get("machine", {})
    size = f", at most {run['limit']} questions of each kind" if run.get("limit") else ""
    generator, at_once = run["models"]["generator"], run["config"].get("at_once", 1)
    given = f" --model {generator}" if is_url(generator) else ""
    together = f" --at-once {at_once}" if at_once > 1 else ""
    words = f"`python -m benchmarks run benchmarks/configs/{run['name']}.toml{given}{together}`{size}"
    where = f"{machine.get('cores', '?')} cores ({machine.get('cpu', 'unknown')})"
    scored = f", answers scored at {run['scored'][:COMMIT_CHARS]}" if "scored" in run else ""
    return f"{words}, commit {run['commit'][:COMMIT_CHARS]} {seen}, {run['started'][:10]}, {where}{scored}."


def as_markdown(table: Table) -> str:
    """A table in Markdown; a mean has its 95 % interval and n beside it.

    >>> print(as_markdown(Table("t", "Title", (Column("m"), Column("hit", "%")), ((1, Estimate(0.5, 0.25, 0.75, 40)), (2, None)))))
    | m | hit |
    | --- | --- |
    | 1 | 50.0 % (25.0–75.0, n = 40) |
    | 2 | – |
    """
    head = [column.title for column in table.columns]
    body = [[_cell(cell, column) for cell, column in zip(row, table.columns, strict=True)] for row in table.rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in [head, ["---"] * len(head), *body])


def _cell(cell: Cell, column: Column) -> str:
    if cell is None:
        return "–"
    if isinstance(cell, Estimate):
        return f"{number(cell.mean, column.unit)} ({interval(cell, column.unit)})"
    return cell.replace("|", "\\|") if isinstance(cell, str) else number(cell, column.unit)
