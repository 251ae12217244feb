"""Choices of a policy written into the text of its file: the lines that they concern change, all others stay as their owner wrote them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from edge_node.policy.rules import EscalationMode, Identifier, Policy, parse
from edge_node.records import Share
from shared.errors import InputError

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_VALUE = r"""("[^"]*"|'[^']*'|\[[^\]#]*\]|[^\s#\[]+)"""
_HEADER = re.compile(r"\s*\[")


@dataclass(frozen=True, slots=True)
class Choices:
    """What is chosen; a label that is not among ``labels`` stays as it is."""

    unlabelled: Share
    questions: EscalationMode
    labels: Mapping[str, Share]
    identifiers: tuple[Identifier, ...]

    def of(self, policy: Policy) -> Policy:
        """The policy with these choices in the place of its own."""
        redact = policy.redact.model_copy(update={"identifiers": list(self.identifiers)})
        chosen = {"unlabelled": self.unlabelled, "questions": self.questions, "labels": {**policy.labels, **self.labels}}
        return policy.model_copy(update={**chosen, "redact": redact})


def shared(policy: Policy, share: Share, label: str, questions: EscalationMode | None) -> Choices:
    """The choices of a policy, with another share of documents without a label, or with that label; and other questions, if any.

    >>> shared(Policy(version=1), "summary", "", None).questions
    'yes'
    """
    labels = {label: share} if label else {}
    unlabelled = policy.unlabelled if label else share
    return Choices(unlabelled, questions or policy.questions, labels, tuple(policy.redact.identifiers))


def written(text: str, choices: Choices) -> str:
    r"""The text with these choices. Raises InputError where it is written in a way that cannot be changed so.

    >>> print(written('version = 1\nunlabelled = "full"  # ours\n', Choices("never", "yes", {"public": "full"}, ())))
    version = 1
    unlabelled = "never"  # ours
    <BLANKLINE>
    [labels]
    public = "full"
    <BLANKLINE>
    """
    before = parse(text)
    wanted, lines = choices.of(before), text.split("\n")
    if wanted.unlabelled != before.unlabelled:
        _set(lines, "", "unlabelled", wanted.unlabelled)
    if wanted.questions != before.questions:
        _set(lines, "", "questions", wanted.questions)
    for label, share in wanted.labels.items():
        if before.labels.get(label) != share:
            _set(lines, "labels", label, share)
    if wanted.redact != before.redact:
        _set(lines, "redact", "identifiers", wanted.redact.identifiers)
    changed = "\n".join(lines)
    try:
        is_so = parse(changed) == wanted
    except InputError:
        is_so = False
    if not is_so:
        raise InputError("the text of this policy is written in a way that choices cannot change", next_step="change it as text")
    return changed


def _set(lines: list[str], section: str, key: str, value: object) -> None:
    """Put a setting where it stands already, else first in its section, else with its section at the end."""
    name, said = key if _BARE.fullmatch(key) else json.dumps(key, ensure_ascii=False), json.dumps(value, ensure_ascii=False)
    first, last = _section(lines, section)
    if first is None:
        lines[:] = [*"\n".join(lines).rstrip("\n").split("\n"), "", f"[{section}]", f"{name} = {said}", ""]
        return
    forms = "|".join(re.escape(form) for form in {name, json.dumps(key, ensure_ascii=False), f"'{key}'"})
    there = re.compile(rf"(\s*(?:{forms})\s*=\s*){_VALUE}(.*)", re.DOTALL)
    for row in range(first, last):
        if found := there.fullmatch(lines[row]):
            lines[row] = f"{found[1]}{said}{found[3]}"
            return
    row = first if section else next((row + 1 for row in range(first, last) if lines[row].lstrip().startswith("version")), first)
    lines.insert(row, f"{name} = {said}")


def _section(lines: list[str], section: str) -> tuple[int | None, int]:
    """The lines of a section behind its header, [first, last); "": those before any header. No first: there is none."""
    header = re.compile(rf"\s*\[\s*{re.escape(section)}\s*\]\s*(#.*)?")
    first = 0 if not section else next((row + 1 for row, line in enumerate(lines) if header.fullmatch(line)), None)
    return first, next((row for row in range(first or 0, len(lines)) if _HEADER.match(lines[row])), len(lines))
