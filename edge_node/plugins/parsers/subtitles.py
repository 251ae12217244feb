"""Subtitles (.srt, .vtt): what is spoken, with the time at which it is."""

from __future__ import annotations

import re
from collections.abc import Iterator

from edge_node.documents.blocks import Block, ParsedDocument, Place, TextBlock
from edge_node.documents.parsers import Parser
from edge_node.documents.text import stem
from edge_node.plugins.parsers.charsets import decoded

MIN_PARAGRAPH = 200  # characters, up to the next sentence's end
_CUE = re.compile(r"^[ \t]*((?:\d+:)?\d\d:\d\d)[,.]\d{3}[ \t]+-->.*$")
_SPEAKER = re.compile(r"<v(?:\.[^\s<>]{0,100}+)?[ \t]{1,9}+([^<>]{1,100})>")
_TAG = re.compile(r"<[^<>]{0,100}>|\{\\[^{}]{0,100}\}")
_ENDED = re.compile(r"[.!?…][\"'”’)]*$")


def parse_subtitles(name: str, data: bytes) -> ParsedDocument:
    """Paragraphs of whole sentences; a place is a time.

    Raises UnreadableDocument (``not_text``).
    """
    source = decoded(name, data)
    return ParsedDocument(tuple(_blocks(source.text)), stem(name), source.shortfalls)


def _blocks(text: str) -> Iterator[Block]:
    time = ""
    lines = list[str]()
    for start, cue in _cues(text):
        time = time or start
        lines += cue
        length = sum(map(len, lines))
        if lines and length > MIN_PARAGRAPH and _ENDED.search(lines[-1]):
            yield Place(time)
            yield TextBlock("paragraph", _joined(lines))
            time = ""
            lines.clear()
    if lines:
        yield Place(time)
        yield TextBlock("paragraph", _joined(lines))


def _joined(lines: list[str]) -> str:
    """Lines of one speaker as one."""
    return re.sub(r" (?=- )", "\n", " ".join(lines))


def _cues(text: str) -> Iterator[tuple[str, list[str]]]:
    """Each cue's time and lines; the number or name above its time is none of them."""
    time = ""
    for block in re.split(r"\n[ \t]*\n", text.replace("\r\n", "\n").replace("\r", "\n")):
        lines = block.strip("\n").split("\n")
        at = next((at for at, line in enumerate(lines) if _CUE.match(line)), -1)
        if at < 0:
            continue
        time = _CUE.sub(r"\1", lines[at])
        shown = (_TAG.sub("", _SPEAKER.sub(r"\1: ", line)).strip() for line in lines[at + 1 :])
        yield time, list(filter(None, shown))


SUBTITLES = Parser(
    "subtitles",
    1,
    parse_subtitles,
    media_types={
        ".srt": "application/x-subrip",
        ".vtt": "text/vtt",
    },
)
