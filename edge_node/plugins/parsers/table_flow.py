"""Tables in formats whose tables are paragraphs with marks (rich text, Word before 2007)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from edge_node.documents.blocks import Block, TextBlock
from edge_node.documents.grid_cells import GridCell
from edge_node.documents.grids import Grid, laid_out
from edge_node.plugins.parsers.cells import Merge, cell_heights

MOST_LEVELS = 12  # of tables in tables
_NEAR = 40  # twips: edges of cells that are nearer are the same


@dataclass(frozen=True, slots=True)
class Edge:
    """The right side of a cell in twips.

    ``merge``: with the cells above it; ``is_joined``: with the cell to its left.
    """

    right: int
    merge: Merge = ""
    is_joined: bool = False


@dataclass(slots=True)
class _Table:
    """A table that is being read; each row with the edges of its cells, where they fit."""

    rows: list[tuple[list[str], list[Edge]]] = field(default_factory=list)
    cells: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)


@dataclass(slots=True)
class TableFlow:
    """Collects paragraphs, cells and rows into blocks.

    ``after``: what belongs behind the paragraph or the table that is being read.
    """

    blocks: list[Block] = field(default_factory=list)
    after: list[Block] = field(default_factory=list)
    _tables: list[_Table] = field(default_factory=list)

    def paragraph(self, block: TextBlock, depth: int) -> None:
        """Add a paragraph, which stands so deep in tables: 0 outside of them."""
        self._at(min(depth, MOST_LEVELS))
        if self._tables:
            self._tables[-1].texts += [block.text] if block.text else []
            return
        self.blocks += [block] if block.text else []
        self._put_after()

    def end_cell(self, block: TextBlock, depth: int) -> None:
        """End a cell with its last paragraph."""
        self.paragraph(block, max(depth, 1))
        table = self._tables[-1]
        table.cells.append("\n".join(table.texts))
        table.texts = []

    def end_row(self, depth: int, edges: Iterable[Edge]) -> None:
        """End a row of the table that is so deep."""
        self._at(min(max(depth, 1), MOST_LEVELS))
        table = self._tables[-1]
        sides = list(edges)
        if table.cells:
            table.rows.append((table.cells, sides if len(sides) == len(table.cells) else []))
            table.cells = []

    def finish(self) -> list[Block]:
        """End all tables, and return the blocks."""
        self._at(0)
        self._put_after()
        return self.blocks

    def _at(self, depth: int) -> None:
        """End the tables that lie deeper. One in a cell stands behind the table around it."""
        while len(self._tables) > depth:
            table = self._tables.pop()
            if table.cells:
                table.rows.append((table.cells, []))
            text = "\n".join(table.texts)
            has_tables = any(isinstance(block, Grid) for block in self.after)
            grid = _grid(table, needs_proof=has_tables)
            blocks: list[Block] = [grid] if table.rows else []
            blocks += [TextBlock("paragraph", text)] if text else []
            if self._tables:
                self.after += blocks
            else:
                self.blocks += blocks
                self._put_after()
        while len(self._tables) < depth:
            self._tables.append(_Table())

    def _put_after(self) -> None:
        self.blocks += self.after
        self.after = []


_PlacedCell = tuple[int, GridCell, Merge]  # its column, the cell, how it is merged


def _grid(table: _Table, *, needs_proof: bool) -> Grid:
    """A table whose cells span the columns that the edges of all rows make.

    ``needs_proof``: it holds tables, and may only lay out what is in it.
    """
    columns = list[int]()
    for edge in sorted({edge.right for _, edges in table.rows for edge in edges}):
        if not columns or edge - columns[-1] > _NEAR:
            columns.append(edge)
    rows = [_placed(cells, edges, columns) for cells, edges in table.rows]
    heights = cell_heights([{column: merge for column, _, merge in line} for line in rows])
    laid = list[list[GridCell]]()
    for line, counts in zip(rows, heights, strict=True):
        shown = [(cell, counts[column]) for column, cell, _ in line if counts[column]]
        laid.append([replace(cell, rows=count) for cell, count in shown])
    return laid_out(laid, needs_proof=needs_proof)


def _placed(cells: list[str], edges: list[Edge], columns: list[int]) -> list[_PlacedCell]:
    """The cells of a row with their columns."""
    if not edges:
        return [(at, GridCell(text), "") for at, text in enumerate(cells)]
    placed = list[_PlacedCell]()
    column = 0
    for text, edge in zip(cells, edges, strict=True):
        end = max(bisect_left(columns, edge.right - _NEAR) + 1, column + 1)
        if edge.is_joined and placed:
            start, cell, merge = placed.pop()
            placed.append((start, replace(cell, columns=end - start), merge))
        else:
            placed.append((column, GridCell(text, columns=end - column), edge.merge))
        column = end
    return placed
