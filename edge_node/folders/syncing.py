"""One run: look, plan, do. A kill at any moment leaves what the next run sets right."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import PurePosixPath
from typing import Any

from edge_node.folders.memory import Memory
from edge_node.folders.plan import Plan, missing, planned
from edge_node.folders.records import Found, Held, Problem, Source, Survey, Target, Wishes
from edge_node.records import document_id

MOST_TRIED = 50  # former names, for one file
TOGETHER = 32  # deletions at once: an edge settles, and overwrites what was deleted, once for all that came meanwhile


@dataclass(frozen=True, slots=True)
class Look:
    """What there is to do, and what cannot be done."""

    plan: Plan
    files: int
    problems: tuple[Problem, ...]
    left_out: tuple[str, ...]


@dataclass(slots=True)
class Done:
    """What a run did; ``sent``: the documents whose content went to the edge."""

    look: Look
    sent: list[Found] = field(default_factory=list)
    sent_bytes: int = 0
    renamed: int = 0
    problems: list[Problem] = field(default_factory=list)

    def refused(self, name: str, reason: str) -> None:
        """Note why something was not done; "": it was."""
        self.problems += [Problem(name, reason)] if reason else []


async def look(source: Source, target: Target, memory: Memory, wishes: Wishes) -> Look:
    """Compare a source with an edge. Raises Conflict as ``planned``, and as source and target."""
    survey = await asyncio.to_thread(source.survey)
    held = await target.held()
    gone = missing(survey, held, wishes.source)
    found, unread = await asyncio.to_thread(identified, source, survey, memory, gone)
    plan = planned(found, gone, held, wishes)
    problems = (*survey.problems, *unread, *plan.problems)
    return Look(plan, len(survey.entries), problems, survey.left_out)


def identified(source: Source, survey: Survey, memory: Memory, gone: Sequence[Held]) -> tuple[list[Found], list[Problem]]:
    """Each file with its document's id, and those that cannot be read; what the memory knows by its mark is not read.

    What is damaged at the edge has no content to be renamed with: its file is sent. A renamed one is remembered once the edge has its name.
    """
    found, problems, lost = list[Found](), list[Problem](), _Lost(one for one in gone if not one.is_damaged)
    for entry in survey.entries:
        if (known := memory.recall(entry)) is not None:
            found.append(Found(entry, known))
            continue
        try:
            raw = source.read(entry)
        except OSError as error:
            problems.append(Problem(entry.name, f"it cannot be read: {error.strerror or error}"))
            continue
        found.append(Found(entry, document_id(entry.name, raw), lost.taken(entry.name, raw)))
    memory.keep(file for file in found if not file.was)
    return found, problems


class _Lost:
    """Documents whose files are gone, by size. An id is a hash of name and content, so each try reads the content once more."""

    def __init__(self, documents: Iterable[Held]) -> None:
        self._by_size, self._by_name = defaultdict[int, dict[str, Held]](dict), defaultdict[tuple[int, str], list[Held]](list)
        for one in documents:
            self._by_size[one.size][one.name] = one
            self._by_name[one.size, PurePosixPath(one.name).name].append(one)

    def taken(self, name: str, raw: bytes) -> str:
        """The former name of a file of this content, "" for none; of two copies of a file only one is its new name.

        Those of the same last name come first, as when a folder was renamed; behind ``MOST_TRIED`` the file counts as new.
        """
        alike = self._by_size[len(raw)]
        same = (one for one in self._by_name[len(raw), PurePosixPath(name).name] if one.name in alike)
        for one in islice(chain(same, alike.values()), MOST_TRIED):
            if document_id(one.name, raw) == one.document_id:
                return alike.pop(one.name).name
        return ""


async def apply(
    what: Look, source: Source, target: Target, memory: Memory, wishes: Wishes, advance: Callable[[int], None] = lambda _: None
) -> Done:
    """Do what a look found; content comes before deletions. ``advance`` hears of bytes sent.

    A changed document answers in its former version meanwhile; a renamed one is missing until it is indexed under its new name.
    A file that is refused, or cannot be read, stops no other. Raises as the target.
    """
    done, plan = Done(what, problems=list(what.problems)), what.plan
    for file in plan.sends:
        await _send(file, source, target, memory, wishes, done)
        advance(file.entry.size)
    for one, file in plan.renamed:
        if reason := await target.rename(one.document_id, file.entry.name, wishes):
            done.problems.append(Problem(file.entry.name, reason))
            continue
        done.renamed += 1
        if wishes.labels is not None and one.labels != frozenset(wishes.labels):
            done.refused(file.entry.name, await target.relabel(file.document_id, wishes))
        for identity in one.older:
            done.refused(one.name, await target.remove(identity, wishes))
    for one in plan.relabelled:
        done.refused(one.name, await target.relabel(one.document_id, wishes))
    for start in range(0, len(plan.deleted), TOGETHER):
        await asyncio.gather(*(_delete(one, target, wishes, done) for one in plan.deleted[start : start + TOGETHER]))
    return done


async def _delete(one: Held, target: Target, wishes: Wishes, done: Done) -> None:
    for identity in (*one.older, one.document_id):  # as long as the newest is there, its source tells whose the name is
        done.refused(one.name, await target.remove(identity, wishes))


async def _send(file: Found, source: Source, target: Target, memory: Memory, wishes: Wishes, done: Done) -> None:
    name = file.entry.name
    refused, reason = memory.refused.get(name, ("", ""))
    if refused != file.document_id:
        try:
            raw = await asyncio.to_thread(source.read, file.entry)
        except OSError as error:
            done.problems.append(Problem(name, f"it cannot be read: {error.strerror or error}"))
            return
        refusal = await target.send(name, raw, wishes)
        memory.refused.pop(name, None)
        if refusal is None:
            done.sent.append(file)
            done.sent_bytes += len(raw)
            return
        reason = refusal.reason
        if refusal.is_of_content:
            memory.refused[name] = (document_id(name, raw), reason)
    done.problems.append(Problem(name, reason))


def names(files: Iterable[Found]) -> list[str]:
    """The names of files."""
    return [file.entry.name for file in files]


def as_body(what: Look) -> dict[str, Any]:
    """A look as one JSON value."""
    plan = what.plan
    return {
        "added": names(plan.new),
        "changed": names(plan.changed),
        "adopted": names(plan.adopted),
        "renamed": [{"from": one.name, "to": file.entry.name} for one, file in plan.renamed],
        "relabelled": [one.name for one in plan.relabelled],
        "deleted": [one.name for one in plan.deleted],
        "unchanged": plan.unchanged,
        "foreign": plan.foreign,
        "kept": plan.kept,
        "left_out": list(what.left_out),
        "problems": [{"name": problem.name, "reason": problem.reason} for problem in what.problems],
    }
