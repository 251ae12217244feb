"""What befalls the line between a running edge and a running cloud, and how both come through."""

from tests.support.federation import PLANT, REFUSAL, WARD, federation
from tests.support.waiting import until


async def test_an_expelled_edge_stays_out_answers_alone_with_the_reason_and_returns_when_readmitted(tmp_path, monkeypatch):
    monkeypatch.setattr("edge_node.cloud.link.EXPELLED_WAIT_S", 0.05)
    members = {"ward": (WARD, REFUSAL), "plant": (PLANT, REFUSAL)}
    async with federation(tmp_path, cloud_answer="-", edge_answers=members) as (edges, _, cloud):
        link = edges["ward"].node.link
        await until(lambda: cloud.mailbox.online("ward"))
        await cloud.expel("ward")
        await until(lambda: "expelled" in link.state.error)
        assert [row.edge for row in cloud.edges()] == ["plant"]
        answer = await edges["ward"].ask("Which lot caused the failure?")
        assert (answer["route"], answer["degraded"]) == ("degraded", True)
        assert answer["reason"] == "ward was expelled from this cloud"
        cloud.registry.readmit("ward")
        await until(lambda: link.in_sync)
        assert [row.summaries > 0 for row in cloud.edges()] == [True, True]


async def test_a_question_for_which_an_edge_breaks_is_told_to_have_failed_at_once(tmp_path, monkeypatch):
    members = {"bank": ("The bank lends money to bakeries.", REFUSAL), "plant": (PLANT, REFUSAL)}
    async with federation(tmp_path, cloud_answer=REFUSAL, edge_answers=members) as (edges, _, _):

        async def breaks(request):
            raise ZeroDivisionError

        monkeypatch.setattr(edges["plant"].node.link._desks["evidence"], "serve", breaks)
        answer = await edges["bank"].ask("Which lot of the battery pack caused the failure of infusion pumps?")
        reports = {report["edge"]: (report["status"], report["reason"]) for report in answer["edges"]}
        assert reports["plant"] == ("failed", "internal")
