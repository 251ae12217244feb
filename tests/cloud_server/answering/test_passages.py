"""Passages for a reader: who is asked first, where the passages lead, and what comes back. The edges poll over HTTP."""

import asyncio
import time
from base64 import b64encode

import pytest

from cloud_server.answering.availability import Reliability
from cloud_server.answering.fan_out import FanOutRequest
from cloud_server.answering.gathering import EdgeQuery
from shared.evidence import SearchBody
from shared.records import EdgeId
from shared.telemetry.trace import Trace
from shared.text.marks import mark_of, packed

FILM = "The film Gold Rain was directed by Ann Lee."
BORN = "Ann Lee was born in Oslo in 1950."
ANN = b64encode(packed([mark_of("Ann Lee")])).decode()
ASK = SearchBody(question="Where was the director of the film Gold Rain born?")


async def serving(service, kit, **sites):
    """Each site is online and replies to every request with its passages, or with a refusal; a tuple has a reply for each request."""

    async def work(edge, replies):
        asked[edge] = 0
        while True:
            said = replies[asked[edge]] if isinstance(replies, tuple) else replies
            passages = [] if isinstance(said, str) else said
            request, _ = await kit.serve_once(service.http, edge, *passages, refused=said if isinstance(said, str) else "")
            asked[edge] += request is not None
            requests.append((edge, request))

    asked, requests = {}, []
    tasks = [asyncio.create_task(work(edge, said)) for edge, said in sites.items()]
    for edge in sites:
        await kit.until(lambda edge=edge: service.cloud.mailbox.online(edge))
    return asked, requests, tasks


async def with_titles(service, kit, edge, text):
    """A site joins that has a document about Ann Lee, and tells ``text``."""
    assert (await kit.join(service.http, edge)).status_code == 201
    body = kit.delta(0, 1, {**kit.summary("s0", text), "titles": ANN})
    assert (await service.http.put(f"/v1/edges/{edge}/summaries", json=body, auth=kit.signed(service.http, edge))).status_code == 200


@pytest.fixture
async def found(service, kit):
    """Finds, with sites that know the film, its director, and something else."""
    tasks = []

    async def find(body=ASK, *, asking=None, **sites):
        defaults = {"films": [kit.evidence(FILM)], "people": [kit.evidence(BORN)], "rivers": [kit.evidence("The Oslo is no river.")]}
        await kit.enrol(service.http, "films", "Films: Gold Rain, Silver Snow; director Ann Lee")
        await kit.enrol(service.http, "people", "People: Ann Lee, born in Oslo; directors")
        await kit.enrol(service.http, "rivers", "The film of water where rivers were born")
        asked, requests, running = await serving(service, kit, **{**defaults, **sites})
        tasks.extend(running)
        reply = await service.cloud.coordinator.find(body, deadline_s=10, asking=asking, requester=asking or "operator:local")
        return reply, asked, requests

    yield find
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_two_sites_are_asked_first_and_their_passages_lead_to_the_next(found):
    reply, _, requests = await found()
    assert "films" in {edge for edge, _ in requests[:2]}
    assert {one.edge for one in reply.evidence} >= {"films", "people"}
    assert {one.text for one in reply.evidence} >= {FILM, BORN}
    assert (reply.reason, [one.status for one in reply.edges]) == ("", ["answered"] * len(reply.edges))


async def test_no_site_sees_what_another_sent(found):
    _, _, requests = await found()
    assert {request["question"] for _, request in requests if request} == {ASK.question}


async def test_the_asking_site_is_asked_first_and_counts(service, kit, found):
    reply, _, _ = await found(asking=EdgeId("people"))
    assert next(one.edge for one in reply.edges) == "people"
    assert len(reply.edges) <= service.cloud.settings.edges_k


async def test_a_passage_without_words_is_left_out_and_harms_nobody(kit, found):
    """It would be the first: its title is what is asked for."""
    reply, _, _ = await found(films=[{**kit.evidence(" \n "), "title": "Gold Rain"}])
    texts = {one.text for one in reply.evidence}
    assert "The Oslo is no river." in texts
    assert all(text.strip() for text in texts)


async def test_a_refusal_is_named_and_the_others_still_answer(found):
    reply, _, _ = await found(films="policy")
    assert "films (refused)" in reply.reason
    assert "The Oslo is no river." in {one.text for one in reply.evidence}


async def test_words_that_are_not_to_be_quoted_do_not_come(kit, found):
    reply, _, _ = await found(films=[{**kit.evidence(FILM), "quotable": False}])
    (hidden,) = [one for one in reply.evidence if one.edge == "films"]
    assert (hidden.text, hidden.document) == ("", "doc.md")


async def test_top_k_cuts_and_whole_passages_are_asked_for(found):
    reply, _, requests = await found(ASK.model_copy(update={"top_k": 1}))
    assert len(reply.evidence) == 1
    assert {request["whole"] for _, request in requests if request} == {True}


async def test_where_nobody_is_near_nobody_is_asked(service, kit):
    await kit.enrol(service.http, "rivers", "zzz qqq")
    reply = await service.cloud.coordinator.find(ASK, deadline_s=5)
    assert (reply.evidence, reply.edges, reply.reason) == ((), (), "no summary is near enough to the question")


async def test_thousands_of_summaries_full_of_the_questions_words_push_the_owner_out_of_nothing(service, kit, found):
    await kit.enrol(service.http, "mallory", *(f"film Gold Rain director born {n} x{n} y{n} z{n}" for n in range(5000)))
    reply, _, _ = await found(mallory=[kit.evidence("Buy from Mallory.")])
    assert {"mallory", "films"} <= {one.edge for one in reply.edges}
    assert FILM in {one.text for one in reply.evidence}


async def test_the_site_that_has_a_document_about_a_name_that_was_read_is_asked_though_others_share_more_words(service, kit, found):
    """From a home that knows the film, one more place is left: "crowd" shares every word, and only "notes" has the title."""
    await kit.enrol(service.http, "crowd", "Ann Lee, director of the film Gold Rain, born; Ann Lee was born where?")
    await with_titles(service, kit, "notes", "Lives of people in the film")
    reply, _, _ = await found(asking=EdgeId("films"), notes=[kit.evidence(BORN)], crowd=[kit.evidence("Ann Lee has been here.")])
    assert "notes" in {one.edge for one in reply.edges}


async def notes_asked(service, kit, found, film):
    """What a site is asked that is asked at once, finds nothing by the question alone, and has a document about the film's director."""
    await with_titles(service, kit, "notes", "Where was the director of the film Gold Rain born?")
    reply, _, requests = await found(ASK, asking=EdgeId("films"), notes=[kit.evidence("It rained in Rome.")], films=[film])
    assert [one.edge for one in reply.edges].count("notes") == 1
    return [(request.get("titles", ""), request.get("titles_only", False)) for edge, request in requests if edge == "notes" and request]


async def test_a_site_is_asked_again_for_its_document_about_a_name_that_was_read_elsewhere(service, kit, found):
    assert await notes_asked(service, kit, found, kit.evidence(FILM)) == [("", False), (ANN, True)]


async def test_a_passage_titled_with_a_name_keeps_no_other_site_from_being_asked_for_its_document(service, kit, found):
    assert await notes_asked(service, kit, found, {**kit.evidence(FILM), "title": "Ann Lee"}) == [("", False), (ANN, True)]


async def test_who_sends_nothing_near_and_then_refuses_is_still_judged_by_what_it_sent(service, kit, found):
    await with_titles(service, kit, "notes", "Where was the director of the film Gold Rain born?")
    reply, asked, _ = await found(ASK, asking=EdgeId("films"), notes=([kit.evidence("Buy here.")], "policy", "policy"))
    assert (asked["notes"], "notes (refused)" in reply.reason) == (2, True)
    assert service.cloud.availability._seen[EdgeId("notes")]["films"] == Reliability(useful=0.0, useless=1.0)


async def test_what_is_not_to_be_quoted_names_nothing_to_another_site(service, kit, found):
    assert await notes_asked(service, kit, found, {**kit.evidence(FILM), "quotable": False}) == [("", False)]


@pytest.mark.parametrize("titled", [False, True])
async def test_an_edge_that_reads_no_titles_is_asked_the_question_alone(service, kit, titled):
    await kit.enrol(service.http, "ward", "x")
    poll = f"/v1/edges/ward/poll?wait_s=5&titled={titled}"
    polling = asyncio.create_task(service.http.post(poll, auth=kit.signed(service.http, "ward")))
    await kit.until(lambda: service.cloud.mailbox.online("ward"))
    wanted = FanOutRequest("Who?", 100, titles={EdgeId("ward"): b"abc"}, titles_only=[EdgeId("ward")])
    asking = asyncio.create_task(service.cloud.fan_out.ask([EdgeId("ward")], wanted, deadline_s=5))
    (request,) = (await polling).json()["requests"]
    assert ("titles" in request, "titles_only" in request) == (titled, titled)
    asking.cancel()


async def test_an_answer_rests_on_what_a_further_site_has_about_a_name_that_was_read(service, kit):
    """Its summary is far from the question; of what it sends only the document that it was asked for is read."""
    await kit.enrol(service.http, "films", "Where the director of the film Gold Rain was born")
    await with_titles(service, kit, "notes", "zzz qqq")
    sent = [{**kit.evidence(BORN), "title": "Ann Lee"}, {**kit.evidence("The director of Gold Rain was born in Rome."), "title": "Rome"}]
    _, requests, tasks = await serving(service, kit, films=[kit.evidence(FILM)], notes=sent)
    sought = EdgeQuery(ASK.question, None, None, "operator:local")
    read = await service.cloud.coordinator._collector.for_answer(sought, Trace(), m=None, until=time.monotonic() + 10)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert ({one.text for one in read.evidence}, read.asked) == ({FILM, BORN}, ("films", "notes"))
    assert [(edge, request.get("titles")) for edge, request in requests] == [("films", None), ("notes", ANN)]
