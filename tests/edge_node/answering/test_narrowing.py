"""What a model reads of passages, and their best sentences, each with its exact place."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge_node.answering.narrowing import SentenceSelector, in_turn, joined, ranked, shared_words, units, whole, within
from edge_node.records import PassageSummary, Retrieval
from shared.models.fake import HashEmbedder, WordTokenizer
from shared.records import Evidence

TEXT = "Juniper Ward has 24 beds. Juniper Ward reported the pump failure. The roof is green. The lot L-7713 caused the failure."


def passage(text=TEXT, *, chunk="d:0", start=100):
    return Evidence("ward", "d", "report.md", chunk, (start, start + len(text)), text, 0.5)


def count(text):
    return len(text.split())


def test_passages_are_read_whole_best_first_and_what_is_too_long_leaves_its_place_to_a_shorter_one():
    long, short = passage("word " * 20, chunk="e:0"), passage("Two words.", chunk="f:0")
    read, _ = whole([Retrieval((passage(), long, short))], count(TEXT) + 5, count)
    assert {one.text for one in read} == {TEXT, short.text}


def test_the_first_passage_is_read_even_over_the_budget():
    assert whole([Retrieval((passage(),))], 3, count)[0] == (passage(),)


def test_each_part_of_a_question_has_its_best_passage_before_any_has_its_second():
    best = [passage(f"{name} one two three.", chunk=f"{name}:0") for name in "abcd"]
    read, _ = whole([Retrieval((best[0], best[1])), Retrieval((best[2], best[3]))], 8, count)
    assert {one.chunk_id for one in read} == {"a:0", "c:0"}


def test_summaries_and_passages_compete_by_their_scores():
    near = PassageSummary("n", "Three words here.", 0.9, (passage(),))
    far = PassageSummary("m", "Three words there.", 0.1, (passage(),))
    read, summaries = whole([Retrieval((passage(),), summaries=(far, near))], count(TEXT) + 3, count)
    assert (read, summaries) == ((passage(),), (near,))


class Counting(HashEmbedder):
    """Keeps what it was asked to embed."""

    async def embed(self, texts):
        self.seen = list(texts)
        return await super().embed(texts)


async def best(question, passages, k=1, embedder=None):
    return await SentenceSelector(embedder or HashEmbedder(256), WordTokenizer()).best(question, passages, k=k)


async def test_the_sentence_that_answers_comes_first_with_its_exact_span():
    (found,) = await best("Which ward reported the pump failure?", [passage()])
    assert found.text == "Juniper Ward reported the pump failure."
    assert TEXT[found.span[0] - 100 : found.span[1] - 100] == found.text


async def test_of_many_sentences_only_those_are_embedded_that_share_most_words_with_each_part_of_the_question():
    others = " ".join(f"Sentence number {number} tells of a garden." for number in range(200))
    embedder, question = Counting(256), "Which ward reported the pump failure, and which lot caused the failure?"
    found = await best(question, [passage(others), passage(chunk="e:0")], 2, embedder)
    assert len(embedder.seen) < 100
    assert any("L-7713" in item.text for item in found)


async def test_where_no_sentence_shares_a_word_those_of_the_nearest_passage_are_embedded():
    far, near = passage("Grass is green. " * 40), replace(passage("Birds sing at dawn.", chunk="e:0"), score=0.9)
    embedder = Counting(256)
    await best("Which ward?", [far, near], 1, embedder)
    assert "Birds sing at dawn." in embedder.seen


async def test_without_a_sentence_nothing_is_left():
    assert await best("Which ward?", []) == []
    assert await best("Which ward?", [passage("--- \n ***")]) == []


def test_a_sentence_that_two_overlapping_chunks_hold_counts_once():
    assert len(units([passage(), passage(chunk="d:1")])) == 4


def test_neighbours_become_one_passage_and_others_stay_apart():
    one = passage()
    first, second, _, last = units([one])
    found = joined([one], [last, second, first], [0.2, 0.9, 0.4])
    assert [item.text for item in found] == [TEXT[: second.end], TEXT[last.start :]]
    assert [item.score for item in found] == [0.9, 0.2]


def test_shared_words_are_a_share_of_the_question():
    """Content words of the question: ward, failed, pump; the text holds two of them."""
    assert shared_words(["The ward has a pump."], ["Which ward failed the pump?"])[0, 0] == pytest.approx(2 / 3)


def test_the_first_sentence_is_kept_even_over_the_budget():
    assert within([2, 0], [5, 5, 50], 10) == [2]


@given(st.lists(st.lists(st.floats(-1, 1, width=32), min_size=2, max_size=2), min_size=1, max_size=30))
def test_ranking_names_every_row_once(scores):
    assert sorted(ranked(np.array(scores, dtype=np.float32))) == list(range(len(scores)))


@given(st.lists(st.text(alphabet="ab1. !?\n", max_size=40), max_size=5))
async def test_whatever_the_text_spans_are_exact(texts):
    passages = [passage(text, chunk=f"d:{i}", start=10 * i) for i, text in enumerate(texts)]
    by_chunk = {item.chunk_id: item for item in passages}
    for item in await best("a b?", passages, 3):
        of = by_chunk[item.chunk_id]
        assert of.text[item.span[0] - of.span[0] : item.span[1] - of.span[0]] == item.text


def test_a_passage_that_two_parts_find_has_the_better_score():
    one = passage()
    assert [found.score for found in in_turn([replace(one, score=0.3)], [replace(one, score=-0.1)], [replace(one, score=0.5)])] == [0.5]
