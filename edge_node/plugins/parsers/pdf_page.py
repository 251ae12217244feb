"""What stands on a page of a PDF: words with their boxes, rules, pictures, form fields and notes.

Coordinates are points, y downwards, turned so that words of one direction read to the right.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from dataclasses import dataclass, field

SLANTED = 4  # a direction beside the four of a right angle: watermarks
TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")


@dataclass(slots=True)
class Box:
    """A rectangle, y downwards. ``size``: height of the line that it stands on, in points."""

    left: float
    top: float
    right: float
    bottom: float
    size: float = 0.0

    @property
    def width(self) -> float:
        """In points."""
        return self.right - self.left

    @property
    def height(self) -> float:
        """In points."""
        return self.bottom - self.top

    @property
    def centre(self) -> tuple[float, float]:
        """Its middle: x and y."""
        return (self.left + self.right) / 2, (self.top + self.bottom) / 2

    def contains(self, other: Box) -> bool:
        """Whether the middle of the other one lies in it."""
        x, y = other.centre
        return self.left <= x <= self.right and self.top <= y <= self.bottom


@dataclass(slots=True)
class Word(Box):
    """Signs without a blank between them, in logical order.

    ``size``: height of its line, in points. ``is_cut``: a hyphen at its end was put there
    by a line's end. ``confidence``: of a recognised
    word, in percent.
    """

    text: str = ""
    is_bold: bool = False
    is_hidden: bool = False
    is_cut: bool = False
    confidence: float = 100.0


@dataclass(slots=True)
class Picture(Box):
    """An image on a page. ``digest``: of what is stored, if it is large and has details."""

    digest: int = 0


@dataclass(slots=True)
class Field:
    """A form field's value where it stands: text, or whether a box is ticked."""

    box: Box
    name: str
    value: str
    is_ticked: bool | None = None


@dataclass(slots=True)
class Page:
    """What stands on a page, by the direction in which its words run (0 to 3, SLANTED)."""

    width: float
    height: float
    origin: tuple[float, float] = (0.0, 0.0)
    words: dict[int, list[Word]] = field(default_factory=lambda: defaultdict(list))
    rules: list[Box] = field(default_factory=list)
    areas: list[Box] = field(default_factory=list)  # filled with another colour than white
    pictures: list[Picture] = field(default_factory=list)
    fields: list[Field] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    attachments: int = 0
    is_open: bool = True  # else the file's entry for it is damaged
    surplus_characters: int = 0  # beyond MAX_CHARACTERS
    surplus_annotations: int = 0  # beyond MAX_ANNOTATIONS
    unmapped: int = 0  # signs whose font does not say which they are
    covered: int = 0  # words below areas that hide them
    has_ocr_layer: bool = False  # a scan with the words of an OCR below it

    @property
    def is_scan(self) -> bool:
        """Whether a picture covers most of it, or the strips of one do."""
        area = self.width * self.height
        places = {(each.left, each.top, each.right, each.bottom) for each in self.pictures}
        covered = sum(abs((right - left) * (top - bottom)) for left, top, right, bottom in places)
        return covered > 0.6 * area


def turned(box: Box, direction: int) -> Box:
    """A box of PDF's coordinates (y upwards) as one whose words read to the right."""
    left, bottom, right, top = box.left, box.bottom, box.right, box.top
    match direction:
        case 1:
            return Box(bottom, left, top, right)
        case 2:
            return Box(-right, bottom, -left, top)
        case 3:
            return Box(-top, -right, -bottom, -left)
        case _:
            return Box(left, -top, right, -bottom)


def unturned(box: Box, direction: int) -> Box:
    """The inverse of ``turned``; ``top`` is the lower end here, as y goes up."""
    match direction:
        case 1:
            return Box(box.top, box.left, box.bottom, box.right)
        case 2:
            return Box(-box.right, box.top, -box.left, box.bottom)
        case 3:
            return Box(-box.bottom, -box.right, -box.top, -box.left)
        case _:
            return Box(box.left, -box.bottom, box.right, -box.top)


def is_right_to_left(sign: str) -> bool:
    """Whether it belongs to a script that is written to the left."""
    return sign > "\u0590" and unicodedata.bidirectional(sign) in ("R", "AL")
