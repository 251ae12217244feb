import json

import pytest

from benchmarks.graphrag.levels import Text, joined, measured, table, texts
from shared.models.fake import HashEmbedder, WordTokenizer

PARTS = ["Ann built the mill in Fennick.", "mill in Fennick. Bob runs the mill.", "The Orrin Railway carried slate."]


@pytest.fixture
def folder(tmp_path):
    rows = [{"doc_id": f"e-{part}", "title": "Episode", "part": part, "text": text} for part, text in enumerate(PARTS)]
    rows += [{"doc_id": "n", "title": "News", "text": "Ann Field met Bob Stone at Merle Quarry. Merle Quarry sells slate to Bob Stone."}]
    (tmp_path / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


def test_parts_of_a_transcript_are_one_document_without_what_they_repeat(folder):
    whole = "Ann built the mill in Fennick. Bob runs the mill.\nThe Orrin Railway carried slate."
    assert texts(folder)[0] == Text("e-0", "Episode", whole)
    assert [one.name for one in texts(folder)] == ["e-0", "n"]


def test_a_few_signs_in_common_are_chance():
    assert joined(["It is in", "in use"]) == "It is in\nin use"


async def test_every_level_is_counted_and_so_are_the_texts(folder):
    found = await measured(folder, WordTokenizer(), HashEmbedder())
    assert [row["level"] for row in found["levels"]] == [0, 1, 2, 3]
    assert found["reports"] == sum(row["own"] for row in found["levels"])
    assert found["sources"]["paper"] == {"units": 2, "tokens": found["text_tokens"]}
    for row in found["levels"]:
        assert row["units"] >= row["own"]
        assert row["full_tokens_at_most"] <= row["element_tokens"]
        assert row["plain_share"] == pytest.approx(row["plain_tokens"] / found["text_tokens"], abs=1e-4)
    assert sum(root["entities"] for root in found["roots"]) == found["entities"]
    assert [row["tie"] for row in found["ties"]] == [0.0, 0.1, 0.25, 0.5, 1.0]
    assert table("some", found).row_count == 6
