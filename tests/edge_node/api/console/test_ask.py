"""A question at the console: the answer with its passages, who is missing and why, what was found where nothing is answered."""

import asyncio
import html
import json
import re

import httpx2
import pytest

from edge_node.api.console.ask import shown
from edge_node.api.steps import WORDS
from shared.errors import ModelTimeout, ModelUnavailable
from shared.http.open_mode import CALLER
from shared.models.fake import ScriptedGenerator
from shared.records import Answer, ChunkId, Citation, DocumentId, EdgeId, EdgeReport, TraceStep
from tests.support.console import PAGE_TOKEN, visited_edge
from tests.support.federation import PLANT, REFUSAL, WARD, federation
from tests.support.live_edge import live_edge
from tests.support.running_edge import scripted

TWO = "Pump P-204 failed on 14 March. The roof leaked. Marlow replaced pump P-204 in May. Juniper Ward has nine beds."
FAILED, REPLACED = "Pump P-204 failed on 14 March.", "Marlow replaced pump P-204 in May."
LONG_S = 60.0  # it only ends a test that hangs
MARKED = re.compile(r"<mark[^>]*>(.*?)</mark>", re.DOTALL)


def told(response):
    """(name, data) of the events of an answer."""
    assert response.status_code == 200, response.text
    blocks = response.text.replace("\r\n", "\n").split("\n\n")
    lines = [dict(line.split(": ", 1) for line in block.splitlines() if ": " in line) for block in blocks]
    return [(one["event"], json.loads(one["data"])) for one in lines if "event" in one]


async def asked(by, question, **fields):
    return told(await by["read"].send("POST", "/console/ask", data={"question": question, **fields}))


def openings(markup):
    """What each number in the answer opens."""
    answer = re.search(r"data-answer>(.*?)</p>", markup, re.DOTALL)[1]
    return [html.unescape(address) for address in re.findall(r'hx-get="([^"]*)"', answer)]


def rendered(edge, answer):
    pages = edge.http._transport.app.state.pages
    return pages._templates.get_template("own/answer.html").render(
        **shown(edge.node, answer), form=None, caller=None, is_open=True, token="", path="/", may=lambda _: True
    )


async def test_each_number_opens_the_sentence_of_its_own_claim_and_all_that_bear_a_claim_are_marked(tmp_path):
    answer = "Pump P-204 failed on 14 March [1]. Marlow replaced it in May [1]. It failed on 14 March and Marlow replaced it in May [1]."
    async with visited_edge(tmp_path, generator=scripted(answer)) as by:
        await by["write"].add("pump.md", TWO)
        markup = dict(await asked(by, "What became of pump P-204?"))["answer"]
        marked = [MARKED.findall((await by["read"].get(address)).text) for address in openings(markup)]
    assert marked == [[FAILED], [REPLACED], [FAILED, REPLACED]]


async def test_a_claim_of_the_clouds_answer_opens_its_own_sentence_too(tmp_path):
    async with visited_edge(tmp_path) as by:
        edge, document = by["read"].edge, await by["write"].add("pump.md", TWO)
        outside = edge.node.sharing.outside_ids.of(DocumentId(document))
        cited = Citation(1, EdgeId("ward"), outside, "pump.md", ChunkId(f"{outside}:0"), (0, len(FAILED)), FAILED, 0.9)
        answer = Answer("q", "P-204 failed on 14 March [1]. Marlow replaced the pump in May [1].", (cited,), "cloud")
        second = openings(rendered(edge, answer))[1]
        assert MARKED.findall((await by["read"].get(second)).text) == [REPLACED]


MISSING = {
    "skipped": ("it failed several times in a row; asked again in 30 s", "it was not asked: it failed several times in a row"),
    "refused": ("the sharing policy of this site", "its sharing policy forbids it"),
    "offline": ("the edge holds no poll", "it is not connected now"),
    "late": ("no reply before the deadline", "it did not answer in time"),
    "failed": ("internal", "something went wrong there"),
}


@pytest.mark.parametrize("status", MISSING)
async def test_a_site_that_gave_nothing_has_a_crossed_box_and_stands_below_the_answer_with_why(tmp_path, status):
    reason, words = MISSING[status]
    bank = EdgeReport(EdgeId("bank"), "evidence", "answered", 9.0, 90, 1)
    plant = EdgeReport(EdgeId("plant"), "evidence", status, 9.0, 0, 0, reason)
    answer = Answer(
        "q", "It leaks.", (), "cloud", edges=(bank, plant), partial=True, reason=f"1 of 2 sites gave no answer: plant ({status})"
    )
    async with visited_edge(tmp_path) as by:
        markup = html.unescape(rendered(by["read"].edge, answer))
    assert f"1 of 2 sites gave no answer: plant ({words}" in markup
    assert f"plant ({status})" not in markup  # not twice
    assert re.search(r'class="crossed"><h3>plant</h3>\s*<p>' + words[0].upper() + words[1:], markup)
    assert re.search(r'class="yes"><h3>bank</h3>\s*<p>It sent 1 passage\.', markup)


async def test_a_question_about_some_documents_is_answered_from_these_and_the_page_says_so(tmp_path):
    async with visited_edge(tmp_path, generator=scripted("Pump P-204 failed on 14 March [1].")) as by:
        for folder in ("icu", "attic"):
            await by["write"].add(f"{folder}/pump.md", f"{TWO} It stands in the {folder}.", labels=folder)
        for wanted in ({"path": "icu/*"}, {"label": "icu", "since": "2020-01-01", "language": ""}):
            markup = html.unescape(dict(await asked(by, "What became of pump P-204?", **wanted))["answer"])
            assert ("icu/pump.md" in markup, "attic/pump.md" in markup) == (True, False)
            assert f"Asked only of documents with {', '.join(f'{name} {value}' for name, value in wanted.items() if value)}." in markup
            fields = {"question": "What became of pump P-204?", **wanted}
            near = (await by["read"].send("POST", "/console/found", data=fields)).text
            assert ("Open" in near, "attic" in near) == (True, False)
        wrong = await by["read"].send("POST", "/console/ask", data={"question": "?", "until": "soon"})
        assert wrong.status_code == 422


async def test_who_is_set_aside_by_the_clouds_operator_is_named_to_who_asks_through_a_real_cloud(tmp_path):
    sites = {"ward": (WARD, REFUSAL), "plant": (PLANT, REFUSAL)}
    async with federation(tmp_path, cloud_answer=REFUSAL, edge_answers=sites) as (edges, _, cloud):
        cloud.registry.quarantine("plant", "a secret of the operator")
        page = await edges["ward"].http.get("/")
        headers = {"X-CSRF-Token": PAGE_TOKEN.search(page.text)[1], "HX-Request": "true"}
        question = {"question": "Which lot of the battery pack caused the failure of infusion pumps?", "informed": "yes"}
        markup = dict(told(await edges["ward"].http.post("/console/ask", data=question, headers=headers)))["answer"]
    assert "plant (it was not asked: the cloud's operator has set it aside)" in html.unescape(markup)
    assert "secret" not in markup


async def test_the_route_is_told_without_figures_and_its_parts_are_the_traces(tmp_path):
    steps = [
        TraceStep("retrieve", 100.0),
        TraceStep("samples", 2_000.0, 1),
        TraceStep("gate: confidence", 300.0, 1),
        TraceStep("support", 600.0, 1),
    ]
    answer = Answer("q", "It leaks.", (), "local", trace=tuple(steps))
    async with visited_edge(tmp_path, generator=scripted("It failed on 14 March [1].")) as by:
        way = shown(by["read"].edge.node, answer)["way"]
        assert (way.home.ms, way.gate.ms, way.all.ms) == (2_700.0, 300.0, 3_000.0)
        await by["write"].add("pump.md", TWO)
        markup = dict(await asked(by, "What became of pump P-204?"))["answer"]
    route = markup.partition('class="route"')[2].partition("<details>")[0]
    assert "What was found at this site is enough." in route
    assert not re.search(r"needs|score|token|threshold|\d\.\d\d", route)
    assert "needs" in markup.partition("<details>")[2]


def broken(prompt):
    raise ModelTimeout(deadline_s=1.0)


def away(prompt):
    raise ModelUnavailable("no model answers")


@pytest.mark.parametrize("generator", [scripted(REFUSAL), ScriptedGenerator(broken)], ids=["refused", "too late"])
async def test_a_question_without_an_answer_shows_the_closest_passages(tmp_path, generator):
    async with visited_edge(tmp_path, generator=generator) as by:
        await by["write"].add("pump.md", TWO)
        name, markup = (await asked(by, "What became of pump P-204?"))[-1]
        closest = markup.partition("Closest passages")[2]
        assert (name, "Pump P-204 failed" in closest, "/console/passages/" in closest) == ("answer", True, True)


async def test_what_is_near_a_question_is_shown_where_there_is_no_model(tmp_path):
    async with visited_edge(tmp_path, generator=ScriptedGenerator(away)) as by:
        await by["write"].add("pump <b>.md", TWO + " <script>alert(1)</script>")
        name, markup = (await asked(by, "What became of pump P-204?"))[-1]
        assert (name, 'hx-post="/console/found"' in markup) == ("problem", True)
        found = (await by["read"].send("POST", "/console/found", data={"question": "What became of pump P-204?"})).text
        assert ("pump &lt;b&gt;.md" in found, "Pump P-204 failed" in found, "<script>" in found) == (True, True, False)
        (address,) = re.findall(r'hx-get="([^"]*)"', found)
        assert "P-204" in MARKED.findall((await by["read"].get(html.unescape(address))).text)[0]


async def test_what_is_being_done_is_told_in_words_as_it_begins(tmp_path):
    async with visited_edge(tmp_path) as by:
        await by["write"].add("pump.md", TWO)
        steps = [data for name, data in await asked(by, "What became of pump P-204?") if name == "step"]
    assert set(steps) <= {doing for doing, _ in WORDS.values()}
    assert steps.index("searching the documents of this site") < steps.index("writing drafts of the answer")


class Hanging(ScriptedGenerator):
    """A model that never ends what it has begun."""

    def __init__(self):
        super().__init__(lambda prompt: ["-"])
        self.begun, self.stopped = asyncio.Event(), asyncio.Event()

    async def generate(self, prompt, *, deadline_s):
        self.begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.stopped.set()


async def test_who_closes_the_connection_as_stop_does_stops_the_model(tmp_path):
    model = Hanging()
    async with live_edge(tmp_path, generator=model) as (edge, url), httpx2.AsyncClient(base_url=url, headers=CALLER) as http:
        await edge.add("pump.md", TWO)
        headers = {"X-CSRF-Token": PAGE_TOKEN.search((await http.get("/")).text)[1], "HX-Request": "true"}
        async with http.stream("POST", "/console/ask", data={"question": "What became of pump P-204?"}, headers=headers):
            await asyncio.wait_for(model.begun.wait(), LONG_S)
        await asyncio.wait_for(model.stopped.wait(), LONG_S)


async def test_a_question_that_follows_from_an_answer_is_understood_with_it(tmp_path):
    def replied(prompt):
        text = prompt.messages[-1].content
        return "When did pump P-204 fail?" if "Which pump failed?" in text else "on 14 March [1]"

    async with visited_edge(tmp_path, generator=ScriptedGenerator(replied)) as by:
        await by["write"].add("pump.md", TWO)
        earlier = {"earlier_question": "Which pump failed?", "earlier_answer": "Pump P-204 [1]."}
        events = await asked(by, "And when?", **earlier)
        markup = dict(events)["answer"]
    assert "Understood as: When did pump P-204 fail?" in markup
    assert 'name="earlier_question" value="When did pump P-204 fail?"' in markup
