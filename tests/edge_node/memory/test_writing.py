"""What a model writes of sentences that belong together, and what of it is kept."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge_node.memory.records import Support
from edge_node.memory.writer import LINE_TOKENS, MOST_NOTES, NumberedSentence, memory_prompt, parsed_memories
from shared.text.fence import Fence

TEXTS = {
    "d:0": "Tarrow Estates opened Merle Quarry in 1881.",
    "e:0": "The slate of Merle Quarry went to the coast on the Fennick Railway.",
    "f:0": "A landslide closed the Fennick Railway in the spring of 1904.",
    "f:1": "It was never opened again, and 200 workers left the valley.",
}
NOTES = [NumberedSentence(Support(chunk_id, 0, len(text)), text) for chunk_id, text in TEXTS.items()]
OPENED = "Q: Who opened Merle Quarry in 1881? | A: Tarrow Estates | [1]"


def parsed(*lines, most=3):
    return parsed_memories("\n".join(lines), NOTES, most=most)


def only(line):
    found = parsed(line)
    assert (len(found.memories), found.unread_lines) == (1, 0)
    return found.memories[0]


def chunks_of(memory):
    return [support.chunk_id for support in memory.supports]


def test_a_line_is_a_question_an_answer_and_where_it_is_said():
    memory = only(OPENED)
    assert (memory.question, memory.answer) == ("Who opened Merle Quarry in 1881?", "Tarrow Estates")
    assert memory.supports == (Support("d:0", 0, len(TEXTS["d:0"])),)


@pytest.mark.parametrize(
    "line",
    [
        "Who opened Merle Quarry in 1881? | Tarrow Estates | 1",
        "1. Q: Who opened Merle Quarry in 1881? | A: Tarrow Estates. | [1]",
        "- **Q: Who opened Merle Quarry in 1881?** | A: tarrow estates | [1], [9]",
        "Question 1: Who opened Merle Quarry in 1881 [1]? | Answer: “Tarrow Estates” | notes 1 and 2",
    ],
)
def test_small_slips_of_form_are_read(line):
    memory = only(line)
    assert (memory.question.replace(" ?", "?"), memory.answer.casefold(), chunks_of(memory)) == (
        "Who opened Merle Quarry in 1881?",
        "tarrow estates",
        ["d:0"],
    )


def test_a_question_over_two_documents_rests_on_both():
    memory = only("Q: When did a landslide close the railway that carried the slate of Merle Quarry? | A: spring of 1904 | [2] [3]")
    assert chunks_of(memory) == ["e:0", "f:0"]


def test_a_note_that_adds_nothing_to_the_question_is_no_support():
    assert chunks_of(only("Q: What closed the Fennick Railway? | A: A landslide | [3] [4] [2]")) == ["f:0"]


def test_a_subject_that_another_sentence_of_the_same_document_names_need_not_be_cited():
    """A small model names in full what it asks about, and cites the one sentence that has the answer."""
    memory = only("Q: How many workers left the valley of the Fennick Railway? | A: 200 workers | [4]")
    assert chunks_of(memory) == ["f:0", "f:1"]


@pytest.mark.parametrize(
    "line",
    [
        "Q: How many workers left the valley of Merle Quarry? | A: 200 workers | [4]",  # a name that only other documents have
        "Q: What is the name of the quarry? | A: Merle Quarry | [1]",  # of which? there is one in each valley
        "Q: Who opened Merle Quarry in 1881 | A: Tarrow Estates | [1]",  # no question
        "Q: Who opened Merle Quarry in 1882? | A: Tarrow Estates | [1]",  # a number that no note has
        "Q: Who opened Rowan Quarry in 1881? | A: Tarrow Estates | [1]",  # a name
        "Q: Who opened Merle Quarry in 1881? | A: Tarrow Estates | [2]",  # another note
        "Q: Who opened Merle Quarry in 1881? | A: Tarrow Estates | [7]",  # no note
        "Q: Who opened Merle Quarry in 1881? | A: Tarrow Estates |",
        "Q: Who opened Merle Quarry in 1881? | A: the Estates of Tarrow | [1]",  # not as it is written
        "Q: Who opened Merle Quarry in 1881? | A: Tarrow | Estates | [1]",
        "Q: Who opened Merle Quarry in 1881? Tarrow Estates [1]",
        "Q: Did Tarrow Estates open Merle Quarry? | A: Tarrow Estates | [1]",  # stands in the question
        "Q: Where did Merle Quarry send slate? | A: unknown | [2]",
        "Q: Where did Merle Quarry send slate? | A: | [2]",
        "Q: When was it closed? | A: spring of 1904 | [3]",  # what was?
        "Q: Who? | A: Tarrow Estates | [1]",
        "Q: What does the second note say of Merle Quarry? | A: The slate | [2]",
        "Q: Why was Merle Quarry sold by soldiers near distant harbours? | A: Tarrow Estates | [1]",  # says what no note says
        "Q: Who never opened Merle Quarry? | A: Tarrow Estates | [1]",  # denies what the note says
        f"Q: What went to the coast from Merle Quarry? | A: {TEXTS['e:0'][:-1]} | [2]",  # 13 words
        "Here are three questions:",
    ],
)
def test_what_the_notes_do_not_say_or_nobody_could_ask_is_counted_and_not_kept(line):
    assert (parsed(line).memories, parsed(line).unread_lines) == ((), 1)


def test_a_question_twice_is_kept_once_and_no_more_than_were_asked_for():
    again = OPENED.replace("in 1881", "then, in 1881,")
    other = "Q: What closed the Fennick Railway? | A: A landslide | [3]"
    assert [memory.question for memory in parsed(OPENED, "", again, other, most=2).memories] == [
        "Who opened Merle Quarry in 1881?",
        "What closed the Fennick Railway?",
    ]
    assert (len(parsed(OPENED, other, most=1).memories), parsed(OPENED, other, most=1).unread_lines) == (1, 1)


def test_markup_is_taken_out_of_what_is_kept():
    memory = only("Q: Who opened [Merle Quarry](http://x.example) in 1881? | A: <b>Tarrow Estates</b> | [1]")
    assert (memory.question, memory.answer) == ("Who opened Merle Quarry in 1881?", "Tarrow Estates")


@given(st.text(alphabet="QA:|[]12? MerleTarrow\n", max_size=120))
def test_any_reply_is_read_without_an_error(reply):
    found = parsed_memories(reply, NOTES, most=3)
    assert len(found.memories) + found.unread_lines <= len(reply.split("\n"))


def test_the_prompt_numbers_the_notes_one_line_each_in_a_frame():
    notes = [NumberedSentence(Support("d:0", 0, 9), f"Note\n{n} tok3n") for n in range(20)]
    prompt = memory_prompt(notes, Fence("tok3n"), most=3)
    text = prompt.messages[-1].content
    assert text.count("tok3n") == 2  # of the frame alone
    assert f"[{MOST_NOTES}] Note {MOST_NOTES - 1}" in text
    assert f"[{MOST_NOTES + 1}]" not in text
    assert "at most 3 lines" in prompt.messages[0].content
    assert prompt.max_tokens == 3 * LINE_TOKENS


def test_a_note_that_was_not_shown_is_none():
    notes = [NOTES[2]] * MOST_NOTES + [NOTES[0]]
    assert parsed_memories(OPENED.replace("[1]", f"[{MOST_NOTES + 1}]"), notes, most=3).memories == ()
