"""A cloud and edges in one process, joined by real HTTP routes: what DGRAG's Figures 3 and 4 promise."""

from tests.support.federation import PLANT, REFUSAL, WARD, federation
from tests.support.running_edge import running_edge
from tests.support.waiting import until


async def test_what_one_site_knows_is_answered_there_and_nothing_is_asked_of_others(tmp_path):
    members = {"ward": (WARD, "Juniper Ward reported the failure [1]."), "plant": (PLANT, REFUSAL)}
    async with federation(tmp_path, cloud_answer="-", edge_answers=members) as (edges, _, _):
        answer = await edges["ward"].ask("Which ward reported the failure of infusion pumps?")
        assert (answer["route"], answer["edges"]) == ("local", [])
        assert answer["citations"][0]["edge"] == "ward"


async def test_what_another_site_knows_is_answered_from_its_evidence_with_a_citation_that_names_it(tmp_path):
    members = {"bank": ("The bank lends money to bakeries.", REFUSAL), "plant": (PLANT, REFUSAL)}
    async with federation(tmp_path, cloud_answer="Lot L-7713 caused the failure [1].", edge_answers=members) as (edges, _, _):
        answer = await edges["bank"].ask("Which lot of the battery pack caused the failure of infusion pumps?")
        assert (answer["route"], answer["answered"], answer["degraded"]) == ("cloud", True, False)
        assert answer["gate"]["decision"] == "escalate"
        citation = answer["citations"][0]
        assert (citation["edge"], citation["document"]) == ("plant", "report.md")
        assert PLANT[citation["span"][0] : citation["span"][1]] == citation["quote"]
        steps = [step["step"] for step in answer["trace"]]
        assert "cloud" in steps
        assert any(step.startswith("cloud: ") for step in steps)


async def test_a_question_that_needs_two_sites_cites_both(tmp_path):
    members = {"bank": ("The bank lends money.", REFUSAL), "ward": (WARD, REFUSAL), "plant": (PLANT, REFUSAL)}
    said = "Juniper Ward reported the failure of four infusion pumps in March. Lot L-7713 of the battery pack caused the failure."
    async with federation(tmp_path, cloud_answer=said, edge_answers=members) as (edges, _, _):
        answer = await edges["bank"].ask("Which ward reported the failure of infusion pumps, and which lot of the battery pack caused it?")
        assert {citation["edge"] for citation in answer["citations"]} == {"ward", "plant"}
        answered = {report["edge"] for report in answer["edges"] if report["status"] == "answered"}
        assert answered >= {"ward", "plant"}


async def test_what_nobody_knows_is_said_to_be_unknown(tmp_path):
    members = {"ward": (WARD, REFUSAL), "plant": (PLANT, REFUSAL)}
    async with federation(tmp_path, cloud_answer=REFUSAL, edge_answers=members) as (edges, _, _):
        answer = await edges["ward"].ask("What is the weight limit of the helicopter pad?")
        assert (answer["answered"], answer["citations"], answer["degraded"]) == (False, [], False)
        assert "support no statement that answers it" in answer["answer"]


async def test_with_the_line_cut_the_edge_answers_alone_and_says_so(tmp_path):
    members = {"ward": (WARD, REFUSAL)}
    async with federation(tmp_path, cloud_answer="-", edge_answers=members) as (edges, lines, _):
        lines["ward"].cut = True
        answer = await edges["ward"].ask("Which lot caused the failure?")
        assert (answer["route"], answer["degraded"]) == ("degraded", True)
        assert "cannot be reached" in answer["reason"]


async def test_only_summaries_reach_the_cloud_and_a_deleted_document_takes_them_back(tmp_path):
    members = {"ward": (WARD, REFUSAL)}
    async with federation(tmp_path, cloud_answer="-", edge_answers=members) as (edges, _, cloud):
        edge = edges["ward"]
        assert cloud.edges()[0].summaries > 0
        document = (await edge.http.get("/v1/documents")).json()["documents"][0]
        await edge.http.delete(f"/v1/documents/{document['document_id']}")
        await edge.settled()
        await until(lambda: cloud.edges()[0].summaries == 0)


async def test_documents_added_while_the_line_is_cut_are_known_to_the_cloud_after_it_heals(tmp_path):
    members = {"ward": (WARD, REFUSAL)}
    async with federation(tmp_path, cloud_answer="-", edge_answers=members) as (edges, lines, cloud):
        before = cloud.edges()[0].version
        lines["ward"].cut = True
        await edges["ward"].add("second.md", PLANT)
        assert cloud.edges()[0].version == before
        lines["ward"].cut = False
        await until(lambda: edges["ward"].node.link.in_sync)
        assert cloud.edges()[0].version == edges["ward"].node.graph.version() > before


async def test_the_edge_shows_what_it_built(tmp_path):
    async with running_edge(tmp_path, strategy="dgrag") as edge:
        await edge.add("report.md", "Juniper Ward bought the Fenlow Ventilator. Osmere Medical Supply delivers medicines to Juniper Ward.")
        status = (await edge.http.get("/v1/status")).json()
        assert status["entities"] > 0
        assert status["subgraphs"] == status["summaries"] == 1
        names = [entity["name"] for entity in (await edge.http.get("/v1/entities")).json()["entities"]]
        assert "Juniper Ward" in names
        around = (await edge.http.get("/v1/graph", params={"entity": "the Juniper Ward", "hops": 1})).json()
        assert around["relations"]
        summaries = (await edge.http.get("/v1/summaries")).json()["summaries"]
        assert "Juniper Ward" in summaries[0]["text"]
        members = (await edge.http.get("/v1/subgraphs")).json()["subgraphs"][0]["entities"]
        assert "juniper ward" in members
