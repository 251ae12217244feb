"""What hints have told of names, as the site alone may see it."""

import pytest

from edge_node.egress.dry_run import spending
from tests.support.telling import Teller

HINTS = '[memories]\nshare = "hints"'


@pytest.fixture
def teller(tmp_path):
    made = Teller(tmp_path, HINTS)
    yield made
    made.database.close()


def test_each_name_is_shown_with_what_is_told_in_its_place_and_each_hint_with_the_sum(teller, tmp_path):
    teller.say("Tarrow Mill bought Orrin Mill", "Tarrow Mill", "Orrin Mill")
    teller.remember("Did Tarrow Mill buy Orrin Mill?", "", teller.say("It did so, they say."))
    found = spending(tmp_path)
    assert [(name.name, name.kind, name.epsilon) for name in found.names] == [("Orrin Mill", "place", 2.0), ("Tarrow Mill", "place", 2.0)]
    [hint] = found.hints
    one, two = (name.surrogate for name in found.names)
    assert (hint.question, hint.told, hint.epsilon) == ("Did Tarrow Mill buy Orrin Mill?", f"Did {two} buy {one}?", 4.0)


def test_looking_draws_nothing_in_the_store_itself(teller, tmp_path):
    teller.mill()
    assert spending(tmp_path).names
    assert teller.drawn() == {}


def test_a_name_that_no_document_has_any_more_is_spent_and_has_no_name(teller, tmp_path):
    chunk_id = teller.mill()
    teller.memory_sharing.renew()
    teller.forget(chunk_id)
    found = spending(tmp_path)
    assert ([(name.name, name.epsilon) for name in found.names], found.hints) == ([("", 2.0)], ())


def test_why_memories_stay_is_counted(teller, tmp_path):
    teller.mill("Who is Maristow?", "nobody")
    assert spending(tmp_path).stayed == {"name": 1}
