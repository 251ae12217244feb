"""The tree on a real store: any history equals one build, what is removed stands nowhere, and a cut loses nothing."""

import asyncio
import json
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edge_node.records import silent
from edge_node.strategies.erarag import growing, tree
from edge_node.strategies.erarag.store import TreeStore
from tests.support.settling import Bench
from tests.support.trees import SMALL, add, built, leaves_of, shown, tree_of


async def test_every_passage_lies_under_one_segment_within_the_bounds(tmp_path):
    async with Bench.opened(tmp_path, **SMALL) as bench:
        for number in range(20):
            await add(bench, number)
        await bench.settle()
        sizes = [len(json.loads(row[2])) for row in tree_of(bench)]
        assert len(leaves_of(bench)) == len(set(leaves_of(bench))) == 20
        assert min(sizes) >= 2
        assert max(sizes) <= 3
        assert {row[1] for row in tree_of(bench)} >= {1, 2}


@pytest.mark.campaign
@settings(max_examples=25, deadline=None)
@given(st.data())
def test_any_history_equals_one_build(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("history")
    steps = data.draw(st.lists(st.tuples(st.integers(0, 24), st.sampled_from(["add", "add", "remove", "settle", "restart"])), max_size=40))

    async def lived():
        present, steps_left = set(), list(steps)
        while True:
            async with Bench.opened(folder / "lived", **SMALL) as bench:
                bench.ids = {f"{number}.md": key for number, key in known.items()}
                while steps_left:
                    number, step = steps_left.pop(0)
                    if step == "add" and number not in present:
                        await add(bench, number)
                        present.add(number)
                        known[number] = bench.ids[f"{number}.md"]
                    elif step == "remove" and number in present:
                        await bench.remove(f"{number}.md")
                        present.discard(number)
                        known.pop(number)
                    elif step == "settle":
                        await bench.settle()
                    elif step == "restart":
                        break
                else:
                    await bench.settle()
                    assert shown(bench) == sorted(tree_of(bench))
                    return present, tree_of(bench)

    known = {}
    present, tree = asyncio.run(lived())
    assert tree == asyncio.run(built(folder / "fresh", present))


async def test_no_word_of_a_removed_passage_stays_in_any_node(tmp_path):
    async with Bench.opened(tmp_path, **SMALL) as bench:
        for number in range(12):
            await add(bench, number)
        await bench.settle()
        assert any("unit7" in row[5] for row in tree_of(bench))
        await bench.remove("7.md")
        await bench.settle()
        bench.database.erase()
        assert "unit7" not in bench.everything_stored().lower()


async def test_an_insertion_embeds_and_writes_little(tmp_path):
    async with Bench.opened(tmp_path, **SMALL) as bench:
        for number in range(40):
            await add(bench, number)
        await bench.settle()
        before = tree_of(bench)
        await add(bench, 41)
        await bench.settle()
        new = set(tree_of(bench)) - set(before)
        assert sum(row[1] == 1 for row in new) <= 4
        assert len(new) < len(before) / 2


async def test_a_settle_without_a_change_writes_nothing(tmp_path):
    async with Bench.opened(tmp_path, **SMALL) as bench:
        for number in range(9):
            await add(bench, number)
        await bench.settle()
        before = bench.database.meta("commits")
        await bench.settle()
        assert bench.database.meta("commits") == before


async def test_texts_and_comparisons_leave_the_event_loop_alone(tmp_path, monkeypatch):
    threads = set()

    def noted(function):
        def called(*args, **more):
            threads.add(threading.current_thread())
            return function(*args, **more)

        return called

    async with Bench.opened(tmp_path, **SMALL) as bench:
        for number in range(9):
            await add(bench, number)
        monkeypatch.setattr(growing, "node_text", noted(growing.node_text))
        monkeypatch.setattr(growing, "placed", noted(growing.placed))
        monkeypatch.setattr(tree, "changed", noted(tree.changed))
        await bench.settle()
        assert threads
        assert threading.current_thread() not in threads


# ------------------------------------------------------------ what is shown


async def test_a_node_above_a_removed_passage_is_hidden_at_once_and_deleted_by_the_settle(tmp_path):
    async with Bench.opened(tmp_path, **SMALL) as bench:
        for number in range(12):
            await add(bench, number)
        await bench.settle()
        stored = tree_of(bench)
        await bench.remove("7.md")
        assert tree_of(bench) == stored
        assert shown(bench)
        assert not any("unit7" in row[5] for row in shown(bench))
        await bench.settle()
        assert shown(bench) == sorted(tree_of(bench))
        assert tree_of(bench) == await built(tmp_path / "fresh", set(range(12)) - {7})


async def test_what_was_hidden_is_shown_again_when_its_passage_comes_back(tmp_path):
    async with Bench.opened(tmp_path, **SMALL) as bench:
        for number in range(12):
            await add(bench, number)
        await bench.settle()
        await bench.remove("7.md")
        await add(bench, 7)
        await bench.settle()
        assert any("unit7" in row[5] for row in shown(bench))
        assert shown(bench) == sorted(tree_of(bench))


async def test_a_start_after_a_removal_that_no_settle_saw_shows_nothing_of_it(tmp_path):
    async with Bench.opened(tmp_path, **SMALL) as bench:
        for number in range(12):
            await add(bench, number)
        await bench.settle()
        bench.documents.remove(bench.ids["7.md"])
    bench = Bench(tmp_path, None, None, SMALL)
    await bench.strategy.open()
    assert any("unit7" in row[5] for row in tree_of(bench))
    assert shown(bench)
    assert not any("unit7" in row[5] for row in shown(bench))
    bench.database.close()


async def test_a_passage_that_is_removed_while_a_settle_commits_is_shown_by_no_node(tmp_path, monkeypatch):
    async with Bench.opened(tmp_path, **SMALL) as bench:
        for number in range(12):
            await add(bench, number)
        [method] = bench.strategy.methods
        commit = method._grower._store.commit

        def committing(nodes, gone):
            commit(nodes, gone)
            bench.documents.remove(bench.ids["7.md"])

        monkeypatch.setattr(method._grower._store, "commit", committing)
        await bench.settle()
        assert any("unit7" in row[5] for row in tree_of(bench))
        assert not any("unit7" in row[5] for row in shown(bench))


async def test_a_cleared_store_says_nothing_and_gives_the_same_tree_again(tmp_path):
    async with Bench.opened(tmp_path, **SMALL) as bench:
        for number in range(9):
            await add(bench, number)
        await bench.settle()
        before = tree_of(bench)
        planes = [tuple(row) for row in bench.database.rows("SELECT * FROM tree_planes")]
        TreeStore(bench.database).clear()
        assert tree_of(bench) == []
        assert [tuple(row) for row in bench.database.rows("SELECT * FROM tree_planes")] == planes
        commits = bench.database.meta("commits")
        TreeStore(bench.database).clear()
        assert bench.database.meta("commits") == commits
    async with Bench.opened(tmp_path, **SMALL) as bench:
        assert tree_of(bench) == before


async def test_a_restart_writes_nothing(tmp_path):
    async with Bench.opened(tmp_path, **SMALL) as bench:
        for number in range(9):
            await add(bench, number)
        await bench.settle()
    bench = Bench(tmp_path, None, None, SMALL)
    await bench.strategy.open()
    [method] = bench.strategy.methods
    before = bench.database.meta("commits")
    await method.renew(silent)
    assert bench.database.meta("commits") == before
    bench.database.close()


# ------------------------------------------------------------ cuts


async def test_a_commit_whose_settle_was_cancelled_is_read_again(tmp_path, monkeypatch):
    async with Bench.opened(tmp_path, **SMALL) as bench:
        for number in range(9):
            await add(bench, number)
        [method] = bench.strategy.methods
        loop, commit = asyncio.get_running_loop(), method._grower._store.commit

        def committing(nodes, gone):
            loop.call_soon_threadsafe(settle.cancel)
            commit(nodes, gone)

        monkeypatch.setattr(method._grower._store, "commit", committing)
        settle = asyncio.ensure_future(bench.settle())
        await asyncio.wait([settle])
        assert settle.cancelled()
        monkeypatch.setattr(method._grower._store, "commit", commit)
        await bench.remove("3.md")
        await bench.settle()
        assert shown(bench) == sorted(tree_of(bench))
        assert not any("unit3" in row[5] for row in tree_of(bench))


async def test_other_hyperplanes_begin_a_new_tree(tmp_path):
    async with Bench.opened(tmp_path, **SMALL) as bench:
        for number in range(9):
            await add(bench, number)
        await bench.settle()
    async with Bench.opened(tmp_path, **SMALL | {"tree_bits": 10}) as bench:
        assert tree_of(bench) == await built(tmp_path / "fresh", range(9), tree_bits=10)


async def test_a_damaged_node_is_made_again(tmp_path):
    async with Bench.opened(tmp_path, **SMALL) as bench:
        for number in range(9):
            await add(bench, number)
        await bench.settle()
        whole = tree_of(bench)
        with bench.database.write() as tx:
            tx.execute("UPDATE tree_nodes SET text = 'Nonsense.' WHERE node_id = ?", (whole[0][0],))
    async with Bench.opened(tmp_path, **SMALL) as bench:
        assert tree_of(bench) == whole
