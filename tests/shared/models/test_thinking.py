"""Thoughts at the beginning of a text, whole and in pieces."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.models.thinking import TAGS, ThoughtFilter, parted


@pytest.mark.parametrize(("opening", "closing"), TAGS)
def test_thoughts_are_taken_off_the_beginning_whatever_their_tags(opening, closing):
    assert parted(f"\n{opening}Hm.\nHm.{closing}\n\nYes").answer == "Yes"
    assert parted(f"{opening.title()}Hm.{closing.upper()}Yes").answer == "Yes"
    assert parted(f"{opening}cut off", is_cut=True).answer == ""
    assert parted(opening).answer == ""


@pytest.mark.parametrize(
    "text",
    [
        "<think> opens a thought, says the manual [1].",
        "<think> and </think> mark a thought [1].",
        "<think>, </think> [1]",
        "<thinking> is the older tag [1].",
        "<reason> is an element of the order form [1].",
        "<reason>Late delivery</reason> stands in the order form [1].",
        "<reasoning>\nThe pump failed.\n</reasoning>",
        "<thought>a</thought> and <thought>b</thought> are its parts [1].",
        "<reflection></reflection>",
        "The tag <think> opens a thought [1].",
        "<order>\n<reason>Late.\n</reason>\n</order>",
    ],
)
def test_an_answer_that_begins_with_the_name_of_a_tag_loses_no_text(text):
    assert parted(text).answer == text
    view = ThoughtFilter()
    pieces = [*map(view.feed, text), view.rest()]
    assert "".join(piece.answer for piece in pieces) == text


@pytest.mark.parametrize(
    ("text", "thinking", "is_cut"),
    [
        ("<think>Hm, who was it", "tags", False),
        ("<think>Hm, who was it", None, True),
        ("<|channel|>analysis<|message|>Hm, who was it", None, False),
        ("<reasoning>Hm, who was it", None, True),
    ],
)
def test_thoughts_without_an_end_are_no_answer(text, thinking, is_cut):
    assert parted(text, thinking, is_cut=is_cut).answer == ""


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("plain", "plain"),
        ("<think></think>Yes", "Yes"),
        ("<think>a</think><think>b</think>Yes", "Yes"),
        ("a < b and b > c", "a < b and b > c"),
        ("<|channel|>final<|message|>Yes<|return|>", "Yes"),
        # without an opening tag
        ("Hm.</think>Yes", "Yes"),
        ("Hm, so\n</think>\n\nYes", "Yes"),
        ("Hm, so yes</think>\n\nYes", "Yes"),
        ("Hm. So yes.</think>", ""),
        # quoted in the answer
        ("<think>a</think>The tag </think> ends it [1].", "The tag </think> ends it [1]."),
        ("<think>a</think>b<think>c</think>d", "b<think>c</think>d"),
        ("The tag </think> ends a thought [1].", "The tag </think> ends a thought [1]."),
        ("It is written as `</think>`\nand read so.", "It is written as `</think>`\nand read so."),
        ("It is written as </think>.", "It is written as </think>."),
        ("So:\n```\n</think>\n```\n[1]", "So:\n```\n</think>\n```\n[1]"),
        ("Yes<think>not at the beginning", "Yes<think>not at the beginning"),
    ],
)
def test_only_the_beginning_is_looked_at(text, left):
    assert parted(text).answer == left


def test_what_is_known_of_a_model_decides_where_a_text_does_not():
    text = "Hm, so </think> Ada opened it"
    assert [parted(text, thinking).answer for thinking in ("unopened", "tags", None)] == ["Ada opened it", text, text]
    assert parted("Hm.\n</think>\nAda", "apart").answer == "Hm.\n</think>\nAda"


PARTS = st.lists(
    st.sampled_from(["<think>", "</think>", "<", "think", ">", "a ", "</", "[THINK]", "<|channel|>", "\n", "<reason>", "</reason>", "."]),
    max_size=12,
)


@given(PARTS, st.data(), st.booleans(), st.booleans())
def test_a_text_in_pieces_shows_what_the_whole_shows(parts, data, is_unopened, is_cut):
    whole = "".join(parts)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=6)))
    pieces = [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    in_pieces, at_once = ThoughtFilter(is_unopened=is_unopened), ThoughtFilter(is_unopened=is_unopened)
    found = [*map(in_pieces.feed, pieces), in_pieces.rest(is_cut=is_cut)]
    wanted = [at_once.feed(whole), at_once.rest(is_cut=is_cut)]
    for part in ("thoughts", "answer"):
        assert "".join(getattr(one, part) for one in found) == "".join(getattr(one, part) for one in wanted)
