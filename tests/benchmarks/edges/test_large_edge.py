from itertools import islice

import orjson

from benchmarks.edges.large_edge import documents, texts_of


def test_texts_that_come_again_have_the_same_words_and_other_names(tmp_path):
    (tmp_path / "corpus.jsonl").write_bytes(orjson.dumps({"text": "Halden paid the harbour. The harbour of Orrin paid nobody."}))
    (tmp_path / "questions.jsonl").write_bytes(orjson.dumps({"text": "Who paid?"}))
    (_, first), (_, again), (_, third) = islice(documents(texts_of(tmp_path)), 3)
    assert "Halden" in first
    assert again.startswith("Jemfip paid the harbour. The harbour of ")
    assert len({text.split()[0] for text in (first, again, third)}) == 3
