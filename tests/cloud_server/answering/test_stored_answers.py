"""Answers from memory: only of an edge that is trusted, and only what its own passage says; hints only tell whom to ask."""

import asyncio

import pytest

from cloud_server.answering.stored_answers import confirming
from shared.records import Evidence
from shared.wire import QuestionBody

QUESTION = "Who built Orrin Mill?"
SAYS = "Orrin Mill was built by Ann Lee in 1881."
BODY = QuestionBody(question=QUESTION, query_id="q1")


def memory(memory_id="m1", question=QUESTION, answer="Ann Lee", direct=True):
    return {"memory_id": memory_id, "question": question, "answer": answer, "direct": direct}


class Site:
    """A cloud that trusts ward; edges with a summary each, and stubs that serve them."""

    def __init__(self, service, kit):
        self.service, self.kit, self.cloud = service, kit, service.cloud
        self.requests = []

    async def joins(self, edge, summary="gardens in Rome"):
        await self.kit.enrol(self.service.http, edge, summary)

    async def tells(self, edge, *memories, base=0, version=1):
        body = {"epoch": "e1", "base_version": base, "version": version, "upserts": list(memories), "removals": []}
        auth = self.kit.signed(self.service.http, edge)
        return await self.service.http.put(f"/v1/edges/{edge}/memories", json=body, auth=auth)

    async def _serve(self, edge, replies):
        for passages, refused in replies:
            request, _ = await self.kit.serve_once(self.service.http, edge, *passages, refused=refused)
            self.requests.append((edge, request))

    async def ask(self, body=BODY, **replies):
        """Ask while edges serve; replies: by edge, a list of passages a request, or why it is refused."""
        told = {edge: [((), one) if isinstance(one, str) else (one, "") for one in of_it] for edge, of_it in replies.items()}
        serving = [asyncio.create_task(self._serve(edge, of_it)) for edge, of_it in told.items()]
        boxes = self.cloud.mailbox._boxes
        await self.kit.until(lambda: all(boxes.get(edge) and boxes[edge].waiting for edge in told))
        try:
            return await self.cloud.coordinator.answer(body, deadline_s=10, requester="operator:ann")
        finally:
            for task in serving:
                task.cancel()
            await asyncio.gather(*serving, return_exceptions=True)

    def held_back(self, edge="ward"):
        return [held.held_back for held in self.cloud.memories.load(edge)]

    def useless(self, edge="ward"):
        return sum(seen.useless for seen in self.cloud.availability._seen.get(edge, {}).values())

    @property
    def prompts(self):
        return self.cloud.models.generator.prompts


@pytest.fixture
async def site(tmp_path, kit):
    async with kit.running(tmp_path, memory_trusted=("ward",)) as service:
        yield Site(service, kit)


async def test_a_trusted_memory_that_its_passage_confirms_is_given_without_a_model(site, kit):
    await site.joins("ward")
    await site.tells("ward", memory())
    answer = await site.ask(ward=[[kit.evidence(SAYS, document="mill.md", start=40)]])
    assert (answer.answer, answer.route, answer.answered, answer.query_id) == ("Ann Lee [1]", "memory", True, "q1")
    [citation] = answer.citations
    assert (citation.edge, citation.document, citation.quote, citation.span) == ("ward", "mill.md", SAYS, (40, 40 + len(SAYS)))
    assert (answer.memory.memory_id, answer.memory.score, answer.memory.threshold) == ("m1", 1.0, 0.92)
    assert [(report.edge, report.status) for report in answer.edges] == [("ward", "answered")]
    assert (site.prompts, site.useless(), site.held_back()) == ([], 0, [""])


async def test_the_owner_is_asked_for_that_memory_alone_and_told_who_asks(site, kit):
    await site.joins("ward")
    await site.tells("ward", memory(), memory("m2", "When was Tarrow Mill sold?", "1881"))
    await site.ask(QuestionBody(question=QUESTION, purpose="treatment"), ward=[[kit.evidence(SAYS)]])
    [(_, request)] = site.requests
    assert (request["memories"], request["memories_only"], request["requester"]) == (["m1"], True, "operator:ann")
    assert request["purpose"] == "treatment"


async def test_by_default_no_edge_is_trusted_and_nobody_is_asked_for_its_memory_alone(tmp_path, kit):
    async with kit.running(tmp_path) as service:
        site = Site(service, kit)
        await site.joins("ward", "Orrin Mill and who built it")
        await site.tells("ward", memory())
        answer = await site.ask(ward=[[kit.evidence(SAYS)]])
        assert (answer.route, len(site.prompts)) == ("cloud", 1)
        assert [request["memories_only"] for _, request in site.requests] == [False]


# ------------------------------------------------------------ the usual way


async def test_an_owner_that_is_offline_costs_nothing(site):
    await site.joins("ward")
    await site.tells("ward", memory())
    answer = await site.cloud.coordinator.answer(BODY, deadline_s=10)
    assert (answer.route, answer.answered, site.held_back()) == ("cloud", False, [""])


@pytest.mark.parametrize("first", [[], "the sharing policy of this site"])
async def test_an_owner_that_shows_nothing_now_is_asked_the_usual_way_and_loses_nothing(site, kit, first):
    await site.joins("ward", "Orrin Mill and who built it")
    await site.tells("ward", memory())
    answer = await site.ask(ward=[first, [kit.evidence(SAYS)]])
    assert (answer.route, answer.answered) == ("cloud", True)
    assert (site.held_back(), site.useless()) == ([""], 0)
    assert [request["memories_only"] for _, request in site.requests] == [True, False]


async def test_a_question_that_wants_two_things_goes_the_usual_way(site, kit):
    await site.joins("ward", "Orrin Mill and who built it")
    question = "Who built Orrin Mill, and when was it sold?"
    await site.tells("ward", memory(question=question))
    answer = await site.ask(QuestionBody(question=question), ward=[[kit.evidence(SAYS)]])
    assert [request["memories_only"] for _, request in site.requests] == [False]
    assert answer.route == "cloud"


async def test_a_memory_of_a_document_that_may_not_be_quoted_any_more_is_not_told(site, kit):
    await site.joins("ward")
    await site.tells("ward", memory())
    answer = await site.ask(ward=[[kit.evidence(SAYS) | {"quotable": False}], []])
    assert (answer.route, site.held_back(), site.useless()) == ("cloud", [""], 0)


# ------------------------------------------------------------ who lies


async def test_an_answer_that_its_owners_passage_does_not_hold_is_not_given_and_never_matched_again(site, kit):
    await site.joins("ward")
    await site.tells("ward", memory(answer="Mallory"))
    answer = await site.ask(ward=[[kit.evidence(SAYS)]])
    assert (answer.route, "Mallory" in answer.answer) == ("cloud", False)
    assert (site.held_back(), site.useless()) == (["unconfirmed"], 1)
    await site.ask(ward=[[kit.evidence("Mallory built Orrin Mill.")]])
    assert [request["memories_only"] for _, request in site.requests if request] == [True]


async def test_a_passage_about_another_thing_confirms_nothing(site, kit):
    await site.joins("ward")
    await site.tells("ward", memory())
    answer = await site.ask(ward=[[kit.evidence("Tarrow Mill was built by Ann Lee.")], []])
    assert (answer.route, answer.answered) == ("cloud", False)


async def test_a_forged_memory_of_an_edge_that_is_not_trusted_is_a_hint_at_most(site, kit):
    await site.joins("mallory")
    await site.tells("mallory", memory(answer="Mallory"))
    answer = await site.ask(mallory=[[kit.evidence("Mallory built Orrin Mill.")]])
    assert answer.route == "cloud"
    [(_, request)] = site.requests
    assert (request["memories"], request["memories_only"]) == (["m1"], False)


async def test_a_liar_that_answers_otherwise_costs_the_fast_way_and_no_truth(site, kit):
    await site.joins("ward", "Orrin Mill and who built it")
    await site.joins("mallory")
    await site.tells("ward", memory())
    await site.tells("mallory", memory(answer="Mallory Ray"))
    answer = await site.ask(ward=[[kit.evidence(SAYS)]], mallory=[[]])
    assert (answer.route, answer.citations[0].edge) == ("cloud", "ward")


async def test_markup_and_instructions_of_a_memory_reach_nobody_as_such(site, kit):
    await site.joins("ward")
    said = "Ann Lee](http://x.example)"
    await site.tells("ward", memory(answer=said))
    answer = await site.ask(ward=[[kit.evidence("Orrin Mill was built by [Ann Lee](http://x.example).")]])
    assert "](" not in answer.answer
    assert not any("](" in citation.quote for citation in answer.citations)


# ------------------------------------------------------------ hints


async def test_a_hint_adds_its_owner_and_the_request_carries_its_id(site, kit):
    await site.joins("port")
    await site.tells("port", memory("h1", answer="", direct=False))
    answer = await site.ask(port=[[kit.evidence(SAYS)]])
    assert (answer.route, answer.citations[0].edge) == ("cloud", "port")
    [(_, request)] = site.requests
    assert (request["memories"], request["memories_only"]) == (["h1"], False)


async def test_no_word_of_a_hint_is_read_by_the_model(site, kit):
    await site.joins("port")
    await site.tells("port", memory("h1", question=f"{QUESTION} Xyzzy", answer="the plugh", direct=False))
    await site.ask(port=[[kit.evidence(SAYS)]])
    [prompt] = site.prompts
    assert not any(word in message.content for message in prompt.messages for word in ("Xyzzy", "plugh"))


@pytest.mark.parametrize(("k", "asked"), [(3, ["bank", "mallory", "ward"]), (2, ["mallory", "ward"]), (1, ["ward"])])
async def test_hints_take_one_place_of_the_k_and_never_the_only_one(tmp_path, kit, k, asked):
    async with kit.running(tmp_path, edges_k=k) as service:
        site = Site(service, kit)
        for edge in ("ward", "bank"):
            await site.joins(edge, "Orrin Mill and who built it")
        for edge in ("mallory", "trudy"):
            await site.joins(edge)
            await site.tells(edge, memory("h1", direct=False))
        answer = await site.ask(ward=[[kit.evidence(SAYS)]], bank=[[]], mallory=[[]], trudy=[[]])
        assert sorted(report.edge for report in answer.edges) == asked


async def test_a_matched_edge_is_told_its_own_ids_and_no_other(site, kit):
    for edge in ("port", "bank"):
        await site.joins(edge, "Orrin Mill and who built it")
        await site.tells(edge, memory(f"of-{edge}", direct=False))
    await site.ask(port=[[kit.evidence(SAYS)]], bank=[[]])
    assert {edge: request["memories"] for edge, request in site.requests} == {"port": ["of-port"], "bank": ["of-bank"]}


# ------------------------------------------------------------ the routes


async def test_a_cloud_without_a_bank_says_so_and_holds_nothing(tmp_path, kit):
    async with kit.running(tmp_path, memory_bank=False) as service:
        site = Site(service, kit)
        await site.joins("ward")
        response = await site.tells("ward", memory())
        assert (response.status_code, response.json()["code"]) == (409, "conflict")
        assert (await service.http.get("/v1/edges/ward?wire_version=6")).json()["memory_epoch"] == ""


async def test_what_an_edge_told_is_acknowledged_counted_and_purged_with_it(site):
    await site.joins("ward")
    known = (await site.tells("ward", memory())).json()
    assert (known["memory_epoch"], known["memory_version"]) == ("e1", 1)
    assert [view.memories for view in site.cloud.edges()] == [1]
    await site.cloud.expel("ward")
    assert site.cloud.memories.edges() == []


@pytest.mark.parametrize(
    "bad",
    [
        {"memory_id": "<b>"}, {"question": ""}, {"question": "q" * 301}, {"answer": "a" * 121}, {"answer": " "}, {"vector": [1.0]},
        {"memory_id": "m" * 65},
    ],
)  # fmt: skip
async def test_a_memory_that_is_not_of_the_agreed_form_is_refused(site, bad):
    await site.joins("ward")
    assert (await site.tells("ward", memory() | bad)).status_code == 422


async def test_no_edge_tells_another_ones_memories(site, kit):
    for edge in ("ward", "mallory"):
        await site.joins(edge)
    body = {"epoch": "e1", "base_version": 0, "version": 1, "upserts": [memory()]}
    auth = kit.signed(site.service.http, "mallory")
    assert (await site.service.http.put("/v1/edges/ward/memories", json=body, auth=auth)).status_code in (401, 403, 404)
    assert site.cloud.memories.counts() == {}


# ------------------------------------------------------------ what confirms


def passage(text, *, title="", quotable=True):
    return Evidence("ward", "d", "mill.md", "d:0", (0, len(text)), text, 0.9, quotable, title)


@pytest.mark.parametrize(
    ("text", "title", "is_confirmed"),
    [
        (SAYS, "", True),
        ("It was built by Ann Lee.", "Orrin Mill", True),
        ("It was built by Ann Lee.", "", False),
        ("Orrin Mill was built by Bo Lee. Ann sold it.", "", False),
        ("Orrin Mill was built by Annabel Leeson.", "", False),
    ],
)
def test_one_sentence_holds_the_answer_and_the_passage_each_name(text, title, is_confirmed):
    found = confirming(QUESTION, QUESTION, "Ann Lee", [passage(text, title=title)])
    assert (found is not None) == is_confirmed


def test_words_of_the_question_that_neither_memory_nor_sentence_has_confirm_nothing():
    assert confirming("Who built Orrin Mill cheaply?", QUESTION, "Ann Lee", [passage(SAYS)]) is None
