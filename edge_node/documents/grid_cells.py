"""Cells of a grid, and its rows as they are compared and read."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass

from edge_node.records import Cell


@dataclass(frozen=True, slots=True)
class GridCell:
    """A cell as its file has it.

    ``text``: as a person sees it; ``value``: the number behind it, where there is one.
    ``columns`` and ``rows``: how many slots it covers. ``is_heading``: the file says that it is one
    (``<th>``, a header row).
    """

    text: str
    value: Cell = None
    columns: int = 1
    rows: int = 1
    is_heading: bool = False


@dataclass(frozen=True, slots=True)
class GridRow:
    """A row with words in it; ``texts``: its cells' words with single blanks, "" for none."""

    number: int
    cells: Sequence[GridCell]
    texts: Sequence[str]

    def entries(self) -> list[int]:
        """The slots of its filled cells; of a cell that spans several, the first."""
        return [at for at, text in enumerate(self.texts) if text and not self.goes_on(at)]

    def goes_on(self, at: int) -> bool:
        """Whether a slot shows the same cell as the one to its left."""
        return at > 0 and self.cells[at] is self.cells[at - 1]

    def pairs(self, names: Container[int]) -> list[list[str]]:
        """Each name with the values to its right, none where its field is empty.

        ``names``: the slots of names; a cell that ends in a colon is one too, and one next to a
        name that spans several slots is its value.
        """
        pairs = list[list[str]]()
        for slot in self.entries():
            text = self.texts[slot]
            is_first_value = bool(pairs) and len(pairs[-1]) == 1 and self.goes_on(slot - 1)
            is_name = slot in names and not is_first_value
            if not pairs or is_name or text.endswith(":"):
                pairs.append([])
            pairs[-1].append(text)
        return pairs

    def part(self, start: int, stop: int) -> GridRow:
        """The row with nothing in its slots before and behind [start, stop)."""
        blank = GridCell("")
        cells = [blank] * start + list(self.cells[start:stop])
        return GridRow(self.number, cells, [""] * start + list(self.texts[start:stop]))

    def text(self, start: int, stop: int) -> str:
        """The words in slots [start, stop); a cell that covers several says them once."""
        texts = list[str]()
        for at in range(start, min(stop, len(self.texts))):
            is_repeated = at > start and self.goes_on(at)
            if self.texts[at] and not is_repeated:
                texts.append(self.texts[at])
        return " ".join(texts)

    @property
    def is_marked(self) -> bool:
        """Whether the file says of each filled cell that it is a heading."""
        cells = zip(self.cells, self.texts, strict=True)
        return all(cell.is_heading for cell, text in cells if text)

    @property
    def extent(self) -> tuple[int, int]:
        """Its first and its last slot with a word."""
        first = 0
        while not self.texts[first]:
            first += 1
        last = len(self.texts) - 1
        while not self.texts[last]:
            last -= 1
        return first, last
