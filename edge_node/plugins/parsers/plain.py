"""Plain text: paragraphs as they are parted by blank lines, wrapped ones on one line."""

from __future__ import annotations

import re
from collections.abc import Iterator

from edge_node.documents.blocks import ParsedDocument, TextBlock
from edge_node.documents.parsers import Parser
from edge_node.documents.text import MAX_TEXT_CHARS, stem, too_large
from edge_node.plugins.parsers.charsets import decoded
from edge_node.plugins.parsers.wrapping import unwrapped

MAX_TITLE_CHARS = 120
_BLANK_LINES = re.compile(r"\n(?:[^\S\n]*\n)+")
_LINE_ENDS = re.compile("\r\n?|[\x0b\x0c\x85\u2028\u2029]")
_UNDERLINED = re.compile(r"([^\n]{1,120})\n([=\-~])\2{2,}[ \t]*\Z")


def parse_plain(name: str, data: bytes) -> ParsedDocument:
    """Plain text; its title is a short first paragraph that is no sentence, else the file's name.

    Raises UnreadableDocument (``not_text``, ``too_large``).
    """
    source = decoded(name, data)
    if len(source.text) > MAX_TEXT_CHARS:
        raise too_large(name, f"holds more than {MAX_TEXT_CHARS} characters of text")
    text = source.text.replace("\r\n", "\n")
    first = _BLANK_LINES.split(text.lstrip()[:400], maxsplit=1)[0]
    headline = " ".join(first.split()).strip("=-~ ")
    is_title = 0 < len(headline) <= MAX_TITLE_CHARS and headline[-1] not in ".!?:;,"
    blocks = tuple(paragraphs(text))
    return ParsedDocument(blocks, headline if is_title else stem(name), source.shortfalls)


def paragraphs(text: str) -> Iterator[TextBlock]:
    r"""The paragraphs of plain text; one underlined line is a heading.

    >>> [block.kind for block in paragraphs("Pumps\n=====\n\nThe racing pump\nstands here.")]
    ['heading', 'paragraph']
    """
    for block in _BLANK_LINES.split(_LINE_ENDS.sub("\n", text).strip("\n")):
        underlined = _UNDERLINED.match(block)
        if underlined and any(map(str.isalpha, underlined.group(1))):
            level = 1 if underlined.group(2) == "=" else 2
            yield TextBlock("heading", underlined.group(1).strip(), level)
        else:
            yield TextBlock("paragraph", unwrapped(block))


TEXT = Parser(
    "text",
    3,
    parse_plain,
    media_types={
        ".log": "text/plain",
        ".text": "text/plain",
        ".txt": "text/plain",
    },
)
