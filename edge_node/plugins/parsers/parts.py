"""Documents in documents: parts of an archive, attachments of a mail, each below its name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace

from edge_node.documents import text as limits
from edge_node.documents.blocks import Block, ParsedDocument, Place, TextBlock
from edge_node.documents.grids import Grid
from edge_node.documents.parsers import Inside
from edge_node.documents.text import one_line, too_large
from shared.errors import UnreadableDocument
from shared.plural import counted

__all__ = ["Inside", "Parts", "block_length"]
MAX_REPORTED = 20  # parts that could not be read and are named
MAX_MESSAGE_CHARS = 300


@dataclass
class Parts:
    """Blocks of several documents, one below the other, and why others are not among them."""

    name: str
    blocks: list[Block] = field(default_factory=list)
    shortfalls: list[tuple[str, str]] = field(default_factory=list)
    failures: list[UnreadableDocument] = field(default_factory=list)
    length: int = 0

    def add(self, blocks: Iterable[Block]) -> None:
        """Raises UnreadableDocument (``too_large``) where they are too many characters together."""
        for block in blocks:
            self.length += block_length(block)
            if self.length > limits.MAX_TEXT_CHARS:
                message = f"holds more than {limits.MAX_TEXT_CHARS} characters of text"
                raise too_large(self.name, message)
            self.blocks.append(block)

    def add_part(self, part: str, parse: Callable[[], ParsedDocument]) -> None:
        """The blocks of a part below its name, or why it cannot be read."""
        try:
            document = parse()
        except UnreadableDocument as error:
            self.failures.append(error)
            return
        if not document.blocks:
            return
        shown = one_line(part)
        self.add([Place(shown), TextBlock("heading", shown, 1), *_placed(document.blocks, shown)])
        self.shortfalls += [(code, f"{shown}: {message}") for code, message in document.shortfalls]

    def document(self, title: str) -> ParsedDocument:
        """All of it. Raises UnreadableDocument for the first part's reason if no part was read."""
        if not self.blocks and self.failures:
            first = self.failures[0]
            message = first.message[:MAX_MESSAGE_CHARS]
            raise UnreadableDocument(self.name, first.reason, message, next_step=first.next_step)
        shortfalls = (*self.shortfalls, *self._unread())
        return ParsedDocument(tuple(self.blocks), title, shortfalls)

    def _unread(self) -> Iterator[tuple[str, str]]:
        for error in self.failures[:MAX_REPORTED]:
            yield "part_unread", error.message[:MAX_MESSAGE_CHARS]
        if (others := len(self.failures) - MAX_REPORTED) > 0:
            yield "part_unread", f"{counted(others, 'more part')} could not be read."


def block_length(block: Block) -> int:
    """How many characters it holds, about."""
    match block:
        case TextBlock():
            return len(block.text) + 2
        case Grid(slots=tuple() as rows):
            return sum(len(cell.text) + 2 for row in rows for cell in row)
        case _:
            return 0


def _placed(blocks: Iterable[Block], part: str) -> Iterator[Block]:
    """The blocks of a part with the part's name in their places."""
    for block in blocks:
        match block:
            case Place():
                yield Place(f"{part}, {block.name}" if block.name else part)
            case Grid():
                yield replace(block, name=f"{part}, {block.name}" if block.name else part)
            case _:
                yield block
