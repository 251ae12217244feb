"""The order in which a person reads a slide (recursive X-Y cut, Nagy & Seth 1984)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import itemgetter

_MOST_SHAPES = 400  # cutting takes time with their square; more are read by their corners
_OVERLAP = 0.15  # of the smaller one of two shapes: so far they may overlap and still be parted


@dataclass(frozen=True, slots=True)
class Box:
    """Where a shape lies, in any unit."""

    left: float
    top: float
    right: float
    bottom: float

    def side(self, axis: int) -> tuple[float, float]:
        """Begin and end from left to right (axis 0) or from top to bottom (axis 1)."""
        return (self.left, self.right) if axis == 0 else (self.top, self.bottom)


def reading_order(boxes: Sequence[Box]) -> list[int]:
    """Indices of the boxes as they are read: parted at the widest gap, columns whole, else lines.

    >>> heads = [Box(0, 0, 4, 1), Box(5, 0, 9, 1)]
    >>> texts = [Box(0, 1, 4, 5), Box(5, 1, 9, 5)]
    >>> reading_order([*heads, *texts])
    [0, 2, 1, 3]
    """
    corners = sorted(range(len(boxes)), key=lambda at: (boxes[at].top, boxes[at].left, at))
    if len(boxes) > _MOST_SHAPES:
        return corners
    order = list[int]()
    groups = [corners] if corners else []
    while groups:
        group = groups.pop()
        cuts = [cut for axis in (1, 0) if (cut := _widest_cuts(boxes, group, axis))]
        if not cuts:
            order += group
            continue
        _, parts = max(cuts, key=itemgetter(0))
        groups += reversed(parts)
    return order


def _widest_cuts(
    boxes: Sequence[Box], group: Sequence[int], axis: int
) -> tuple[float, list[list[int]]] | None:
    """The widest gap in a group, and the parts between all gaps so wide, each in the group's order.

    None where all overlap.
    """
    sides = {at: boxes[at].side(axis) for at in group}
    line = sorted(group, key=lambda at: sides[at])
    gaps = list[tuple[float, int]]()
    end, least = sides[line[0]][1], sides[line[0]][1] - sides[line[0]][0]
    for position, at in enumerate(line[1:], start=1):
        gap, extent = sides[at][0] - end, sides[at][1] - sides[at][0]
        if gap >= -_OVERLAP * min(least, extent):
            gaps.append((gap, position))
        if sides[at][1] > end:
            end, least = sides[at][1], extent
    if not gaps:
        return None
    widest = max(gaps)[0]
    bounds = [0, *(position for gap, position in gaps if gap == widest), len(line)]
    place = {at: index for index, at in enumerate(group)}
    parts = [sorted(line[start:end], key=place.__getitem__) for start, end in pairwise(bounds)]
    return widest, parts
