"""What to do so that an edge equals a source: pure, from what both have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from edge_node.folders.records import Found, Held, Problem, Survey, Wishes
from shared.errors import Conflict
from shared.plural import counted

FEW = 10  # so many of a sync's files may go at once without being asked for, as long as some stay
TAKEN = "a document of this name came another way, and stays as it is; delete it, or sync with --adopt"


@dataclass(frozen=True, slots=True)
class Plan:
    """The steps of one run, each in the order of names."""

    new: tuple[Found, ...] = ()
    changed: tuple[Found, ...] = ()
    adopted: tuple[Found, ...] = ()  # documents that are the same as their files, and came another way: they become this sync's
    renamed: tuple[tuple[Held, Found], ...] = ()
    relabelled: tuple[Held, ...] = ()
    deleted: tuple[Held, ...] = ()
    unchanged: int = 0
    foreign: int = 0  # documents that are the same as their files, and came another way: a file that goes takes none of them along
    kept: int = 0  # documents whose files are gone, and that are to stay
    problems: tuple[Problem, ...] = ()

    @property
    def sends(self) -> tuple[Found, ...]:
        """The files whose content goes to the edge."""
        return self.changed + self.adopted + self.new

    @property
    def steps(self) -> int:
        """How many there are; 0: edge and source are equal."""
        return len(self.sends) + len(self.renamed) + len(self.relabelled) + len(self.deleted)


def missing(survey: Survey, held: Mapping[str, Held], source: str) -> list[Held]:
    """The documents of a source whose files are not there; of a folder that cannot be read none counts as gone."""
    there = {entry.name for entry in survey.entries} | {problem.name for problem in survey.problems}
    return [one for name, one in sorted(held.items()) if one.source == source and name not in there and not name.startswith(survey.unseen)]


def planned(found: Sequence[Found], gone: Sequence[Held], held: Mapping[str, Held], wishes: Wishes) -> Plan:
    """The steps. Raises Conflict where so many files are gone that the source is rather not there, as one that is not mounted."""
    movable = () if wishes.keep_deleted else found
    moves = {file.was: file for file in movable if file.was and file.entry.name not in held}  # a rename would replace what has the name
    lost = [one for one in gone if one.name not in moves]
    if not (wishes.force or wishes.keep_deleted):
        _check(lost, sum(one.source == wishes.source for one in held.values()))
    foreign = 0
    new = [file for file in found if file.entry.name not in held and moves.get(file.was) is not file]
    changed, adopted, relabelled, problems = list[Found](), list[Found](), list[Held](), list[Problem]()
    for file in found:
        if (one := held.get(file.entry.name)) is None:
            continue
        is_mine, is_same = one.source == wishes.source, one.document_id == file.document_id
        if is_same and not one.is_damaged:
            if not is_mine:
                adopted += [file] if wishes.adopt else []
                foreign += not wishes.adopt
            elif wishes.labels is not None and one.labels != frozenset(wishes.labels):
                relabelled.append(one)
        elif is_mine or wishes.adopt:
            changed.append(file)
        elif not is_same:
            problems.append(Problem(one.name, TAKEN))
    return Plan(
        new=tuple(new),
        changed=tuple(changed),
        adopted=tuple(adopted),
        renamed=tuple((one, moves[one.name]) for one in gone if one.name in moves),
        relabelled=tuple(relabelled),
        deleted=() if wishes.keep_deleted else tuple(lost),
        unchanged=len(found) - len(new) - len(moves) - len(changed) - len(adopted) - len(relabelled) - len(problems) - foreign,
        foreign=foreign,
        kept=len(gone) if wishes.keep_deleted else 0,
        problems=tuple(problems),
    )


def _check(lost: Sequence[Held], mine: int) -> None:
    if lost and (len(lost) == mine or (len(lost) > FEW and 2 * len(lost) > mine)):
        raise Conflict(
            f"{len(lost)} of the {counted(mine, 'document')} of this sync have no file any more: nothing was changed",
            next_step="see that the folder is mounted and whole; --force deletes them, --keep-deleted lets them stay",
        )
