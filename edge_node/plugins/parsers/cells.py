"""Cells of tables: what one can hold of the blocks in it, and how many rows one covers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Literal, TypeAlias

from edge_node.documents.blocks import Block, TextBlock
from edge_node.documents.grids import Grid
from edge_node.documents.header_rows import find_header

MOST_INNER_ROWS = 6  # of a table that is words of the cell around it
MOST_INNER_COLUMNS = 2
MOST_INNER_CHARS = 200
MOST_NAME_CHARS = 80
Merge: TypeAlias = Literal["", "restart", "continue"]  # as Word calls them: with the cell above


def cell_text(blocks: Iterable[Block]) -> tuple[str, list[Block]]:
    """The texts, one a line; and apart large tables, notes, captions: what is no text of a cell."""
    texts, rest = list[str](), list[Block]()
    for block in blocks:
        if isinstance(block, TextBlock) and block.kind not in ("note", "caption"):
            texts.append(block.text.strip())
        elif isinstance(block, Grid) and (text := inner_text(block)):
            texts.append(text)
        else:
            rest.append(block)
    return "\n".join(filter(None, texts)), rest


def inner_text(grid: Grid) -> str:
    """A small table as words of a cell, "Day 5, Night 2"; "" where its columns have names."""
    rows = list(islice(chain.from_iterable(grid.parts()), MOST_INNER_ROWS + 1))
    width = max((len(row.entries()) for row in rows), default=0)
    header = find_header(rows)
    has_names = header is not None and header.is_sure
    if len(rows) > MOST_INNER_ROWS or width > MOST_INNER_COLUMNS or has_names:
        return ""
    text = ", ".join(row.text(0, len(row.texts)) for row in rows)
    return text if len(text) <= MOST_INNER_CHARS else ""


def with_row_name(name: str, blocks: Iterable[Block]) -> Iterator[Block]:
    """What stands behind a table, with a caption above each table that names the row around it."""
    name = " ".join(name.split())[:MOST_NAME_CHARS]
    for block in blocks:
        if name and isinstance(block, Grid) and next(block.parts(), None) is not None:
            yield TextBlock("caption", name)
        yield block


def cell_heights(merges: Sequence[Mapping[int, Merge]]) -> list[dict[int, int]]:
    """How many rows each cell covers, by its row and column; 0 for what goes on with a cell above.

    >>> cell_heights([{0: "restart", 1: ""}, {0: "continue", 1: "continue"}])
    [{0: 2, 1: 1}, {0: 0, 1: 1}]
    """
    heights = list[dict[int, int]]()
    below = dict[int, int]()  # by column: how many rows go on with what stands above them
    for line in reversed(merges):
        heights.append({column: 1 + below.get(column, 0) for column in line})
        below = {column: heights[-1][column] for column in line if line[column] == "continue"}
    heights.reverse()
    spanning = set[int]()
    for line, counts in zip(merges, heights, strict=True):
        spanning = {column for column in spanning if line.get(column) == "continue"}
        counts |= {column: 1 for column in line if line[column] != "restart"}
        counts |= dict.fromkeys(spanning, 0)
        spanning |= {column for column in line if line[column] == "restart"}
    return heights
