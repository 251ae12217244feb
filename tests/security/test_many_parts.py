"""A question of hundreds of parts costs its edge, the cloud and other edges what one of eight does."""

import pytest

from cloud_server.answering.coordinator import Models
from cloud_server.build import build_cloud
from cloud_server.settings import CloudSettings
from shared.models.fake import HashEmbedder, ScriptedGenerator, WordTokenizer
from shared.text import sentences
from shared.text.sentences import MOST_PARTS, questions_in
from tests.support.running_edge import running_edge

LONG = f"Who sold {''.join(f'lot {number}, and who sold ' for number in range(333))}"[:3981] + "?"
SAME = ("x, and who " * 333)[:3990] + "?"  # the attack's own


class Counting(HashEmbedder):
    """Counts the texts that it was asked to embed."""

    count = 0

    async def embed(self, texts):
        self.count += len(texts)
        return await super().embed(texts)


def test_beyond_eight_parts_the_last_one_is_the_rest_so_that_nothing_is_left_out():
    question, *parts = questions_in(LONG)
    assert question == LONG
    assert len(parts) == MOST_PARTS
    assert parts[:2] == ["Who sold lot 0?", "who sold lot 1?"]
    assert parts[-1].startswith("who sold lot 7, and who sold lot 8, and")
    assert parts[-1].endswith(LONG[-30:])


def test_a_part_that_is_there_twice_is_searched_for_once():
    assert questions_in("Who is it, and who is it, and who is it?")[1:] == ("Who is it?", "who is it?")
    assert len(questions_in(SAME)) < MOST_PARTS


async def searches(folder, question):
    async with running_edge(folder) as edge:
        await edge.add("a.md", "Juniper Ward reported the pump failure of lot 7.")
        asked = []
        retrieve = edge.node.answerer.search.retrieve

        async def counted(part, *args, **options):
            asked.append(part)
            return await retrieve(part, *args, **options)

        edge.node.answerer.search.retrieve = counted
        await edge.ask(question, mode="local", memory=False)
        return len(asked)


async def test_an_edge_searches_for_a_question_and_eight_parts_at_most(tmp_path, monkeypatch):
    assert await searches(tmp_path / "now", LONG) == MOST_PARTS + 1
    monkeypatch.setattr(sentences, "MOST_PARTS", 10_000)
    assert await searches(tmp_path / "null", LONG) > 100


async def embedded(folder, question):
    embedder = Counting()
    models = Models(embedder, ScriptedGenerator(lambda _: "-", lambda _: {}), WordTokenizer())
    cloud = build_cloud(CloudSettings(state_dir=folder), models)
    try:
        await cloud.open()
        embedder.count = 0
        await cloud.collector.matched(question, m=3)
        return embedder.count
    finally:
        cloud.close()


@pytest.mark.parametrize("question", [LONG, SAME])
async def test_a_cloud_compares_no_more_of_it(tmp_path, monkeypatch, question):
    assert await embedded(tmp_path / "now", question) <= MOST_PARTS + 1
    monkeypatch.setattr(sentences, "MOST_PARTS", 10_000)
    if question == LONG:  # the other has one part many times
        assert await embedded(tmp_path / "null", question) > 100
