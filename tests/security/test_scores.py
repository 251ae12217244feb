"""What leaves an edge tells nothing of what is masked in it: neither which passages come, nor in which order.

The attacker is a curious cloud, or whoever asks through it. It may ask anything as often as it likes, and knows the embedder, every word of
a passage but the name, and a hundred names of which one is masked there. The names are equally long: a mask is as long as what it hides.

The null controls are what an edge sent before version 6 of the wire: passages found and scored by their whole words, and masked after that.
"""

import random
import string
from dataclasses import dataclass

import numpy as np
import pytest

from edge_node.answering.for_others import EvidenceForOthers
from edge_node.answering.released import ReleasedPassages
from edge_node.answering.search import Search
from edge_node.egress.policy_file import NAME
from edge_node.egress.sharing import Sharing
from edge_node.policy.redaction import NOTHING_MASKED
from edge_node.records import Retrieval
from edge_node.settings import AnswerSettings
from shared.errors import FetchError
from shared.models.catalogue import model_named
from shared.models.embedders import OnnxEmbedder
from shared.models.fake import HashEmbedder
from shared.models.fetch import located
from shared.models.settings import ModelSettings
from shared.vectors import unit
from shared.wire import EvidenceRequest
from tests.security.test_policy_points import overview_of, request_of
from tests.support.models import no_model
from tests.support.policies import Site
from tests.support.settling import Bench

pytestmark = pytest.mark.campaign

CANDIDATES, TRIALS = 100, 12
MOST_BY_CHANCE = (
    2  # of 12 guesses at 1 in 100: more come by chance in 1 of 5,000 draws, P(X > 2) for X ~ Binomial(12, 0.01); the seed is fixed
)
QUESTIONS = 700
FEW_TOKENS = 60  # of reports that are read for a question
MASKS = ["[name]█████████"]
CHANCE = 0.05  # what a name adds to a cosine by chance, as a mean over twelve passages
NAMED_BY_CHANCE = 7.5  # of ten: three standard errors above five, for twelve passages
AILMENTS = (
    "gout",
    "asthma",
    "measles",
    "anaemia",
    "migraine",
    "jaundice",
    "sciatica",
    "psoriasis",
    "glaucoma",
    "rickets",
    "mumps",
    "colic",
)


@dataclass(frozen=True)
class Before:
    """In the place of ReleasedPassages: passages are found as if nothing were masked."""

    strategy: object

    async def retrieve(self, question, redactor, *, budget_tokens, top_k, withheld):
        return Retrieval((await self.strategy.retrieve(question, budget_tokens=budget_tokens, top_k=top_k, withheld=withheld)).evidence)


@dataclass(frozen=True)
class Clinic:
    """A site that masks all names, and its answers to another site's questions."""

    bench: Bench
    names: tuple  # the true one of each passage

    @staticmethod
    async def filled(bench, names):
        (bench.database.path.parent / NAME).write_text(f"version = 1\n[redact]\nnames = {sorted(names)}\n", encoding="utf-8")
        for row, (name, ailment) in enumerate(zip(names, AILMENTS, strict=False)):
            await bench.add(f"{row}.md", (name, ailment), related=[(name, ailment)], text=text_of(name, ailment))
        await bench.settle()
        return Clinic(bench, tuple(names))

    def answerer(self, released=None):
        tools = self.bench.tools
        settings = AnswerSettings(
            samples=1, sample_tokens=8, answer_deadline_s=9.0, cloud_deadline_s=9.0, evidence_threshold=0.1, reader_threshold=-1.0
        )
        search = Search(self.bench.strategy, tools.releases, settings)
        return EvidenceForOthers(search, tools.releases, released=released or ReleasedPassages(tools, tools.releases))

    async def sent(self, answerer, question, *, whole):
        """The texts that leave, in their order."""
        request = EvidenceRequest(request_id="r", question=question, budget_tokens=9_000, deadline_ms=9_000, whole=whole)
        return [one.text for one in (await answerer.evidence(request)).reply.evidence]

    async def scored(self, question):
        """The texts that left before version 6, each with its score."""
        found = (await self.bench.strategy.retrieve(question, budget_tokens=9_000, top_k=20)).evidence
        sharing = self.bench.tools.releases
        return {sharing.masked(one, sharing.redactor_now()): one.score for one in found}


def text_of(name, ailment):
    return f"{name} is treated for {ailment} at home."


def masked_text(ailment, name):
    return text_of("[name]".ljust(len(name), "█"), ailment)


def drawn_names(rng, number):
    """So many different names of two words of seven letters each."""
    return ["".join(rng.choices(string.ascii_lowercase, k=7)).title() + " " + "".join(rng.choices(string.ascii_lowercase, k=7)).title()
            for _ in range(number)]  # fmt: skip


async def best_guess(rng, candidates, view, ailment):
    """The candidate whose naming brings the passage highest: by score where there is one, else by place; one of equal ones by lot."""
    worth = {}
    for name in candidates:
        seen, wanted = await view(f"What is {name} treated for?"), masked_text(ailment, name)
        by_place = {text: -row for row, text in reversed(list(enumerate(seen)))}
        worth[name] = (seen if isinstance(seen, dict) else by_place).get(wanted, -1_000)
    best = max(worth.values())
    return rng.choice([name for name in candidates if worth[name] == best])


async def hits(tmp_path, view_of):
    """In how many trials the attacker names the patient."""
    rng, found = random.Random(5), 0
    for trial in range(TRIALS):
        folder = tmp_path / str(trial)
        folder.mkdir()
        candidates = drawn_names(rng, CANDIDATES)
        names, row = rng.sample(candidates, len(AILMENTS)), rng.randrange(len(AILMENTS))
        others = [name for name in candidates if name not in names]  # of the site's own names only the wanted one is among the hundred
        pool = [*others, *drawn_names(rng, CANDIDATES - len(others) - 1), names[row]]
        rng.shuffle(pool)
        async with Bench.opened(folder) as bench:
            clinic = await Clinic.filled(bench, names)
            found += await best_guess(rng, pool, view_of(clinic), AILMENTS[row]) == names[row]
    return found


def as_now(whole):
    def view_of(clinic):
        answerer = clinic.answerer()
        return lambda question: clinic.sent(answerer, question, whole=whole)

    return view_of


@pytest.mark.parametrize("whole", [True, False], ids=["passages", "sentences"])
async def test_the_best_guess_among_a_hundred_names_is_no_better_than_chance(tmp_path, whole):
    assert await hits(tmp_path, as_now(whole)) <= MOST_BY_CHANCE


async def test_null_control_a_score_of_the_whole_words_names_the_patient(tmp_path):
    assert await hits(tmp_path, lambda clinic: clinic.scored) == TRIALS


async def test_null_control_without_any_score_the_order_of_the_whole_words_names_the_patient(tmp_path):
    def view_of(clinic):
        answerer = clinic.answerer(Before(clinic.bench.strategy))
        return lambda question: clinic.sent(answerer, question, whole=True)

    assert await hits(tmp_path, view_of) > MOST_BY_CHANCE + 1  # 6 of 12 when this was written; so many by chance: 1 in 10^9


async def replies_of(folder, names, questions):
    folder.mkdir()
    async with Bench.opened(folder) as bench:
        clinic = await Clinic.filled(bench, names)
        now, before = clinic.answerer(), clinic.answerer(Before(bench.strategy))
        views = [(answerer, whole) for answerer in (now, before) for whole in (True, False)]
        return [[await clinic.sent(answerer, question, whole=whole) for question in questions] for answerer, whole in views]


async def test_two_sites_that_differ_in_a_masked_name_alone_answer_every_question_alike(tmp_path):
    rng = random.Random(3)
    names, (other,) = drawn_names(rng, len(AILMENTS)), drawn_names(rng, 1)
    swapped = [other, *names[1:]]
    policy_names = [*names, other]
    questions = [f"What is {name} treated for?" for name in policy_names] + ["Who has gout?", f"Is {other} ill?", names[0], "name"]
    one = await replies_of(tmp_path / "one", names, questions)
    two = await replies_of(tmp_path / "two", swapped, questions)
    assert one[:2] == two[:2]
    assert any(one[0]), "nothing was sent"
    assert one[2] != two[2], "null control: by their whole words they answer otherwise"


async def points_of(folder, names, known, questions, read_tokens):
    """What leaves as points for each question, in its order."""
    folder.mkdir()
    async with Site.opened(folder) as site:
        await Clinic.filled(site.bench, names)
        site.obey(f"[redact]\nnames = {sorted(known)}")
        overview = overview_of(site)
        overview.settings = overview.settings.model_copy(update={"global_read_tokens": read_tokens})
        replies = [(await overview.points(request_of(question))).reply for question in questions]
        return [[(told.text, told.point, told.quotable) for told in reply.evidence] for reply in replies]


async def test_two_sites_that_differ_in_a_masked_name_alone_tell_the_same_points(tmp_path, monkeypatch):
    names, (other,) = drawn_names(random.Random(3), len(AILMENTS)), drawn_names(random.Random(4), 1)
    sites, known = (names, [other, *names[1:]]), [*names, other]
    questions = [*(f"What is {name} treated for?" for name in known), "Who has gout?", names[0], "name"]
    one, two = [await points_of(tmp_path / str(row), site, known, questions, FEW_TOKENS) for row, site in enumerate(sites)]
    assert one == two
    assert any(one), "nothing was sent"
    monkeypatch.setattr(Sharing, "redactor_now", lambda _: NOTHING_MASKED)  # reports are chosen and read whole, and masked after that
    before = [await points_of(tmp_path / f"before-{row}", site, known, questions, FEW_TOKENS) for row, site in enumerate(sites)]
    assert before[0] != before[1], "null control: by their whole words they tell otherwise"


# ------------------------------------------------------------ the passage's vector


def asked_about(rng, ailment):
    return f"{' '.join(drawn_names(rng, 3))} {ailment} {rng.choice(['treated at home', 'is', 'treated for', 'home', ''])}?"


@dataclass(frozen=True)
class Reconstruction:
    """Means over the passages, of the vectors that least squares makes of 700 replies.

    ``to_renamed``: with the same text, and another name in it: who has the masked text can put any name there. ``named``: in how many of
    ten the true name fits better than another one; by chance five.
    """

    to_whole_by_scores: float
    to_whole: float
    to_masked: float
    to_renamed: float
    named_by_scores: float
    named: float


async def reconstructed(bench, embedder):
    """By the scores of before version 6, and by the order of now; some questions hold a mask, as the attacker sees how it looks."""
    rng, names = random.Random(9), drawn_names(random.Random(8), len(AILMENTS))
    clinic, rows = await Clinic.filled(bench, names), list(enumerate(zip(names, AILMENTS, strict=True)))
    answerer, texts = clinic.answerer(), {masked_text(ailment, name): row for row, (name, ailment) in rows}
    questions = [f"{asked_about(rng, rng.choice(AILMENTS))} {rng.choice([*names, *(MASKS * 4)])}" for _ in range(QUESTIONS)]
    asked = np.concatenate([await embedder.embed(questions[start : start + 50]) for start in range(0, QUESTIONS, 50)])
    scores, places = np.zeros((QUESTIONS, len(names))), np.zeros((QUESTIONS, len(names)))
    for at, question in enumerate(questions):
        for text, score in (await clinic.scored(question)).items():
            scores[at, texts[text]] = score
        for place, text in enumerate(await clinic.sent(answerer, question, whole=True)):
            places[at, texts[text]] = len(names) - place
    by_scores, by_order = (unit(np.linalg.lstsq(asked, seen, rcond=1e-3)[0].T.astype(np.float32)) for seen in (scores, places))
    whole = await embedder.embed([text_of(name, ailment) for _, (name, ailment) in rows])
    hidden = await embedder.embed(list(texts))
    others = [await embedder.embed([text_of(other, ailment) for other in drawn_names(rng, 20)]) for ailment in AILMENTS]

    def mean(found, wanted):
        return float((found * wanted).sum(axis=1).mean())

    def renamed(found):
        return float(np.mean([np.mean(others[row] @ found[row]) for row in range(len(names))]))

    def named(found):
        return 10 * float(np.mean([np.mean(found[row] @ whole[row] > others[row] @ found[row]) for row in range(len(names))]))

    return Reconstruction(
        mean(by_scores, whole), mean(by_order, whole), mean(by_order, hidden), renamed(by_order), named(by_scores), named(by_order)
    )


def check(found):
    print(found)  # noqa: T201 - the figures of docs/security.md
    assert (found.to_whole_by_scores > 0.99, found.named_by_scores > 9.9) == (True, True), "null control: scores give the passage away"
    assert found.to_whole <= found.to_renamed + CHANCE
    assert found.named < NAMED_BY_CHANCE


async def test_seven_hundred_orders_say_no_more_of_a_passage_than_its_masked_text(tmp_path):
    embedder = HashEmbedder()
    async with Bench.opened(tmp_path, embedder=embedder) as bench:
        check(await reconstructed(bench, embedder))


def fetched_minilm():
    try:
        return located(model_named("minilm"), ModelSettings().dir)
    except FetchError as error:
        no_model(error.message)


@pytest.mark.long
@pytest.mark.model
async def test_the_same_with_the_real_embedder(tmp_path):
    embedder = OnnxEmbedder.load(fetched_minilm())
    async with Bench.opened(tmp_path, embedder=embedder) as bench:
        check(await reconstructed(bench, embedder))
