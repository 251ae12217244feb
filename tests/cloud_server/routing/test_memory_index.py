"""Which memory may answer, whom hints say to ask, and what nobody is matched by."""

import numpy as np
import pytest

from cloud_server.database.opening import SqliteDatabase
from cloud_server.registry.edges import EdgeRegistry
from cloud_server.routing import memory_index as module
from cloud_server.routing.memories import MemoryStore
from cloud_server.routing.memory_index import MemoryIndex
from cloud_server.routing.screening import HUB, NEAR_DUPLICATE, SummarySample, judged_words, memory_words
from shared.errors import NotFound
from shared.index import open_index
from shared.models.fake import HashEmbedder
from shared.wire import MemoryBody, MemoryDelta

QUESTION = "Who built Orrin Mill?"
EDGES = ("bank", "port", "ward")


class Bank:
    """A bank of three edges, and its parts."""

    def __init__(self, folder, clock, *, embedder=None, is_on=True):
        self.database = SqliteDatabase(folder / "cloud.db")
        self.registry = EdgeRegistry(self.database, clock)
        self.embedder = embedder or HashEmbedder(128)
        self.store = MemoryStore(self.database, clock, max_per_edge=100)
        indexes = [open_index("numpy", self.embedder.dimensions) for _ in range(2)]
        self.bank = MemoryIndex(self.registry, self.store, *indexes, self.embedder, is_on=is_on)
        for edge in EDGES:
            self.registry.enrol(edge)
        self.versions = dict.fromkeys(EDGES, 0)

    async def tell(self, edge, *told, removals=(), direct=True):
        """Told: (id, question, answer)."""
        base, self.versions[edge] = self.versions[edge], self.versions[edge] + 1
        memories = [MemoryBody(memory_id=one, question=question, answer=answer, direct=direct) for one, question, answer in told]
        version = self.versions[edge]
        await self.bank.accept(edge, MemoryDelta(epoch="e1", base_version=base, version=version, upserts=memories, removals=removals))

    async def best(self, question=QUESTION, owners=EDGES, threshold=0.92):
        vector = (await self.embedder.embed([question]))[0]
        found = await self.bank.best(question, vector, owners=owners, threshold=threshold)
        return None if found is None else (found.edge, found.memory.memory_id)

    async def hinted(self, *questions, reaches=lambda _: True, min_cosine=0.6):
        vectors = await self.embedder.embed(list(questions or [QUESTION]))
        return await self.bank.hinted(vectors, min_cosine=min_cosine, reaches=reaches)

    def held_back(self, edge):
        return {held.body.memory_id: held.held_back for held in self.store.load(edge)}


@pytest.fixture
def bank(tmp_path, clock):
    made = Bank(tmp_path, clock)
    yield made
    made.database.close()


async def test_a_direct_memory_of_an_owner_that_asks_the_same_is_found(bank):
    await bank.tell("ward", ("m1", QUESTION, "Ann Lee"), ("m2", "When was Tarrow Mill sold?", "1881"))
    assert await bank.best() == ("ward", "m1")
    assert await bank.best("who built orrin mill") == ("ward", "m1")


async def test_of_an_edge_that_is_no_owner_nothing_answers(bank):
    await bank.tell("ward", ("m1", QUESTION, "Ann Lee"))
    assert await bank.best(owners=("bank",)) is None


async def test_a_hint_answers_nothing_however_near(bank):
    await bank.tell("ward", ("m1", QUESTION, "Ann Lee"), direct=False)
    assert await bank.best() is None
    assert await bank.hinted() == {"ward": ("m1",)}


@pytest.mark.parametrize(
    ("told", "answer"),
    [
        ("When was Orrin Mill built?", "1881"),  # of another type
        ("Who did Orrin Mill build?", "Ann Lee"),  # the other way round
        ("Who built Orrin Mill in Leeds?", "Ann Lee"),  # narrower
        (QUESTION, "Orrin"),  # stands in the question
    ],
)
async def test_what_a_guard_stops_does_not_answer_at_any_threshold(bank, told, answer):
    await bank.tell("ward", ("m1", told, answer))
    assert await bank.best(threshold=0.1) is None


async def test_a_rival_of_any_edge_keeps_both_from_answering(bank):
    await bank.tell("ward", ("m1", QUESTION, "Ann Lee"))
    await bank.tell("bank", ("m1", QUESTION, "Bo Ray"))
    assert await bank.best(owners=("ward",)) is None
    await bank.tell("bank", removals=["m1"])
    assert await bank.best(owners=("ward",)) == ("ward", "m1")


async def test_two_edges_that_say_the_same_are_no_rivals(bank):
    for edge in ("ward", "bank"):
        await bank.tell(edge, ("m1", QUESTION, "Ann Lee"))
    assert await bank.best(owners=("ward",)) == ("ward", "m1")


async def test_a_threshold_above_one_is_never_reached(bank):
    await bank.tell("ward", ("m1", QUESTION, "Ann Lee"))
    assert await bank.best(threshold=1.01) is None


async def test_a_quarantined_edge_answers_nothing_hints_nothing_and_is_no_rival(bank):
    await bank.tell("ward", ("m1", QUESTION, "Ann Lee"))
    await bank.tell("bank", ("m1", QUESTION, "Bo Ray"))
    bank.registry.quarantine("bank", "lies")
    assert await bank.best() == ("ward", "m1")
    assert await bank.hinted() == {"ward": ("m1",)}
    bank.registry.release("bank")
    assert await bank.best() is None


async def test_an_expelled_edge_is_forgotten_and_can_tell_nothing_any_more(bank):
    await bank.tell("ward", ("m1", QUESTION, "Ann Lee"))
    bank.registry.expel("ward")
    await bank.bank.renew()
    assert (await bank.best(), await bank.hinted()) == (None, {})
    assert len(bank.bank._direct) == 0
    with pytest.raises(NotFound):
        await bank.tell("ward", ("m1", QUESTION, "Ann Lee"))


async def test_what_is_removed_replaced_or_told_as_a_hint_later_is_found_as_it_is_now(bank):
    await bank.tell("ward", ("m1", QUESTION, "Ann Lee"), ("m2", "Who sold Orrin Mill?", "Bo Ray"))
    await bank.tell("ward", ("m1", QUESTION, ""), removals=["m2"], direct=False)
    assert (await bank.best(), await bank.hinted("Who sold Orrin Mill?", min_cosine=0.95)) == (None, {})
    assert await bank.hinted(min_cosine=0.95) == {"ward": ("m1",)}


async def test_a_start_finds_what_was_told_and_another_embedder_embeds_it_again(bank, tmp_path, clock):
    await bank.tell("ward", ("m1", QUESTION, "Ann Lee"))
    bank.database.close()
    for dimensions in (128, 64):
        again = Bank(tmp_path, clock, embedder=HashEmbedder(dimensions))
        await again.bank.open()
        assert await again.best() == ("ward", "m1")
        assert again.store.load("ward")[0].vector.shape == (dimensions,)
        again.database.close()
    bank.database = again.database


async def test_a_bank_that_is_off_forgets_at_its_start_what_it_held(bank, tmp_path, clock):
    await bank.tell("ward", ("m1", QUESTION, "Ann Lee"))
    bank.database.close()
    off = Bank(tmp_path, clock, is_on=False)
    await off.bank.open()
    assert (off.store.known("ward"), off.store.counts(), await off.hinted()) == (("", 0), {}, {})
    off.database.close()
    bank.database = off.database


# ------------------------------------------------------------ hints


async def test_hints_name_owners_nearest_first_each_with_its_ids(bank):
    await bank.tell("bank", ("b1", "Who built Orrin Mill in Leeds?", ""), direct=False)
    await bank.tell("ward", ("w1", "Who built Orrin Mill in Leeds?", ""), ("w2", QUESTION, ""), direct=False)
    assert await bank.hinted() == {"ward": ("w2", "w1"), "bank": ("b1",)}
    assert list(await bank.hinted()) == ["ward", "bank"]
    assert list(await bank.hinted(reaches=lambda edge: edge == "bank")) == ["bank"]


async def test_an_edge_is_asked_for_so_many_memories_at_most(bank):
    await bank.tell("ward", *((f"m{n}", f"{QUESTION} {n}", "") for n in range(12)), direct=False)
    [ids] = (await bank.hinted(min_cosine=0.3)).values()
    assert len(ids) == 8


async def test_many_hints_of_one_edge_hide_no_other_edge(bank, monkeypatch):
    monkeypatch.setattr(module, "WIDE", 4)
    await bank.tell("ward", *((f"m{n}", f"{QUESTION} {n}", "") for n in range(40)), direct=False)
    await bank.tell("bank", ("b1", "Who built Orrin Mill in the town of Leeds?", ""), direct=False)
    assert set(await bank.hinted(min_cosine=0.3)) == {"ward", "bank"}


# ------------------------------------------------------------ screening


async def test_forty_copies_are_held_back_but_one(bank):
    await bank.tell("ward", *((f"m{n:02}", QUESTION if n % 2 else "who built ORRIN mill", "Ann Lee") for n in range(40)))
    assert list(bank.held_back("ward").values()) == ["", *[NEAR_DUPLICATE] * 39]


async def test_forty_answers_to_one_question_are_rivals_and_none_answers(bank):
    await bank.tell("ward", *((f"m{n:02}", QUESTION, f"Builder{n} Lee") for n in range(40)))
    assert set(bank.held_back("ward").values()) == {""}
    assert await bank.best() is None


async def test_questions_that_only_an_encoder_takes_for_one_are_both_kept(bank):
    await bank.tell("ward", ("m1", "Who founded Orrin Mill?", "Ann Lee"), ("m2", "When was Orrin Mill founded?", "1881"))
    assert set(bank.held_back("ward").values()) == {""}


def test_a_memory_near_to_everything_of_most_edges_is_held_back():
    rng = np.random.default_rng(7)
    middle = np.ones(16) / 4
    others = {f"e{n}": rng.normal(size=(64, 16)) * 0.35 + middle for n in range(5)}
    others = {edge: (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32) for edge, rows in others.items()}
    hub, plain = middle.astype(np.float32), others["e0"][0]
    assert judged_words(["a", "b"], np.stack([hub, -plain]), (), SummarySample.of(others)) == [HUB, ""]


def test_words_of_a_memory_are_its_questions_and_its_answers():
    assert memory_words("Who built it?", "Ann") != memory_words("Who built it?", "Bo")


async def test_what_its_owner_does_not_confirm_is_matched_no_more_also_after_a_start(bank, tmp_path, clock):
    await bank.tell("ward", ("m1", QUESTION, "Ann Lee"))
    await bank.bank.refute("ward", "m1")
    assert (await bank.best(), await bank.hinted()) == (None, {})
    bank.database.close()
    again = Bank(tmp_path, clock)
    await again.bank.open()
    assert (await again.best(), again.held_back("ward")) == (None, {"m1": "unconfirmed"})
    again.database.close()
    bank.database = again.database
