"""One bad passage blocks nothing; a model that is away, or unfit, ends the document with its chunk's name."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge_node.extraction.extractor import Extractor, low_yield, per_chunk
from edge_node.extraction.model_extraction import ModelExtraction
from edge_node.extraction.names import Definition
from edge_node.extraction.nlp import Extraction
from edge_node.records import Cost, silent
from shared.errors import ModelReplyError, ModelTimeout, ModelUnavailable
from shared.limits import RetryBudget
from shared.records import Chunk, ChunkId, DocumentId, EntityMention, RelationMention
from tests.support.memory_store import a_fact


def chunk(number, text="Rowan Ward keeps the Marlow Pump."):
    return Chunk(ChunkId(f"d:{number}"), DocumentId("d"), number, text, 0, len(text), 7)


def entity(number, key="rowan ward"):
    return EntityMention(key, key, "concept", "Text.", ChunkId(f"d:{number}"))


def relation(number, word):
    return RelationMention("rowan ward", "marlow pump", "Text.", (word,), 1.0, ChunkId(f"d:{number}"))


def read_by_spacy(number):
    return Extraction((entity(number), entity(number, "marlow pump")), (relation(number, "keep"),))


class Spacy:
    """Finds two entities and a relation in every chunk that is not barren."""

    def __init__(self, barren=()):
        self.barren = barren

    def extract(self, chunks, on_read):
        on_read(len(chunks))
        found = [read_by_spacy(each.ordinal) for each in chunks if each.ordinal not in self.barren]
        facts = tuple(a_fact(each.chunk_id) for each in chunks)
        return Extraction(tuple(m for one in found for m in one.entities), tuple(m for one in found for m in one.relations), facts)


class Model:
    """Says what ``script`` has for a chunk's number, in turn: an error, or None for a good reply, which is the default."""

    def __init__(self, **script):
        self.script = {int(key[1:]): list(value) for key, value in script.items()}
        self.asked = []
        self.temperatures = []

    async def extract(self, chunk, base, *, temperature=0.0):
        self.asked.append(chunk.ordinal)
        self.temperatures.append(temperature)
        left = self.script.get(chunk.ordinal)
        said = left.pop(0) if left else None
        if isinstance(said, ModelReplyError):
            return ModelExtraction(base, 10, 1, 1, 1, said)
        if said is not None:
            raise said
        return ModelExtraction(Extraction(base.entities, (relation(chunk.ordinal, "store"),)), 10, 1, 1, 0)


def bad():
    return ModelReplyError("the model's reply cannot be used: it is blank")


def extractor(model, *, share=1.0, reserve=10, barren=(), parallel=1):
    return Extractor(Spacy(barren), model, share, RetryBudget(share=0.0, reserve=reserve), parallel=parallel)


def words(extracted):
    return [mention.keywords[0] for mention in extracted.relations]


async def test_the_model_reads_its_share_and_spacy_the_rest():
    model = Model()
    extracted = await extractor(model, share=0.5).extract([chunk(n) for n in range(4)], silent)
    assert words(extracted) == ["store", "store", "keep", "keep"]
    assert model.asked == [0, 1]
    assert extracted.cost == Cost(2, 20, 2)
    assert extracted.shortfalls == ()


@pytest.mark.parametrize("share", [0.0, 1.0])
async def test_facts_are_those_of_spacy_whoever_finds_the_relations(share):
    extracted = await extractor(Model(), share=share, barren=[1]).extract([chunk(0), chunk(1)], silent)
    assert extracted.facts == (a_fact("d:0"), a_fact("d:1"))


async def test_without_a_share_no_model_is_asked():
    model = Model()
    extracted = await extractor(model, share=0.0).extract([chunk(0)], silent)
    assert (words(extracted), model.asked, extracted.cost) == (["keep"], [], Cost())


async def test_mentions_come_in_the_order_of_the_chunks():
    extracted = await extractor(Model(), share=0.4, parallel=2).extract([chunk(n) for n in range(5)], silent)
    assert [mention.chunk_id for mention in extracted.relations] == [f"d:{n}" for n in range(5)]
    assert [mention.chunk_id for mention in extracted.entities] == [f"d:{n}" for n in range(5) for _ in range(2)]


async def test_a_bad_reply_is_asked_for_once_more_differently():
    model = Model(c1=[bad()])
    extracted = await extractor(model).extract([chunk(0), chunk(1)], silent)
    assert (words(extracted), extracted.shortfalls) == (["store", "store"], ())
    assert model.asked == [0, 1, 1]
    assert model.temperatures[:2] == [0.0, 0.0]
    assert model.temperatures[2] > 0
    assert extracted.cost == Cost(3, 30, 3)


async def test_a_passage_with_two_bad_replies_keeps_spacys_mentions_and_is_told():
    model = Model(c7=[bad(), bad()])
    extracted = await extractor(model).extract([chunk(n) for n in range(120)], silent)
    assert words(extracted) == ["store"] * 7 + ["keep"] + ["store"] * 112
    assert [(shortfall.code, shortfall.chunk_id) for shortfall in extracted.shortfalls] == [("model_reply_error", "d:7")]
    assert model.asked.count(7) == 2


async def test_without_budget_nothing_is_asked_twice():
    model = Model(c0=[bad()])
    extracted = await extractor(model, reserve=0).extract([chunk(0), chunk(1)], silent)
    assert (model.asked, len(extracted.shortfalls)) == ([0, 1], 1)


async def test_the_only_passage_may_fail():
    extracted = await extractor(Model(c0=[bad(), bad()])).extract([chunk(0)], silent)
    assert (words(extracted), len(extracted.shortfalls)) == (["keep"], 1)


async def test_half_of_the_passages_may_fail():
    model = Model(c0=[bad(), bad()], c1=[bad(), bad()])
    assert len((await extractor(model).extract([chunk(n) for n in range(4)], silent)).shortfalls) == 2


async def test_three_passages_may_all_fail_as_lists_do_and_four_may_not():
    extracted = await extractor(Model(**{f"c{n}": [bad(), bad()] for n in range(3)})).extract([chunk(n) for n in range(3)], silent)
    assert (words(extracted), len(extracted.shortfalls)) == (["keep"] * 3, 3)
    with pytest.raises(ModelReplyError, match="4 of 4 passages"):
        await extractor(Model(**{f"c{n}": [bad(), bad()] for n in range(4)})).extract([chunk(n) for n in range(4)], silent)


async def test_with_most_passages_bad_the_model_is_at_fault():
    model = Model(**{f"c{n}": [bad(), bad()] for n in range(1, 9)})
    with pytest.raises(ModelReplyError, match="5 of 9 passages") as caught:
        await extractor(model).extract([chunk(n) for n in range(9)], silent)
    assert (caught.value.chunk_id, bool(caught.value.next_step)) == ("d:1", True)
    assert max(model.asked) == 5  # what cannot change the verdict is not paid for


@pytest.mark.parametrize("error", [ModelTimeout(deadline_s=1.0), ModelUnavailable("away")])
async def test_a_model_that_is_away_ends_the_document_with_the_chunk(error):
    model = Model(c2=[error])
    with pytest.raises(type(error)) as caught:
        await extractor(model).extract([chunk(n) for n in range(5)], silent)
    assert (caught.value.chunk_id, model.asked) == ("d:2", [0, 1, 2])


class Meeting(Model):
    """Lets no call go on before ``together`` are under way."""

    def __init__(self, together, **script):
        super().__init__(**script)
        self.together, self.under_way, self.most, self.met = together, 0, 0, asyncio.Event()

    async def extract(self, chunk, base, *, temperature=0.0):
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        if self.under_way == self.together:
            self.met.set()
        await self.met.wait()
        try:
            return await super().extract(chunk, base, temperature=temperature)
        finally:
            self.under_way -= 1


async def test_two_passages_are_asked_about_at_once_and_no_more():
    model = Meeting(2)
    await extractor(model, parallel=2).extract([chunk(n) for n in range(6)], silent)
    assert model.most == 2


class FirstFails(Model):
    """The first chunk's call fails while the second's is under way."""

    def __init__(self):
        super().__init__(c0=[ModelUnavailable("away")])
        self.begun, self.failed = asyncio.Event(), asyncio.Event()

    async def extract(self, chunk, base, *, temperature=0.0):
        if chunk.ordinal == 0:
            await self.begun.wait()
            self.failed.set()
        else:
            self.begun.set()
            await self.failed.wait()
        return await super().extract(chunk, base, temperature=temperature)


async def test_the_first_error_lets_what_was_begun_end_and_begins_nothing_new():
    model = FirstFails()
    with pytest.raises(ModelUnavailable) as caught:
        await extractor(model, parallel=2).extract([chunk(n) for n in range(6)], silent)
    assert (caught.value.chunk_id, model.asked) == ("d:0", [0, 1])


async def test_calls_that_fail_together_are_paid_for_together():
    """Two calls fail: whoever repeats the document takes one repeat, the extractor took the other."""
    budget = RetryBudget(share=0.0, reserve=2)
    model = Meeting(2, c0=[ModelUnavailable("away")], c1=[ModelUnavailable("away")])
    with pytest.raises(ModelUnavailable):
        await Extractor(Spacy(), model, 1.0, budget, parallel=2).extract([chunk(0), chunk(1)], silent)
    assert [budget.take(), budget.take()] == [True, False]


async def test_another_error_comes_out_as_it_is():
    with pytest.raises(ZeroDivisionError):
        await extractor(Model(c0=[ZeroDivisionError()])).extract([chunk(0)], silent)


async def test_passages_without_names_cost_no_call():
    model = Model()
    await extractor(model, barren=[1]).extract([chunk(0), chunk(1)], silent)
    assert model.asked == [0]


async def test_a_barren_document_is_told():
    extracted = await extractor(Model(), share=0.0, barren=range(12)).extract([chunk(n) for n in range(14)], silent)
    assert [(shortfall.code, shortfall.chunk_id) for shortfall in extracted.shortfalls] == [("low_yield", "")]
    assert extracted.shortfalls[0].message.startswith("12 of 14 passages gave no entity")


@pytest.mark.parametrize(("barren", "told"), [([], 0), ([0], 0), ([0, 1], 1)])
def test_low_yield_begins_above_half(barren, told):
    said = [Extraction((), ()) if n in barren else read_by_spacy(n) for n in range(2)]
    assert len(low_yield([chunk(0), chunk(1)], said)) == told


def test_passages_without_letters_are_not_expected_to_yield():
    assert low_yield([chunk(0, "1 2 3"), chunk(1, "4.5 | 6")], [Extraction((), ())] * 2) == []


async def test_definitions_carry_their_chunk():
    chunks = [chunk(0), chunk(1, "The Gross Domestic Product (GDP) rose.")]
    extracted = await extractor(Model(), share=0.0).extract(chunks, silent)
    assert extracted.definitions == (Definition(ChunkId("d:1"), "gross domestic product", "gdp"),)


async def test_progress_tells_of_spacy_and_of_the_model():
    told = []
    await extractor(Model()).extract([chunk(0), chunk(1)], lambda *step: told.append(step))
    assert told == [("extract", 2, 2), ("extract by model", 1, 2), ("extract by model", 2, 2)]


@given(st.lists(st.sampled_from(range(5))))
def test_sorting_by_chunk_loses_nothing(numbers):
    found = Extraction(tuple(entity(n) for n in numbers), tuple(relation(n, "keep") for n in numbers))
    by_chunk = per_chunk(found)
    assert sum(len(one.entities) for one in by_chunk.values()) == len(numbers)
    assert all(mention.chunk_id == key for key, one in by_chunk.items() for mention in (*one.entities, *one.relations))
