"""What PDFium says of the things drawn on a page: pictures, colours, and the lines of paths."""

from __future__ import annotations

import ctypes
import zlib
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pypdfium2.raw as pdfium

from edge_node.plugins.parsers.pdf_page import Box, Picture

MAX_OBJECTS = 30_000  # of a page that are looked at: a map has more, and no table in its lines
MAX_SEGMENTS = 4_000  # of a path: longer ones are drawings
MAX_FORM_DEPTH = 3  # of drawings in drawings
LARGE = 32_000  # square points, 8 by 5 cm: a picture that may be a scanned page
LEGIBLE = 100  # pixels of a picture's shorter side: less is a ground's colour
RULE_WIDTH = 2.5  # points: a thicker bar is an area
_NEAR_WHITE = 250  # of 255, in each colour
IDENTITY = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)


def drawn_objects(page: Any) -> Iterator[tuple[Any, tuple[float, ...]]]:
    """What is drawn on a page in its order, and in drawings on it, with the matrix of those."""
    budget = MAX_OBJECTS
    count = min(pdfium.FPDFPage_CountObjects(page), MAX_OBJECTS)
    stack: list[tuple[Any, tuple[float, ...], int]] = [
        (pdfium.FPDFPage_GetObject(page, at), IDENTITY, 0) for at in reversed(range(count))
    ]
    while stack and budget > 0:
        item, matrix, depth = stack.pop()
        budget -= 1
        if pdfium.FPDFPageObj_GetType(item) != pdfium.FPDF_PAGEOBJ_FORM:
            yield item, matrix
        elif depth < MAX_FORM_DEPTH:
            inner = multiplied(matrix_of(item), matrix)
            most = min(pdfium.FPDFFormObj_CountObjects(item), budget)
            parts = (pdfium.FPDFFormObj_GetObject(item, at) for at in reversed(range(most)))
            stack.extend((part, inner, depth + 1) for part in parts)


def picture_of(item: Any, matrix: tuple[float, ...]) -> Picture:
    """An image with its place, in PDF's coordinates."""
    box = bounds_of(item, matrix)
    width, height = ctypes.c_uint(), ctypes.c_uint()
    pdfium.FPDFImageObj_GetImagePixelSize(item, width, height)
    digest = 0
    if abs(box.width * box.height) >= LARGE and min(width.value, height.value) >= LEGIBLE:
        length = pdfium.FPDFImageObj_GetImageDataRaw(item, None, 0)
        buffer = ctypes.create_string_buffer(length)
        pdfium.FPDFImageObj_GetImageDataRaw(item, buffer, length)
        digest = zlib.crc32(buffer)
    return Picture(box.left, box.top, box.right, box.bottom, digest=digest)


def is_white(item: Any, is_stroked: int = 0) -> bool:
    """Whether its fill, or its stroke, is white or not seen."""
    colours = [ctypes.c_uint() for _ in range(4)]
    get = pdfium.FPDFPageObj_GetStrokeColor if is_stroked else pdfium.FPDFPageObj_GetFillColor
    if not get(item, *colours):
        return False
    red, green, blue, alpha = (colour.value for colour in colours)
    return alpha == 0 or min(red, green, blue) >= _NEAR_WHITE


def colour_of(item: Any) -> tuple[int, int, int] | None:
    """What it is filled with: red, green, blue; None for a pattern."""
    red, green, blue, alpha = (ctypes.c_uint() for _ in range(4))
    if not pdfium.FPDFPageObj_GetFillColor(item, red, green, blue, alpha):
        return None
    return red.value, green.value, blue.value


def address(item: Any) -> int | None:
    """The number by which PDFium knows it."""
    return ctypes.cast(item, ctypes.c_void_p).value


def matrix_of(item: Any) -> tuple[float, ...]:
    """How its coordinates become those of what it stands in."""
    found = pdfium.FS_MATRIX()
    if not pdfium.FPDFPageObj_GetMatrix(item, found):
        return IDENTITY
    return found.a, found.b, found.c, found.d, found.e, found.f


def multiplied(first: tuple[float, ...], second: tuple[float, ...]) -> tuple[float, ...]:
    """The matrix that applies the first one, then the second."""
    a, b, c, d, e, f = first
    p, q, r, s, t, u = second
    return (
        a * p + b * r,
        a * q + b * s,
        c * p + d * r,
        c * q + d * s,
        e * p + f * r + t,
        e * q + f * s + u,
    )


def moved(x: float, y: float, matrix: tuple[float, ...]) -> tuple[float, float]:
    """A point after a matrix."""
    a, b, c, d, e, f = matrix
    return a * x + c * y + e, b * x + d * y + f


def bounds_of(item: Any, matrix: tuple[float, ...]) -> Box:
    """In PDF's coordinates."""
    left, bottom, right, top = (ctypes.c_float() for _ in range(4))
    pdfium.FPDFPageObj_GetBounds(item, left, bottom, right, top)
    corners = (left.value, bottom.value), (right.value, top.value)
    if matrix is IDENTITY:
        (x, y), (u, v) = corners
    else:
        (x, y), (u, v) = (moved(*corner, matrix) for corner in corners)
    return Box(min(x, u), max(y, v), max(x, u), min(y, v))


def straight_lines(item: Any, matrix: tuple[float, ...]) -> Iterator[Box]:
    """The upright and level pieces of a path's outline, in PDF's coordinates."""
    for points in _subpaths(item, matrix):
        for one, other in pairwise(points):
            yield from _level(one, other)


def outlines_of(item: Any, matrix: tuple[float, ...]) -> tuple[list[Box], list[Box]]:
    """The boxes of a path's parts, and their upright and level pieces."""
    outlines, lines = list[Box](), list[Box]()
    for points in _subpaths(item, matrix):
        xs, ys = [x for x, _ in points], [y for _, y in points]
        outlines.append(Box(min(xs), max(ys), max(xs), min(ys)))
        for one, other in pairwise(points):
            lines.extend(_level(one, other))
    return outlines, lines


def _subpaths(item: Any, matrix: tuple[float, ...]) -> Iterator[list[tuple[float, float]]]:
    """The points of each part of a path, in PDF's coordinates; of a drawing none."""
    count = pdfium.FPDFPath_CountSegments(item)
    if count > MAX_SEGMENTS:
        return
    whole = multiplied(matrix_of(item), matrix)
    x, y = ctypes.c_float(), ctypes.c_float()
    points = list[tuple[float, float]]()
    for at in range(count):
        segment = pdfium.FPDFPath_GetPathSegment(item, at)
        pdfium.FPDFPathSegment_GetPoint(segment, x, y)
        if pdfium.FPDFPathSegment_GetType(segment) == pdfium.FPDF_SEGMENT_MOVETO and points:
            yield points
            points = []
        points.append(moved(x.value, y.value, whole))
        if pdfium.FPDFPathSegment_GetClose(segment):
            points.append(points[0])
    if points:
        yield points


def _level(one: tuple[float, float], other: tuple[float, float]) -> Iterator[Box]:
    width, height = abs(one[0] - other[0]), abs(one[1] - other[1])
    if min(width, height) < 1 and max(width, height) > 2 * RULE_WIDTH:
        xs, ys = sorted((one[0], other[0])), sorted((one[1], other[1]))
        yield Box(xs[0], ys[1], xs[1], ys[0])
