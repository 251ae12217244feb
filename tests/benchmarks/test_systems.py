import httpx2
import pytest

from benchmarks.records import Asking, Question, Step
from benchmarks.systems import CENTRAL, KNOBS, SAME_FOR_ALL, SYSTEMS, Asker, Start, parsed_retrieval, system_named
from cloud_server.settings import CloudSettings
from edge_node.api.questions import QueryBody
from edge_node.settings import EdgeSettings, channels_of
from shared.errors import ModelUnavailable
from shared.models.fake import ScriptedGenerator

QUESTION = Question("q1", "When is the dock closed?", "harbour", ("In January.",), ("d1",))
STEP = {"step": "samples", "ms": 12.5, "calls": 1, "tokens_in": 300, "tokens_out": 40, "bytes_out": 0, "bytes_in": 0}
SAID = {
    "query_id": "1",
    "answer": "In January [1].",
    "answered": True,
    "route": "cloud",
    "gate": {"decision": "escalate", "reason": "too far"},
    "edges": [{"edge": "harbour", "status": "answered"}, {"edge": "orchard", "status": "skipped"}, {"edge": "mill", "status": "late"}],
    "trace": [STEP],
}


async def asked(system, response, edge="orchard", generator=None):
    """The row, and the requests that were made."""
    seen = []

    def answer(request):
        seen.append(request)
        if isinstance(response, Exception):
            raise response
        return response

    urls = {"harbour": "http://harbour", "orchard": "http://orchard", CENTRAL: "http://central"}
    async with httpx2.AsyncClient(transport=httpx2.MockTransport(answer)) as http:
        row = await Asker(system_named(system), "domain", urls, http, generator).answer(Asking(QUESTION, edge, "out"))
    return row, seen


async def test_an_answer_becomes_a_row_with_its_steps_and_the_edges_that_were_asked():
    row, seen = await asked("dgrag", httpx2.Response(200, json=SAID))
    assert (row.split, row.scenario, row.system, row.edge, row.question_id) == ("domain", "out", "dgrag", "orchard", "q1")
    assert (row.answer, row.answered, row.route, row.error) == ("In January [1].", True, "cloud", "")
    assert row.escalated
    assert row.steps == (Step("samples", 12.5, 1, 300, 40, 0, 0),)
    assert row.asked_edges == ("harbour", "mill")
    assert seen[0].url == "http://orchard/v1/query"
    assert seen[0].read() == b'{"question":"When is the dock closed?","mode":"auto"}'


async def test_a_reader_has_all_that_was_found_and_answers_in_one_line():
    reader = ScriptedGenerator(lambda prompt: "\n January\nand so on")
    found = {"evidence": [{"title": "Dock", "text": "Closed in January."}], "facts": ["Dock: a harbour's"]}
    row, seen = await asked("reader", httpx2.Response(200, json=found), generator=reader)
    assert (row.answer, row.answered, row.error) == ("January", True, "")
    assert [(step.step, step.calls) for step in row.steps] == [("read", 1)]
    assert (seen[0].url, seen[0].read()) == ("http://orchard/v1/retrieve", b'{"question":"When is the dock closed?"}')


async def test_a_reader_whose_edge_or_model_fails_is_a_row_with_its_error():
    def away(prompt):
        raise ModelUnavailable("it is away")

    failing = ScriptedGenerator(away)
    row, _ = await asked("reader", httpx2.Response(503, json={"code": "busy", "detail": "wait"}), generator=failing)
    assert row.error == "503 busy: wait"
    row, _ = await asked("reader", httpx2.Response(200, json={"evidence": [], "facts": []}), generator=failing)
    assert "it is away" in row.error


async def test_centralised_is_asked_at_its_one_edge_and_stays_comparable_by_the_asking_edge():
    row, seen = await asked("centralized", httpx2.Response(200, json=SAID))
    assert seen[0].url.host == "central"
    assert row.edge == "orchard"


async def test_the_gate_of_a_system_without_one_does_not_count():
    row, _ = await asked("local", httpx2.Response(200, json=SAID))
    assert not row.escalated
    assert row.gate is None


@pytest.mark.parametrize(
    ("response", "told"),
    [
        (httpx2.Response(503, json={"code": "busy", "detail": "too many questions"}), "503 busy: too many questions"),
        (httpx2.Response(502, text="<html>"), "JSONDecodeError"),
        (httpx2.ReadTimeout("slow"), "ReadTimeout: slow"),
        (httpx2.Response(200, json=["no", "answer"]), "200: not an answer"),
    ],
)
async def test_what_goes_wrong_is_a_row_with_its_error(response, told):
    row, _ = await asked("dgrag", response)
    assert told in row.error
    assert not row.answered
    assert row.steps == ()


async def test_an_answer_of_the_site_alone_is_an_error_because_the_cloud_was_away():
    row, _ = await asked("dgrag", httpx2.Response(200, json=SAID | {"route": "degraded", "degraded": True, "reason": "it is away"}))
    assert row.error == "the site answered alone: it is away"


def test_systems_that_need_the_same_start_share_it():
    assert system_named("dgrag").start == system_named("cloud").start == Start()
    assert len({SYSTEMS[name].start for name in ("local", "naive", "centralized", "dgrag-no-batch")}) == 4


def test_baselines_write_one_answer_and_ask_no_gate():
    for name in ("naive", "local", "centralized"):
        settings = dict(SYSTEMS[name].start.environment)
        assert settings["DGRAG_EDGE_SAMPLES"] == "1"
        assert settings["DGRAG_EDGE_MIN_SUFFICIENCY"] == settings["DGRAG_EDGE_MIN_SIMILARITY"] == "0"


def test_a_setting_behind_a_name_is_another_start_of_the_same_system():
    system = system_named("cloud:match=0.4")
    assert (system.name, system.mode) == ("cloud:match=0.4", "cloud")
    assert dict(system.start.environment) == {"DGRAG_CLOUD_MATCH_THRESHOLD": "0.4"}


@pytest.mark.parametrize("name", ["oracle", "dgrag:", "dgrag:match", "dgrag:colour=1"])
def test_an_unknown_name_says_what_there_is(name):
    with pytest.raises(ValueError, match=r"naive|match"):
        system_named(name)


def test_retrieval_names_its_place_and_its_channels():
    assert parsed_retrieval("federated").mode == "cloud"
    assert parsed_retrieval("centralized").start == Start("central")
    assert (parsed_retrieval("federated").asker, parsed_retrieval("federated-operator").asker) == ("home", "operator")
    assert parsed_retrieval("federated-operator").start == parsed_retrieval("federated").start
    assert dict(parsed_retrieval("local:dense").start.environment) == {"DGRAG_EDGE_RETRIEVAL": "dense"}


def fields(settings):
    return {f"{settings.model_config['env_prefix']}{name.upper()}" for name in settings.model_fields}


def test_every_setting_that_a_system_changes_is_one_of_the_services():
    changed = {name for system in SYSTEMS.values() for name, _ in system.start.environment} | set(KNOBS.values()) | SAME_FOR_ALL.keys()
    assert changed <= fields(EdgeSettings) | fields(CloudSettings)


def test_centralised_reads_as_much_as_the_cloud_from_a_pool_as_large_as_that_of_the_edges_it_asks():
    settings, cloud, edge = dict(SYSTEMS["centralized"].start.environment), CloudSettings.model_fields, EdgeSettings.model_fields
    assert settings["DGRAG_EDGE_CONTEXT_TOKENS"] == str(cloud["evidence_budget_tokens"].default)
    asked = cloud["edges_k"].default
    assert settings["DGRAG_EDGE_CANDIDATE_TOKENS"] == str(asked * edge["candidate_tokens"].default)
    assert settings["DGRAG_EDGE_TOP_K"] == str(asked * edge["top_k"].default)


def test_whoever_writes_may_write_equally_much_and_no_system_changes_that():
    longest = max(CloudSettings.model_fields["max_answer_tokens"].default, EdgeSettings.model_fields["sample_tokens"].default)
    assert SAME_FOR_ALL["DGRAG_EDGE_SAMPLE_TOKENS"] == SAME_FOR_ALL["DGRAG_CLOUD_MAX_ANSWER_TOKENS"] == str(longest)
    assert not any(SAME_FOR_ALL.keys() & dict(system.start.environment).keys() for system in SYSTEMS.values())


def test_without_the_graph_means_without_the_walk_and_nothing_else():
    with_graph, settings = EdgeSettings.model_fields["retrieval"].default, dict(SYSTEMS["dgrag-no-graph"].start.environment)
    assert channels_of(settings["DGRAG_EDGE_RETRIEVAL"]) == with_graph - {"pagerank"}
    assert list(settings) == ["DGRAG_EDGE_RETRIEVAL"]


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_services_accept_what_a_system_sets(name, monkeypatch):
    for setting, value in SYSTEMS[name].start.environment:
        monkeypatch.setenv(setting, value)
    EdgeSettings()
    CloudSettings()


async def test_a_question_about_everything_names_its_level_and_stays_at_the_site():
    said = SAID | {"citations": [], "coverage": "this site alone", "edges": []}
    row, seen = await asked("graphrag-c2", httpx2.Response(200, json=said))
    assert seen[0].read() == b'{"question":"When is the dock closed?","mode":"global","level":2,"allow_escalation":"no"}'
    assert row.overview.coverage == "this site alone"


async def test_a_federated_one_asks_for_no_level_and_may_leave():
    _, seen = await asked("graphrag-federated", httpx2.Response(503, json={}))
    assert seen[0].read() == b'{"question":"When is the dock closed?","mode":"global"}'


def test_the_conditions_of_graphrag_read_their_level_whole_and_a_search_gets_one_window():
    """GraphRAG §3.3: what an answer is written from is as much for all, and what fills it differs."""
    for name in ("graphrag-c0", "graphrag-c3", "graphrag-ts"):
        assert dict(SYSTEMS[name].start.environment) == {"DGRAG_EDGE_GLOBAL_READ_TOKENS": "0"}
    window, searched = str(EdgeSettings.model_fields["global_reduce_tokens"].default), dict(SYSTEMS["graphrag-ss"].start.environment)
    assert searched["DGRAG_EDGE_CONTEXT_TOKENS"] == searched["DGRAG_EDGE_CANDIDATE_TOKENS"] == window
    assert SYSTEMS["graphrag-central"].body("?") == {"question": "?", "mode": "global", "allow_escalation": "no"}


@pytest.mark.parametrize("name", [name for name in SYSTEMS if name.startswith("graphrag")])
def test_an_edge_takes_the_question_of_every_condition(name):
    assert QueryBody(**SYSTEMS[name].body("What are the themes?")).mode == SYSTEMS[name].mode
