"""What Word and PowerPoint draw alike (DrawingML): charts, diagrams, pictures."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice, zip_longest

from edge_node.documents.blocks import Block, TextBlock
from edge_node.documents.grid_cells import GridCell
from edge_node.documents.grids import laid_out
from edge_node.plugins.parsers.number_formats import moment, stated
from edge_node.plugins.parsers.package import RELATIONSHIPS, Element, Package, is_true

DRAWING = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
CHART = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
CHARTEX = "{http://schemas.microsoft.com/office/drawing/2014/chartex}"
DIAGRAM = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}"
COMPATIBILITY = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
LARGE = 8 * 5  # square centimetres: a picture that may be a scanned page
EMU = 360_000  # in a centimetre
_LENGTH = re.compile(r"(-?\d{1,9}(?:\.\d{1,9})?|\.\d{1,9})(cm|mm|in|pt|pc|px)?")
_UNITS = {"cm": 1.0, "mm": 0.1, "in": 2.54, "pt": 2.54 / 72, "pc": 2.54 / 6, "px": 2.54 / 96}
_MOST_POINTS = 20_000  # of a chart
_MOST_LEVELS = 20  # of a diagram
_FILE_NAME = re.compile(
    r".*\.(png|jpe?g|gif|bmp|emf|wmf|tiff?|svg)|(picture|image|bild|grafik) ?\d*", re.I
)
_GENERATED = re.compile(
    r"(?<!\s)\s*+(Description automatically generated.*|Automatisch generierte Beschreibung.*"
    r"|AI-generated content may be incorrect\.?)",
    re.IGNORECASE | re.DOTALL,
)
_NUMBER = re.compile(r"-?\d{1,300}(\.\d{1,300})?([eE][+-]?\d{1,3})?")


def chosen_alternative(element: Element) -> Element | None:
    """What is shown of an ``mc:AlternateContent``: its first choice.

    Where that is empty, it is what old programs show.
    """
    choice = element.find(f"{COMPATIBILITY}Choice")
    fallback = element.find(f"{COMPATIBILITY}Fallback")
    if choice is None or (
        fallback is not None and _has_text(fallback) and not _says_something(choice)
    ):
        return fallback
    return choice


def _has_text(element: Element) -> bool:
    return any(text.strip() for text in element.itertext())


def _says_something(element: Element) -> bool:
    refers = any(
        f"{RELATIONSHIPS}{name}" in each.attrib for each in element.iter() for name in ("id", "dm")
    )
    return refers or _has_text(element)


def described(description: str | None) -> Iterator[TextBlock]:
    """A picture by its author's words about it, which no file's name or program's guess is."""
    text = _GENERATED.sub("", description or "").strip()
    if text and not _FILE_NAME.fullmatch(text):
        yield TextBlock("caption", f"Picture: {text}")


def centimetres(length: str | None) -> float | None:
    """A length with its unit, without one in centimetres.

    >>> centimetres("2.54cm"), centimetres("72pt"), centimetres("auto")
    (2.54, 2.54, None)
    """
    match = _LENGTH.fullmatch(length or "")
    return float(match[1]) * _UNITS[match[2] or "cm"] if match else None


def is_large(extent: Element | None) -> bool:
    """Whether a picture of this size may be a scanned page."""
    sides = ("", "") if extent is None else (extent.get("cx", ""), extent.get("cy", ""))
    return all(map(str.isdecimal, sides)) and int(sides[0]) * int(sides[1]) >= LARGE * EMU**2


def drawing_text(element: Element) -> str:
    """The paragraphs of a text in DrawingML, one a line."""
    lines = (_joined(paragraph) for paragraph in element.iter(f"{DRAWING}p"))
    return "\n".join(filter(str.strip, lines))


def _joined(paragraph: Element) -> str:
    return "".join(text.text or "" for text in paragraph.iter(f"{DRAWING}t"))


def chart_blocks(package: Package, part: str) -> Iterator[Block]:
    """A chart's title, and a grid of its categories and the values of each series."""
    tree = package.tree(part)
    if tree is None:
        return
    if tree.tag.startswith(CHARTEX):
        yield from _extended_chart(tree)
        return
    chart = tree.find(f"{CHART}chart")
    if chart is None:
        return
    title = chart.find(f"{CHART}title")
    name = " ".join(_title(title).split()) if title is not None else ""
    if name:
        yield TextBlock("caption", f"Chart: {name}")
    for title in chart.findall(f"{CHART}plotArea/*/{CHART}title"):
        if axis := _title(title):
            yield TextBlock("caption", f"Axis: {axis}")
    series = list(chart.iter(f"{CHART}ser"))
    names = [_series_name(each, number) for number, each in enumerate(series, start=1)]
    date_base = tree.find(f"{CHART}date1904")
    is_1904 = is_true(date_base, "val")
    columns = [_points(each, ("cat", "xVal"), is_1904=is_1904) for each in series]
    values = [_points(each, ("val", "yVal"), is_1904=is_1904) for each in series]
    yield from _chart_grid(names, columns, values)


def _title(title: Element) -> str:
    return drawing_text(title) or "".join(each.text or "" for each in title.iter(f"{CHART}v"))


def _series_name(series: Element, number: int) -> str:
    name = series.find(f"{CHART}tx")
    words = "" if name is None else "".join(each.text or "" for each in name.iter(f"{CHART}v"))
    return words.strip() or f"Series {number}"


def _points(series: Element, names: Sequence[str], *, is_1904: bool) -> dict[int, str]:
    """Index -> text of the cached values; several levels of categories are joined."""
    points = dict[int, str]()
    for name in names:
        for point in series.iterfind(f"{CHART}{name}//{CHART}pt"):
            at = int(point.get("idx", "-1"))
            value = (point.findtext(f"{CHART}v") or "").strip()
            if 0 <= at < _MOST_POINTS and value:
                code = point.get("formatCode") or point.getparent().findtext(f"{CHART}formatCode")
                shown = _shown_value(value, code or "", is_1904=is_1904)
                points[at] = f"{value} {points[at]}" if at in points else shown
    return points


def _shown_value(value: str, code: str, *, is_1904: bool = False) -> str:
    """A stored number by its format, without the tail of its binary form; a text as it is.

    >>> _shown_value('4.3', ''), _shown_value('8.1999999999999993', ''), _shown_value('Q1', '')
    ('4.3', '8.2', 'Q1')
    >>> _shown_value('45413', 'm/d/yyyy'), _shown_value('0.25', '0%')
    ('2024-05-01', '25%')
    """
    if not _NUMBER.fullmatch(value):
        return value
    number = float(value)
    return moment(number, code, is_1904=is_1904) or stated(number, code)


def _chart_grid(
    names: Sequence[str], categories: Sequence[dict[int, str]], values: Sequence[dict[int, str]]
) -> Iterator[Block]:
    """One grid for series over the same categories, else one for each."""
    if not names:
        return
    shared = all(each == categories[0] for each in categories)
    groups = [range(len(names))] if shared else [range(at, at + 1) for at in range(len(names))]
    for group in groups:
        labels = categories[group[0]]
        points = sorted(set(labels).union(*(values[at] for at in group)))
        heading = [GridCell("Category", is_heading=True)]
        heading += [GridCell(names[at], is_heading=True) for at in group]
        lines = [heading]
        for point in points:
            cells = [GridCell(values[at].get(point, "")) for at in group]
            lines.append([GridCell(labels.get(point, str(point + 1))), *cells])
        yield laid_out(lines)


def _extended_chart(tree: Element) -> Iterator[Block]:
    """A chart of 2016 or later (waterfall, treemap): a column for each of its dimensions."""
    title = drawing_text(tree)
    if title:
        yield TextBlock("caption", f"Chart: {title}")
    for data in tree.iter(f"{CHARTEX}data"):
        columns = list[list[str]]()
        for level in data.iter(f"{CHARTEX}lvl"):
            code = level.get("formatCode", "")
            columns += [[_shown_value((point.text or "").strip(), code) for point in level]]
        lines = list(islice(zip_longest(*columns, fillvalue=""), _MOST_POINTS))
        if lines:
            yield laid_out(list(map(GridCell, line)) for line in lines)


def diagram_blocks(package: Package, part: str) -> Iterator[Block]:
    """A diagram (SmartArt) as a list: each point below the one that it belongs to."""
    tree = package.tree(part)
    if tree is None:
        return
    points, below = dict[str, str](), dict[str, list[tuple[int, str]]]()
    for point in tree.iter(f"{DIAGRAM}pt"):
        if point.get("type", "node") in ("node", "asst", "doc"):
            points[point.get("modelId", "")] = drawing_text(point)
    for link in tree.iter(f"{DIAGRAM}cxn"):
        if link.get("type", "parOf") == "parOf":
            order = int(link.get("srcOrd", "0"))
            below.setdefault(link.get("srcId", ""), []).append((order, link.get("destId", "")))
    targets = {target for links in below.values() for _, target in links}
    open_points = [(0, each) for each in reversed(points) if each not in targets]
    while open_points:
        level, point = open_points.pop()
        if point not in points:  # named twice: listed already
            continue
        if text := points.pop(point):
            yield TextBlock("item", " ".join(text.split()), min(level, _MOST_LEVELS))
        inside = level + 1 if text else level
        children = sorted(below.get(point, ()), reverse=True)
        open_points += [(inside, child) for _, child in children]
