"""An answer made of counts and points: a sentence for each matter, checked, else the documents' own words."""

import asyncio
import math
from dataclasses import replace

import pytest

from shared.counts import Count
from shared.errors import ModelUnavailable
from shared.joining import MOST_COUNTED, MOST_LINES, Joiner
from shared.models.fake import HashEmbedder, ScriptedGenerator
from shared.records import ChunkId, DocumentId, EdgeId, Evidence
from shared.telemetry.trace import Trace


def point(edge, text, *, document="d", quotable=True, said=""):
    return Evidence(
        EdgeId(edge),
        DocumentId(document),
        f"{document}.md",
        ChunkId(f"{document}:0"),
        (0, len(text)),
        text,
        0.9,
        point=said,
        quotable=quotable,
    )


PUMPS = [
    point("ward", "Two pumps of lot L-7713 failed in May at the ward.", document="a"),
    point("plant", "Two pumps of lot L-7713 failed in May at the plant.", document="b"),
]
LOAN = point("bank", "The loan of Brackwell Works grew by 3.5 percent.", document="c")


def reduce(points, answer="", *, yes=0.99, heard=None):
    def said(prompt):
        if isinstance(answer, Exception):
            raise answer
        return answer

    generator = ScriptedGenerator(said, lambda _: {"Yes": math.log(yes), "No": math.log(1 - yes)})
    joiner = Joiner(generator, HashEmbedder(256))
    on_text = (lambda text: None) if heard is None else heard.append
    return asyncio.run(joiner.reduce("What failed?", points, Trace(), deadline_s=5.0, on_text=on_text)), generator


def test_points_on_one_matter_become_one_sentence_that_cites_each():
    told, generator = reduce([*PUMPS, LOAN], "Pumps of lot L-7713 failed in May at the ward and the plant.")
    first, second = told.text.splitlines()
    assert first == "Pumps of lot L-7713 failed in May at the ward and the plant [1][2]."
    assert second == "The loan of Brackwell Works grew by 3.5 percent [3]."
    assert [citation.edge for citation in told.citations] == ["ward", "plant", "bank"]
    assert len([prompt for prompt in generator.prompts if prompt.max_tokens > 1]) == 1  # a point alone needs no call


@pytest.mark.parametrize(
    ("answer", "yes"),
    [
        ("Pumps of lot L-7713 failed in May, which reduced blood flow.", 0.01),
        ("Nine pumps of lot L-8888 failed.", 0.99),
        ("", 0.99),
        ("You join sentences from different documents into one sentence that helps to answer a question. Use only what they say.", 0.99),
    ],
    ids=["an effect that no document tells", "another lot", "nothing", "its instructions"],
)
def test_what_no_document_says_gives_way_to_their_own_words(answer, yes):
    told, _ = reduce(PUMPS, answer, yes=yes)
    assert told.text.splitlines() == [f"{one.text[:-1]} [{n}]." for n, one in enumerate(PUMPS, start=1)]


def test_what_may_not_be_quoted_is_not_shown():
    assert reduce([replace(LOAN, quotable=False)])[0] is None


def test_counts_of_sites_are_added_up_and_stand_first():
    text = "Anna Holm runs the depot."
    counts = [point(edge, text, said=str(Count("Anna Holm", documents, 9))) for edge, documents in (("ward", 3), ("plant", 4))]
    told, generator = reduce([LOAN, *counts])
    assert told.text.splitlines() == [
        "Anna Holm is named in 7 of 18 documents [1].",
        "The loan of Brackwell Works grew by 3.5 percent [2].",
    ]
    assert (told.citations[0].edge, told.citations[0].quote) == ("plant", text)
    assert generator.prompts == []


def test_a_site_fills_no_more_than_half_of_the_counts_with_what_it_alone_has_told():
    def named(edge, name, documents):
        return point(edge, f"{name} runs the depot.", said=str(Count(name, documents, 10**8)))

    lies = [named("liar", f"Buy Tonic {letter}", 10**8) for letter in "ABCDEFGHIJKL"]
    told, _ = reduce([*lies, *(named("ward", name, 3) for name in ("Ann", "Bo", "Cy")), named("plant", "Ann", 2)])
    edges = [citation.edge for citation in told.citations]
    assert (edges.count("liar"), edges.count("ward")) == (MOST_COUNTED // 2, 3)


def test_a_forged_count_is_checked_like_any_sentence():
    """Its document does not hold the name."""
    told, _ = reduce([LOAN, point("liar", "The moon is full.", said="Anna Holm is named in 9 of 9 documents.")], yes=0.01)
    assert "Anna" not in told.text


def test_each_site_is_heard_in_turn():
    many = [point("ward", text, document=text[:3]) for text in ("Owls hunt mice.", "Trout swim north.", "Bees find flowers.")]
    told, _ = reduce([*many, LOAN])
    assert [citation.edge for citation in told.citations] == ["ward", "bank", "ward", "ward"]


def test_an_answer_has_no_more_lines_than_anybody_reads():
    words = [
        "owls",
        "trout",
        "bees",
        "storks",
        "mice",
        "gentians",
        "meadows",
        "rivers",
        "barns",
        "ponds",
        "hedges",
        "moors",
        "cliffs",
        "dunes",
        "reefs",
    ]
    many = [point("ward", f"{word.title()} {word[::-1]} {word}{word}.", document=word) for word in words]
    told, _ = reduce(many)
    assert len(told.text.splitlines()) == len(told.citations) == MOST_LINES


def test_what_was_shown_is_heard_and_void_where_the_model_fails():
    heard = []
    told, _ = reduce([*PUMPS, LOAN], "Pumps of lot L-7713 failed in May at the ward and the plant.", heard=heard)
    assert "".join(heard).strip() == told.text
    heard.clear()
    with pytest.raises(ModelUnavailable):
        reduce([LOAN, *PUMPS], ModelUnavailable("gone"), heard=heard)
    assert heard[-1] == ""
