import math
from dataclasses import replace
from typing import get_args

import httpx2
import pytest

from benchmarks.config import Criterion, JudgeConfig
from benchmarks.judge import CRITERIA, Pair, judge, judge_prompt, preference
from benchmarks.records import AnswerRow
from shared.errors import ModelReplyError, ModelUnavailable
from shared.models.fake import ScriptedGenerator
from shared.models.openai_compatible import OpenAIGenerator
from shared.ports import Reply

OURS = AnswerRow("domain", "within", "dgrag", "cs", "q1", "Why?", ("Because.",), "Because of it.", True, "local", 1.0, False, None, (), ())
PAIR = Pair(OURS, replace(OURS, system="local", answer="No idea."))


def reply(text="", **first_token):
    return Reply((text,), tokens_in=1, tokens_out=1, first_token={letter: math.log(p) for letter, p in first_token.items()} or None)


def test_the_verdict_is_the_share_of_a_among_a_and_b():
    """0.6 for A, 0.2 for B; what else the model would have said does not count."""
    assert preference(reply("A", A=0.6, B=0.2, The=0.2)) == pytest.approx(0.75)


@pytest.mark.parametrize(("text", "p_first"), [("A", 1.0), ("Answer B", 0.0), ("**B**", 0.0), ("A: it is better than B", 1.0)])
def test_without_probabilities_the_first_letter_named_decides(text, p_first):
    assert preference(reply(text)) == p_first


def test_probabilities_of_other_words_only_leave_it_to_the_text():
    assert preference(reply("Answer A", Answer=1.0)) == 1.0


@pytest.mark.parametrize("text", ["", "Both are good.", "Apples"])
def test_a_reply_without_a_letter_is_an_error(text):
    with pytest.raises(ModelReplyError, match="neither A nor B"):
        preference(reply(text))


def test_the_prompt_is_the_same_for_all_criteria_up_to_the_criterion():
    prompts = [judge_prompt("Why?", "One.", "Two.", criterion) for criterion in CRITERIA]
    texts = [prompt.messages[-1].content for prompt in prompts]
    assert len({text.partition("in this respect:")[0] for text in texts}) == 1
    assert len(set(texts)) == 5
    assert all("One." in text and "Two." in text and "Why?" in text for text in texts)


def test_the_criteria_are_those_of_both_papers_and_dgrags_are_the_default():
    """GraphRAG §3.4 has directness as its control, DGRAG §IV-B an overall verdict."""
    assert set(CRITERIA) == set(get_args(Criterion))
    assert JudgeConfig().criteria == ("comprehensiveness", "diversity", "empowerment", "overall")


async def test_each_order_shows_the_other_answer_first():
    seen = []

    def say(prompt):
        seen.append(prompt.messages[-1].content)
        return "A"

    one = await judge(ScriptedGenerator(say), PAIR, "overall", ours_first=True, deadline_s=1.0)
    two = await judge(ScriptedGenerator(say), PAIR, "overall", ours_first=False, deadline_s=1.0)
    assert [text.index("Because of it.") < text.index("No idea.") for text in seen] == [True, False]
    assert [(one.first, one.p_first), (two.first, two.p_first)] == [("dgrag", 1.0), ("local", 1.0)]
    assert (one.system, one.against, one.criterion, one.question_id, one.edge) == ("dgrag", "local", "overall", "q1", "cs")


async def test_equal_answers_are_a_tie_without_a_call():
    def never(prompt):
        raise AssertionError("asked")

    pair = Pair(OURS, replace(PAIR.theirs, answer="Because  of it.\n"))
    judged = await judge(ScriptedGenerator(never), pair, "overall", ours_first=True, deadline_s=1.0)
    assert (judged.p_first, judged.tied) == (0.5, True)


def server(answer):
    return OpenAIGenerator(
        httpx2.AsyncClient(transport=httpx2.MockTransport(answer), base_url="http://model/v1/"), model="judge", retry_wait_s=0
    )


async def test_a_server_is_asked_for_probabilities_and_they_are_read():
    asked = []

    def answer(request):
        asked.append(request.read())
        top = [{"token": "A", "logprob": math.log(0.1)}, {"token": "B", "logprob": math.log(0.3)}]
        listed = {"content": [{"token": "B", "logprob": -1.0, "top_logprobs": top}]}
        return httpx2.Response(200, json={"choices": [{"message": {"content": "B"}, "finish_reason": "length", "logprobs": listed}]})

    judged = await judge(server(answer), PAIR, "diversity", ours_first=True, deadline_s=5.0)
    assert (judged.p_first, judged.tied) == (pytest.approx(0.25), False)
    assert b'"top_logprobs":20' in asked[0]


async def test_a_server_that_lists_none_is_read_by_its_words():
    def answer(request):
        return httpx2.Response(200, json={"choices": [{"message": {"content": "Answer A"}, "finish_reason": "stop"}]})

    assert (await judge(server(answer), PAIR, "diversity", ours_first=False, deadline_s=5.0)).p_first == 1.0


async def test_a_server_that_is_away_is_an_error_that_says_so():
    def answer(request):
        raise httpx2.ConnectError("refused", request=request)

    with pytest.raises(ModelUnavailable):
        await judge(server(answer), PAIR, "overall", ours_first=True, deadline_s=5.0)
