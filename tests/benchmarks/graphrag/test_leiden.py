import json

import pytest

pytest.importorskip("igraph")
pytest.importorskip("leidenalg")

from benchmarks.graphrag.leiden import METHODS, graphs, measured, read
from benchmarks.graphrag.levels import Text
from shared.models.fake import WordTokenizer

WARD = "Ann Field met Bob Stone at Merle Quarry. Merle Quarry sells slate to Bob Stone."
MILL = "Osric Vale leads Harrow Mill. Harrow Mill buys wool from Lena Marsh. Lena Marsh met Osric Vale."


async def test_each_library_is_measured_on_each_graph():
    written = await graphs([Text("ward", "", WARD), Text("mill", "", MILL)], WordTokenizer())
    found = measured(written, 40, range(2))
    for graph in ("communities", "parts", "coarsest"):
        rows = found[graph]["methods"]
        assert list(rows) == list(METHODS)
        assert rows["igraph"]["as_igraph"] == {"nmi": 1.0, "adjusted_rand": 1.0}
        assert all(row["modularity"][1] <= row["modularity"][0] <= row["modularity"][2] for row in rows.values())
    assert found["communities"]["edges"] == len(written.edges) > 0


def test_a_book_is_read_from_a_file_and_a_set_from_a_folder(tmp_path):
    row = {"input": "q", "answers": ["a"], "context": MILL, "context_id": "m", "label": "mill", "meta": {"title": "The mill"}, "_id": "1"}
    (tmp_path / "mill.jsonl").write_text(json.dumps(row) + "\n")
    (tmp_path / "news").mkdir()
    (tmp_path / "news" / "corpus.jsonl").write_text(json.dumps({"doc_id": "w", "title": "The ward", "text": WARD}) + "\n")
    assert read(tmp_path, "mill.jsonl") == [Text("m", "The mill", MILL)]
    assert read(tmp_path, "news") == [Text("w", "The ward", WARD)]
