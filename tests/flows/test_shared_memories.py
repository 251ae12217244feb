"""Memories that leave a site, over the routes: answered by the owner's passage, hinted at, withdrawn, and gone with their document."""

import contextlib

import httpx2
import pytest

from edge_node.egress.policy_file import NAME
from shared.http.open_mode import CALLER
from tests.support.running_cloud import running_cloud
from tests.support.running_edge import running_edge, scripted
from tests.support.waiting import until

MILL = "Orrin Mill was built by Zebulon Quillfeather in 1881. The mill stands beside the river."
LOANS = "A bank loan over five years costs 4 percent a year."
WHO = "Who built Orrin Mill?"
CANARY = b"quillfeather"


class Federation:
    """A cloud that trusts ward, ward with its policy, and bank that asks."""

    def __init__(self, folder, cloud, ward, bank):
        self.folder, self.cloud, self.ward, self.bank = folder, cloud, ward, bank

    async def known(self):
        """Until the cloud knows all that it may."""
        await until(lambda: not self.ward.node.strategy.stale and self.ward.node.worker.idle and self.ward.node.link.in_sync)

    def obey(self, share):
        write_policy(self.folder, share)

    def told(self):
        memories = self.cloud.memories
        return {(held.body.question, held.body.answer): held.body.direct for edge in memories.edges() for held in memories.load(edge)}

    async def ask(self, question=WHO):
        return await self.bank.ask(question, mode="cloud", memory=False)

    def traces(self, part):
        return [path.name for path in (self.folder / part).rglob("*") if path.is_file() and CANARY in path.read_bytes().lower()]


def write_policy(folder, share):
    (folder / "ward").mkdir(exist_ok=True)
    (folder / "ward" / NAME).write_text(f'version = 1\n[memories]\nshare = "{share}"', encoding="utf-8")


@contextlib.asynccontextmanager
async def federated(folder, share, *, strategy="naive"):
    write_policy(folder, share)
    settings = {"evidence_threshold": 0.05, "deadline_s": 5, "erase_every_s": 0.05, "memory_trusted": ("ward",)}
    async with contextlib.AsyncExitStack() as stack:
        service = await stack.enter_async_context(running_cloud(folder / "cloud", answer="The model was asked [1].", **settings))
        edges = {}
        for name, text in {"ward": MILL, "bank": LOANS}.items():
            http = httpx2.AsyncClient(headers=CALLER, transport=httpx2.ASGITransport(service.app), base_url="http://127.0.0.1")
            knobs = {"strategy": strategy}
            started = running_edge(folder / name, id=name, generator=scripted("Insufficient information."), cloud=http, **knobs)
            edges[name] = await stack.enter_async_context(started)
            edges[name].document_id = (await edges[name].add("report.md", text))["document_id"]
        found = Federation(folder, service.cloud, edges["ward"], edges["bank"])
        await found.known()
        await until(lambda: edges["bank"].node.link.in_sync)
        yield found


async def test_a_memory_of_a_trusted_site_answers_another_sites_question_with_its_own_passage_and_no_model(tmp_path):
    async with federated(tmp_path, "answers") as found:
        assert found.told()[WHO, "Zebulon Quillfeather"]
        answer = await found.ask()
        assert (answer["route"], answer["answer"]) == ("memory", "Zebulon Quillfeather [1]")
        [cited] = answer["citations"]
        assert (cited["edge"], cited["quote"]) == ("ward", "Orrin Mill was built by Zebulon Quillfeather in 1881.")
        assert MILL[slice(*cited["span"])] == cited["quote"]
        assert sum(step["calls"] for step in answer["trace"]) == 0
        shown = (await found.ward.http.get(f"/v1/documents/{cited['document_id']}")).json()
        assert shown["name"] == "report.md"


async def test_a_verdict_on_another_sites_memory_or_on_the_clouds_answer_is_refused_with_a_reason(tmp_path):
    cases = {WHO: ("memory", "another site's: ward"), "Is Orrin Mill beside the river?": ("cloud", "the cloud wrote")}
    async with federated(tmp_path, "answers") as found:
        for question, (route, why) in cases.items():
            answer = await found.ask(question)
            assert answer["route"] == route
            refused = await found.bank.http.post(f"/v1/queries/{answer['query_id']}/feedback", json={"verdict": "wrong"})
            assert (refused.status_code, refused.json()["code"]) == (409, "conflict")
            assert why in refused.json()["detail"]
            assert "mode 'local'" in refused.json()["next_step"]
        assert found.told()[WHO, "Zebulon Quillfeather"]


async def test_every_memory_that_left_and_the_passage_that_answered_stand_in_the_ledger(tmp_path):
    async with federated(tmp_path, "answers") as found:
        await found.ask()
        entries = found.ward.node.ledger.entries(limit=1000)
        told = [entry for entry in entries if entry.kind == "memories"]
        assert told
        assert all(entry.rule.startswith("memories: answers; policy ") for entry in told)
        [evidence] = [entry for entry in entries if entry.kind == "evidence"]
        assert evidence.requester == "bank"
        assert found.ward.node.ledger.verify() == []


async def test_a_hint_sends_the_question_to_its_owner_and_tells_the_cloud_no_name(tmp_path):
    async with federated(tmp_path, "hints", strategy="dgrag") as found:
        assert found.told()
        assert not any(found.told().values())
        assert not any("quillfeather" in text.lower() or "orrin" in text.lower() for told in found.told() for text in told)
        answer = await found.ask()
        assert answer["route"] == "cloud"


async def test_a_deleted_document_leaves_no_byte_of_its_memories_here_or_in_the_cloud(tmp_path):
    async with federated(tmp_path, "answers") as found:
        assert found.traces("ward")
        assert found.traces("cloud")
        receipt = (await found.ward.http.delete(f"/v1/documents/{found.ward.document_id}")).json()
        assert (receipt["erased"], found.traces("ward")) == (True, [])
        await until(lambda: found.ward.node.receipt(receipt["receipt_id"])["cloud"] == "confirmed")
        assert found.told() == {}
        await until(lambda: not found.traces("cloud"))
        assert (await found.ask())["route"] == "cloud"


@pytest.mark.parametrize("share", ["hints", "off"])
async def test_a_policy_that_changes_withdraws_what_the_cloud_was_told(tmp_path, share):
    async with federated(tmp_path, "answers", strategy="dgrag") as found:
        assert any(found.told().values())
        found.obey(share)
        await until(lambda: not any(found.told().values()))
        await until(lambda: found.ward.node.link.in_sync)
        assert (found.told() == {}) == (share == "off")


async def test_what_is_called_wrong_is_withdrawn(tmp_path):
    async with federated(tmp_path, "answers") as found:
        here = (await found.ward.http.get("/v1/memories")).json()["memories"]
        [memory_id] = [one["memory_id"] for one in here if one["question"] == WHO]
        assert (await found.ward.http.delete(f"/v1/memories/{memory_id}")).status_code == 204
        await until(lambda: (WHO, "Zebulon Quillfeather") not in found.told())


async def test_a_site_that_shares_no_memories_tells_none(tmp_path):
    async with federated(tmp_path, "off") as found:
        assert (found.told(), found.ward.node.link.state.memories.version) == ({}, 0)
        assert not [entry for entry in found.ward.node.ledger.entries(limit=1000) if entry.kind == "memories"]
