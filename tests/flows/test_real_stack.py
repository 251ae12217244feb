"""Real processes over loopback, a real language model, real embeddings, real spaCy, through the command a user types.

The small model is right often, not always: these tests hold what must be true of every answer, and of the documents.
"""

import json

import httpx2
import pytest

from shared.http.open_mode import CALLER
from tests.support.real_cluster import cluster_of, dgrag

pytestmark = [pytest.mark.process, pytest.mark.model]
WARD = (
    "Juniper Ward reported the failure of four infusion pumps on 14 March. Juniper Ward lies on the second floor of the Anchor Building.\n"
)
PLANT = "Brackwell Works recalled lot L-7713 of the CX-40 battery pack on 2 May. A bad weld in lot L-7713 caused the failures of pumps.\n"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A ward and a plant; the ward's folder holds files that cannot be read beside one that can."""
    root = tmp_path_factory.mktemp("cluster")
    for name in ("ward", "plant"):
        (root / name).mkdir()
    (root / "ward" / "report.md").write_text(WARD)
    (root / "ward" / "empty.txt").write_bytes(b"")
    (root / "ward" / "empty.pdf").write_bytes(b"")
    (root / "ward" / "binary.txt").write_bytes(bytes(range(256)) * 64)
    (root / "ward" / "wide.txt").write_bytes("The roof garden of the Anchor Building opened in 1998.".encode("utf-16"))
    (root / "plant" / "recall.md").write_text(PLANT)
    with cluster_of(root, "ward", "plant") as started:
        yield started
    assert dgrag("status", "--state", started["state"], check=False).returncode != 0


def ask(cluster, question, edge):
    return json.loads(dgrag("ask", question, "--edge", edge, "--state", cluster["state"], "--json").stdout)


def test_documents_are_indexed_or_parked_with_a_reason(cluster):
    url = next(edge["url"] for edge in cluster["edges"] if edge["edge"] == "ward")
    documents = {d["name"]: d for d in httpx2.get(f"{url}/v1/documents").json()["documents"]}
    assert {name: d["status"] for name, d in documents.items()} == {
        "binary.txt": "parked",
        "empty.pdf": "parked",
        "empty.txt": "parked",
        "report.md": "indexed",
        "wide.txt": "indexed",
    }
    assert documents["binary.txt"]["code"] == "not_text"


def test_a_model_writes_the_answer_and_its_citation_is_in_the_document(cluster):
    answer = ask(cluster, "Which ward reported the failure of four infusion pumps?", "ward")
    assert answer["route"] in ("local", "cloud")
    assert sum(step["tokens_out"] for step in answer["trace"]) > 0
    assert answer["gate"]["samples"] or answer["gate"]["confidence"]["sufficiency"] < answer["gate"]["confidence"]["threshold"]
    for citation in answer["citations"]:
        start, end = citation["span"]
        text = WARD if citation["edge"] == "ward" else PLANT  # small models cite the other site too
        assert text[start:end] == citation["quote"]


def test_a_question_is_answered_from_the_other_site_that_knows(cluster):
    question = "Which lot of the CX-40 battery pack did Brackwell Works recall?"
    asked = dgrag("ask", question, "--edge", "ward", "--mode", "cloud", "--state", cluster["state"], "--json")
    answer = json.loads(asked.stdout)
    assert answer["route"] == "cloud"
    reports = {report["edge"]: report for report in answer["edges"]}
    assert reports["plant"]["status"] == "answered"
    assert reports["plant"]["evidence"] > 0
    assert {step["step"] for step in answer["trace"]} >= {"cloud: match", "cloud: fan_out", "cloud: plant: retrieve", "cloud: generate"}
    for citation in answer["citations"]:
        assert citation["quote"] in (WARD if citation["edge"] == "ward" else PLANT)


def test_the_evidence_of_a_site_ranks_the_passage_that_answers_first(cluster):
    url = next(edge["url"] for edge in cluster["edges"] if edge["edge"] == "plant")
    found = httpx2.post(f"{url}/v1/retrieve", json={"question": "Which lot was recalled?"}, headers=CALLER, timeout=30).json()["evidence"]
    assert found[0]["document"] == "recall.md"


def test_the_cloud_routes_a_question_to_the_site_that_knows(cluster):
    body = {"question": "Which lot of the CX-40 battery pack was recalled?", "m": 1}
    (match,) = httpx2.post(f"{cluster['cloud']}/v1/match", json=body, headers=CALLER, timeout=30).json()["matches"]
    assert match["edge"] == "plant"


def test_adding_a_damaged_corpus_indexes_the_good_rows_and_names_the_bad_one(cluster):
    corpus = cluster["root"] / "corpus.jsonl"
    good = {"context": "The Heron Gate Barrier closes at a level of 3.8 metres.", "context_id": "barrier", "input": "?", "answers": ["3.8"]}
    corpus.write_text(json.dumps(good) + "\n" + json.dumps({"input": "no context here"}) + "\n")
    done = dgrag("add", corpus, "--edge", "plant", "--state", cluster["state"], check=False)
    assert done.returncode == 1
    assert "context" in done.stdout + done.stderr
    url = next(edge["url"] for edge in cluster["edges"] if edge["edge"] == "plant")
    assert "barrier" in {d["name"] for d in httpx2.get(f"{url}/v1/documents").json()["documents"]}


def test_a_second_up_on_the_same_state_is_refused_in_one_line(cluster):
    again = dgrag("up", "--edges", 1, "--state", cluster["state"], "--detach", check=False)
    assert again.returncode == 1
    assert len(again.stderr.strip().splitlines()) == 1
