"""The report's plots: six shapes, drawn without a display, as PNG. Colours can be told apart by the colour-blind (Okabe and Ito)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any, Literal, TypeAlias

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import FuncFormatter

from deploy.evaluation.intervals import Estimate

Value: TypeAlias = Estimate | float

WIDTH = 7.2  # inches; at DPI the 1,000 pixels that a page shows without scaling up
DPI = 140
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
DODGE = 0.012  # of the axis, so that intervals at one position stand side by side
STYLE: dict[Any, Any] = {
    "font.size": 11,
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
}


@dataclass(frozen=True, slots=True)
class Panel:
    """One pair of axes: series by label, each with its values by position on the axis."""

    title: str
    axis: str  # what the values are
    series: Mapping[str, Mapping[Any, Value]]  # label -> position (a name or a number) -> value
    share: bool = False  # values are fractions, shown per cent
    marks: Mapping[str, float] = field(default_factory=dict)  # lines to compare with: label -> value
    scale: str = ""  # panels of bars with one scale reach equally far, so that lengths can be compared


def colour(label: str, number: int) -> str:
    """Return a label's own colour, that of what is only compared with, or the ``number``-th of the others."""
    return MUTED if label.endswith(FLOOR) else COLOURS.get(label, OTHERS[number % len(OTHERS)])


@contextmanager
def _canvas(height: float, *, rows: int = 1, columns: int = 1, **shared: Any) -> Iterator[tuple[Canvas, list[Axes], BytesIO]]:
    """Yield a canvas, its axes and where the PNG will be after the block."""
    png = BytesIO()
    with matplotlib.rc_context(STYLE):
        canvas = Canvas(figsize=(WIDTH, height), layout="constrained")
        axes = canvas.subplots(rows, columns, squeeze=False, **shared)
        yield canvas, list(axes.flat), png
        canvas.savefig(png, format="png", dpi=DPI, facecolor="white", metadata={"Software": None})


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
    with _canvas(sum(heights), rows=len(panels), gridspec_kw={"height_ratios": heights}) as (_, axes, png):
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
    return png.getvalue()


def _end(panel: Panel) -> float:
    """How far the longest interval, or a mark, of a panel of bars reaches."""
    values = [value for bars_of in panel.series.values() for value in bars_of.values()]
    ends = [max(value.mean, value.high) if isinstance(value, Estimate) else value for value in values]
    return max([*ends, *panel.marks.values()], default=0.0) or 1.0


def _per_cent(value: float, _: int | None) -> str:
    return f"{value * 100:.4g} %"


def stacked(panel: Panel) -> bytes:
    """Horizontal bars made of parts: each series is a part, its positions are the bars' names."""
    labels = list(dict.fromkeys(label for part in panel.series.values() for label in part))
    with _canvas(1.5 + 0.45 * len(labels) + 0.12 * len(panel.series)) as (canvas, (axis,), png):
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
        canvas.legend(loc="outside lower center", ncols=min(4, len(panel.series)), fontsize=10)
    return png.getvalue()


def lines(panels: Sequence[Panel], along: str) -> bytes:
    """Lines with error bars over a common axis of numbers, two panels in a row."""
    columns = min(2, len(panels))
    rows = -(-len(panels) // columns)
    with _canvas(0.6 + 2.6 * rows, rows=rows, columns=columns) as (canvas, axes, png):
        for panel, axis in zip(panels, axes, strict=False):
            ticks = sorted({position for points in panel.series.values() for position in points})
            for number, (label, points) in enumerate(panel.series.items()):
                values = list(points.values())
                look: dict[str, Any] = {
                    "marker": MARKERS[number % len(MARKERS)],
                    "color": colour(label, number),
                    "capsize": 3,
                    "label": label,
                }
                dodged = [position + (number - (len(panel.series) - 1) / 2) * DODGE * (ticks[-1] - ticks[0]) for position in points]
                axis.errorbar(dodged, [mean(value) for value in values], yerr=_reach(values), **look)
            axis.set_xticks(ticks)
            axis.set_xlabel(along)
            _dress(axis, panel, values_on="y")
        for axis in axes[len(panels) :]:
            axis.set_visible(False)
        if len(panels[0].series) > 1:
            handles, labels = axes[0].get_legend_handles_labels()
            canvas.legend(handles, labels, loc="outside lower center", ncols=4, fontsize=10)
    return png.getvalue()


def dots(panels: Sequence[Panel], hollow: str = "") -> bytes:
    """One row a position, one dot with its interval a series; a label ending with ``hollow`` is drawn hollow in its namesake's colour."""
    sizes = [
        0.9 + (0.3 + 0.09 * len(panel.series)) * len({place for points in panel.series.values() for place in points}) for panel in panels
    ]
    with _canvas(sum(sizes) + 0.5, rows=len(panels), gridspec_kw={"height_ratios": sizes}) as (canvas, axes, png):
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
        canvas.legend(handles, labels, loc="outside lower center", ncols=4, fontsize=10)
    return png.getvalue()


def front(points: Mapping[str, tuple[Estimate, Estimate]], *, across: str, up: str) -> bytes:
    """Quality (second, a share) over price (first), each point named; the line joins those that no other beats on both."""
    with _canvas(4.6) as (canvas, (axis,), png):
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
        axis.grid(visible=True)
        _dress(axis, Panel("", up, {}, share=True), values_on="y")
    return png.getvalue()


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
    with _canvas(4.6) as (canvas, (axis,), png):
        axis.plot([0, 1], [0, 1], color=GRID, linestyle="--")
        for number, (label, points) in enumerate(lines_of.items()):
            axis.plot(*zip(*points, strict=True), color=colour(label, number), label=label)
        canvas.legend(loc="outside right center", fontsize=10)
        axis.set_xlabel(across)
        axis.xaxis.set_major_formatter(FuncFormatter(_per_cent))
        axis.grid(visible=True)
        _dress(axis, Panel("", up, {}, share=True), values_on="y")
    return png.getvalue()


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
