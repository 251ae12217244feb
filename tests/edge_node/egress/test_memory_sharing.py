"""What is stored for the cloud obeys policy, labels, ratings and the ledger of epsilon as they are now."""

import pytest

from edge_node.memory.store import Ratings
from tests.support.telling import Teller

HINTS = '[memories]\nshare = "hints"'
ANSWERS = '[memories]\nshare = "answers"'
DIRECT = [("Who built Orrin Mill?", "Ann Lee", 1)]


@pytest.fixture
def teller(tmp_path):
    made = Teller(tmp_path)
    yield made
    made.database.close()


def question_of(teller):
    [(question, _, _)] = teller.renewed()
    return question


def test_what_all_may_quote_is_told_as_it_is(teller):
    teller.mill()
    assert teller.renewed() == DIRECT
    assert teller.memory_sharing.is_told()


@pytest.mark.parametrize("text", ["", '[memories]\nshare = "off"', ANSWERS + '\n[labels]\nshut = "never"', "not a policy"])
def test_a_policy_that_tells_nothing_stores_nothing_and_draws_nothing(teller, text):
    teller.obey(text)
    teller.mill(labels=["shut"])
    assert (teller.renewed(), teller.drawn(), teller.told.version()) == ([], {}, 0)


def test_a_hint_has_another_name_which_stands_in_the_ledger(teller):
    teller.obey(HINTS)
    teller.mill()
    question, [name] = question_of(teller), teller.drawn().values()
    assert question == f"Who built {name.surrogate}?"
    assert (name.kind, name.epsilon) == ("place", 2.0)


def test_a_name_is_drawn_once_whatever_becomes_of_its_document_the_run_and_epsilon(teller):
    teller.obey(HINTS)
    first = question_of(teller) if teller.mill() else ""
    drawn = teller.drawn()
    for row in teller.database.rows("SELECT chunk_id FROM chunks"):
        teller.forget(row["chunk_id"])
    assert teller.renewed() == []
    teller.again()
    teller.obey(HINTS + "\nepsilon = 0.1\nepsilon_budget = 0.1")
    teller.mill()
    assert (question_of(teller), teller.drawn()) == (first, drawn)


def test_a_lost_ledger_gives_the_same_draws(teller):
    teller.obey(HINTS)
    teller.mill()
    first, drawn = question_of(teller), teller.drawn()
    with teller.database.write() as tx:
        tx.execute("DELETE FROM released_names")
    teller.again()
    assert (question_of(teller), {key: name.surrogate for key, name in teller.drawn().items()}) == (
        first,
        {key: name.surrogate for key, name in drawn.items()},
    )


def test_two_stores_draw_with_two_secrets(teller, tmp_path):
    other = Teller(tmp_path / "other") if (tmp_path / "other").mkdir() is None else None
    assert teller.memory_sharing.names.secret() != other.memory_sharing.names.secret()
    assert len(teller.memory_sharing.names.secret()) == 64
    other.database.close()


def test_a_change_of_the_policy_withdraws_and_until_then_nothing_is_told(teller):
    teller.mill()
    teller.renewed()
    teller.obey(HINTS)
    assert not teller.memory_sharing.is_told()
    assert question_of(teller) != DIRECT[0][0]
    assert teller.memory_sharing.is_told()
    teller.obey("")
    assert not teller.memory_sharing.is_told()
    assert teller.renewed() == []
    assert teller.memory_sharing.is_told()


def test_a_change_of_the_policy_that_does_not_concern_memories_withdraws_nothing(teller):
    teller.mill()
    teller.renewed()
    version = teller.told.version()
    teller.obey(ANSWERS + "\n[daily]\nreplies = 3")
    assert teller.memory_sharing.is_told()
    assert (teller.renewed(), teller.told.version()) == (DIRECT, version)


def test_labels_that_change_are_obeyed(teller):
    teller.obey(ANSWERS + '\n[labels]\nopen = "full"\nshut = "never"')
    chunk_id = teller.mill(labels=["open"], name="mill.md")
    assert teller.renewed() == DIRECT
    text = teller.database.row("SELECT text FROM chunks WHERE chunk_id = ?", (chunk_id,))["text"]
    teller.documents.accept("mill.md", text.encode(), reader="a.md", labels=["shut"])
    assert not teller.memory_sharing.is_told()
    assert teller.renewed() == []


def test_a_document_is_as_strict_as_its_strictest_version(teller):
    teller.obey(ANSWERS + '\n[labels]\nopen = "full"\nshut = "never"')
    teller.mill(labels=["open"], name="mill.md")
    teller.documents.accept("mill.md", b"a later text, not yet indexed", reader="a.md", labels=["shut"])
    assert teller.renewed() == []


def test_of_a_document_whose_labels_cannot_be_read_nothing_is_told(teller):
    teller.mill()
    with teller.database.write() as tx:
        tx.execute("UPDATE documents SET labels = 'damaged'")
    assert teller.renewed() == []


def test_an_exception_for_somebody_else_keeps_the_answer_from_everybody(teller):
    teller.obey(ANSWERS + '\n[labels]\nopen = "full"\n[[exceptions]]\nlabels = ["open"]\nedges = ["ward-1"]\nshare = "never"')
    teller.mill(labels=["open"])
    assert teller.renewed() == []


def test_what_was_called_wrong_as_often_as_right_is_withdrawn_and_what_was_deleted_for_good(teller):
    teller.mill()
    [stored] = teller.memories.all()
    assert teller.renewed() == DIRECT
    ratings = Ratings(teller.database)
    for right, told in [(False, []), (True, []), (True, DIRECT)]:
        ratings.rate([stored.memory], right=right)
        assert teller.renewed() == told
    ratings.bar([stored.memory])
    assert teller.renewed() == []


def test_a_doubtful_memory_and_a_learned_one_stay_here(teller):
    chunk_id = teller.say("Ann Lee built it.")
    teller.remember("Who built it?", "Ann Lee", chunk_id, doubtful=True)
    teller.remember("Who built it then?", "Ann Lee", chunk_id, kind="learned")
    assert teller.renewed() == []


def test_two_documents_that_say_the_same_tell_it_once_and_one_of_them_deleted_still(teller):
    chunks = [teller.say(f"Ann Lee built it {n}.") for n in range(2)]
    for chunk_id in chunks:
        teller.remember("Who built it?", "Ann Lee", chunk_id)
    told = [("Who built it?", "Ann Lee", 1)]
    assert teller.renewed() == told
    for chunk_id in chunks:
        assert teller.stored() in (told, [])
        teller.forget(chunk_id)
        assert teller.renewed() == (told if chunk_id == chunks[0] else [])


def test_nothing_is_written_where_nothing_has_changed(teller, monkeypatch):
    teller.mill()
    teller.renewed()
    monkeypatch.setattr(teller.database, "write", None)
    assert teller.renewed() == DIRECT


def test_the_rule_names_the_mode_the_policy_and_the_labels(teller):
    assert teller.memory_sharing.rule() == f"memories: answers; policy {teller.sharing.policy.key}, labels 0"
