"""Prompts are text files with $fields; a missing field is an error."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from string import Template

from shared.ports import Message


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
