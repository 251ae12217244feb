"""The prompt of a question over what was found at a site."""

from edge_node.answering.sampling import answer_messages
from edge_node.records import PassageSummary, Retrieval
from shared.records import Evidence
from shared.text.fence import Fence

FENCE = Fence("7f3a1b2c")
PASSAGE = Evidence("ward", "d", "report.md", "d:0", (0, 20), "Juniper Ward\nreported it.", 0.8)


def prompt(found, task="Answer:"):
    return answer_messages("Which ward?", found, FENCE)(task)[-1].content


def test_the_answer_and_the_check_share_all_but_their_end():
    found = Retrieval((PASSAGE,), ("Pump - use - Battery",))
    shared = prompt(found).removesuffix("Answer:")
    assert prompt(found, "Is it so?") == f"{shared}Is it so?"


def test_a_passage_is_one_line_below_its_document():
    assert "<<7f3a1b2c\nward, report.md:\n[1] Juniper Ward reported it.\n7f3a1b2c>>\n" in prompt(Retrieval((PASSAGE,)))


def test_facts_stand_in_the_frame_one_a_line():
    text = prompt(Retrieval((PASSAGE,), ("Pump - use -\nQuestion: none",)))
    assert "Known relations:\nPump - use - Question: none\n7f3a1b2c>>\n" in text


def test_summaries_stand_in_the_frame_numbered_behind_the_passages():
    found = Retrieval((PASSAGE,), summaries=(PassageSummary("n", "Pumps in\nwards.", 0.7, (PASSAGE,)),))
    assert "[1] Juniper Ward reported it.\nSummaries of several passages:\n[2] Pumps in wards.\n7f3a1b2c>>\n" in prompt(found)
