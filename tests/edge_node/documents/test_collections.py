"""JSONL corpora, row by row."""

import io
import json
from pathlib import Path

import pytest

from edge_node.documents import collections
from edge_node.documents.collections import BadRow, CollectionDocument, is_collection, iter_collection, lines_of


def rows(*lines: object) -> list[CollectionDocument | BadRow]:
    encoded = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines]
    return list(iter_collection([line + b"\n" for line in encoded], name="c.jsonl"))


def reason_of(line: object) -> str:
    (row,) = rows(line)
    assert isinstance(row, BadRow)
    assert row.line == 1
    assert row.message.startswith("c.jsonl, line 1")
    return row.reason


GOOD = {"doc_id": "a", "title": "A", "text": "One pump."}


def test_a_corpus_row_keeps_its_name_title_text_and_labels():
    assert rows(GOOD | {"labels": ["ward", "ward", "pump"], "client": 3}) == [CollectionDocument("a", "A", "One pump.", ("ward", "pump"))]


def test_other_fields_do_not_become_labels():
    assert rows(GOOD | {"dataset": "x", "category": "sports"}) == [CollectionDocument("a", "A", "One pump.")]


@pytest.mark.parametrize("title", [None, "", "absent"])
def test_a_title_is_optional(title: str | None):
    row = {key: value for key, value in (GOOD | {"title": title}).items() if value != "absent"}
    assert rows(row) == [CollectionDocument("a", "", "One pump.")]


def test_a_whole_number_is_a_name():
    assert rows(GOOD | {"doc_id": 17}) == [CollectionDocument("17", "A", "One pump.")]


def ultradomain(context: str, **fields: object) -> dict[str, object]:
    return {"input": "?", "answers": ["!"], "context": context, "label": "health", "meta": {"title": "Book"}} | fields


def test_a_context_repeated_in_many_rows_comes_once():
    found = rows(ultradomain("Blood.", context_id="c1"), ultradomain("Blood.", context_id="c1"), ultradomain("Bone.", context_id="c2"))
    assert found == [CollectionDocument("c1", "Book", "Blood."), CollectionDocument("c2", "Book", "Bone.")]


def test_the_domain_of_a_context_is_no_sharing_label():
    row = ultradomain("Rent is a price.", context_id="e1", label="economics", length=4, _id="x")
    assert rows(row) == [CollectionDocument("e1", "Book", "Rent is a price.")]


def test_without_an_id_equal_contexts_are_one_document():
    found = rows(ultradomain("Blood."), ultradomain("Blood."), ultradomain("Bone.", context_id=None))
    assert [row.text for row in found if isinstance(row, CollectionDocument)] == ["Blood.", "Bone."]
    assert len({row.name for row in found if isinstance(row, CollectionDocument)}) == 2


def test_a_context_needs_neither_label_nor_meta():
    assert rows({"context": "Blood.", "context_id": "c"}) == [CollectionDocument("c", "", "Blood.")]


def test_a_name_that_comes_again_with_other_text_is_reported():
    first, second = rows(GOOD, GOOD | {"text": "Two pumps."})
    assert isinstance(first, CollectionDocument)
    assert isinstance(second, BadRow)
    assert (second.line, second.reason) == (2, "name_taken")


def test_text_is_normalised():
    assert rows(GOOD | {"text": "Cafe\u0301\r\n\x00x"}) == [CollectionDocument("a", "A", "Café\nx")]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"{not json", "not_json"),
        (b'{"doc_id": "a", "text": NaN}', "not_json"),
        (b'{"doc_id": "a", "text": "x"} {}', "not_json"),
        (b"[" * 5000, "not_json"),
        (b'{"doc_id": "a", "text": "\xff\xfe"}', "not_utf8"),
        ([GOOD], "not_an_object"),
        ("text", "not_an_object"),
        (None, "not_an_object"),
        ({"question": "?"}, "unknown_schema"),
        ({"text": "One pump."}, "unknown_schema"),
        ({"input": "?", "answers": [], "context_id": "c"}, "unknown_schema"),
        (GOOD | {"text": ""}, "empty"),
        (GOOD | {"doc_id": "n" * 513}, "name_too_long"),
        (GOOD | {"text": " \n... "}, "empty"),
        (GOOD | {"text": None}, "wrong_type"),
        (GOOD | {"text": ["One"]}, "wrong_type"),
        (GOOD | {"doc_id": None}, "wrong_type"),
        (GOOD | {"doc_id": True}, "wrong_type"),
        (GOOD | {"doc_id": 1.5}, "wrong_type"),
        (GOOD | {"doc_id": " "}, "wrong_type"),
        (GOOD | {"title": 3}, "wrong_type"),
        (GOOD | {"labels": [3]}, "wrong_type"),
        (ultradomain("", context_id="c"), "empty"),
        (ultradomain(3, context_id="c"), "wrong_type"),  # type: ignore[arg-type]
    ],
)
def test_a_bad_row_says_what_is_wrong(line: object, reason: str):
    assert reason_of(line) == reason


def test_a_bad_row_costs_nothing_else():
    found = rows(b"{", b"", b"  ", GOOD, b"\xff", GOOD | {"doc_id": "b"})
    assert [(row.line, row.reason) if isinstance(row, BadRow) else row.name for row in found] == [
        (1, "not_json"),
        "a",
        (5, "not_utf8"),
        "b",
    ]


def test_a_byte_order_mark_before_the_first_row_is_skipped():
    assert rows(b"\xef\xbb\xbf" + json.dumps(GOOD).encode()) == [CollectionDocument("a", "A", "One pump.")]


def test_no_lines_give_no_rows():
    assert rows() == []


def test_a_text_over_the_cap_is_reported(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(collections, "MAX_TEXT_CHARS", 5)
    assert reason_of(GOOD) == "too_large"


def test_an_endless_line_is_refused_without_being_held(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(collections, "MAX_LINE_BYTES", 60)
    stream = io.BytesIO(b"x" * 5_000 + b"\n" + json.dumps(GOOD).encode() + b"\n")
    lines = list(lines_of(stream))
    assert [len(line) for line in lines] == [62, len(json.dumps(GOOD)) + 1]
    first, second = iter_collection(lines, name="c.jsonl")
    assert isinstance(first, BadRow)
    assert first.reason == "line_too_long"
    assert isinstance(second, CollectionDocument)


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b""])
def test_a_line_of_exactly_the_limit_is_read(monkeypatch: pytest.MonkeyPatch, end: bytes):
    line = json.dumps(GOOD).encode()
    monkeypatch.setattr(collections, "MAX_LINE_BYTES", len(line))
    assert [row.__class__ for row in iter_collection(lines_of(io.BytesIO(line + end)), name="c")] == [CollectionDocument]


@pytest.mark.parametrize(
    ("name", "expected"), [("a.jsonl", True), ("A.JSONL", True), ("b.ndjson", True), ("a.json", False), ("jsonl", False)]
)
def test_a_collection_is_known_by_its_suffix(name: str, expected: bool):
    assert is_collection(name) is expected


@pytest.mark.data
@pytest.mark.parametrize(
    ("file", "documents"),
    [
        ("standin_textbooks/psychology.jsonl", 8),
        ("standin_textbooks/economics.jsonl", 8),
        ("standin_textbooks/health.jsonl", 7),
        ("standin_textbooks/politics.jsonl", 9),
        ("ultradomain_mix/mix.jsonl", 37),
        ("multihop/hotpotqa/corpus.jsonl", 1242),
        ("multihop/musique/corpus.jsonl", 1140),
        ("multihop/2wikimultihopqa/corpus.jsonl", 529),
        ("multihop/ketrag_musique/corpus.jsonl", 6761),
        ("multihop_rag/corpus.jsonl", 188),
        ("podcast/corpus.jsonl", 1122),
    ],
)
def test_every_evaluation_corpus_reads_without_a_bad_row(data_folder: Path, file: str, documents: int):
    with (data_folder / file).open("rb") as stream:
        found = list(iter_collection(lines_of(stream), name=file))
    assert [row for row in found if isinstance(row, BadRow)] == []
    assert len(found) == documents
