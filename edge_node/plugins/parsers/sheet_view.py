"""How a sheet looks: what calamine, which reads its values, does not say."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter

CellFormat = tuple[int, int, str]  # row and column from 0, and the format code of its number


def no_formats() -> Iterable[CellFormat]:
    """The formats of a sheet whose numbers have none."""
    return ()


@dataclass(slots=True)
class SheetView:
    """Rows and columns count from 0.

    ``formats`` gives anew the formats of cells, by row; not those that change nothing.
    ``struck``: by row, the columns of cells that are struck through.
    ``notes``: cell ("B2") and words. ``texts``: of text boxes, and titles of charts.
    ``errors``: cells like "#N/A"; ``uncomputed``: formulas whose value the file lacks;
    ``unread_parts``: files in the file, of notes, formats or drawings, that are damaged, or more
    than are read. ``margins``: headers and footers with words; ``pictures``: large ones.
    """

    formats: Callable[[], Iterable[CellFormat]] = no_formats
    hidden_rows: set[int] = field(default_factory=set)
    hidden_columns: set[int] = field(default_factory=set)
    struck: dict[int, set[int]] = field(default_factory=dict)
    notes: list[tuple[str, str]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    errors: int = 0
    uncomputed: int = 0
    unread_parts: int = 0
    margins: int = 0
    pictures: int = 0
    embedded: int = 0

    def codes_by_row(self) -> Iterator[tuple[int, Mapping[int, str]]]:
        """Each row with formats, and the code of each of its columns that has one."""
        for row, cells in groupby(self.formats(), key=itemgetter(0)):
            yield row, {column: code for _, column, code in cells}


def column_letters(column: int) -> str:
    """A column as sheets name it.

    >>> [column_letters(column) for column in (0, 25, 26, 701, 702)]
    ['A', 'Z', 'AA', 'ZZ', 'AAA']
    """
    letters = ""
    column += 1
    while column:
        column, rest = divmod(column - 1, 26)
        letters = chr(65 + rest) + letters
    return letters


def column_number(letters: str) -> int:
    """A column from 0 by its letters.

    >>> [column_number(letters) for letters in ("A", "Z", "AA", "AAA")]
    [0, 25, 26, 702]
    """
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - 64
    return number - 1
