"""A new user's `dgrag up --data` with documents of their own: what it says, and what is in the ledgers, of real processes."""

import asyncio
import json
import threading

import pytest

from deploy.cluster.names import Ports
from deploy.lab.no_model import serve_no_model
from shared.errors import FetchError
from shared.models.catalogue import model_named
from shared.models.fetch import located
from shared.models.settings import ModelSettings
from tests.support.models import no_model
from tests.support.real_cluster import dgrag

pytestmark = [pytest.mark.process, pytest.mark.model]
WARD = "Juniper Ward reported the failure of four infusion pumps on 14 March. Juniper Ward lies in the Anchor Building.\n"
PLANT = "Brackwell Works recalled lot L-7713 of the CX-40 battery pack on 2 May. A bad weld in lot L-7713 caused the failures of pumps.\n"
QUESTION = "Which lot of the CX-40 battery pack did Brackwell Works recall?"
PORTS = ("--edge-port", "23100", "--cloud-port", "23050")  # away from those of clusters that stand beside this one


@pytest.fixture
def model():
    """The address of what stands in for a language model: no answer is written, and passages are asked for all the same."""
    try:
        located(model_named("minilm"), ModelSettings().dir)
    except FetchError:
        no_model("the embedder is not fetched: `dgrag model fetch minilm`")
    loop, port = asyncio.new_event_loop(), Ports().take(23_000)
    server = loop.run_until_complete(serve_no_model(port))
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    yield f"http://127.0.0.1:{port}/v1"
    loop.call_soon_threadsafe(server.close)
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


@pytest.fixture
def up(tmp_path, model, monkeypatch):
    monkeypatch.delenv("DGRAG_EDGE_SHARE")
    for site, text in (("ward", WARD), ("plant", PLANT)):
        (tmp_path / site).mkdir()
        (tmp_path / site / "report.md").write_text(text)
    state = tmp_path / "state"

    def start(*words):
        data = [word for site in ("ward", "plant") for word in ("--data", tmp_path / site)]
        return dgrag("up", *data, "--state", state, "--model", model, *PORTS, "--detach", "--json", *words)

    start.state = state
    yield start
    dgrag("down", "--state", state)


def kinds(state):
    """What has left, by the ledgers of both sites."""
    listed = (dgrag("audit", "list", "--edge", site, "--state", state, "--json").stdout for site in ("ward", "plant"))
    return {record["kind"] for said in listed for record in json.loads(said)["records"]}


def asked(state):
    """What comes of a question that its asker has let leave."""
    words = ("--mode", "cloud", "--escalate", "yes", "--edge", "ward")
    return dgrag("ask", QUESTION, *words, "--state", state, "--json", check=False)


def test_without_a_word_summaries_leave_and_no_passage_does_and_a_failed_question_says_why(up):
    said = up().stderr
    for site in ("ward", "plant"):
        assert f"{site} shares summary: facts in summaries, no passages; its questions: they leave once who asks has said yes" in said
    assert "nobody was asked what may leave ward, plant" in said
    waits = json.loads(dgrag("ask", QUESTION, "--edge", "ward", "--mode", "cloud", "--state", up.state, "--json").stdout)
    assert waits["would_ask"] == QUESTION
    assert "question" not in kinds(up.state)
    answer = json.loads(asked(up.state).stdout)
    assert (
        "no passages, only summaries, are shared by plant, ward: there, `dgrag policy share full --edge NAME` changes it"
        in answer["reason"]
    )
    left = kinds(up.state)
    assert {"summaries", "question", "refusal"} <= left
    assert "evidence" not in left
    dgrag("policy", "share", "full", "--edge", "plant", "--state", up.state)  # as the answer says
    asked(up.state)
    assert "evidence" in kinds(up.state)


def test_with_full_the_same_question_takes_passages_out_of_both_sites(up):
    said = up("--share", "full").stderr
    assert "ward shares full: summaries; passages are read and quoted; its questions: they may leave" in said
    asked(up.state)
    assert "evidence" in kinds(up.state)
