"""Goal S10 on made-up topics: one of ten edges attracts what it cannot serve. Figures of real data: ``benchmarks/clouds/hijack.py``."""

from random import Random

import pytest

from benchmarks.clouds.hijack import ATTACKER, COPIES, Thresholds, forged, simulate
from benchmarks.clouds.ten_edges import Federation
from shared.models.fake import HashEmbedder, WordTokenizer

EDGES, SUBJECTS, WORDS = 10, 12, 6  # subjects of an edge, words of a subject
THRESHOLDS = Thresholds()


def subject(rng):
    return ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=7)) for _ in range(WORDS)]


@pytest.fixture(scope="module")
def federation():
    """Each edge knows its subjects; a question and the passage that answers it share most of a subject's words."""
    rng = Random(1)
    subjects = {f"edge-{n}": [subject(rng) for _ in range(SUBJECTS)] for n in range(EDGES)}
    questions = [(" ".join(words[:4]), edge) for edge, owned in subjects.items() for words in owned]
    answers = {" ".join(words[:4]): [" ".join([*words, "so", "it", "is"])] for owned in subjects.values() for words in owned}
    evidence = {edge: {question: answers[question] for question, owner in questions if owner == edge} for edge in subjects}
    return Federation({edge: [" ".join(words) for words in owned] for edge, owned in subjects.items()}, evidence, questions)


async def run(federation, attack, *, controlled=True, rounds=2):
    return await simulate(
        federation, HashEmbedder(256), WordTokenizer(), attack=attack, controlled=controlled, thresholds=THRESHOLDS, rounds=rounds
    )


async def test_without_an_attack_every_owner_is_asked_and_read(federation):
    calm = await run(federation, None)
    assert (calm.owner_asked, calm.owner_read, calm.honest_held_back) == (1.0, 1.0, 0.0)


async def test_poison_moves_the_owners_recall_by_five_points_at_most(federation):
    attacked = await run(federation, "poison")
    assert attacked.owner_asked >= 0.95
    assert attacked.owner_read >= 0.95


async def test_no_question_is_served_by_the_attacker_alone(federation):
    assert (await run(federation, "poison")).attacker_alone == 0.0


async def test_without_the_controls_the_attacker_serves_questions_alone(federation):
    assert (await run(federation, "poison", controlled=False)).attacker_alone > 0.2


async def test_beside_a_short_honest_passage_the_best_reported_score_brings_a_quarter_of_the_budget_at_most(federation):
    attacked = await run(federation, "poison")
    assert 0 < attacked.most_of_budget <= 0.25


async def test_after_many_useless_replies_it_is_hardly_asked_any_more(federation):
    attacked = await run(federation, "junk", rounds=8)
    assert attacked.late_attacker_asked <= 0.2
    assert attacked.owner_read >= 0.95
    assert (await run(federation, "junk", controlled=False)).late_attacker_asked > 0.4


async def test_copies_are_held_back_and_nothing_honest_is(federation):
    attacked = await run(federation, "junk")
    assert attacked.attacker_held_back >= COPIES / len(forged([question for question, _ in federation.questions[::2]]))
    assert attacked.honest_held_back < 0.01


def test_the_attackers_name_is_no_edges_name(federation):
    assert ATTACKER not in federation.summaries
