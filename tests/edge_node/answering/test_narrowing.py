"""Narrowing passages to their best sentences, each with its exact place."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge_node.answering.narrowing import SentenceSelector, joined, ranked, shared_words, units, within
from edge_node.records import PassageSummary
from shared.models.fake import HashEmbedder, WordTokenizer
from shared.records import Evidence

TEXT = "Juniper Ward has 24 beds. Juniper Ward reported the pump failure. The roof is green. The lot L-7713 caused the failure."


def passage(text=TEXT, *, chunk="d:0", start=100):
    return Evidence("ward", "d", "report.md", chunk, (start, start + len(text)), text, 0.5)


async def narrow(question, passages, budget):
    found, summaries = await SentenceSelector(HashEmbedder(256), WordTokenizer()).narrow(question, passages, budget_tokens=budget)
    assert summaries == ()
    return found


async def test_sentences_of_summaries_compete_with_those_of_passages():
    """The summary's first sentence is nearest, then the passage's last; "The roof is green." would be the passage's, which has it too."""
    told = "Lot L-7713 caused the failure of pumps in Juniper. Nothing else is known. The roof is green."
    summary = PassageSummary("n", told, 0.4, (passage(),))
    selector, question = SentenceSelector(HashEmbedder(256), WordTokenizer()), "Which lot caused the failure of pumps in Juniper?"
    found, summaries = await selector.narrow(question, [passage()], [summary], budget_tokens=23)
    assert [item.chunk_id for item in found] == ["d:0"]
    assert [(one.summary_id, one.text, one.passages) for one in summaries] == [("n", told[:50], (passage(),))]


async def test_the_sentence_that_answers_comes_first_with_its_exact_span():
    best = (await narrow("Which ward reported the pump failure?", [passage()], 8))[0]
    assert best.text == "Juniper Ward reported the pump failure."
    assert TEXT[best.span[0] - 100 : best.span[1] - 100] == best.text


async def test_each_part_of_a_compound_question_gets_a_sentence():
    found = await narrow("Which ward reported the pump failure, and which lot caused the failure?", [passage()], 20)
    assert any("L-7713" in item.text for item in found)
    assert any("Juniper Ward reported" in item.text for item in found)


class Counting(HashEmbedder):
    """Keeps what it was asked to embed."""

    async def embed(self, texts):
        self.seen = list(texts)
        return await super().embed(texts)


async def test_of_many_sentences_only_those_are_embedded_that_share_most_words_with_each_part_of_the_question():
    others = " ".join(f"Sentence number {number} tells of a garden." for number in range(200))
    embedder, question = Counting(256), "Which ward reported the pump failure, and which lot caused the failure?"
    found, _ = await SentenceSelector(embedder, WordTokenizer()).narrow(question, [passage(others), passage(chunk="e:0")], budget_tokens=20)
    assert len(embedder.seen) < 20
    assert {"Juniper Ward reported the pump failure.", "The lot L-7713 caused the failure."} <= set(embedder.seen)
    assert any("L-7713" in item.text for item in found)


async def test_where_no_sentence_shares_a_word_those_of_the_nearest_passage_are_embedded():
    far, near = passage("Grass is green. " * 40), replace(passage("Birds sing at dawn.", chunk="e:0"), score=0.9)
    embedder = Counting(256)
    await SentenceSelector(embedder, WordTokenizer()).narrow("Which ward?", [far, near], budget_tokens=4)
    assert "Birds sing at dawn." in embedder.seen


async def test_without_a_sentence_nothing_is_left():
    assert await narrow("Which ward?", [], 100) == ()
    assert await narrow("Which ward?", [passage("--- \n ***")], 100) == ()


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
    for item in await narrow("a b?", passages, 12):
        whole = by_chunk[item.chunk_id]
        offset = whole.span[0]
        assert whole.text[item.span[0] - offset : item.span[1] - offset] == item.text
