"""Which memories leave: with their answer, as a hint, or not; and what of epsilon they spend."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge_node.egress.memory_sharing import installed_surrogates
from edge_node.memory.records import Support, memory_of
from edge_node.memory.release import MemoryRelease
from edge_node.policy.hints import Names
from edge_node.policy.redaction import Redactor
from edge_node.policy.rules import Level, MemoryRules, Redact
from edge_node.policy.surrogates import Drawing
from shared.records import EntityMention
from shared.wire import MAX_MEMORY_ANSWER_CHARS, MAX_MEMORY_QUESTION_CHARS

LIST = installed_surrogates()
LEVELS = {"full": Level.FULL, "read": Level.EVIDENCE, "told": Level.SUMMARY, "shut": Level.NEVER}
MENTIONS = [
    ("Ann Lee", "person", "told:0"),
    ("Orrin Mill", "place", "full:0"),
    ("Orrin Mill", "place", "told:0"),
    ("pump", "concept", "full:0"),
]
QUESTION = "Who bought Orrin Mill?"


def memory(*documents, question=QUESTION, answer="Ann Lee", kind="template", at=0):
    return memory_of(kind, question, answer, [Support(f"{document}:0", at, 9) for document in documents or ("told",)], [])


def release(share="hints", *, k=1, redact=None, mentions=MENTIONS, released=(), levels=LEVELS, **rules):
    rules = MemoryRules(share=share, **rules)
    names = Names.of([EntityMention("", *mention[:2], "", mention[2]) for mention in mentions], levels)
    drawing = Drawing(LIST, b"a secret", rules.epsilon, rules.epsilon_budget, {name.name_key: name for name in released})
    return MemoryRelease(rules, k, levels, names, Redactor.of(redact or Redact()), drawing)


def told(*memories, **how):
    return release(**how).released(memories)


def one(*memories, **how):
    (left,) = told(*memories, **how).leaving
    return left


def place(name, kind="place"):
    return release().drawing.of(name, kind).surrogate


# ------------------------------------------------------------ direct, hint, or neither


@pytest.mark.parametrize(
    ("documents", "share", "as_what"),
    [
        (("full",), "off", "off"), (("full",), "hints", "hint"), (("full",), "answers", "direct"), (("read",), "answers", "hint"),
        (("told",), "answers", "hint"), (("told",), "hints", "hint"), (("shut",), "answers", "level"), (("gone",), "answers", "level"),
        (("full", "told"), "answers", "hint"), (("full", "shut"), "answers", "level"),
    ],
)  # fmt: skip
def test_the_strictest_document_of_a_memory_decides(documents, share, as_what):
    found = told(memory(*documents), share=share)
    assert as_what == (next(iter(found.stayed)) if found.stayed else "direct" if found.leaving[0].direct else "hint")


def test_a_direct_memory_leaves_word_by_word_and_spends_nothing():
    found = told(memory("full", answer="on 4 May 1962"), share="answers")
    assert (found.leaving[0].question, found.leaving[0].answer, found.drawn) == (QUESTION, "on 4 May 1962", ())


def test_a_learned_memory_never_leaves():
    assert told(memory("full", kind="learned"), share="answers").stayed == {"learned": 1}


def test_one_masked_character_makes_a_hint_of_a_direct_memory():
    left = one(memory("full", question="Who had pump X7 of Orrin Mill?"), share="answers", redact=Redact(patterns=["X7"]))
    assert (left.direct, left.question) == (False, f"Who had pump █ of {place('Orrin Mill')}?")


def test_a_masked_name_is_not_exchanged_as_an_exchanged_one_may_be_kept():
    found = told(memory(answer="the mill"), redact=Redact(names=["Orrin Mill"]))
    assert (found.leaving[0].question, found.drawn) == ("Who bought █?", ())


def test_a_hint_has_surrogates_and_an_answer_of_surrogates():
    left = one(memory())
    assert (left.question, left.answer) == (f"Who bought {place('Orrin Mill')}?", place("Ann Lee", "person"))


@pytest.mark.parametrize("answer", ["in 1962", "cholera", "Lee", "Ann Lee and 3 others", "Ann Lee, a surgeon"])
def test_an_answer_with_more_than_surrogates_and_common_words_is_left_out_and_its_names_are_not_drawn(answer):
    found = told(memory(answer=answer))
    assert (found.leaving[0].answer, [name.surrogate for name in found.drawn]) == ("", [place("Orrin Mill")])


@pytest.mark.parametrize(
    "question", ["Who bought Brackwell Mill?", "Brackwell bought Orrin Mill?", "Who met Lee?", "Who is Ann Lee Smith?"]
)
def test_a_name_that_nobody_found_keeps_a_hint_here(question):
    assert told(memory(question=question)).stayed == {"name": 1}


def test_a_name_of_a_kind_that_is_not_exchanged_keeps_a_hint_here():
    assert told(memory(), names=["person"]).stayed == {"name": 1}


def test_what_hides_between_the_letters_of_a_name_hides_it_not():
    left = one(memory(question="Who bought Or\u200brin\u00a0**Mill**?"))
    assert left.question == f"Who bought {place('Orrin Mill')}?"


# ------------------------------------------------------------ minimum support


@pytest.mark.parametrize("share", ["hints", "answers"])
def test_a_name_that_too_few_documents_tell_of_keeps_its_memory_here(share):
    assert told(memory("full", answer="the mill"), share=share, k=2).stayed == {}
    assert told(memory("full"), share=share, k=2).stayed == {"support": 1}  # Ann Lee
    assert told(memory("full", question="Who has the pump?", answer="none"), share=share, k=2).stayed == {"support": 1}


def test_documents_that_may_not_be_told_of_support_no_name():
    mentions = [*MENTIONS, ("Ann Lee", "person", "shut:0")]
    assert told(memory("full"), k=2, mentions=mentions).stayed == {"support": 1}
    assert told(memory("full"), k=2, mentions=[*mentions, ("Ann Lee", "person", "full:3")]).stayed == {}


def test_under_a_minimum_support_a_direct_memory_has_no_name_that_the_site_does_not_know():
    unknown = memory("full", question="Who bought Brackwell?", answer="nobody")
    assert told(unknown, share="answers").leaving[0].direct
    assert told(unknown, share="answers", k=2).stayed == {"support": 1}


# ------------------------------------------------------------ how many, how long


def many(n):
    return [memory(("full", "told")[number % 2], question=f"Who bought pump number {'i' * number}?", answer="") for number in range(n)]


def test_no_more_than_most_leave_and_the_quotable_ones_first():
    found = told(*many(10), share="answers", most=7)
    assert [shared.direct for shared in found.leaving] == [True] * 5 + [False] * 2
    assert found.stayed == {"most": 3}


def test_what_stays_spends_nothing():
    assert told(memory(at=1), memory(question="Who met Ann Lee?", at=2), most=1).drawn != ()
    for shares in ({"share": "off"}, {"k": 3}, {"names": ["person"]}):
        assert told(memory(), **shares).drawn == ()


@given(st.permutations(range(8)))
def test_in_any_order_the_same_memories_leave(order):
    memories = many(8)
    assert told(*(memories[row] for row in order), most=5, share="answers") == told(*memories, most=5, share="answers")


def test_of_memories_with_the_same_words_one_leaves():
    found = told(memory(), memory(at=3), memory("full"))
    assert (len(found.leaving), found.stayed) == (1, {"copy": 2})


def test_what_is_longer_than_the_wire_takes_stays_or_leaves_without_its_answer():
    long = memory("full", question=f"Who bought {'a ' * MAX_MEMORY_QUESTION_CHARS}?", answer="nobody")
    assert told(long, share="answers").stayed == {"long": 1}
    answer = memory("full", answer="Ann Lee " * (MAX_MEMORY_ANSWER_CHARS // 6))
    assert (one(answer, share="answers").direct, one(answer, share="answers").answer) == (False, "")


# ------------------------------------------------------------ epsilon


def test_the_names_that_are_drawn_are_told_once_and_with_what_they_cost():
    found = told(memory(), memory(question="Who met Ann Lee?", answer="none"))
    assert sorted(name.surrogate for name in found.drawn) == sorted([place("Orrin Mill"), place("Ann Lee", "person")])
    assert {shared.epsilon for shared in found.leaving} == {2.0, 4.0}
    assert told(memory(), released=found.drawn).drawn == ()


def test_a_name_that_stands_in_question_and_answer_costs_once():
    assert one(memory(question="Who is Ann Lee?", answer="Ann Lee")).epsilon == 2.0


def test_twenty_releases_are_one_release():
    first, ledger = told(memory()), ()
    for _ in range(20):
        again = told(memory(), released=ledger)
        assert again.leaving == first.leaving
        ledger += again.drawn
    assert ledger == first.drawn


def test_above_the_budget_memories_with_new_names_stay_and_others_leave_as_before():
    before = told(memory(answer="the mill"))
    other = memory(question="Who met Ann Lee?", answer="none")
    after = told(memory(answer="the mill"), other, released=before.drawn, epsilon=3.0)
    assert (after.leaving, after.drawn, after.stayed) == (before.leaving, (), {"epsilon": 1})


def test_above_the_budget_a_memory_without_names_leaves():
    assert told(memory(question="Who bought the mill?", answer=""), epsilon=3.0).stayed == {}
