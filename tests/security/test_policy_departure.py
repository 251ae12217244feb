"""Goal S11 at the moment of departure: what the policy says then is what counts, for questions, syncs and replies, at each attempt."""

import hashlib
import json
import re

import httpx2
import pytest

from edge_node.cloud.link import CloudConnection
from edge_node.cloud.sync import LinkState
from edge_node.egress.sharing import Served
from shared.errors import Withheld
from shared.limits import Deadline
from shared.models.fake import ScriptedGenerator
from shared.records import DENIED, Summary, SummaryDelta
from shared.wire import EvidenceReply, EvidenceRequest
from tests.support.cloud_line import line
from tests.support.policies import Canary, Site, spelling
from tests.support.running_edge import running_edge

SECRET = "MRN-483920"
MASKED = 'version = 1\nquestions = "yes"\n[redact]\nidentifiers = ["record"]\n'
DELTA = SummaryDelta("e1", 0, 1, (Summary("s1", "about pumps", 1, 0),), ())
REPLY = EvidenceReply()


async def asked_while(folder, later):
    """The bodies of questions, and the answer, where the policy becomes ``later`` while the model of the site works."""
    file, sent = folder / "policy.toml", []

    def cloud(request):
        sent.extend([request.content] if request.url.path == "/v1/questions" else [])
        return httpx2.Response(503)

    def think(prompt):
        file.write_text(later)
        return ["I do not know."] * prompt.n

    file.write_text(MASKED)
    http = httpx2.AsyncClient(transport=httpx2.MockTransport(cloud), base_url="http://127.0.0.1:9")
    async with running_edge(folder, cloud=http, generator=ScriptedGenerator(think)) as edge:
        await edge.add("a.md", "Juniper Ward reported four pumps.")
        answer = await edge.ask(f"Which ward treats {SECRET}, Juniper Ward?")
    return b"".join(sent), answer


@pytest.mark.parametrize("later", ['version = 1\nquestions = "no"\n', "version = 1\nquestions = [broken\n"])
async def test_a_question_stays_here_once_the_policy_forbids_it_or_cannot_be_read(tmp_path, later):
    sent, answer = await asked_while(tmp_path, later)
    assert (sent, answer["route"], answer["reason"]) == (b"", "local", f"{DENIED} lets no question leave any more")


async def test_a_question_waits_for_a_yes_once_the_policy_asks_for_it(tmp_path):
    sent, answer = await asked_while(tmp_path, MASKED.replace("yes", "ask"))
    assert (sent, answer["would_ask"]) == (b"", "Which ward treats [record]██, Juniper Ward?")


async def test_null_control_a_question_that_may_leave_does_so_and_masked(tmp_path):
    sent, _ = await asked_while(tmp_path, MASKED)
    assert (SECRET.encode() in sent, b"Juniper Ward" in sent) == (False, True)


@pytest.mark.parametrize("send", [lambda client, **how: client.push(DELTA, **how), lambda client, **how: client.reply("r", REPLY, **how)])
async def test_nothing_is_sent_again_once_the_policy_has_changed(tmp_path, monkeypatch, send):
    monkeypatch.setattr("edge_node.cloud.client.PAUSES_S", (0.0, 0.0))
    attempts = []

    def cloud(request):
        attempts.append(request)
        return httpx2.Response(503)

    with line(tmp_path, cloud) as made:
        with pytest.raises(Withheld):
            await send(made.client, holds=lambda: not attempts)
        assert (len(attempts), len(made.kinds())) == (1, 1)


@pytest.fixture
async def site(tmp_path):
    async with Site.opened(tmp_path) as opened:
        yield opened


@pytest.mark.parametrize(("change", "holds"), [("", True), ('unlabelled = "evidence"', False), ("[labels]\npublic = 'full'", False)])
async def test_a_reply_holds_until_policy_or_labels_change(site, change, holds):
    await site.add(Canary("open.md", (), "zqopen", spelling(1)))
    site.obey("")
    served = await site.served("What of the zqopen pump?", "ward-1")
    site.obey(change)
    assert served.holds() is holds


async def test_a_reply_does_not_hold_once_its_document_has_other_labels(site):
    await site.add(Canary("open.md", (), "zqopen", spelling(1)))
    served = await site.served("What of the zqopen pump?", "ward-1")
    raw = site.bench.database.row("SELECT raw FROM documents")["raw"]
    site.bench.documents.accept("open.md", raw, reader="a.md", labels=("patients",))
    assert not served.holds()


async def test_a_masked_number_cannot_be_guessed_from_the_ids_beside_it(site):
    site.obey('[redact]\nidentifiers = ["record"]')
    text = f"Patient {SECRET} has diabetes."
    await site.bench.add("visit.md", ("Diabetes",), text=text)
    (item,) = json.loads(await site.reply("Who has diabetes?", "bank"))["evidence"]
    guess = hashlib.sha256(f"visit.md\0{text}".encode()).hexdigest()[:24]
    assert SECRET not in item["text"]
    assert guess == site.bench.ids["visit.md"]  # null control: the store's own id is that guess
    assert guess not in json.dumps(item)
    assert re.fullmatch(r"[0-9a-f]{24}:0", item["chunk_id"])


async def test_the_owner_opens_a_document_by_the_id_that_others_cite(tmp_path):
    async with running_edge(tmp_path) as edge:
        added = await edge.add("pump.md", "Brackwell Works makes the Maristow Pump.")
        outside = edge.node.sharing.outside_ids.of(added["document_id"])
        assert outside != added["document_id"]
        assert (await edge.http.get(f"/v1/documents/{outside}")).json()["name"] == "pump.md"
        assert (await edge.http.get("/v1/documents/unknown")).status_code == 404
        again = edge.node.sharing.outside_ids.of(added["document_id"])
    async with running_edge(tmp_path) as edge:
        assert edge.node.sharing.outside_ids.of(added["document_id"]) == again


async def test_a_policy_file_that_the_owner_named_and_misspelt_shares_nothing(tmp_path):
    missing = tmp_path / "strct.toml"
    async with running_edge(tmp_path / "state", policy_file=missing) as edge:
        policy = edge.node.sharing.policy
        assert (policy.unlabelled, policy.questions, missing.exists()) == ("never", "no", False)
    async with running_edge(tmp_path / "state") as edge:  # no standard policy later either
        assert edge.node.sharing.policy.fault


async def test_the_cloud_hears_of_a_refusal_where_a_reply_no_longer_holds():
    sent = []

    class Client:
        async def reply(self, request_id, reply, *, holds, **said):
            if not holds():
                raise Withheld("changed")
            sent.append((request_id, reply.refused))

    request = EvidenceRequest(request_id="r1", question="?", budget_tokens=9, deadline_ms=9000)
    await CloudConnection(Client(), (), None, None, None, LinkState(), points=None)._reply(
        request, Served(REPLY, "", lambda: False), Deadline(9.0)
    )
    assert sent == [("r1", DENIED)]


async def followed_up(folder, **more):
    """The bodies of questions, and the answer, where the model completes a follow-up by a name that an answer has told."""
    sent = []

    def cloud(request):
        sent.extend([request.content] if request.url.path == "/v1/questions" else [])
        return httpx2.Response(503)

    def think(prompt):
        return "What does Ann Lee have?" if prompt.messages[-1].content.endswith("Alone:") else ["I do not know."] * prompt.n

    http = httpx2.AsyncClient(transport=httpx2.MockTransport(cloud), base_url="http://127.0.0.1:9")
    async with running_edge(folder, cloud=http, generator=ScriptedGenerator(think)) as edge:
        await edge.add("a.md", "Juniper Ward reported four pumps.")
        said = [{"question": more.pop("first", "Who is in bed 4?"), "answer": "Ann Lee is in bed 4."}]
        answer = await edge.ask("And what does she have?", earlier=said, **more)
    return b"".join(sent), answer


async def test_a_name_of_an_answer_leaves_with_a_follow_up_only_after_a_yes(tmp_path):
    sent, answer = await followed_up(tmp_path / "a")
    assert (sent, answer["asked"], answer["would_ask"]) == (b"", "What does Ann Lee have?", "What does Ann Lee have?")
    sent, _ = await followed_up(tmp_path / "b", allow_escalation="yes")
    assert b"What does Ann Lee have?" in sent


async def test_null_control_a_follow_up_whose_names_the_asker_has_typed_leaves(tmp_path):
    sent, _ = await followed_up(tmp_path, first="Is Ann Lee in bed 4?")
    assert b"What does Ann Lee have?" in sent
