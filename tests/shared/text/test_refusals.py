import time

import pytest

from shared.text.refusals import REFUSAL, is_refusal

LACKING = """Insufficient information.
insufficient information
Insufficient information to answer the question.
There is insufficient information in the passages to answer.
The passages do not mention the CEO.
The passage does not contain information about the fuel limit.
The provided passages don't provide details on this.
The context does not explicitly state who built it.
Not enough information.
There is not enough information to determine this.
The answer cannot be determined from the passages.
This cannot be determined.
I don't know.
I don’t know the answer.
I do not have enough information to answer that.
I'm sorry, but I cannot answer this question based on the passages.
No information is provided about the bridge.
No information.
There is no mention of a helicopter in the passages.
Based on the provided passages, there is no information about the bridge.
The bridge is not mentioned in the passages.
The year is not specified in the given context.
None of the passages mention the price.
Unknown.
Not mentioned.
Dunmoor Hall is a plant. The passages do not state who built it. Insufficient information.
The given information does not specify the weight.
I need more details.
Passage 1 does not mention the price.
The text does not provide an answer.
Unfortunately, the passages do not say.
It is not possible to determine the date.
The documents do not contain this information.
Based on the passages, I cannot determine the answer.
The passages provide no information on this.
There isn't enough information in the text."""

ANSWERING = """The patient had insufficient iron.
Insufficient evidence led to the acquittal.
Insufficient data was the reason for the halt.
The policy does not cover flood damage.
The document does not include a warranty for batteries.
No.
No evidence of infection was found.
No data was lost during the incident.
The cause could not be determined by the inspectors.
The contract does not mention penalties.
Pump P-204 was replaced in March. The passages do not mention by whom.
It is unknown to most users that the valve is red.
The ward does not have enough nurses.
There is no limit.
There is no smoking on the ward.
Customers who do not provide information are refused.
The nurse must not give information to callers.
The bank needs more information from the applicant.
Patients cannot be moved.
The information line does not open on Sundays.
The fault was not mentioned in the 2021 report.
Not before 2022."""


@pytest.mark.parametrize("answer", LACKING.splitlines())
def test_an_answer_that_lacks_information_is_a_refusal(answer):
    assert is_refusal(answer)


@pytest.mark.parametrize("answer", ANSWERING.splitlines())
def test_an_answer_about_the_world_is_none(answer):
    assert not is_refusal(answer)


@pytest.mark.parametrize("answer", ["", "  \n ", "...", "-"])
def test_an_empty_answer_is_a_refusal(answer):
    assert is_refusal(answer)


def test_what_our_prompts_ask_for_is_a_refusal():
    assert is_refusal(REFUSAL)


@pytest.mark.parametrize("piece", ["the provided ", "however, ", "based on ", "not enough ", " \t", "a" * 50, "is not "])
def test_a_long_hostile_answer_is_read_in_linear_time(piece):
    started = time.process_time()
    is_refusal(piece * 20_000)
    assert time.process_time() - started < 5  # a backtracking pattern would take hours
