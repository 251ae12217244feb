"""Memories follow the chunks that are there: made in idle time, gone at once."""

import asyncio
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edge_node.memory.records import Support, memory_of
from edge_node.memory.store import MemoryStore
from shared.errors import ModelReplyError, ModelUnavailable, NotFound
from shared.models.fake import HashEmbedder
from tests.support.idle import BUILT, answers, asked, build, idle, remembered, remembering, sentence

WHEN = "When was Orrin Mill built?"
TABLES = ("facts", "memory_readings", "memories", "memory_chunks", "ratings")


@pytest.fixture
async def bench(tmp_path):
    async with remembering(tmp_path) as opened:
        yield opened


def rows(bench):
    return {table: bench.database.row(f"SELECT count(*) FROM {table}")[0] for table in TABLES}


# ---------------------------------------------------------------- documents that come


async def test_what_a_document_says_can_be_asked_after_some_idle_time(bench):
    await build(bench, "Orrin Mill")
    await build(bench, "Tarrow Bridge")
    await idle(bench)
    (found,) = await asked(bench, WHEN, k=1)
    assert (found.scored.memory.answer, found.backing.sentences) == ("1962", (sentence("Orrin Mill"),))
    assert found.scored.score == pytest.approx(1, abs=1e-3)


async def test_facts_are_committed_with_their_document_and_memories_are_not(bench):
    await build(bench, "Orrin Mill")
    assert rows(bench) == {"facts": 1, "memory_readings": 1, "memories": 0, "memory_chunks": 0, "ratings": 0}
    assert await answers(bench, WHEN) == []


async def test_each_turn_of_idle_time_leaves_less_to_do_and_none_is_left(bench):
    for name in BUILT:
        await build(bench, name)
    assert bench.strategy.stale == len(BUILT)
    await idle(bench)
    assert await bench.strategy.memories.counts() == {"template": 4, "model": 0, "learned": 0, "hyperedges": 0, "waiting": 0}


async def test_a_model_that_is_away_does_not_keep_memories_from_being_made(tmp_path):
    async with remembering(tmp_path, summaries="model") as bench:

        def away(prompt):
            raise ModelUnavailable("http://model")

        bench.reply = away
        await build(bench, "Orrin Mill")
        await bench.settle()
        assert (await bench.refine()).calls == 0
        assert await answers(bench, WHEN) == ["1962"]


async def test_a_question_that_cannot_be_embedded_does_not_cost_the_others_theirs(tmp_path):
    class Picky(HashEmbedder):
        async def embed(self, texts):
            if any("When was Tarrow" in text for text in texts):
                raise ModelReplyError("too long")
            return await super().embed(texts)

    async with remembering(tmp_path, embedder=Picky()) as bench:
        await build(bench, "Tarrow Bridge")
        await build(bench, "Orrin Mill")
        await idle(bench)
        assert [one.memory.answer for one in await remembered(bench)] == ["1962"]


async def test_documents_that_were_there_before_are_read_in_idle_time(tmp_path):
    async with remembering(tmp_path, memory="off") as before:
        await build(before, "Orrin Mill")
        assert rows(before)["memory_readings"] == 0
    async with remembering(tmp_path) as bench:
        await idle(bench)  # by spaCy
        assert await answers(bench, WHEN) == ["1962"]


# ---------------------------------------------------------------- documents that go


async def test_a_removed_document_is_forgotten_at_once(bench):
    for name in BUILT:
        await build(bench, name)
    await idle(bench)
    await bench.remove("Orrin Mill")
    assert "1962" not in await answers(bench, WHEN, floor=-1)
    assert "1962" not in {one.memory.answer for one in await remembered(bench)}
    assert (await bench.strategy.memories.counts())["template"] == len(BUILT) - 1


async def test_nothing_of_the_last_document_stays_in_a_table(bench):
    await build(bench, "Orrin Mill")
    await idle(bench)
    await bench.remove("Orrin Mill")
    await idle(bench)
    assert set(rows(bench).values()) == {0}


async def test_a_document_that_comes_again_is_remembered_again(bench):
    await build(bench, "Orrin Mill")
    await idle(bench)
    await bench.remove("Orrin Mill")
    await build(bench, "Orrin Mill")
    assert await answers(bench, WHEN) == []
    await idle(bench)
    assert await answers(bench, WHEN) == ["1962"]


async def test_a_document_in_the_place_of_another_brings_its_own_answer(bench):
    await build(bench, "Orrin Mill", "1962", document="mill")
    await idle(bench)
    await build(bench, "Orrin Mill", "1971", document="mill")
    assert await answers(bench, WHEN) == []
    await idle(bench)
    assert await answers(bench, WHEN) == ["1971"]


async def test_a_withheld_document_is_as_if_it_were_not_there(bench):
    document_id = await build(bench, "Orrin Mill")
    await build(bench, "Tarrow Bridge")
    await idle(bench)
    assert await answers(bench, WHEN, floor=-1, withheld=[document_id]) == ["1871"]


# ---------------------------------------------------------------- starts


async def test_a_start_finds_what_was_remembered_and_has_nothing_to_do(tmp_path):
    async with remembering(tmp_path) as before:
        for name in BUILT:
            await build(before, name)
        await idle(before)
        known, found = await remembered(before), await asked(before, WHEN, floor=-1)
    async with remembering(tmp_path) as after:
        assert (await remembered(after), await asked(after, WHEN, floor=-1), after.strategy.stale) == (known, found, 0)


async def test_what_was_not_read_before_a_stop_is_read_after_it(tmp_path):
    async with remembering(tmp_path) as before:
        await build(before, "Orrin Mill")
    async with remembering(tmp_path) as after:
        await idle(after)
        assert await answers(after, WHEN) == ["1962"]


async def test_switched_off_nothing_is_found_and_nothing_stays_on_disk(tmp_path):
    async with remembering(tmp_path) as before:
        await build(before, "Orrin Mill")
        await idle(before)
        await before.strategy.memories.rate((await remembered(before))[0].memory.memory_id, right=False)
    async with remembering(tmp_path, memory="off") as off:
        assert set(rows(off).values()) == {0}
        await build(off, "Tarrow Bridge")
        await idle(off)
        assert set(rows(off).values()) == {0}
        assert (await answers(off, WHEN, floor=-1), await remembered(off)) == ([], ())
        assert set((await off.strategy.memories.counts()).values()) == {0}


async def test_other_anchors_take_the_place_of_the_former_ones_of_every_kind(tmp_path):
    async with remembering(tmp_path) as before:
        learned = await learn(before, await build(before, "Orrin Mill"))
        await idle(before)
    async with remembering(tmp_path, memory_anchors="own") as after:
        await idle(after)
        found = {one.memory.memory_id: one.memory.anchors for one in await remembered(after)}
        assert (len(found), set(found.values())) == (2, {frozenset({"orrin mill", "built", "1962"})})
        assert learned.memory_id in found


async def test_a_vector_that_is_lost_is_made_again(tmp_path):
    async with remembering(tmp_path) as before:
        await build(before, "Orrin Mill")
        await idle(before)
        with before.database.write() as tx:
            tx.execute(
                "UPDATE memories SET vector = x'', crc = crc(memory_id, kind, question, answer, anchors, model, doubtful, x'', sources)"
            )
    async with remembering(tmp_path) as after:
        assert (await answers(after, WHEN), after.strategy.stale) == ([], 1)
        await idle(after)
        assert await answers(after, WHEN) == ["1962"]


# ---------------------------------------------------------------- what people say


async def test_a_verdict_on_an_answer_counts_for_all_that_say_the_same(bench):
    await build(bench, "Orrin Mill")
    await build(bench, "Orrin Mill", document="copy", more=" So they say.")
    await idle(bench)
    one, _ = await remembered(bench)
    await bench.strategy.memories.rate(one.memory.memory_id, right=False)
    assert {(one.good, one.bad) for one in await remembered(bench)} == {(0, 1)}
    (found,) = await asked(bench, WHEN)
    assert (found.backing.good, found.backing.bad, len(found.scored.same)) == (0, 1, 1)


async def test_verdicts_outlive_a_start(tmp_path):
    async with remembering(tmp_path) as before:
        await build(before, "Orrin Mill")
        await idle(before)
        await before.strategy.memories.rate((await remembered(before))[0].memory.memory_id, right=True)
    async with remembering(tmp_path) as after:
        assert (await asked(after, WHEN))[0].backing.good == 1


async def only(bench):
    """The id of the one memory that is there, and whether what people said of it silences it."""
    (one,) = await remembered(bench)
    (found,) = await asked(bench, WHEN, k=1)
    assert (one.good, one.bad, one.barred) == (found.backing.good, found.backing.bad, found.backing.barred)
    return one.memory.memory_id, found.backing.silenced


async def test_what_was_called_wrong_is_silent_when_another_part_of_its_document_is_edited(bench):
    await build(bench, "Orrin Mill", document="mill")
    await idle(bench)
    former, _ = await only(bench)
    await bench.strategy.memories.rate(former, right=False)
    await build(bench, "Orrin Mill", document="mill", more=" The roof is new.")
    await idle(bench)
    (newer, silenced) = await only(bench)
    assert (newer != former, silenced) == (True, True)


async def test_what_is_barred_is_silent_for_good_also_in_a_new_version_of_its_document_and_after_a_start(tmp_path):
    async with remembering(tmp_path) as bench:
        await build(bench, "Orrin Mill", document="mill")
        await idle(bench)
        former, _ = await only(bench)
        await bench.strategy.memories.bar(former)
        for _ in range(3):
            await bench.strategy.memories.rate(former, right=True)  # verdicts on answers that were given before
        assert await only(bench) == (former, True)
        await build(bench, "Orrin Mill", document="mill", more=" The roof is new.")
        await idle(bench)
        newer, silenced = await only(bench)
        assert (newer != former, silenced) == (True, True)
    async with remembering(tmp_path) as after:
        assert await only(after) == (newer, True)


async def test_one_verdict_of_wrong_silences_and_only_more_of_right_undo_it(bench):
    await build(bench, "Orrin Mill")
    await idle(bench)
    key, silenced = await only(bench)
    seen = [silenced]
    for right in (True, False, True):
        await bench.strategy.memories.rate(key, right=right)
        seen.append((await only(bench))[1])
    assert seen == [False, False, True, False]


async def test_of_what_is_not_remembered_nobody_can_say_anything(bench):
    await build(bench, "Orrin Mill")
    await idle(bench)
    key = (await remembered(bench))[0].memory.memory_id
    await bench.remove("Orrin Mill")
    for unknown in (key, "nobody's"):
        with pytest.raises(NotFound):
            await bench.strategy.memories.rate(unknown, right=True)
        with pytest.raises(NotFound):
            await bench.strategy.memories.bar(unknown)


# ---------------------------------------------------------------- learned


async def learn(bench, document_id, question="Since when is Orrin Mill there?", since=None):
    memory = memory_of("learned", question, "1962", [Support(f"{document_id}:0", 0, len(sentence("Orrin Mill")))], ())
    asked_at = bench.strategy.memories.arrivals if since is None else since
    await bench.strategy.memories.learn(memory, (await bench.tools.embedder.embed([question]))[0], since=asked_at)
    return memory


async def test_beside_a_learned_question_what_may_dispute_it_is_found_below_the_floor_and_nowhere_else(bench):
    learned = "When was Orrin Mill built then?"
    await learn(bench, await build(bench, "Orrin Mill"), question=learned)
    await build(bench, "Tarrow Bridge")
    await idle(bench)
    assert len(await asked(bench, learned, floor=0.99)) == 1
    assert len(await asked(bench, learned, floor=0.99, others=True)) > 1
    strange = "When was Tarrow Bridge built?"
    assert await answers(bench, strange, floor=0.99, others=True) == await answers(bench, strange, floor=0.99)


async def test_an_answer_that_was_given_is_found_by_its_own_question(bench):
    await learn(bench, await build(bench, "Orrin Mill"))
    (found,) = await asked(bench, "Since when is Orrin Mill there?")
    assert (found.scored.memory.kind, found.scored.dice, found.backing.doubtful) == ("learned", 1, False)


async def test_an_answer_that_rests_on_nothing_any_more_is_not_learned(bench):
    document_id = await build(bench, "Orrin Mill")
    await bench.remove("Orrin Mill")
    await learn(bench, document_id)
    assert (await remembered(bench), rows(bench)["memories"]) == ((), 0)


async def test_a_learned_memory_goes_with_its_document_and_where_it_is_barred(bench):
    memory = await learn(bench, await build(bench, "Orrin Mill"))
    await bench.remove("Orrin Mill")
    assert await remembered(bench) == ()
    await learn(bench, await build(bench, "Orrin Mill"))
    await bench.strategy.memories.bar(memory.memory_id)
    assert (await remembered(bench), rows(bench)["memories"]) == ((), 0)


async def test_what_was_learned_and_deleted_is_not_learned_again(bench):
    document_id = await build(bench, "Orrin Mill")
    await bench.strategy.memories.bar((await learn(bench, document_id)).memory_id)
    await learn(bench, document_id)
    assert await remembered(bench) == ()
    await learn(bench, document_id, "Since when has Orrin Mill been there?")
    assert len(await remembered(bench)) == 1


async def doubts(bench):
    return [one.doubtful for one in await remembered(bench) if one.memory.kind == "learned"]


async def test_a_later_passage_that_is_nearer_makes_a_learned_memory_doubtful(tmp_path):
    async with remembering(tmp_path) as bench:
        await learn(bench, await build(bench, "Orrin Mill"))
        await bench.settle()
        assert await doubts(bench) == [False]  # its own passage is no news
        await bench.add("news", ["Orrin Mill"], text="Orrin Mill is there since 1844.")
        await bench.settle()
        assert await doubts(bench) == [True]
    async with remembering(tmp_path) as after:
        assert await doubts(after) == [True]
        await learn(after, (await remembered(after))[0].memory.supports[0].chunk_id.partition(":")[0])
        assert await doubts(after) == [False]  # it was right with the news there


@pytest.mark.parametrize("settled", [True, False])
async def test_an_answer_that_was_given_before_the_news_is_doubtful_although_its_verdict_came_after_them(bench, settled):
    document_id = await build(bench, "Orrin Mill")
    await bench.settle()
    before = bench.strategy.memories.arrivals
    await bench.add("news", ["Orrin Mill"], text="Orrin Mill is there since 1844.")
    if settled:
        await bench.settle()
    await learn(bench, document_id, since=before)
    assert await doubts(bench) == [True]
    await bench.settle()
    assert await doubts(bench) == [True]


@pytest.mark.parametrize(("text", "removed"), [("Orrin Mill is there since 1844.", True), ("Tarrow Bridge was built in 1871.", False)])
async def test_news_that_are_gone_or_of_something_else_leave_no_doubt_about_an_answer_from_before(bench, text, removed):
    document_id, before = await build(bench, "Orrin Mill"), bench.strategy.memories.arrivals
    await bench.add("news", ["Orrin Mill"], text=text)
    await bench.settle()
    if removed:
        await bench.remove("news")
    await learn(bench, document_id, since=before)
    assert await doubts(bench) == [False]


async def test_news_that_had_gone_and_come_back_after_an_answer_make_it_doubtful(bench):
    document_id, news = await build(bench, "Orrin Mill"), "Orrin Mill is there since 1844."
    await bench.add("news", ["Orrin Mill"], text=news)
    await bench.remove("news")
    before = bench.strategy.memories.arrivals
    await bench.add("news", ["Orrin Mill"], text=news)
    await bench.settle()
    await learn(bench, document_id, since=before)
    assert await doubts(bench) == [True]


async def test_news_that_come_while_an_answer_is_learned_make_it_doubtful(bench, monkeypatch):
    document_id = await build(bench, "Orrin Mill")
    await bench.settle()
    shelf, loop = bench.strategy.write_path.memories._shelf, asyncio.get_running_loop()
    put, settling = shelf.put, []

    async def news():
        await bench.add("news", ["Orrin Mill"], text="Orrin Mill is there since 1844.")
        settling.append(loop.create_task(bench.settle()))
        await asyncio.sleep(0)

    def late(*given, **how):
        asyncio.run_coroutine_threadsafe(news(), loop).result()
        return put(*given, **how)

    monkeypatch.setattr(shelf, "put", late)
    await learn(bench, document_id)
    await asyncio.gather(*settling)
    assert await doubts(bench) == [True]


async def test_what_is_learned_again_from_another_passage_stands_although_the_older_one_is_in_doubt(bench):
    await learn(bench, await build(bench, "Orrin Mill"))
    await bench.settle()
    await bench.add("news", ["Orrin Mill"], text="Orrin Mill is there since 1844.")
    await bench.settle()
    await learn(bench, await bench.add("copy", ["Orrin Mill"], text=sentence("Orrin Mill")))
    assert sorted(await doubts(bench)) == [False, True]
    (found,) = await asked(bench, "Since when is Orrin Mill there?")
    assert not found.backing.doubtful


async def test_a_later_passage_about_something_else_leaves_no_doubt(bench):
    await learn(bench, await build(bench, "Orrin Mill"))
    await build(bench, "Tarrow Bridge")
    await bench.settle()
    assert await doubts(bench) == [False]


async def test_a_settle_that_was_missed_is_made_up_for_at_the_next_start(tmp_path):
    async with remembering(tmp_path) as before:
        await learn(before, await build(before, "Orrin Mill"))
        await idle(before)
        await before.add("news", ["Orrin Mill"], text="Orrin Mill is there since 1844.")
    async with remembering(tmp_path) as after:
        assert await doubts(after) == [True]


# ---------------------------------------------------------------- any order

steps = st.tuples(st.sampled_from(["put", "put", "put", "remove", "idle", "restart"]), st.sampled_from("ab"), st.sampled_from([*BUILT]))


async def lived(folder, history):
    """What is remembered after a history, and the documents that are left."""
    left, place = {}, 0
    while True:
        async with remembering(folder) as bench:
            bench.ids = {name: bench.documents.list(limit=1, name=name)[0]["document_id"] for name in left}
            while place < len(history) and history[place][0] != "restart":
                action, name, told = history[place]
                place += 1
                if action == "put":
                    left[name] = told
                    await build(bench, told, document=name)
                elif action == "remove" and left.pop(name, None):
                    await bench.remove(name)
                elif action == "idle":
                    await idle(bench)
            if place == len(history):
                await idle(bench)
                assert rows(bench)["memories"] == len(await remembered(bench)) == len(MemoryStore(bench.database, 64).all())
                return await remembered(bench), await asked(bench, WHEN, floor=-1), left
            place += 1


@settings(max_examples=5, deadline=None)
@given(st.lists(steps, max_size=8))
async def test_whatever_came_and_went_what_is_left_is_remembered_as_if_it_came_first(history):
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        known, found, left = await lived(Path(one), history)
        fresh = [("put", name, told) for name, told in sorted(left.items())]
        assert (known, found) == (await lived(Path(other), fresh))[:2]
