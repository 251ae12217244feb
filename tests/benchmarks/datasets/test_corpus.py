import pytest

from benchmarks.datasets.corpus import DatasetError, lines_of, matching, write_data
from benchmarks.datasets.ultradomain import UltraDomain
from benchmarks.records import Split


@pytest.fixture
def corpus(domains):
    return UltraDomain.read(domains, ["books/*.jsonl"])


def test_files_come_pattern_by_pattern_sorted_and_once(domains):
    found = matching(domains, ["books/law*", "books/*.jsonl"])
    assert [file.name for file in found] == ["law.jsonl", "art.jsonl", "cs.jsonl"]


def test_a_pattern_without_a_file_is_named(domains):
    with pytest.raises(DatasetError, match=r"no file matches 'books/\*.json' below"):
        matching(domains, ["books/*.jsonl", "books/*.json"])


def test_a_missing_data_folder_says_how_to_name_it(tmp_path):
    with pytest.raises(DatasetError, match="there is no folder") as raised:
        matching(tmp_path / "gone", ["*"])
    assert "--data" in raised.value.next_step


def test_a_file_that_goes_away_is_an_error_of_ours(tmp_path):
    with pytest.raises(DatasetError, match="cannot read"):
        list(lines_of(tmp_path / "gone.jsonl"))


def test_each_edge_gets_its_documents_and_central_gets_all(corpus, domains, tmp_path):
    split = Split("s", {"east": ("id-A", "id-C"), "west": ("id-C", "id-F")}, ())
    files = write_data(split, corpus, tmp_path / "data")
    source = [
        line for name in ("art", "cs", "law") for line in (domains / "books" / f"{name}.jsonl").read_bytes().splitlines(keepends=True)
    ]
    a, c, f = source[0], source[3], source[9]
    assert {edge: file.read_bytes() for edge, file in files.items()} == {"east": a + c, "west": c + f, "central": a + c + f}
    assert sorted(file.name for file in (tmp_path / "data").iterdir()) == ["central.jsonl", "east.jsonl", "west.jsonl"]


def test_files_that_are_all_there_are_not_written_again(corpus, tmp_path):
    split = Split("s", {"east": ("id-A",)}, ())
    write_data(split, corpus, tmp_path)["east"].write_text("kept")
    assert write_data(split, corpus, tmp_path)["east"].read_text() == "kept"


def test_files_of_a_broken_write_are_written_again(corpus, tmp_path):
    split = Split("s", {"east": ("id-A",)}, ())
    write_data(split, corpus, tmp_path)["central"].unlink()
    (tmp_path / "east.jsonl").write_text("old")
    files = write_data(split, corpus, tmp_path)
    assert files["east"].read_bytes() == files["central"].read_bytes() != b"old"


def test_a_document_that_the_corpus_has_not_is_named_and_nothing_counts_as_written(corpus, tmp_path):
    with pytest.raises(DatasetError, match=r"1 documents are not in the corpus, e.g. 'id-Z'"):
        write_data(Split("s", {"east": ("id-A", "id-Z")}, ()), corpus, tmp_path)
    assert not list(tmp_path.glob("*.jsonl"))


def test_no_edge_is_called_as_the_one_that_has_all(corpus, tmp_path):
    with pytest.raises(DatasetError, match="cannot be called 'central'"):
        write_data(Split("s", {"central": ()}, ()), corpus, tmp_path)


def test_a_last_line_without_a_line_end_gets_one(tmp_path, row, write_jsonl):
    file = write_jsonl(tmp_path / "cs.jsonl", [row(1, "A"), row(2, "B")])
    file.write_bytes(file.read_bytes().replace(b"}\n{", b"}\r\n{")[:-1])
    corpus = UltraDomain.read(tmp_path, ["cs.jsonl"])
    written = write_data(Split("s", {"east": ("id-A", "id-B")}, ()), corpus, tmp_path / "data")["east"].read_bytes()
    assert written.endswith(b"}\n")
    assert written.count(b"\n") == 2
