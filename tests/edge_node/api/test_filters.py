"""Filters: a question about some of a site's documents is answered as if the others were not there, by every door."""

import random
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import httpx2
import pytest

from edge_node.answering.answerer import Ask
from edge_node.api.dify import Condition, MetadataCondition, narrowed
from edge_node.api.filtering import FiltersBody
from edge_node.documents.filters import is_under
from edge_node.reading import Reader
from shared.client.calls import Filters
from shared.ports import SystemClock
from shared.telemetry.trace import Trace
from tests.edge_node.api.test_memories import MILL
from tests.support.live_edge import agent, live_edge, text_of
from tests.support.running_edge import running_edge, scripted

DAY_ONE = datetime(2026, 1, 1, 12, tzinfo=UTC)
ENGLISH = "The {} pump of the {} ward was replaced on Monday, and nurse Ann Lee has noted its pressure in the book. Its valve is new."
GERMAN = "Die {}-Pumpe der Station {} wurde am Montag ausgetauscht, und die Pflegerin hat ihren Druck im Buch vermerkt. Das Ventil ist neu."
QUESTION = "Which pump of the ward was replaced, and what about its valve and pressure?"
NO_MATCH = "No document that you may read here matches these filters, or none of them is indexed yet."


@dataclass(frozen=True)
class Given:
    name: str
    text: str
    labels: list[str]
    language: str
    day: int


GIVEN = [
    Given(
        f"{folder}/{number}.{suffix}",
        (ENGLISH if language == "en" else GERMAN).format(("blue", "red", "old")[number % 3], folder.title()),
        labels,
        language,
        day,
    )
    for number, (folder, suffix, labels, language, day) in enumerate(
        [
            ("icu", "md", ["internal"], "en", 0),
            ("icu", "txt", [], "de", 1),
            ("icu/night", "md", ["internal", "public"], "en", 2),
            ("stores", "md", ["public"], "de", 3),
            ("stores", "txt", ["internal"], "en", 4),
            ("attic", "md", [], "en", 5),
            ("attic", "txt", ["public"], "de", 6),
        ]
    )
]


class Clock(SystemClock):
    """Of the documents' store: what comes is given the day that the test says."""

    day = 0

    def now(self):
        return (DAY_ONE + timedelta(days=self.day)).timestamp()


async def filled(edge, given=GIVEN):
    edge.node.documents.clock = clock = Clock()
    for one in given:
        clock.day = one.day
        await edge.add(one.name, one.text, labels=one.labels)
    return edge


def is_meant(one, filters):
    """What the documentation says, told again."""

    def among(name, holds):
        values = filters.get(name)
        return values is None or any(map(holds, [values] if isinstance(values, str) else values))

    paths = {"icu": one.name.startswith("icu/"), "*.md": one.name.endswith(".md"), "attic/6.txt": one.name == "attic/6.txt"}
    came = (DAY_ONE + timedelta(days=one.day)).date().isoformat()
    return (
        among("label", one.labels.__contains__)
        and among("language", one.language.__eq__)
        and among("path", paths.get)
        and filters.get("since", "") <= came <= filters.get("until", "9999")
    )


def drawn(rng):
    choices = {
        "label": ["internal", "public", ["internal", "public"], "none"],
        "language": ["en", "de", ["de", "en"]],
        "path": ["icu", "*.md", "attic/6.txt", ["icu", "attic/6.txt"]],
        "since": ["2026-01-02", "2026-01-04"],
        "until": ["2026-01-03", "2026-01-06"],
    }
    return {name: rng.choice(choices[name]) for name in rng.sample(sorted(choices), rng.randint(1, 3))}


async def found(edge, filters=None):
    response = await edge.http.post("/v1/retrieve", json={"question": QUESTION, "top_k": 50, "filters": filters})
    assert response.status_code == 200, response.text
    return response.json()


async def test_what_is_found_under_a_filter_is_what_an_edge_with_the_matching_documents_alone_finds(tmp_path):
    rng = random.Random(24)
    async with running_edge(tmp_path / "all") as edge:
        await filled(edge)
        assert len({one["document"] for one in (await found(edge))["evidence"]}) == len(GIVEN)  # null control: each is near enough
        sizes = set()
        for row in range(12):
            filters = drawn(rng)
            meant = [one for one in GIVEN if is_meant(one, filters)]
            async with running_edge(tmp_path / f"{row}") as alone:
                expected = (await found(await filled(alone, meant)))["evidence"]
            told = await found(edge, filters)
            assert told["evidence"] == expected, filters
            assert {one["document"] for one in expected} == {one.name for one in meant}
            assert told["reason"] == ("" if meant else NO_MATCH)
            sizes.add(len(meant))
    assert {0, 1} < sizes


async def test_a_document_is_in_the_language_that_it_was_read_in_whatever_that_of_its_title(tmp_path):
    async with running_edge(tmp_path, strategy="dgrag") as edge:
        await edge.add("a.md", ENGLISH.format("blue", "Icu"), title="Die Pumpe der Station wurde am Montag ausgetauscht und geprüft")
        await edge.add("b.md", GERMAN.format("blue", "Icu"), title="The pump of the ward was replaced on Monday and looked at again")
        for language, document in (("en", "a.md"), ("de", "b.md")):
            assert {one["document"] for one in (await found(edge, {"language": language}))["evidence"]} == {document}


@pytest.mark.parametrize("mode", ["local", "auto", "global"])
async def test_every_citation_and_every_word_of_an_answer_is_of_a_matching_document(tmp_path, mode):
    def told(prompt):
        read = prompt.messages[-1].content
        return [" ".join(f"The {one} pump was replaced [{n}]." for n in (1, 2) for one in ("blue", "red", "old") if one in read)] * prompt.n

    generator = scripted()
    generator._reply = told
    async with running_edge(tmp_path, strategy="dgrag", memory="plain", generator=generator) as edge:
        await filled(edge)
        for filters in [*(drawn(random.Random(seed)) for seed in range(8)), {"path": "attic/6.txt"}]:
            meant = {one.name for one in GIVEN if is_meant(one, filters)}
            answer = await edge.ask(QUESTION, mode=mode, filters=filters)
            assert {one["document"] for one in answer["citations"]} <= meant, filters
            assert not (answer["answered"] and not meant)
            assert meant or (answer["answer"], answer["reason"]) == (NO_MATCH, NO_MATCH)


async def test_what_was_asked_of_some_documents_is_not_learned_and_a_memory_answers_only_where_its_document_matches(tmp_path):
    async with running_edge(tmp_path, strategy="fdrag", memory="plain", generator=scripted("Orrin Mill has 40 looms [1].")) as edge:
        await edge.add("mill.md", MILL)
        await edge.add("loom.md", "The loom hall of Orrin Mill is cold.")
        question, outcomes = "How many looms has it, Orrin Mill?", []
        for fields in ({"filters": {"path": "mill.md"}}, {}):
            answer = await edge.ask(question, memory=False, mode="local", **fields)
            said = await edge.http.post(f"/v1/queries/{answer['query_id']}/feedback", json={"verdict": "right"})
            outcomes.append(said.json()["outcome"])
        assert outcomes == ["nothing", "learned"]
        told = {path: await edge.ask(question, filters={"path": path}) for path in ("mill.md", "*", "loom.md")}
        assert {path: answer["route"] for path, answer in told.items()} == {"mill.md": "memory", "*": "memory", "loom.md": "local"}
        assert "mill.md" not in {one["document"] for one in told["loom.md"]["citations"]}


async def test_a_filter_opens_no_document_that_the_reader_may_not_read(tmp_path):
    async with running_edge(tmp_path) as edge:
        await filled(edge)
        reader = Reader(edge.node, frozenset({"public"}))
        got = await reader.retrieve(QUESTION, FiltersBody(label=("internal", "public")).asked(), top_k=50)
        assert {one.document for one in got.evidence} == {"stores/3.md", "attic/6.txt"}
        assert await reader.matches_nothing(FiltersBody(path="icu/0.md").asked())
        answer = await reader.ask(Ask(QUESTION, filters=FiltersBody(path="icu/0.md").asked()), Trace())
        assert (answer.answer, answer.answered) == (NO_MATCH, False)


async def test_documents_that_come_while_a_filtered_question_is_read_are_not_in_it(tmp_path, monkeypatch):
    async with running_edge(tmp_path) as edge:
        await filled(edge)
        retrieve, came = edge.node.answerer.search.retrieve, []

        async def slowly(question, trace, **named):
            if not came:
                came.append(await edge.add("icu/new.txt", GIVEN[0].text))  # after it was looked what matches, before it is searched
            return await retrieve(question, trace, **named)

        monkeypatch.setattr(edge.node.answerer.search, "retrieve", slowly)
        names = {one["document"] for one in (await found(edge, {"path": "*.md"}))["evidence"]}
        assert came
        assert names == {one.name for one in GIVEN if one.name.endswith(".md")}


@pytest.mark.parametrize(
    ("filters", "said"),
    [
        ({"year": "2024"}, "the filters are label, language, since, until, path"),
        ({"since": "yesterday"}, "2026-01-31"),
        ({"language": "german"}, "as en or de"),
        ({"until": ""}, "2026-01-31"),
        ({"label": []}, "at least 1"),
        ({"path": ["a"] * 33}, "at most 32"),
        ("icu", "valid dictionary"),
    ],
)
async def test_a_filter_that_is_none_is_refused_with_those_that_there_are(edge, filters, said):
    for path in ("/v1/query", "/v1/retrieve"):
        response = await edge.http.post(path, json={"question": "x", "filters": filters})
        assert response.status_code == 422
        assert said in response.json()["detail"]


async def test_a_filter_and_other_sites_do_not_go_together(edge):
    for path in ("/v1/query", "/v1/retrieve"):
        response = await edge.http.post(path, json={"question": "x", "mode": "cloud", "filters": {"label": "a"}})
        assert (response.status_code, response.json()["next_step"]) == (400, "ask this site alone, or leave the filters out")
    body = {"knowledge_id": "all-sites", "query": "x", "retrieval_setting": {"top_k": 5}, "metadata_condition": conditions(PUBLIC)}
    assert (await edge.http.post("/retrieval", json=body)).status_code == 400


async def test_a_question_with_filters_that_this_site_cannot_answer_stays_and_says_so(tmp_path):
    heard = []

    def away(request):
        heard.append(request.url.path)
        return httpx2.Response(503)

    cloud = httpx2.AsyncClient(transport=httpx2.MockTransport(away), base_url="http://cloud.test")
    model = scripted("I do not know.", sufficient=0.1)
    async with running_edge(tmp_path, strategy="dgrag", generator=model, cloud=cloud, breaker_failures=10**6) as edge:
        await edge.add("mill.md", MILL)
        answer = await edge.ask("Who slept?", filters={"path": "*"})
        assert (answer["route"], answer["would_ask"]) == ("local", "")
        assert answer["reason"].startswith("a question with filters stays at this site; ")
        kept = await edge.ask("Who slept?", allow_escalation="no")
        assert kept["reason"] == f"the request or the sharing policy keeps the question at this site; {kept['gate']['reason']}"
        assert "a question with filters stays at this site" in (await edge.ask("Who?", mode="global", filters={"path": "*"}))["reason"]
        asked = list(heard)
        assert (await edge.ask("Who slept?"))["route"] == "degraded"  # null control
    assert set(heard) - set(asked)


PUBLIC = {"name": ["label"], "comparison_operator": "contains", "value": "public"}


def conditions(*given, **fields):
    return {"logical_operator": "and", "conditions": list(given), **fields}


def on(name, operator, value):
    return {"name": [name], "comparison_operator": operator, "value": value}


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ([PUBLIC], {"label": "public"}),
        ([on("path", "start with", "icu/")], {"path": "icu"}),
        ([on("path", "end with", ".md"), on("language", "is", "en")], {"path": "*.md", "language": "en"}),
        ([on("date", "after", "2026-01-04")], {"since": "2026-01-04"}),
        ([on("date", "before", (DAY_ONE + timedelta(days=2, hours=11)).timestamp())], {"until": "2026-01-03"}),
        ([on("date", "before", "2026-01-04")], {"until": "2026-01-03"}),
        ([on("path", "contains", "[*]")], {"path": "none"}),  # as it stands
    ],
)
async def test_conditions_of_dify_mean_filters(tmp_path, given, meant):
    async with running_edge(tmp_path) as edge:
        await filled(edge)
        body = {"knowledge_id": "ward", "query": QUESTION, "retrieval_setting": {"top_k": 50}, "metadata_condition": conditions(*given)}
        records = (await edge.http.post("/retrieval", json=body)).json()["records"]
        assert {one["title"] for one in records} == {one.name for one in GIVEN if is_meant(one, meant)}


@pytest.mark.parametrize(
    ("operator", "value", "is_meant"),
    [
        ("is", "a[1]*?/b[x].md", True),
        ("is", "a[1]*?", True),  # its folder
        ("start with", "a[1]*", True),
        ("contains", "*?/b[x]", True),
        ("end with", "/b[x].md", True),
        ("start with", "a[1]?", False),
        ("is", "a1xx/bx.md", False),
        ("contains", "[1][*]", False),
    ],
)
def test_a_path_of_dify_is_taken_as_it_stands_whatever_is_in_it(operator, value, is_meant):
    (path,) = narrowed(MetadataCondition(conditions=[Condition(**on("path", operator, value))])).paths
    assert is_under("a[1]*?/b[x].md", path) == is_meant


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        (conditions(PUBLIC, on("path", "is", "x"), logical_operator="or"), "joined by 'or'"),
        (conditions(PUBLIC, PUBLIC), "is there twice"),
        (conditions(on("year", "is", "2024")), "label is, label contains"),
        (conditions(on("label", "not contains", "a")), "is not understood"),
        (conditions(on("date", "after", "soon")), "a date is 2026-01-31"),
        (conditions(on("date", "after", 1e300)), "a date is 2026-01-31"),
        (conditions(on("label", "is", None)), "is not understood"),
    ],
)
async def test_conditions_that_mean_no_filter_are_refused_with_those_that_do(edge, condition, said):
    body = {"knowledge_id": "ward", "query": "x", "retrieval_setting": {"top_k": 5}, "metadata_condition": condition}
    response = await edge.http.post("/retrieval", json=body)
    assert (response.status_code, response.json()["error_code"]) == (400, 400)
    assert said in response.json()["error_msg"]


@pytest.mark.process
async def test_agents_and_chat_programs_ask_with_filters_too(tmp_path):
    async with live_edge(tmp_path) as (edge, url), agent(url) as client:
        await filled(edge)
        told = await client.call_tool("retrieve", {"question": QUESTION, "top_k": 50, "filters": {"path": "icu"}})
        for tool in ("ask", "overview"):
            assert NO_MATCH in text_of(await client.call_tool(tool, {"question": QUESTION, "filters": {"label": "none"}})), tool
        assert {one["document"] for one in told.structured_content["evidence"]} == {
            one.name for one in GIVEN if one.name.startswith("icu/")
        }
        asked = {"model": "dgrag", "messages": [{"role": "user", "content": QUESTION}], "filters": {"label": "none"}}
        answer = (await edge.http.post("/v1/chat/completions", json=asked)).json()
        assert NO_MATCH in answer["choices"][0]["message"]["content"]
        refused = await edge.http.post("/v1/chat/completions", json=asked | {"filters": {"year": 1}})
        assert refused.status_code == 422


def test_a_clients_filters_are_those_of_the_edge():
    assert list(Filters.__annotations__) == list(FiltersBody.model_fields)
