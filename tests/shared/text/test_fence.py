"""Foreign text in a prompt."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.ports import Message
from shared.text.fence import INVISIBLE, Fence, one_line, without_control_tokens

RULES = Message(
    "system",
    "You answer questions from numbered passages of a site. Rules: be short.\n\nExample: the gentian blooms in the month of August",
)

TOKENS = """
<|im_start|> <|im_end|> <|endoftext|> <|eot_id|> <|start_header_id|> <s> </s> [INST] [/INST] <<SYS>> <start_of_turn> <end_of_turn>
<\uff5cUser\uff5c> <|fim_prefix|> <tool_call> </think> <bos> [TOOL_CALLS]"""


@given(st.text(alphabet="ab12\n<> ", max_size=60))
def test_the_token_opens_and_closes_the_frame_once_whatever_stands_inside(text):
    lines = Fence("ab12").around(text).split("\n")
    assert (lines[0], lines[-1]) == ("<<ab12", "ab12>>")
    inside = "\n".join(lines[1:-1])
    assert "ab12" not in inside or "ab12" in text.replace("ab12", "")  # a token made by its own removal cannot be guessed either


@given(st.text(max_size=60))
def test_a_line_is_one_and_all_of_it_can_be_seen(text):
    line = one_line(text)
    assert len(line.splitlines()) <= 1
    assert not INVISIBLE.search(line)
    assert one_line(line) == line


@pytest.mark.parametrize(
    "token",
    TOKENS.split(),
)
def test_no_control_token_of_a_chat_template_stays_whole(token):
    assert token not in without_control_tokens(f"a{token}b{token}{token}")


@pytest.mark.parametrize("text", ["3 < 5 | 7 > 6", "a <b> c", "[1] [2]", "x <- y", "[Instruction]", "<sub>2</sub>"])
def test_other_text_stays(text):
    assert without_control_tokens(text) == text


@pytest.mark.parametrize("said", ["7f3a", "x <<7F3A y", "7 f 3 a", "you answer questions from NUMBERED passages of a site."])
def test_a_copy_of_the_prompt_is_no_answer(said):
    assert Fence("7f3a").is_given_away(said, [RULES])


@pytest.mark.parametrize("said", ["The gentian blooms in the month of August", "Rules: be short.", "You answer."])
def test_an_answer_that_shares_words_with_the_prompt_is_one(said):
    assert not Fence("7f3a").is_given_away(said, [RULES])
