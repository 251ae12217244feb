"""What a report is made of: tables, figures and sections; how a cell is shown; how a result is read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from deploy.evaluation.intervals import Estimate

Cell: TypeAlias = str | int | float | Estimate | None
Row: TypeAlias = Mapping[str, Any]

SCENARIOS = {"within": "within domain", "out": "out of domain", "mixed": "mixed", "all": "all"}


@dataclass(frozen=True, slots=True)
class Column:
    """A column's title and the unit of its numbers; "%" shows fractions per cent."""

    title: str
    unit: str = ""


FAILURES = (Column("failed"), Column("asked again"))


@dataclass(frozen=True, slots=True)
class Table:
    """A titled table. ``name`` is its CSV file's stem, ``note`` says what was measured and how."""

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Figure:
    """A plot as SVG. ``name`` is its file's stem."""

    name: str
    caption: str
    svg: bytes


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the page. One without tables and figures says in ``text`` why it has none."""

    title: str
    text: str = ""
    figures: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()


def estimate(found: Row | None) -> Estimate | None:
    """Read a mean with its interval from a result; None stays None."""
    return None if found is None else Estimate(found["mean"], found["low"], found["high"], found["n"])


def number(value: float, unit: str = "") -> str:
    """Show a number with as many digits as it can bear.

    >>> number(0.0904, "%"), number(12345.6), number(3.14159, "s"), number(0), number(117.4, "×")
    ('9.0 %', '12,346', '3.14 s', '0', '117 ×')
    """
    if unit == "%":
        return f"{value * 100:.1f} %"
    size = abs(value)
    digits = 0 if size >= 100 or value == int(value) else 1 if size >= 10 else 2 if size >= 0.1 else 3
    return f"{value:,.{digits}f} {unit}".rstrip()


def interval(cell: Estimate, unit: str = "") -> str:
    """Show the interval and the sample's size beside a mean.

    >>> interval(Estimate(0.5, 0.25, 0.75, 40), "%")
    '25.0–75.0, n = 40'
    """
    low, high = (number(bound, unit).removesuffix(unit).strip() for bound in (cell.low, cell.high))
    return f"{low}–{high}, n = {cell.n}"


def kind_of(result: Row, split: str) -> str:
    """Return "domain", "mixed" or "federated" as the run's config has it; empty where it does not say."""
    return next((str(one.get("kind", "")) for one in splits_of(result) if one.get("name") == split), "")


def set_of(result: Row, split: str) -> str:
    """Return the name of a federated split's data set, as "hotpotqa"; other splits are named after themselves."""
    source = next((str(one.get("set") or split) for one in splits_of(result) if one.get("name") == split), split)
    return source.rpartition("/")[2]


def failures(row: Row) -> tuple[int, int | None]:
    """Return how many questions of a row failed, and how many were asked again; results of before say nothing of these.

    >>> failures({"errors": 1, "asked_again": 2}), failures({"errors": 0})
    ((1, 2), (0, None))
    """
    return row["errors"], row.get("asked_again")


def splits_of(result: Row) -> Sequence[Row]:
    """Return the splits of a run's config."""
    found: Sequence[Row] = result["run"].get("config", {}).get("split", ())
    return found


def names(rows: Iterable[Row], field: str) -> list[str]:
    """Return the different values of a field, in the order of first appearance."""
    return list(dict.fromkeys(str(row[field]) for row in rows))


def sizes(found: Iterable[Estimate | None]) -> str:
    """Say on how many values some estimates stand.

    >>> sizes([Estimate(0, 0, 0, 40), Estimate(0, 0, 0, 36), None]), sizes([Estimate(0, 0, 0, 5)])
    ('n = 36–40', 'n = 5')
    """
    counts = sorted({one.n for one in found if one})
    return "n = " + "–".join(str(count) for count in dict.fromkeys([*counts[:1], *counts[-1:]]))
