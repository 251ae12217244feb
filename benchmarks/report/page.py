"""The report as one HTML page that needs nothing from elsewhere: pictures are in it, and all text is escaped."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from string import Template
from typing import Any

from benchmarks.report.tables import Cell, Column, Figure, Row, Section, Table, interval, number
from benchmarks.report.timing import is_timed
from deploy.evaluation.intervals import Estimate

LEAD = (
    "Small figures below a mean are its 95 % interval (Wilson’s for shares of questions, else percentile bootstrap, 2,000 resamples) and "
    "the sample’s size: questions, each counted and drawn once with all its askings. "
    "Each table is beside this page as CSV, each figure as SVG."
)

VERDICTS = frozenset({"met", "missed"})
HASHES = frozenset({"code", "prompts"})  # facts for who repeats a run: folded


@dataclass(frozen=True, slots=True)
class Chapter:
    """One run: what it was, and its sections."""

    run: Row
    sections: tuple[Section, ...]


def page(chapters: Sequence[Chapter], template: str) -> str:
    """Return the page. ``template`` has the fields ``$title``, ``$lead`` and ``$body``."""
    title = "DGRAG benchmark: " + ", ".join(chapter.run["name"] for chapter in chapters)
    body = "\n".join([_contents(chapters), *(_chapter(chapter) for chapter in chapters)])
    return Template(template).substitute(title=escape(title), lead=escape(LEAD), body=body)


def _contents(chapters: Sequence[Chapter]) -> str:
    items = (
        f'<li><a href="#{_anchor(chapter, section)}">{escape(section.title)}</a>{_of_run(chapter, chapters)}</li>'
        for chapter in chapters
        for section in chapter.sections
        if has_content(section)
    )
    return f"<nav aria-label='Contents'><ul>{''.join(items)}</ul></nav>"


def _of_run(chapter: Chapter, chapters: Sequence[Chapter]) -> str:
    return f' <span class="muted">{escape(chapter.run["name"])}</span>' if len(chapters) > 1 else ""


def has_content(section: Section) -> bool:
    """Whether a section has anything to show."""
    return bool(section.tables or section.figures)


def _chapter(chapter: Chapter) -> str:
    shown = [section for section in chapter.sections if has_content(section)]
    left_out = [section.title for section in chapter.sections if not has_content(section)]
    missing = f'<p class="note">Not part of this run: {escape("; ".join(left_out))}.</p>' if left_out else ""
    parts = [
        f"<h2>Run “{escape(chapter.run['name'])}”</h2>",
        _provenance(chapter.run),
        *(_section(chapter, part) for part in shown),
        missing,
    ]
    return "\n".join(parts)


def _provenance(run: Row) -> str:
    told = dict(facts(run))
    hashes = {name: told.pop(name) for name in list(told) if name in HASHES}
    folded = f"<details><summary>Hashes of code and prompts</summary>{_facts(hashes)}</details>" if hashes else ""
    return _facts(told) + folded


def _facts(told: Mapping[str, str]) -> str:
    return f"<dl>{''.join(f'<dt>{escape(name)}</dt><dd>{escape(text)}</dd>' for name, text in told.items())}</dl>"


def facts(run: Row) -> Iterator[tuple[str, str]]:
    """Yield what a reader needs to trust or repeat a run; what it does not say is left out."""
    if "started" in run:
        yield (
            "started",
            f"{run['started']}, took {number(run.get('seconds', 0) / 60)} min" + _index(run) + _sessions(run.get("sessions", ())),
        )
    if "commit" in run:
        yield (
            "commit",
            f"{run['commit']}{' with changes that are not committed' if run.get('dirty') else ''}, version {run.get('version', '?')}",
        )
    if said := run.get("code"):
        yield "code", ", ".join(f"{what}: {digest}" for what, digest in said.items())
    if machine := run.get("machine"):
        yield "machine", ", ".join(_fact(name, value) for name, value in machine.items())
    if models := run.get("models"):
        yield "models", ", ".join(f"{name}: {model}" for name, model in models.items())
    yield "seed", str(run.get("seed", "?")) + (f", at most {run['limit']} questions" if run.get("limit") else "")
    if not is_timed(run):
        yield "seconds of questions", "not shown, as they were not asked one after another"
    if prompts := run.get("prompts"):
        yield "prompts", ", ".join(f"{name} {digest}" for name, digest in prompts.items())


def _index(run: Row) -> str:
    """Return what the indexes took that an earlier run has made.

    >>> _index({"index_seconds_before": 1200.0}), _index({})
    (' + 20 min for an index that an earlier run has made', '')
    """
    seconds = run.get("index_seconds_before", 0)
    return f" + {number(seconds / 60)} min for an index that an earlier run has made" if seconds else ""


def _sessions(sessions: Sequence[Row]) -> str:
    """Return how often a run was gone on with.

    >>> _sessions([{"seconds": 60, "ended": False}, {"seconds": 120, "ended": True}])
    ' in 2 sessions (1 + 2 min), 1 of them broken off'
    """
    if len(sessions) < 2:
        return ""
    broken = sum(not session["ended"] for session in sessions[:-1])
    parts = " + ".join(number(session["seconds"] / 60) for session in sessions)
    return f" in {len(sessions)} sessions ({parts} min)" + (f", {broken} of them broken off" if broken else "")


def _fact(name: str, value: Any) -> str:
    units = {"memory_gb": f"{value} GB memory", "cores": f"{value} cores", "python": f"Python {value}"}
    return units.get(name, str(value))


def _section(chapter: Chapter, section: Section) -> str:
    text = f"<p>{escape(section.text)}</p>" if section.text else ""
    parts = [f'<h3 id="{_anchor(chapter, section)}">{escape(section.title)}</h3>', text]
    return "\n".join([*parts, *(_figure(figure) for figure in section.figures), *(_table(table) for table in section.tables)])


def _anchor(chapter: Chapter, section: Section) -> str:
    return stem(f"{chapter.run['name']}-{section.title}")


def stem(text: str) -> str:
    """Return a name for links and files: small letters, digits and hyphens only, whatever a result says.

    >>> stem("../a<b>-Costs")
    'a-b-costs'
    """
    return "-".join("".join(sign if sign.isascii() and sign.isalnum() else " " for sign in text.lower()).split())


def _figure(figure: Figure) -> str:
    picture = b64encode(figure.svg).decode("ascii")
    caption = escape(figure.caption)
    image = f'<div class="wide"><img src="data:image/svg+xml;base64,{picture}" alt="{caption}"></div>'
    return f"<figure>{image}<figcaption>{caption}</figcaption></figure>"


def _table(table: Table) -> str:
    numeric = [any(isinstance(row[i], int | float | Estimate) for row in table.rows) for i in range(len(table.columns))]
    head = "".join(_tag("th", is_number, escape(column.title)) for column, is_number in zip(table.columns, numeric, strict=True))
    rows = "".join(f"<tr>{_row(row, table.columns, numeric)}</tr>" for row in table.rows)
    note = f'<p class="note">{escape(table.note)}</p>' if table.note else ""
    caption = f"<caption>{escape(table.title)}</caption>"
    return f'<div class="wide"><table>{caption}<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>{note}'


def _row(row: Sequence[Cell], columns: Sequence[Column], numeric: Sequence[bool]) -> str:
    return "".join(
        _tag("td", is_number, cell_html(cell, column.unit)) for cell, column, is_number in zip(row, columns, numeric, strict=True)
    )


def _tag(name: str, is_number: bool, inner: str) -> str:
    kind = ' class="number"' if is_number else ""
    return f"<{name}{kind}>{inner}</{name}>"


def cell_html(cell: Cell, unit: str) -> str:
    """Show one cell; a value that is not there is a dash.

    >>> cell_html(Estimate(0.5, 0.4, 0.6, 9), "%")
    '50.0 %<small>40.0–60.0, n = 9</small>'
    """
    if cell is None:
        return "–"
    if isinstance(cell, Estimate):
        return f"{number(cell.mean, unit)}<small>{escape(interval(cell, unit))}</small>"
    if isinstance(cell, str):
        verdict = cell.partition(",")[0]
        return f'<span class="{verdict}">{escape(cell)}</span>' if verdict in VERDICTS else escape(cell)
    return escape(number(cell, unit))
