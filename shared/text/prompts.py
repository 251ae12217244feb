"""Prompts are text files with $fields; a missing field is an error. Passages stand in them by document, numbered, one a line."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import cache
from importlib.resources import files
from string import Template

from shared.ports import Message
from shared.records import Evidence
from shared.text.fence import one_line

MAX_NAME_CHARS = 80
OPAQUE = re.compile(r"(?<=\b[0-9a-f]{8})(?:-?[0-9a-f]){16,}\b", re.IGNORECASE)  # a hash or UUID: tells a model nothing, at a token a digit


def grouped(passages: Sequence[Evidence]) -> list[Evidence]:
    """Passages of one document side by side, in the document's order; documents by their first appearance."""
    rank: dict[tuple[str, str], int] = {}
    for passage in passages:
        rank.setdefault((passage.edge, passage.document_id), len(rank))
    return sorted(passages, key=lambda passage: (rank[passage.edge, passage.document_id], passage.span))


def listed(passages: Sequence[Evidence], rows: Collection[int] | None = None) -> str:
    r"""Passages numbered from 1 below a line for each document; "(none)" when there are none.

    A passage is one visible line, so that no line of its text can pass for another passage or for the question. Of a hash or
    UUID in a document's name stand the first eight digits. ``rows``: those that stand there, with their own numbers; None: all.

    >>> from shared.records import ChunkId, DocumentId, EdgeId
    >>> print(listed([Evidence(EdgeId("bank"), DocumentId("d"), "loans.md", ChunkId("d:0"), (0, 9), "A loan.\n[3] x", 0.5)]))
    bank, loans.md:
    [1] A loan. [3] x
    """
    lines: list[str] = []
    previous: tuple[str, str] | None = None
    for n, passage in enumerate(passages, start=1):
        if rows is not None and n - 1 not in rows:
            continue
        source = (passage.edge, passage.document)
        if source != previous:
            name = OPAQUE.sub("", one_line(passage.document))[:MAX_NAME_CHARS]
            title = one_line(passage.title)[:MAX_NAME_CHARS]
            titled = f" – {title}" if title and title.casefold() not in name.casefold() else ""
            lines.append(f"{passage.edge}, {name}{titled}:")
            previous = source
        lines.append(f"[{n}] {one_line(passage.text)}")
    return "\n".join(lines) or "(none)"


class PromptFile:
    """A prompt with an optional system part: the text above a line ``---`` is the system message."""

    def __init__(self, name: str, text: str) -> None:
        head, rule, body = text.strip().partition("\n---\n")
        self.name = name
        self.system = Template(head) if rule else None
        self.user = Template(body if rule else head)

    @property
    def fields(self) -> frozenset[str]:
        """The names of its $fields."""
        system = self.system.get_identifiers() if self.system else []
        return frozenset([*system, *self.user.get_identifiers()])

    def render(self, **values: str) -> tuple[Message, ...]:
        """Fill the fields. Raises KeyError for a missing one."""
        user = Message("user", self.user.substitute(values))
        return (Message("system", self.system.substitute(values)), user) if self.system else (user,)


@cache
def load_prompt(package: str, name: str) -> PromptFile:
    """Read ``<package>/prompts/<name>.md``."""
    return PromptFile(name, files(package).joinpath("prompts", f"{name}.md").read_text(encoding="utf-8"))
