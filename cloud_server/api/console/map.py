"""Where the sites of a federation stand in its picture: around the cloud, clockwise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import cos, pi, sin

from shared.wire import EdgeView

WIDTH, HEIGHT = 640, 360  # of the picture, in its own units
ACROSS, DOWN = 240, 125  # half axes of the ellipse that the sites stand on
MARGIN = 70  # above the first and below the last of what stands there
MOST = 24  # sites that a picture can show
FEW = 12  # sites up to which there is room for their last syncs


@dataclass(frozen=True, slots=True)
class Placed:
    """A site at its place; ``state``: online, offline or quarantined."""

    site: EdgeView
    state: str
    x: int
    y: int

    @property
    def text_ys(self) -> tuple[int, int]:
        """Where its name and its last sync stand, one below the other: away from the line to the cloud."""
        return (self.y + 40, self.y + 61) if self.y >= HEIGHT // 2 else (self.y - 49, self.y - 28)


def state_of(site: EdgeView) -> str:
    """In one word."""
    return "quarantined" if site.quarantined else "online" if site.online else "offline"


def placed(sites: Sequence[EdgeView]) -> list[Placed]:
    """The first ``MOST`` of the sites, with even angles between them, two of them to the left and right.

    >>> [(one.site.edge, one.state, one.x, one.y) for one in placed([EdgeView(edge=name, online=name == "b", last_seen=0, summaries=0,
    ...     epoch="", version=0) for name in "ab"])]
    [('a', 'offline', 80, 180), ('b', 'online', 560, 180)]
    """
    shown = sites[:MOST]
    angles = [pi * (2 * number - 1) / len(shown) - pi / 2 for number in range(len(shown))]
    places = [(round(WIDTH / 2 + ACROSS * cos(angle)), round(HEIGHT / 2 + DOWN * sin(angle))) for angle in angles]
    return [Placed(site, state_of(site), x, y) for site, (x, y) in zip(shown, places, strict=True)]


def view_box(places: Sequence[Placed]) -> str:
    """The part of the picture in which something stands, as SVG wants it.

    >>> view_box([])
    '0 110 640 140'
    """
    ys = [HEIGHT // 2, *(place.y for place in places)]
    return f"0 {min(ys) - MARGIN} {WIDTH} {max(ys) - min(ys) + 2 * MARGIN}"
