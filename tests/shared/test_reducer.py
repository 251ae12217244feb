"""The reduce step, as it is written and heard."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.errors import ModelUnavailable
from shared.models.fake import ScriptedGenerator
from shared.records import ChunkId, DocumentId, EdgeId, Evidence
from shared.reduce import Reducer
from shared.telemetry.trace import Trace

POINTS = [
    Evidence(EdgeId(edge), DocumentId("d"), "d.md", ChunkId(f"d:{row}"), (0, len(text)), text, 0.9)
    for row, (edge, text) in enumerate([("ward", "The pump P-204 failed in May."), ("bank", "Loans of No. 7 grew by 3.5 percent.")])
]


def reduce(answer, on_text=lambda text: None, trace=None):
    reducer = Reducer(ScriptedGenerator(lambda prompt: answer), lambda text: len(text.split()), max_tokens=100)
    return asyncio.run(reducer.reduce("What happened?", POINTS, trace or Trace(), deadline_s=5.0, on_text=on_text))


def test_the_answer_is_heard_sentence_by_sentence_with_its_markers():
    heard = []
    told = reduce("The pump P-204 failed in May. [1] Loans of No. 7 grew by 3.5 percent [2].", heard.append)
    assert [part.strip() for part in heard] == ["The pump P-204 failed in May [1].", "Loans of No. 7 grew by 3.5 percent [2]."]
    assert told.text == "".join(heard).strip()


def test_an_answer_that_rests_on_nothing_is_none():
    assert reduce("Bananas are yellow and cheap everywhere.") is None


def test_an_answer_that_repeats_its_instructions_is_none_and_ends_at_once():
    heard = []
    rule = "Put the numbers of the points that a sentence rests on in square brackets at its end."
    assert reduce(f"The pump P-204 failed in May [1]. {rule} Loans of No. 7 grew by 3.5 percent [2].", heard.append) is None
    assert [part.strip() for part in heard] == ["The pump P-204 failed in May [1].", ""]


def test_a_model_that_fails_is_an_error_and_takes_back_what_was_heard():
    class Failing(ScriptedGenerator):
        async def stream(self, prompt, *, deadline_s):
            yield "The pump P-204 failed in May [1]. Loans"
            yield " of No. 7 grew by 3.5 percent [2]. And"
            raise ModelUnavailable("gone")

    heard = []
    with pytest.raises(ModelUnavailable):
        asyncio.run(
            Reducer(Failing(lambda prompt: ""), len, max_tokens=9).reduce("?", POINTS, Trace(), deadline_s=5.0, on_text=heard.append)
        )
    assert [part.strip() for part in heard] == ["The pump P-204 failed in May [1].", "Loans of No. 7 grew by 3.5 percent [2].", ""]


@pytest.mark.parametrize(
    "cut", ["Loans of No. 7 grew by 3.5 per", "Loans of No. 7 grew by 3.5 percent", "Loans of No. 7 grew by 3.5 percent [2"]
)
def test_a_last_sentence_that_was_cut_off_is_left_out(cut):
    assert reduce(f"The pump P-204 failed in May [1]. {cut}").text == "The pump P-204 failed in May [1]."


@pytest.mark.parametrize(
    "last", ["Loans of No. 7 grew by 3.5 percent [2]", 'Loans of No. 7 grew by "3.5 percent."', "Loans of No. 7 grew by 3.5 percent!"]
)
def test_a_last_sentence_with_a_marker_or_a_stop_at_its_end_is_whole(last):
    assert "Loans" in reduce(f"- The pump P-204 failed in May [1]\n- {last}").text


def test_the_only_sentence_is_told_without_its_stop_too():
    assert reduce("The pump P-204 failed in May").text == "The pump P-204 failed in May [1]"


def test_the_trace_tells_the_call_and_its_tokens():
    trace = Trace()
    reduce("The pump P-204 failed in May [1].", trace=trace)
    (step,) = trace.steps()
    assert (step.step, step.calls, step.tokens_out) == ("reduce", 1, 7)


@given(
    st.lists(
        st.sampled_from(["The pump P-204 failed in May", " [1]", ".", " ", "\n", "[2]", "(1)", "e.g. 3", "!", "Loans grew"]), max_size=12
    )
)
def test_what_is_heard_is_what_is_told(pieces):
    heard = []
    told = reduce("".join(pieces), heard.append)
    assert "".join(heard).strip() == (told.text if told else "")
