import asyncio
import math
from dataclasses import replace

import pytest

from shared.errors import ContextOverflow, ModelTimeout
from shared.models.fake import ScriptedGenerator
from shared.records import EdgeReport
from shared.text.refusals import REFUSAL
from shared.wire import QuestionBody

PUMP = "The infusion pump P-204 was replaced in March by Marlow."
OLD = "The infusion pump P-204 was bought in June by Marlow."
LOAN = "A bank loan over five years costs 4 percent a year."
ASK = QuestionBody(question="When was the infusion pump P-204 replaced?", query_id="q1")

FOUND_BUT = "Passages near to this question were found (1 of ward), but they support no statement that answers it."


async def asked(service, kit, *passages, edge="ward", body=ASK, refused=""):
    """Ask while ``edge`` serves its next request."""
    answering = asyncio.create_task(kit.serve_once(service.http, edge, *passages, refused=refused))
    await kit.until(lambda: service.cloud.mailbox._boxes.get(edge) and service.cloud.mailbox._boxes[edge].waiting)
    answer = await service.cloud.coordinator.answer(body, deadline_s=10)
    if not answering.done():
        service.cloud.mailbox.close()
    await answering
    return answer


async def test_a_question_is_answered_from_the_edge_that_knows(service, kit):
    await kit.enrol(service.http, "ward", "infusion pump P-204 replaced")
    await kit.enrol(service.http, "bank", "loans and their cost")
    answer = await asked(service, kit, kit.evidence(PUMP, document="pumps.md", start=40))
    assert (answer.answered, answer.route, answer.query_id) == (True, "cloud", "q1")
    assert answer.answer == "The infusion pump P-204 was replaced in March by Marlow [1]."
    (citation,) = answer.citations
    assert (citation.edge, citation.document, citation.quote, citation.span) == ("ward", "pumps.md", PUMP, (40, 40 + len(PUMP)))
    assert [(r.edge, r.status, r.evidence) for r in answer.edges] == [("ward", "answered", 1)]
    assert (answer.partial, answer.reason) == (False, "")
    assert [step.step for step in answer.trace] == ["match", "fan_out", "rescore", "order", "generate"]
    assert answer.trace[1].bytes_in > 100
    assert answer.trace[4].calls == 1


async def test_the_reported_score_is_replaced_by_the_clouds_own(service, kit):
    await kit.enrol(service.http, "ward", "infusion pump P-204 replaced")
    answer = await asked(service, kit, kit.evidence(PUMP))
    assert 0.3 < answer.citations[0].score < 1.0


async def test_without_a_matching_summary_nobody_is_asked(service, kit):
    await kit.enrol(service.http, "bank", "gardens in Rome")
    answer = await service.cloud.coordinator.answer(ASK, deadline_s=10)
    assert (answer.answered, answer.edges, answer.citations) == (False, (), ())
    assert answer.answer == "No connected site seems to share documents about this question."
    assert answer.reason == "no summary is near enough to the question"
    assert service.cloud.models.generator.prompts == []


async def test_passages_about_something_else_cost_no_model_call(service, kit):
    await kit.enrol(service.http, "ward", "infusion pump P-204 replaced")
    answer = await asked(service, kit, kit.evidence("Gardens of Rome grow figs"))
    assert not answer.answered
    assert answer.answer == "The site that was asked (ward) shares no documents that answer this question."
    assert answer.reason == "no passage is near enough to the question"
    assert [step.step for step in answer.trace] == ["match", "fan_out", "rescore", "order"]
    assert service.cloud.models.generator.prompts == []


@pytest.mark.parametrize("said", [REFUSAL, "The passages do not mention when.", ""])
async def test_a_model_that_refuses_means_that_nobody_knows(tmp_path, kit, said):
    async with kit.running(tmp_path, generator=ScriptedGenerator(lambda _: said)) as service:
        await kit.enrol(service.http, "ward", "infusion pump P-204 replaced")
        answer = await asked(service, kit, kit.evidence(PUMP))
    assert (answer.answered, answer.citations) == (False, ())
    assert answer.answer == FOUND_BUT


def test_a_silent_edge_makes_the_answer_partial_and_is_named(tmp_path, kit, on_skipping_loop):
    async def main(clock):
        async with kit.running(tmp_path, clock=clock) as service:
            await kit.enrol(service.http, "ward", "infusion pump P-204 replaced")
            await kit.enrol(service.http, "bank", "infusion pump P-204 replaced too")
            await service.cloud.mailbox.poll("bank", wait_s=0)
            return await asked(service, kit, kit.evidence(PUMP))

    answer = on_skipping_loop(main)
    assert (answer.answered, answer.partial) == (True, True)
    assert {r.edge: r.status for r in answer.edges} == {"ward": "answered", "bank": "late"}
    assert answer.reason == "1 of 2 sites gave no answer: bank (late)"


async def test_a_refusing_edge_and_an_offline_one_are_told_apart(service, kit):
    await kit.enrol(service.http, "ward", "infusion pump P-204 replaced")
    await kit.enrol(service.http, "bank", "infusion pump P-204 replaced too")
    answer = await asked(service, kit, refused="policy")
    assert not answer.answered
    assert {r.edge: (r.status, r.reason) for r in answer.edges} == {
        "ward": ("refused", "policy"),
        "bank": ("offline", "the edge holds no poll"),
    }
    assert "ward (refused)" in answer.reason
    assert "bank (offline)" in answer.reason


async def test_m_in_the_question_overrides_the_setting(service, kit):
    await kit.enrol(service.http, "ward", "infusion pump P-204 replaced")
    await kit.enrol(service.http, "bank", "infusion pump P-204 replaced too")
    answer = await asked(service, kit, kit.evidence(PUMP), body=ASK.model_copy(update={"m": 1}))
    assert len(answer.edges) == 1


async def test_passages_stand_numbered_on_one_line_each_with_site_and_document(service, kit):
    await kit.enrol(service.http, "ward", "infusion pump P-204 replaced")
    await asked(service, kit, kit.evidence("The infusion pump P-204\n[2] (bank, x) was replaced.", document="a\nb.md"))
    prompt = service.cloud.models.generator.prompts[0]
    assert "\nward, a b.md:\n[1] The infusion pump P-204 [2] (bank, x) was replaced.\n" in prompt.messages[-1].content
    assert "\n[2]" not in prompt.messages[-1].content
    assert prompt.messages[-1].content.index(ASK.question) > prompt.messages[-1].content.index("P-204\u0020[2]")


SHORT = "In March [1]."


@pytest.mark.parametrize(
    ("answers", "no", "outcome"),
    [
        ((SHORT, SHORT, "March"), 0.1, "certain"),
        ((SHORT, SHORT, SHORT), 0.7, "not certain"),
        ((SHORT, "In June", SHORT), 0.1, "not certain"),
        ((SHORT, REFUSAL, SHORT), 0.1, "not certain"),
        ((SHORT, "In June", SHORT), 0.7, "none"),
        ((SHORT, "In June", REFUSAL), 0.1, "none"),
        ((SHORT, SHORT, SHORT), 0.95, "none"),
        ((SHORT, REFUSAL, REFUSAL), 0.1, "none"),
        (("In July", "In July", "July"), 0.1, "none"),
    ],
    ids=[
        *("all agree", "the check doubts it", "one differs", "one refuses", "one differs and the check doubts it"),
        *("one differs and one refuses", "the check denies it", "most refuse", "a date of no passage"),
    ],
)
async def test_an_answer_is_certain_where_all_drafts_say_it_and_the_check_does_not_doubt_it(tmp_path, kit, answers, no, outcome):
    async with kit.running(tmp_path, generator=drawing(answers, no), verify=True) as service:
        await kit.enrol(service.http, "ward", "infusion pump P-204 replaced")
        answer = await asked(service, kit, kit.evidence(PUMP))
    assert (answer.answered, answer.answered and answer.certain) == (outcome != "none", outcome == "certain")
    assert bool(answer.closest) == (outcome != "certain")
    assert answer.answer.startswith("In March [1]") == answer.answered


def drawing(answers, no):
    """A model that draws these answers, and denies what it is shown with the probability ``no``."""
    generator = ScriptedGenerator(lambda _: answers[0], lambda _: {"Yes": math.log(1 - no), "No": math.log(no)})
    generate = generator.generate

    async def drawn(prompt, *, deadline_s):
        reply = await generate(prompt, deadline_s=deadline_s)
        return replace(reply, texts=tuple(answers)) if prompt.n > 1 else reply

    generator.generate = drawn
    return generator


async def test_a_refusal_in_words_costs_no_second_call(tmp_path, kit):
    generator = ScriptedGenerator(lambda _: REFUSAL, lambda _: {"Ins": -0.1})
    async with kit.running(tmp_path, generator=generator, verify=True) as service:
        await kit.enrol(service.http, "ward", "infusion pump P-204 replaced")
        assert not (await asked(service, kit, kit.evidence(PUMP))).answered
    assert len(generator.prompts) == 1


async def test_a_server_that_tells_no_probabilities_is_asked_in_words(tmp_path, kit):
    generator = ScriptedGenerator(lambda _: "The infusion pump P-204 was replaced [1].")
    async with kit.running(tmp_path, generator=generator, verify=True) as service:
        await kit.enrol(service.http, "ward", "infusion pump P-204 replaced")
        assert (await asked(service, kit, kit.evidence(PUMP))).answered
    assert len(generator.prompts) == 2


async def test_a_probe_that_says_neither_yes_nor_no_decides_nothing(tmp_path, kit):
    generator = ScriptedGenerator(lambda _: "The infusion pump P-204 was replaced [1].", lambda _: {"Well": -0.1})
    async with kit.running(tmp_path, generator=generator, verify=True) as service:
        await kit.enrol(service.http, "ward", "infusion pump P-204 replaced")
        assert (await asked(service, kit, kit.evidence(PUMP))).answered


async def test_the_whole_has_one_deadline(service, kit):
    await kit.enrol(service.http, "ward", "infusion pump P-204 replaced")
    await service.cloud.mailbox.poll("ward", wait_s=0)

    async def stuck(texts):
        await asyncio.Event().wait()

    service.cloud.models.embedder.embed = stuck
    with pytest.raises(ModelTimeout):
        await service.cloud.coordinator.answer(ASK, deadline_s=0.01)


async def test_two_edges_are_merged_into_one_answer(tmp_path, kit):
    generator = ScriptedGenerator(lambda _: "The pump was replaced in March [1] and recalled in May [2].", lambda _: {"Yes": -0.1})
    async with kit.running(tmp_path, generator=generator) as service:
        await kit.enrol(service.http, "ward", "infusion pump P-204 replaced")
        await kit.enrol(service.http, "plant", "infusion pump P-204 recalled")
        serving = asyncio.create_task(kit.serve_once(service.http, "plant", kit.evidence("The infusion pump P-204 was recalled in May.")))
        await kit.until(lambda: service.cloud.mailbox.online("plant"))
        answer = await asked(service, kit, kit.evidence(PUMP))
        await serving
    assert {c.edge for c in answer.citations} == {"ward", "plant"}
    assert not answer.partial


async def test_the_asking_edge_is_asked_too_though_no_summary_of_it_matches(service, kit):
    await kit.enrol(service.http, "ward", "infusion pump P-204 replaced")
    await kit.enrol(service.http, "bank", "gardens in Rome")
    await service.cloud.mailbox.poll("bank", wait_s=0)
    serving = asyncio.create_task(kit.serve_once(service.http, "ward", kit.evidence(PUMP)))
    await kit.until(lambda: service.cloud.mailbox.online("ward"))
    answer = await service.cloud.coordinator.answer(ASK, deadline_s=1, asking="bank")
    await serving
    assert {report.edge for report in answer.edges} == {"ward", "bank"}


async def test_with_the_asking_edge_no_more_are_asked_than_k(tmp_path, kit):
    """Three others match, of which the asking edge leaves two their place."""
    async with kit.running(tmp_path, edges_k=3) as service:
        for edge in ("ward", "bank", "plant", "office"):
            await kit.enrol(service.http, edge, "infusion pump P-204 replaced" + (" never" if edge == "office" else ""))
            await service.cloud.mailbox.poll(edge, wait_s=0)
        answer = await service.cloud.coordinator.answer(ASK, deadline_s=1, asking="office")
        edges = [report.edge for report in answer.edges]
        assert len(edges) == 3
        assert "office" in edges


async def test_an_edge_that_failed_too_often_is_passed_over_and_named(tmp_path, kit):
    async with kit.running(tmp_path, breaker_failures=1) as service:
        await kit.enrol(service.http, "ward", "infusion pump P-204 replaced")
        await kit.enrol(service.http, "bank", "infusion pump P-204 replaced too")
        await service.cloud.mailbox.poll("bank", wait_s=0)
        await service.cloud.availability.note([EdgeReport("bank", "evidence", "failed", 1.0, 0, 0)], matched=[], useful=[])
        answer = await asked(service, kit, kit.evidence(PUMP))
    assert (answer.answered, answer.partial) == (True, True)
    assert {r.edge: r.status for r in answer.edges} == {"ward": "answered", "bank": "skipped"}
    assert answer.reason == "1 of 2 sites gave no answer: bank (skipped)"


async def test_an_edge_in_quarantine_whose_summaries_match_is_named_and_another_one_is_not(tmp_path, kit):
    async with kit.running(tmp_path) as service:
        for edge, text in (("ward", PUMP), ("bank", PUMP), ("mill", "bees")):
            await kit.enrol(service.http, edge, text)
        for edge in ("bank", "mill"):
            service.cloud.registry.quarantine(edge, "a secret of the operator")
        answer = await asked(service, kit, kit.evidence(PUMP))
    told = {one.edge: (one.status, one.reason) for one in answer.edges if one.edge != "ward"}
    assert told == {"bank": ("skipped", "the cloud's operator has set it aside")}
    assert (answer.answered, answer.reason) == (True, "1 of 2 sites gave no answer: bank (skipped)")


async def test_when_all_that_match_are_passed_over_the_answer_says_so(tmp_path, kit):
    async with kit.running(tmp_path, breaker_failures=1) as service:
        await kit.enrol(service.http, "bank", "infusion pump P-204 replaced")
        await service.cloud.mailbox.poll("bank", wait_s=0)
        await service.cloud.availability.note([EdgeReport("bank", "evidence", "failed", 1.0, 0, 0)], matched=[], useful=[])
        answer = await service.cloud.coordinator.answer(ASK, deadline_s=5)
    assert (answer.answered, answer.partial) == (False, True)
    assert answer.reason.startswith("no site that may know can be asked now; 1 of 1 site gave no answer: bank (skipped)")


async def both_asked(service, kit, times, of_ward, of_bank):
    """Questions that the summaries of both match; each replies with one passage."""
    for edge in ("ward", "bank"):
        await kit.enrol(service.http, edge, "infusion pump P-204 replaced")
    for _ in range(times):
        serving = asyncio.create_task(kit.serve_once(service.http, "bank", kit.evidence(of_bank)))
        await kit.until(lambda: service.cloud.mailbox._boxes["bank"].waiting if "bank" in service.cloud.mailbox._boxes else None)
        await asked(service, kit, kit.evidence(of_ward))
        await serving
    return {view.edge: view.reliability for view in service.cloud.edges()}


async def test_only_edges_with_a_passage_worth_keeping_count_as_useful(service, kit):
    assert await both_asked(service, kit, 20, "Gardens of Rome grow figs", PUMP) == {"ward": 0.0, "bank": 1.0}


async def test_who_sends_what_another_site_sent_too_was_of_use(service, kit):
    assert await both_asked(service, kit, 20, PUMP, PUMP) == {"ward": 1.0, "bank": 1.0}


async def test_by_what_it_asks_an_edge_makes_another_useless_to_itself_at_most(service, kit):
    for edge in ("ward", "bank"):
        await kit.enrol(service.http, edge, "infusion pump P-204 replaced")
    for _ in range(30):
        await service.cloud.availability.note(
            [EdgeReport("ward", "evidence", "answered", 1.0, 0, 0)], matched=["ward"], useful=["mallory"], requester="mallory"
        )
    for _ in range(10):
        answer = await asked(service, kit, kit.evidence(PUMP))
        assert {report.edge: report.status for report in answer.edges}["ward"] == "answered"


async def test_an_answer_that_repeats_its_instructions_is_withheld(tmp_path, kit):
    repeated = ScriptedGenerator(lambda prompt: prompt.messages[0].content + prompt.messages[1].content)
    async with kit.running(tmp_path, generator=repeated) as service:
        await kit.enrol(service.http, "ward", "infusion pump P-204 replaced")
        answer = await asked(service, kit, kit.evidence(PUMP))
        assert (answer.answered, answer.citations) == (False, ())
        assert "<<" not in answer.answer


async def two_sites(service, kit):
    """ward's summary matches, bank's is a little too far."""
    await kit.enrol(service.http, "ward", "infusion pump P-204 replaced")
    await kit.enrol(service.http, "bank", "the pump of the fountain was replaced by another one in spring")


async def test_where_one_edge_matches_alone_the_nearest_other_is_asked_too(tmp_path, kit):
    async with kit.running(tmp_path, match_threshold=0.5) as service:
        await two_sites(service, kit)
        serving = asyncio.create_task(kit.serve_once(service.http, "bank", kit.evidence("The infusion pump P-204 was sold.")))
        await kit.until(lambda: service.cloud.mailbox.online("bank"))
        answer = await asked(service, kit, kit.evidence(PUMP))
        await serving
        assert {report.edge: report.status for report in answer.edges} == {"ward": "answered", "bank": "answered"}


async def test_a_second_opinion_that_cannot_be_had_makes_no_answer_partial(tmp_path, kit):
    async with kit.running(tmp_path, match_threshold=0.5) as service:
        await two_sites(service, kit)
        answer = await asked(service, kit, kit.evidence(PUMP))
        assert [report.edge for report in answer.edges] == ["ward"]
        assert not answer.partial


async def test_of_a_useless_second_opinion_nothing_is_learnt(tmp_path, kit):
    async with kit.running(tmp_path, match_threshold=0.5) as service:
        await two_sites(service, kit)
        for _ in range(20):
            serving = asyncio.create_task(kit.serve_once(service.http, "bank", kit.evidence("Gardens of Rome grow figs")))
            await kit.until(lambda: service.cloud.mailbox._boxes["bank"].waiting if "bank" in service.cloud.mailbox._boxes else None)
            await asked(service, kit, kit.evidence(PUMP))
            await serving
        assert service.cloud.availability.view("bank").reliability == 1.0


async def test_with_m_of_one_there_is_no_second_opinion(tmp_path, kit):
    async with kit.running(tmp_path, match_threshold=0.5) as service:
        await two_sites(service, kit)
        await service.cloud.mailbox.poll("bank", wait_s=0)
        answer = await asked(service, kit, kit.evidence(PUMP), body=ASK.model_copy(update={"m": 1}))
        assert [report.edge for report in answer.edges] == ["ward"]


@pytest.mark.parametrize(
    ("body", "status", "reason"),
    [
        (b'{"evidence": "many"}', 422, "its reply is not of the agreed form"),
        (b"no JSON", 422, "its reply is not of the agreed form"),
        (b"[" * 5000, 413, "its reply was not taken: the nesting of the request body is over the limit of 32 levels"),
        (b'{"refused": "' + b"x" * 300_000 + b'"}', 413, "its reply was not taken: the request body is over the limit of 262,144 bytes"),
    ],
)
async def test_a_reply_that_cannot_be_used_ends_the_wait_at_once(tmp_path, kit, body, status, reason):
    async with kit.running(tmp_path, deadline_s=600) as service:
        await kit.enrol(service.http, "ward", "infusion pump P-204 replaced")
        await service.cloud.mailbox.poll("ward", wait_s=0)
        asking = asyncio.create_task(service.cloud.coordinator.answer(ASK, deadline_s=2000))
        signature = kit.signed(service.http, "ward")
        (request,) = (await service.http.post("/v1/edges/ward/poll?wait_s=5", auth=signature)).json()["requests"]
        headers = {"content-type": "application/json"}
        path = f"/v1/edges/ward/replies/{request['request_id']}"
        response = await service.http.post(path, content=body, headers=headers, auth=signature)
        assert response.status_code == status
        async with asyncio.timeout(10):
            (report,) = (await asking).edges
        assert (report.status, report.reason) == ("failed", reason)


async def test_an_unusable_reply_under_anothers_name_ends_no_wait(service, kit):
    for edge in ("ward", "bank"):
        await kit.enrol(service.http, edge, "infusion pump P-204 replaced")
    await service.cloud.mailbox.poll("ward", wait_s=0)
    asking = asyncio.create_task(service.cloud.coordinator.answer(ASK, deadline_s=10, asking=None))
    (request,) = (await service.http.post("/v1/edges/ward/poll?wait_s=5", auth=kit.signed(service.http, "ward"))).json()["requests"]
    for victim in ("ward", "bank"):
        path = f"/v1/edges/{victim}/replies/{request['request_id']}"
        response = await service.http.post(path, json={"evidence": "many"}, auth=kit.signed(service.http, "bank"))
        assert response.status_code in {404, 422}
    response = await service.http.post(
        f"/v1/edges/ward/replies/{request['request_id']}", json={"evidence": [kit.evidence(PUMP)]}, auth=kit.signed(service.http, "ward")
    )
    assert response.status_code == 204
    assert (await asking).answered


@pytest.mark.parametrize(("most", "answered"), [(1, True), (0, False)], ids=["half of them fit", "not even half"])
async def test_more_passages_than_the_model_can_read_are_asked_about_once_more_by_half(tmp_path, kit, most, answered):
    def reply(prompt):
        told = [text for text in (PUMP, OLD) if text in prompt.messages[-1].content]
        if len(told) > most:
            raise ContextOverflow("4096 tokens")
        return f"{told[0].removesuffix('.')} [1]."

    generator = ScriptedGenerator(reply)
    async with kit.running(tmp_path, generator=generator, verify=False) as service:
        await kit.enrol(service.http, "ward", "infusion pump P-204 replaced")
        passages = kit.evidence(PUMP), kit.evidence(OLD, document="old.md")
        if answered:
            assert (await asked(service, kit, *passages)).answered
        else:
            with pytest.raises(ContextOverflow) as caught:
                await asked(service, kit, *passages)
            assert "DGRAG_CLOUD_EVIDENCE_BUDGET_TOKENS" in caught.value.next_step
    assert len(generator.prompts) == 2
