"""Questions about everything, through the cloud: points of every site, and sources that open at the site that owns them."""

import orjson

from tests.support.federation import PLANT, WARD, federation
from tests.support.waiting import until

QUESTION = "What has happened at the sites?"
MEMBERS = {
    "ward": (WARD, "The failure of four infusion pumps was reported by Juniper Ward in March [1]."),
    "plant": (PLANT, "The failure of infusion pumps was caused by lot L-7713 of the battery pack [1]."),
}
SAID = "Juniper Ward reported the failure of four infusion pumps in March. Lot L-7713 of the battery pack caused the failure."
CHOSEN = {"subgraph_entities": 40, "global_deadline_s": 20}


async def test_every_site_tells_its_points_and_each_source_opens_where_it_is_owned(tmp_path):
    async with federation(tmp_path, cloud_answer=SAID, edge_answers=MEMBERS, **CHOSEN) as (edges, _, _):
        answer = await edges["ward"].ask(QUESTION, mode="global", level=0)
        assert (answer["route"], answer["answered"], answer["degraded"]) == ("global", True, False)
        assert answer["coverage"].startswith("2 of 2 sites answered: ")
        assert {(report["edge"], report["status"]) for report in answer["edges"]} == {("ward", "answered"), ("plant", "answered")}
        assert {citation["edge"] for citation in answer["citations"]} == {"ward", "plant"}
        for citation in answer["citations"]:
            owner = edges[citation["edge"]]
            report = await owner.http.get(f"/v1/reports/{citation['report']}")
            document = await owner.http.get(f"/v1/documents/{citation['document_id']}")
            assert (report.status_code, document.status_code) == (200, 200)
            assert citation["report"] == report.json()["outside_id"] != report.json()["community_id"]  # which is made of what it holds
            sources = {source["outside_id"]: source for finding in report.json()["findings"] for source in finding["sources"]}
            assert sources.keys() >= {citation["chunk_id"], *citation["chunks"]}
            assert citation["quote"] in sources[citation["chunk_id"]]["text"]
            text = MEMBERS[citation["edge"]][0]
            assert text[slice(*citation["span"])] == citation["quote"] != ""
            other = edges["plant" if citation["edge"] == "ward" else "ward"]
            assert (await other.http.get(f"/v1/reports/{citation['report']}")).status_code == 404
        steps = [step["step"] for step in answer["trace"]]
        assert "cloud: reduce" in steps
        assert any(step.endswith(": map") for step in steps)


async def test_where_a_document_must_stay_the_sources_of_what_left_open_all_the_same_and_none_is_of_it(tmp_path):
    """The other site reads other communities than the owner: their reports open at the owner too."""
    (tmp_path / "plant").mkdir()
    (tmp_path / "plant" / "policy.toml").write_text('version = 1\nunlabelled = "full"\n[labels]\nsecret = "never"\n')
    async with federation(tmp_path, cloud_answer=SAID, edge_answers=MEMBERS, **CHOSEN) as (edges, _, _):
        plant = edges["plant"]
        secret = await plant.add("secret.md", "Lot L-7713 of the battery pack leaked at Quillmere, too.", labels=["secret"])
        await until(lambda: plant.node.link.in_sync)
        answer = await edges["ward"].ask(QUESTION, mode="global", level=0)
        assert "Quillmere" not in str(answer)
        told = [citation for citation in answer["citations"] if citation["edge"] == "plant"]
        assert told
        pages = [(await plant.http.get("/v1/communities", params={"level": level})).json() for level in range(4)]
        own = {one["outside_id"] for page in pages for one in page["communities"]}
        for citation in told:
            assert citation["report"] not in own
            report = (await plant.http.get(f"/v1/reports/{citation['report']}")).json()
            sources = {source["outside_id"]: source for finding in report["findings"] for source in finding["sources"]}
            assert sources.keys() >= {citation["chunk_id"], *citation["chunks"]}
            assert secret["document_id"] not in {source["document_id"] for source in sources.values()}


async def test_a_federated_answer_is_heard_as_it_is_written(tmp_path):
    async with federation(tmp_path, cloud_answer=SAID, edge_answers=MEMBERS, **CHOSEN) as (edges, _, _):
        got = (await edges["ward"].http.post("/v1/query", json={"question": QUESTION, "mode": "global", "stream": True})).text
        events = [dict(line.split(": ", 1) for line in block.splitlines()) for block in got.strip().split("\r\n\r\n")]
        kinds = [event["event"] for event in events]
        assert "void" not in kinds
        said = "".join(orjson.loads(event["data"]) for event in events if event["event"] == "text")
        assert said.split() == orjson.loads(events[-1]["data"])["answer"].split()
        assert kinds.index("text") < kinds.index("step")  # the step "cloud" ends with the answer


async def test_an_openai_client_hears_it_as_it_is_written_and_last_which_sites_it_tells_of(tmp_path):
    async with federation(tmp_path, cloud_answer=SAID, edge_answers=MEMBERS, **CHOSEN) as (edges, _, _):
        body = {"model": "dgrag-global", "messages": [{"role": "user", "content": QUESTION}], "stream": True, "sources": False}
        got = (await edges["ward"].http.post("/v1/chat/completions", json=body)).text
    events = [orjson.loads(line.removeprefix("data: ")) for line in got.splitlines() if line.startswith("data: {")]
    said = [event["choices"][0]["delta"].get("content", "") for event in events]
    answer = events[-1]["dgrag"]
    assert "".join(said).split() == [*answer["answer"].split(), *answer["coverage"].split()]
    assert said[-2].strip() == answer["coverage"]
    assert max(len(piece.split()) for piece in said[:-2]) > 1  # sentences, as they were written; not word by word afterwards


async def test_with_the_line_cut_a_site_tells_of_itself_and_says_so(tmp_path):
    async with federation(tmp_path, cloud_answer=SAID, edge_answers=MEMBERS, **CHOSEN) as (edges, lines, _):
        lines["ward"].cut = True
        answer = await edges["ward"].ask(QUESTION, mode="global")
        assert (answer["route"], answer["degraded"], answer["answered"]) == ("global", True, True)
        assert "cannot be reached" in answer["reason"]
        assert answer["coverage"].startswith("this site alone: ")
        assert {citation["edge"] for citation in answer["citations"]} == {"ward"}


async def test_a_question_that_may_not_leave_is_answered_here_and_one_that_waits_says_what_would_leave(tmp_path):
    async with federation(tmp_path, cloud_answer=SAID, edge_answers=MEMBERS, **CHOSEN) as (edges, _, _):
        ward = edges["ward"]
        stays = await ward.ask(QUESTION, mode="global", allow_escalation="no")
        waits = await ward.ask(QUESTION, mode="global", allow_escalation="ask")
        assert (stays["would_ask"], waits["would_ask"]) == ("", QUESTION)
        for answer in (stays, waits):
            assert answer["coverage"].startswith("this site alone: ")
            assert not answer["degraded"]
        assert "question" not in {entry.kind for entry in ward.node.ledger.entries()}
