"""What a policy keeps at a site is said: to the site's people with the rule and the line to add, to the cloud as a number."""

import io
from dataclasses import asdict

import httpx2
from rich.console import Console

from deploy.cli import render
from deploy.cli.sending import EdgeStatus, status_of
from edge_node.documents.collections import iter_collection
from edge_node.egress.policy_file import NAME
from edge_node.policy.keeping import holds
from edge_node.policy.rules import Policy
from shared.plural import counted
from tests.support.federation import PLANT, REFUSAL, WARD, federation
from tests.support.running_edge import running_edge
from tests.support.waiting import until

ROW = (
    b'{"input": "What is rent?", "answers": ["A price."], "context": "Juniper Ward reported the failure of the Marlow Pump in March.",'
    b' "context_id": "economics-1", "label": "economics", "meta": {"title": "Principles"}, "length": 9, "_id": "q1"}\n'
)
STAYS = "Orla Finch keeps the Heron Gate at Marlow Quay. The Heron Gate closes at Marlow Quay in March."
LINE = 'under [labels]: "economics" = "full"'


async def status_line(edge):
    body = (await edge.http.get("/v1/status")).json()
    reply = httpx2.Response(200, json=body, request=httpx2.Request("GET", "http://edge/v1/status"))
    with httpx2.Client(transport=httpx2.MockTransport(lambda _: reply)) as http:  # as `dgrag status`, `up` and `add` read it
        return render.kept_back(status_of(http, "http://edge"))


async def test_a_row_in_ultradomains_format_leaves_under_the_standard_policy(tmp_path):
    (row,) = iter_collection([ROW], name="economics.jsonl")
    async with federation(tmp_path, cloud_answer="-", edge_answers={"ward": (WARD, REFUSAL)}) as (edges, _, cloud):
        before = cloud.edges()[0].summaries
        receipt = await edges["ward"].add(row.name, row.text, title=row.title, labels=list(row.labels))
        assert (receipt["share"], receipt["unnamed_labels"]) == ("full", [])
        await until(lambda: edges["ward"].node.link.in_sync)
        assert cloud.edges()[0].summaries >= before > 0
        assert (cloud.edges()[0].withheld, await status_line(edges["ward"])) == (0, [])


async def test_an_unnamed_label_that_keeps_everything_is_told_and_the_line_that_is_told_lets_it_leave(tmp_path):
    async with federation(tmp_path, cloud_answer="-", edge_answers={"ward": (WARD, REFUSAL), "plant": (PLANT, REFUSAL)}) as (
        edges,
        _,
        cloud,
    ):
        ward = edges["ward"]
        await ward.add("report.md", STAYS, labels=["economics"])
        await until(lambda: ward.node.link.in_sync and cloud.edges()[1].withheld)
        plant, listed = cloud.edges()
        kept = (await ward.http.get("/v1/status")).json()["policy"]["kept_back"]
        assert (kept["documents"], kept["all_documents"]) == (1, 1)
        assert kept["summaries"] == kept["all_summaries"] == listed.withheld > 0
        assert (listed.summaries, plant.withheld) == (0, 0)
        first, second, third = await status_line(ward)
        assert f"lets 0 of {counted(listed.withheld, 'summary', 'summaries')} and 0 of 1 document leave" in first
        assert LINE in second
        assert third.endswith("dgrag add FILE --edge ward --labels LABEL")
        assert f"lets 0 of {counted(listed.withheld, 'summary', 'summaries')} leave" in render.withheld_line(listed.model_dump())
        assert "economics" not in str(listed)
        file = tmp_path / "ward" / NAME
        file.write_text(file.read_text().replace("[labels]", f"[labels]\n{kept['holds'][0]['line']}\n#"))  # in the standard policy
        await until(lambda: cloud.edges()[1].summaries > 0)
        assert (cloud.edges()[1].withheld, await status_line(ward)) == (0, [])


async def test_what_is_parked_is_told_beside_the_documents_that_may_leave_and_is_none_of_them(tmp_path):
    async with running_edge(tmp_path, strategy="dgrag") as edge:
        await edge.add("ward.md", WARD)
        await edge.add("law.md", STAYS, labels=["law"])
        for labels in ("law", "public"):
            files = {"file": (f"{labels}.pdf", b"%PDF-1.4 nothing")}
            assert (await edge.http.post("/v1/documents", files=files, data={"labels": labels})).status_code == 202
        replaced = await edge.http.post("/v1/documents", files={"file": ("ward.md", b"\x00\x01\x02" * 99)})  # its former version is served
        assert replaced.status_code == 202
        await edge.settled()
        first, second, _ = await status_line(edge)
        assert first.endswith("and 1 of 2 documents leave; 2 more parked")
        assert "holds 1 of them" in second


async def test_an_asking_site_does_not_learn_that_another_one_keeps_something(tmp_path):
    said = []
    for folder, labels in (("with", ["economics"]), ("without", None)):
        members = {"ward": (WARD, REFUSAL), "plant": (PLANT, REFUSAL)}
        async with federation(tmp_path / folder, cloud_answer=REFUSAL, edge_answers=members) as (edges, _, _):
            if labels:
                await edges["plant"].add("kept.md", STAYS, labels=labels)
            answer = await edges["ward"].ask("Who keeps the Heron Gate?")
            said.append((answer["answer"], answer["reason"]))
    assert said[0] == said[1]


def test_what_is_kept_by_languages_names_them_once_and_promises_no_line():
    found = holds(Policy(version=1), {}, {"de": 3, "fr": 2})
    kept = {"summaries": 1, "all_summaries": 4, "documents": 0, "all_documents": 2, "holds": [asdict(hold) for hold in found]}
    console = Console(file=io.StringIO(), width=400)
    console.print(*render.kept_back(EdgeStatus("ward", policy={"kept_back": kept})), markup=False, sep="\n")
    assert "3 of 4 summaries and 2 of 2 documents" in console.file.getvalue()
    assert "take `types` out" not in console.file.getvalue()  # it would unmask every document of the site
    assert "not found: de (3), fr (2), holds 5 passages; names are found in English only" in console.file.getvalue()
    assert console.file.getvalue().count("names are found in English only") == 1


def test_a_support_that_summaries_lack_is_named_with_the_line_that_lets_them_leave():
    (hold,) = holds(Policy(version=1, unlabelled="full", minimum_support=2), {(): 3}, {}, blank=2)
    kept = {"summaries": 2, "all_summaries": 2, "documents": 0, "all_documents": 3, "holds": [asdict(hold)]}
    assert render.kept_back(EdgeStatus("ward", policy={"kept_back": kept}))[:2] == [
        "ward: its sharing policy lets 0 of 2 summaries and 3 of 3 documents leave",
        "  minimum_support = 2, of names that fewer documents tell of, holds up to 2 summaries; "
        "to let them leave, add to its policy.toml, in the place of that line: minimum_support = 1",
    ]
