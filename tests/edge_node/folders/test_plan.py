"""What a sync would do, as values."""

import pytest

from edge_node.folders.plan import TAKEN, missing, planned
from edge_node.folders.records import Entry, Found, Held, Problem, Survey, Wishes
from shared.errors import Conflict

MINE = Wishes("s")


def file(name, identity="1", was=""):
    return Found(Entry(name, name, 5, "m"), identity, was)


def held(*names, identity="1", source="s", **fields):
    return {name: Held(name, identity, 5, source, **{"labels": frozenset(), **fields}) for name in names}


def names(steps):
    return [getattr(step, "entry", step).name for step in steps]


def plan(found, there, wishes=MINE):
    gone = missing(Survey(tuple(file.entry for file in found)), there, wishes.source)
    return planned(found, gone, there, wishes)


def test_each_file_gets_the_step_that_it_needs():
    there = held("same", "gone", "more") | held("other", identity="2")
    made = plan([file("same"), file("other"), file("new"), file("more")], there)
    assert (names(made.new), names(made.changed), names(made.deleted), made.unchanged) == (["new"], ["other"], ["gone"], 2)


def test_documents_that_came_another_way_are_left_alone():
    there = held("equal", "theirs", source="") | held("taken", identity="2", source="")
    made = plan([file("equal"), file("taken")], there)
    assert (made.steps, made.unchanged, made.foreign, made.problems) == (0, 0, 1, (Problem("taken", TAKEN),))


def test_adopted_documents_become_this_syncs_and_only_those_of_other_content_are_changed():
    there = held("equal", source="") | held("taken", identity="2", source="") | held("hurt", source="", is_damaged=True) | held("mine")
    made = plan([file("equal"), file("taken"), file("hurt"), file("mine")], there, Wishes("s", adopt=True))
    assert (names(made.adopted), names(made.changed), made.unchanged) == (["equal"], ["taken", "hurt"], 1)
    assert names(made.sends) == ["taken", "hurt", "equal"]


def test_other_labels_are_given_without_the_content():
    made = plan([file("a"), file("b")], held("a", labels=frozenset({"x"})) | held("b"), Wishes("s", labels=("x",)))
    assert (names(made.relabelled), names(made.sends)) == (["b"], [])


def test_a_file_with_the_content_of_one_that_is_gone_is_that_one_renamed():
    made = plan([file("new", "2", was="old")], held("old"))
    assert [(one.name, move.entry.name) for one, move in made.renamed] == [("old", "new")]
    assert (names(made.new), names(made.deleted)) == ([], [])


def test_no_file_is_renamed_onto_a_document_that_came_another_way():
    there = held("a", identity="9", source="") | held("b", "c")
    made = plan([file("a", "2", was="b"), file("c")], there)
    assert (made.renamed, names(made.deleted), made.problems) == ((), ["b"], (Problem("a", TAKEN),))
    assert (names(made.sends), made.unchanged) == ([], 1)


def test_a_file_that_took_the_name_of_another_is_that_one_changed():
    made = plan([file("a", "2", was="b")], held("a", "b"))
    assert (made.renamed, names(made.changed), names(made.deleted), made.unchanged) == ((), ["a"], ["b"], 0)


def test_a_damaged_document_is_sent_again():
    assert names(plan([file("a")], held("a", is_damaged=True)).changed) == ["a"]


def test_what_lies_in_a_folder_that_cannot_be_read_is_not_gone():
    survey = Survey((), (Problem("locked", "no"), Problem("bad", "no")), unseen=("locked/",))
    assert [one.name for one in missing(survey, held("locked/a", "bad", "lockedout"), "s")] == ["lockedout"]


@pytest.mark.parametrize(("mine", "left"), [(1, 0), (30, 0), (30, 14)])
def test_most_files_gone_at_once_deletes_nothing(mine, left):
    every = [f"{number:02}" for number in range(mine)]
    found = [file(name) for name in every[:left]]
    with pytest.raises(Conflict, match="have no file any more"):
        plan(found, held(*every))
    assert len(plan(found, held(*every), Wishes("s", force=True)).deleted) == mine - left
    assert plan(found, held(*every), Wishes("s", keep_deleted=True)).kept == mine - left


@pytest.mark.parametrize(("mine", "left"), [(3, 1), (30, 15), (12, 2)])
def test_some_files_gone_are_deleted(mine, left):
    every = [f"{number:02}" for number in range(mine)]
    assert len(plan([file(name) for name in every[:left]], held(*every)).deleted) == mine - left


def test_a_reorganised_folder_is_not_an_empty_one():
    every = [f"{number:02}" for number in range(30)]
    made = plan([file(f"sub/{name}", was=name) for name in every], held(*every))
    assert (len(made.renamed), len(made.deleted)) == (30, 0)
