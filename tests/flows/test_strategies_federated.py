"""Every strategy that builds summaries is found by other sites, and its passages answer their questions."""

import pytest

from tests.support.federation import PLANT, REFUSAL, WARD, federation

QUESTION = "Which lot of the battery pack caused the failure of infusion pumps?"
SAID = "Lot L-7713 of the battery pack caused the failure of infusion pumps [1]."
BANK = "The bank lends money to bakeries."
STRATEGIES = {
    "keywords": {"strategy": "ketrag", "ket_variant": "keyword"},
    "both channels": {"strategy": "ketrag"},
    "pieces of passages": {"strategy": "ketrag", "ket_splits": 1},
    "a tree": {"strategy": "erarag", "tree_min": 2, "tree_max": 3},
    "local search": {"strategy": "graphrag"},
    "a mix": {"strategy": "mix", "mix": "ketrag=0.5,erarag=0.5"},
}


@pytest.fixture(params=STRATEGIES)
async def sites(request, tmp_path):
    members = {"bank": (BANK, REFUSAL), "ward": (WARD, REFUSAL), "plant": (PLANT, REFUSAL)}
    async with federation(tmp_path, cloud_answer=SAID, edge_answers=members, **STRATEGIES[request.param]) as parts:
        yield parts


async def test_another_sites_passages_answer_with_their_place_and_lines_of_a_graph_or_a_tree_stay_there(sites):
    edges, _, cloud = sites
    answer = await edges["bank"].ask(QUESTION)
    assert (answer["route"], answer["answered"], answer["degraded"]) == ("cloud", True, False)
    citation = answer["citations"][0]
    assert (citation["edge"], citation["document"]) == ("plant", "report.md")
    assert PLANT[slice(*citation["span"])] == citation["quote"]
    read = ["\n".join(message.content for message in prompt.messages) for prompt in cloud.models.generator.prompts]
    assert read
    assert not any("Known relations" in text or "Summaries of" in text or text.count("The seal of lot L-7713 leaked.") > 1 for text in read)


async def test_what_a_site_deletes_is_gone_at_the_cloud(sites):
    edges, _, _ = sites
    plant = edges["plant"]
    listed = (await plant.http.get("/v1/documents")).json()["documents"]
    await plant.http.delete(f"/v1/documents/{listed[0]['document_id']}")
    await plant.settled()
    answer = await edges["bank"].ask(QUESTION)
    assert "plant" not in {citation["edge"] for citation in answer["citations"]}
