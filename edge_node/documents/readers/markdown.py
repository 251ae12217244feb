"""Markdown: the text stays as written, less the signs that are there for a renderer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from edge_node.documents.readers.lines import unwrapped
from edge_node.documents.readers.plain import decoded
from edge_node.documents.readers.text import ReadText, capped, stem, table_sentences

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_FRONT_TITLE = re.compile(r"^title:[ \t]*(.+)$", re.MULTILINE | re.IGNORECASE)
_HEADING = re.compile(r"(#{1,6})[ \t]+(.*)")
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
_TABLE_ROW = re.compile(r"^\s*\|.*\|\s*$")
_TABLE_RULE = frozenset("|:- \t")
_NOISE_LINE = re.compile(r"^(?: {0,3}(?:[-*_][ \t]*){3,}| {0,3}\[[^\]]+\]:\s++\S.*)$")  # rulers and link definitions
_HARD_BREAK = re.compile(r"(?: {2}|\\)$")  # the line ends here, whatever follows
_COMMENT = re.compile(r"<!--(?:(?!<!--).)*?-->", re.DOTALL)
_INLINE = (
    (
        re.compile(
            r"(?<!(?<!\\)\\)!?\[((?:[^\[\]\\\n]|\\.){0,500})\](?:\([^()\s]*(?:\([^()\s]*\)[^()\s]*)?(?:\s+\"[^\"\n]*\")?\)|\[[^\[\]\n]*\])"
        ),
        r"\1",
    ),
    (re.compile(r"<((?:https?|mailto):[^<>\s]+)>"), r"\1"),
    (re.compile(r"</?[A-Za-z][^<>\n]*>"), " "),
    (re.compile(r"(?<![\w*])(\*{1,3})(?=[^\s*])([^*\n]*[^\s*])\1(?![\w*])"), r"\2"),
    (re.compile(r"(?<![\w_])(_{1,3})(?=[^\s_])([^\n]{0,300}?[^\s_])\1(?![\w_])"), r"\2"),
    (re.compile(r"(?<!`)(`{1,2})(?!`)([^`\n]+)\1(?!`)"), r"\2"),
    (re.compile(r"\\([\\`*_{}\[\]()#+\-.!|<>~])"), r"\1"),
)


def read_markdown(name: str, data: bytes) -> ReadText:
    """Return Markdown without front matter, link targets, emphasis and rulers; headings and list signs stay.

    A table's rows become sentences that name their columns. The title is the front matter's, else the first heading.
    """
    text = decoded(name, data).replace("\r\n", "\n")
    front = _FRONT_MATTER.match(text)
    lines = _COMMENT.sub("", text[front.end() :] if front else text).split("\n")
    body = capped(name, rendered(lines))
    stated = _FRONT_TITLE.search(front.group(1)) if front else None
    if stated:
        return ReadText(stated.group(1).strip().strip("\"'"), body)
    heading = next((match.group(2) for match in map(_HEADING.match, body.split("\n")) if match), "")
    return ReadText(heading or stem(name), body)


def rendered(lines: Iterable[str]) -> Iterator[str]:
    """Lines of Markdown without the signs that are there for a renderer: a wrapped paragraph as one, a table's row as a sentence."""
    fence = ""
    table, prose = list[str](), list[str]()  # what stands together; one of them is empty
    for line in lines:
        mark = _FENCE.match(line)
        if mark and (not fence or mark.group(1).startswith(fence)):
            yield from _ended(table, prose)
            fence = "" if fence else mark.group(1)
        elif fence:
            yield line
        elif _TABLE_ROW.match(line):
            yield from _ended([], prose)
            table.append(line)
        else:
            yield from _ended(table, prose if _NOISE_LINE.match(line) else [])
            prose += [] if _NOISE_LINE.match(line) else [_plain_line(line)]
            yield from _ended([], prose if _HARD_BREAK.search(line) else [])
    yield from _ended(table, prose)


def _ended(table: list[str], prose: list[str]) -> list[str]:
    """The lines of what has stood together until here; both lists are empty then."""
    said = [*_table(table), *(unwrapped("\n".join(prose)).split("\n") if prose else ())]
    table.clear()
    prose.clear()
    return said


def _table(lines: list[str]) -> list[str]:
    rows = [[_inline(cell) for cell in re.split(r"(?<!\\)\|", line.strip()[1:-1])] for line in lines if not _TABLE_RULE.issuperset(line)]
    return table_sentences(rows)


def _plain_line(line: str) -> str:
    line = re.sub(r"^(?: {0,3}> ?)+", "", line)
    if heading := _HEADING.match(line):
        return f"{heading.group(1)} {_inline(heading.group(2).strip().rstrip('#').rstrip())}"
    return re.sub(r"^(\s*)[*+](?=\s)", r"\1-", _inline(line))


def _inline(text: str) -> str:
    for pattern, kept in _INLINE:
        text = pattern.sub(kept, text)
    return text
