"""The report's plots: six shapes, drawn without a display, as SVG. Colours can be told apart by the colour-blind (Okabe and Ito).

Equal values make equal bytes. Letters stay text, of whatever font the reader has; the ground is white, so it stands on a dark page too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BytesIO
from itertools import pairwise
from math import ceil
from typing import Any, Literal, TypeAlias

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import FuncFormatter

from deploy.evaluation.intervals import Estimate

Value: TypeAlias = Estimate | float

WIDTH = 7.2  # inches
INK, MUTED, GRID = "#1f2430", "#6b7280", "#e4e7ec"
COLOURS = {
    "naive": "#9AA0A6",
    "local": "#56B4E9",
    "cloud": "#0072B2",
    "centralized": "#CC79A7",
    "dgrag": "#D55E00",
    "federated": "#D55E00",
    "answered at the edge": "#0072B2",
    "sent to the cloud": "#D55E00",
}
OTHERS = ("#009E73", "#E69F00", "#7F3C8D", "#8C8C00", "#A0522D", "#1B9AAA", "#34495E", "#E377C2")  # none of the above
MARKERS = "oDs^vPX*"
FLOOR = " (floor)"  # ends the label of what is only compared with
LEGEND_CHARS, HANDLE_CHARS = 92, 6  # in one line of a legend, and as wide as the sign before each label
MOST_TICKS = 6  # of a panel that is half as wide as the page
DODGE = 0.012  # of the axis, so that intervals at one position stand side by side
STYLE: dict[Any, Any] = {
    "font.size": 11,
    "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial"],  # the first is measured; who lacks it sees a narrower one
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "axes.axisbelow": True,
    "grid.color": GRID,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "dgrag",  # else names within the file are drawn by chance
}
UNSAID = dict.fromkeys(("Date", "Creator"))  # they differ from one making to the next


@dataclass(frozen=True, slots=True)
class Panel:
    """One pair of axes: series by label, each with its values by position on the axis."""

    title: str
    axis: str  # what the values are
    series: Mapping[str, Mapping[Any, Value]]  # label -> position (a name or a number) -> value
    share: bool = False  # values are fractions, shown per cent
    marks: Mapping[str, float] = field(default_factory=dict)  # lines to compare with: label -> value
    scale: str = ""  # panels of bars, or of lines, with one scale reach equally far, so that they can be compared


def colour(label: str, number: int) -> str:
    """Return a label's own colour, that of what is only compared with, or the ``number``-th of the others."""
    return MUTED if label.endswith(FLOOR) else COLOURS.get(label, OTHERS[number % len(OTHERS)])


@contextmanager
def _canvas(height: float, *, rows: int = 1, columns: int = 1, **shared: Any) -> Iterator[tuple[Canvas, list[Axes], BytesIO]]:
    """Yield a canvas, its axes and where the SVG will be after the block."""
    svg = BytesIO()
    with matplotlib.rc_context(STYLE):
        canvas = Canvas(figsize=(WIDTH, height), layout="constrained")
        axes = canvas.subplots(rows, columns, squeeze=False, **shared)
        yield canvas, list(axes.flat), svg
        canvas.savefig(svg, format="svg", facecolor="white", metadata=UNSAID)


def mean(value: Value) -> float:
    """Return an estimate's mean, or the number itself."""
    return value.mean if isinstance(value, Estimate) else value


def _reach(values: Sequence[Value]) -> list[list[float]]:
    """How far each interval reaches below and above its mean, as error bars want it."""
    known = [
        (max(0.0, value.mean - value.low), max(0.0, value.high - value.mean)) if isinstance(value, Estimate) else (0.0, 0.0)
        for value in values
    ]
    return [[below for below, _ in known], [above for _, above in known]]


def _shown(value: float, *, share: bool) -> str:
    return f"{value * 100:.1f} %" if share else f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def bars(panels: Sequence[Panel]) -> bytes:
    """Horizontal bars, one panel under the other; a panel has one series, whose positions are the bars' names."""
    ends = {scale: max(map(_end, (panel for panel in panels if panel.scale == scale))) for scale in {panel.scale for panel in panels}}
    heights = [0.9 + 0.36 * len(next(iter(panel.series.values()))) for panel in panels]
    with _canvas(sum(heights), rows=len(panels), gridspec_kw={"height_ratios": heights}) as (_, axes, svg):
        for panel, axis in zip(panels, axes, strict=True):
            (bars_of,) = panel.series.values()
            labels, values = list(bars_of), list(bars_of.values())
            means, reach = [mean(value) for value in values], _reach(values)
            axis.barh(
                labels, means, xerr=reach, color=[colour(label, i) for i, label in enumerate(labels)], height=0.66, capsize=3, ecolor=INK
            )
            most = ends[panel.scale]
            for row, (value, up) in enumerate(zip(means, reach[1], strict=True)):
                axis.text(value + up + most * 0.015, row, _shown(value, share=panel.share), va="center", fontsize=10)
            axis.set_xlim(0, most * 1.16)
            axis.invert_yaxis()
            axis.tick_params(axis="y", length=0)
            _dress(axis, panel, values_on="x")
    return svg.getvalue()


def _end(panel: Panel) -> float:
    """How far the longest interval, or a mark, of a panel of bars reaches."""
    values = [value for bars_of in panel.series.values() for value in bars_of.values()]
    ends = [max(value.mean, value.high) if isinstance(value, Estimate) else value for value in values]
    return max([*ends, *panel.marks.values()], default=0.0) or 1.0


def _per_cent(value: float, _: int | None) -> str:
    return f"{value * 100:.4g} %"


def _number(value: float, _: int | None) -> str:
    return f"{value:,.6g}"


def stacked(panel: Panel) -> bytes:
    """Horizontal bars made of parts: each series is a part, its positions are the bars' names."""
    labels = list(dict.fromkeys(label for part in panel.series.values() for label in part))
    with _canvas(1.5 + 0.45 * len(labels) + 0.12 * len(panel.series)) as (canvas, (axis,), svg):
        left = dict.fromkeys(labels, 0.0)
        for number, (name, part) in enumerate(panel.series.items()):
            widths = [mean(part.get(label, 0.0)) for label in labels]
            drawn = axis.barh(
                labels, widths, left=list(left.values()), color=colour(name, number), label=name, height=0.62, edgecolor="white"
            )
            left = {label: left[label] + width for label, width in zip(labels, widths, strict=True)}
            if panel.share:
                axis.bar_label(
                    drawn, [f"{width * 100:.0f} %" if width >= 0.08 else "" for width in widths], label_type="center", color="white"
                )
        if not panel.share:
            for row, total in enumerate(left.values()):
                axis.text(total * 1.01, row, f" {_shown(total, share=False)}", va="center", fontsize=10)
            axis.set_xlim(0, max(left.values(), default=1.0) * 1.15 or 1.0)
        axis.invert_yaxis()
        axis.tick_params(axis="y", length=0)
        _dress(axis, panel, values_on="x")
        canvas.legend(loc="outside lower center", ncols=_columns(panel.series), fontsize=10)
    return svg.getvalue()


def lines(panels: Sequence[Panel], along: str) -> bytes:
    """Lines with error bars over a common axis of numbers, two panels in a row. What is no share of something begins at 0."""
    columns = min(2, len(panels))
    rows = -(-len(panels) // columns)
    with _canvas(0.8 + 2.3 * rows, rows=rows, columns=columns, sharey=bool(panels[0].scale)) as (canvas, axes, svg):
        for panel, axis in zip(panels, axes, strict=False):
            _draw_lines(axis, panel, _ticks(panel, panels))
            _dress(axis, panel, values_on="y")
            if not panel.share:
                axis.set_ylim(bottom=0)
        for axis in axes[len(panels) :]:
            axis.set_visible(False)
        canvas.supxlabel(along, fontsize=11)
        if len(panels[0].series) > 1:
            handles, labels = axes[0].get_legend_handles_labels()
            canvas.legend(handles, labels, loc="outside upper center", ncols=_columns(labels), fontsize=10)
    return svg.getvalue()


def _ticks(panel: Panel, panels: Sequence[Panel]) -> list[float]:
    """A panel's positions; or those of the panel with most of them, where these are among them."""
    own, *others = (sorted({position for points in one.series.values() for position in points}) for one in (panel, *panels))
    most = max(others, key=len)
    return most if set(own) <= set(most) else own


def _draw_lines(axis: Axes, panel: Panel, ticks: Sequence[float]) -> None:
    first, last = ticks[0], ticks[-1]
    doubles = is_geometric(ticks)
    if doubles:
        axis.set_xscale("log")
    for number, (label, points) in enumerate(panel.series.items()):
        positions = sorted(points)
        values = [points[position] for position in positions]
        look: dict[str, Any] = {"marker": MARKERS[number % len(MARKERS)], "color": colour(label, number), "label": label}
        if any(isinstance(value, Estimate) for value in values):
            aside = (number - (len(panel.series) - 1) / 2) * DODGE
            places = [one * (last / first) ** aside if doubles else one + aside * (last - first) for one in positions]
            axis.errorbar(places, [mean(value) for value in values], yerr=_reach(values), elinewidth=1.2, **look)
        else:
            axis.plot(positions, [mean(value) for value in values], **look)
    shown = ticks[::-1][:: ceil(len(ticks) / MOST_TICKS)]  # the last one always
    axis.set_xticks(shown, [_number(one, None) for one in shown])
    axis.minorticks_off()


def is_geometric(positions: Sequence[float]) -> bool:
    """Whether each position is the one before by the same factor, so that they stand equally far apart on a logarithmic axis.

    >>> is_geometric([10, 20, 40]), is_geometric([1, 2, 3]), is_geometric([0.0, 0.2, 0.4])
    (True, False, False)
    """
    factors = {later / before for before, later in pairwise(positions) if before}
    return len(positions) > 2 and positions[0] > 0 and len(factors) == 1


def _columns(labels: Collection[str]) -> int:
    """How many labels of a legend stand in one line."""
    return max(1, min(5, LEGEND_CHARS // (max(map(len, labels)) + HANDLE_CHARS)))


def dots(panels: Sequence[Panel], hollow: str = "") -> bytes:
    """One row a position, one dot with its interval a series; a label ending with ``hollow`` is drawn hollow in its namesake's colour."""
    sizes = [
        0.9 + (0.3 + 0.09 * len(panel.series)) * len({place for points in panel.series.values() for place in points}) for panel in panels
    ]
    with _canvas(sum(sizes) + 0.5, rows=len(panels), gridspec_kw={"height_ratios": sizes}) as (canvas, axes, svg):
        for panel, axis in zip(panels, axes, strict=True):
            places = list(dict.fromkeys(place for points in panel.series.values() for place in points))
            own = [label for label in panel.series if not (hollow and label.endswith(hollow))]
            for label, points in panel.series.items():
                base = own.index(label if label in own else label.removesuffix(hollow)) if own else 0
                shift = 0.6 * (base / (len(own) - 1) - 0.5) if len(own) > 1 else 0.0
                values = list(points.values())
                tint = colour(label.removesuffix(hollow), base)
                look: dict[str, Any] = {"fmt": MARKERS[base % len(MARKERS)], "color": tint, "capsize": 2, "label": label, "markersize": 6}
                look |= {} if label in own else {"markerfacecolor": "white"}
                axis.errorbar([mean(one) for one in values], [places.index(place) + shift for place in points], xerr=_reach(values), **look)
            axis.set_yticks(range(len(places)), places)
            axis.set_ylim(len(places) - 0.5, -0.5)
            axis.hlines(
                [row + 0.5 for row in range(len(places) - 1)], 0, 1, transform=axis.get_yaxis_transform(), color=GRID, linewidth=0.8
            )
            axis.tick_params(axis="y", length=0)
            _dress(axis, panel, values_on="x")
        named = zip(*axes[0].get_legend_handles_labels(), strict=True)
        handles, labels = zip(*((handle, label) for handle, label in named if label in own), strict=True)
        canvas.legend(handles, labels, loc="outside lower center", ncols=_columns(labels), fontsize=10)
    return svg.getvalue()


def front(points: Mapping[str, tuple[Estimate, Estimate]], *, across: str, up: str) -> bytes:
    """Quality (second, a share) over price (first), each point named; the line joins those that no other beats on both."""
    with _canvas(4.6) as (canvas, (axis,), svg):
        best = undominated({label: (x.mean, y.mean) for label, (x, y) in points.items()})
        axis.plot(
            [points[label][0].mean for label in best], [points[label][1].mean for label in best], color=MUTED, linestyle="--", zorder=1
        )
        for number, (label, (x, y)) in enumerate(points.items()):
            look: dict[str, Any] = {
                "fmt": MARKERS[number % len(MARKERS)],
                "color": colour(label, number),
                "capsize": 3,
                "markersize": 9,
                "label": label,
            }
            axis.errorbar([x.mean], [y.mean], xerr=_reach([x]), yerr=_reach([y]), elinewidth=1, **look)
        canvas.legend(loc="outside right center", fontsize=10)
        axis.set_xlabel(f"{across}   (← cheaper)")
        axis.locator_params(axis="x", nbins=MOST_TICKS)
        axis.xaxis.set_major_formatter(FuncFormatter(_number))
        axis.grid(visible=True)
        _dress(axis, Panel("", up, {}, share=True), values_on="y")
    return svg.getvalue()


def undominated(points: Mapping[str, tuple[float, float]]) -> list[str]:
    """Return the names that no other is both as cheap as and better than, cheapest first.

    >>> undominated({"local": (0, 0.3), "cloud": (9, 0.5), "dgrag": (3, 0.5), "worse": (4, 0.2)})
    ['local', 'dgrag']
    """
    best: list[str] = []
    for label in sorted(points, key=lambda label: (points[label][0], -points[label][1])):
        if not best or points[label][1] > points[best[-1]][1]:
            best.append(label)
    return best


def curve(lines_of: Mapping[str, Sequence[tuple[float, float]]], *, across: str, up: str) -> bytes:
    """Curves of shares over shares, as a ROC has them; the broken line is chance."""
    with _canvas(4.6) as (canvas, (axis,), svg):
        axis.plot([0, 1], [0, 1], color=GRID, linestyle="--")
        for number, (label, points) in enumerate(lines_of.items()):
            axis.plot(*zip(*points, strict=True), color=colour(label, number), label=label)
        canvas.legend(loc="outside right center", fontsize=10)
        axis.set_xlabel(across)
        axis.xaxis.set_major_formatter(FuncFormatter(_per_cent))
        axis.grid(visible=True)
        _dress(axis, Panel("", up, {}, share=True), values_on="y")
    return svg.getvalue()


def _dress(axis: Axes, panel: Panel, *, values_on: Literal["x", "y"]) -> None:
    """Title, labels, grid and lines to compare with."""
    axis.set_title(panel.title)
    values = axis.xaxis if values_on == "x" else axis.yaxis
    values.set_label_text(panel.axis)
    axis.grid(visible=True, axis=values_on)
    if panel.share:
        values.set_major_formatter(FuncFormatter(_per_cent))
    for label, value in panel.marks.items():
        draw = axis.axvline if values_on == "x" else axis.axhline
        draw(value, color=INK, linestyle=":", linewidth=1.4, label=label)
