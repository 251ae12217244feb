"""Archives: each part is read as if it stood alone."""

import gzip
import io
import tarfile
import zipfile

import pytest

from edge_node.documents.readers import read
from edge_node.plugins.parsers import archive as module


def test_an_archive_is_its_documents_each_below_its_name(zipped, place):
    parts = {"s.csv": b"Pump,Lot\nP-1,L-2\n", "a.txt": b"The ward is quiet.", "r.jsonl": b'{"P": "P-3"}'}
    found = read("all.zip", zipped(parts))
    assert found.title == "all"
    assert "# a.txt\n\nThe ward is quiet." in found.text
    assert place(found, "L-2") == "s.csv, row 2"
    assert place(found, "P-3") == "r.jsonl, row 1"


def test_a_damaged_part_is_a_shortfall_of_that_part(zipped):
    data = zipped({"good.txt": b"Good words.", "bad.txt": b"Bad words."})
    at = data.index(b"bad.txt") + len(b"bad.txt")
    found = read("a.zip", data[:at] + b"\xff\xff" + data[at + 2 :])
    assert "Good words." in found.text
    assert found.shortfalls == (("part_unread", "bad.txt: is damaged in the archive"),)


def test_a_part_behind_a_password_is_a_shortfall_and_an_archive_of_such_is_encrypted(zipped, reason_of):
    data = bytearray(zipped({"open.txt": b"Open words.", "locked.txt": b"x"}))
    at = data.rindex(b"PK\x01\x02") + 8
    data[at] |= 1
    found = read("a.zip", bytes(data))
    assert "Open words." in found.text
    assert "password" in found.shortfalls[0][1]
    alone = bytearray(zipped({"locked.txt": b"x"}))
    alone[alone.rindex(b"PK\x01\x02") + 8] |= 1
    assert reason_of("a.zip", bytes(alone)) == "encrypted"


def test_names_lose_their_way_and_no_part_is_left_out(zipped, place):
    parts = {"./notes/ok.txt": b"Ok words.", "../plan.txt": b"Plan words.", "C\\x.txt": b"Win words."}
    found = read("a.zip", zipped(parts))
    assert place(found, "Ok words.") == "notes/ok.txt"
    assert place(found, "Plan words.") == "plan.txt"
    assert "Win words." in found.text
    assert found.shortfalls == ()


def test_files_of_systems_are_left_out_and_hidden_ones_are_counted(zipped):
    parts = {
        "a.txt": b"words",
        "__MACOSX/._a.txt": b"x",
        ".DS_Store": b"x",
        "b/Thumbs.db": b"x",
        ".git/config": b"x",
        ".env": b"secret",
    }
    found = read("a.zip", zipped(parts))
    assert found.text == "# a.txt\n\nwords"
    assert found.shortfalls == (("part_unread", "2 hidden files are not in the text."),)


class OldName(zipfile.ZipInfo):
    """A part whose name is bytes of a code page."""

    encoding = "cp437"

    def _encodeFilenameFlags(self):  # noqa: N802
        return self.filename.encode(self.encoding), 0


@pytest.mark.parametrize(
    ("name", "encoding"),
    [
        ("Отчёт больницы.txt", "cp866"),
        ("会議の記録.txt", "cp932"),
        ("Größe.txt", "cp850"),
        ("Größe.txt", "utf-8"),
        ("Größe.txt", "cp1252"),
    ],
)
def test_names_in_code_pages_are_read(name: str, encoding: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(OldName, "encoding", encoding)
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr(OldName(name), "words")
    assert read("a.zip", target.getvalue()).places[0][1] == name


def test_archives_in_archives_end_at_a_depth(zipped, reason_of):
    data = zipped({"a.txt": b"deep"})
    for _ in range(5):
        data = zipped({"inner.zip": data})
    assert reason_of("deep.zip", data) == "bad_archive"


def test_an_archive_whose_parts_are_all_unreadable_says_why(zipped, reason_of):
    assert reason_of("a.zip", zipped({"a.pdf": b"%PDF-1.7 no"})) == "bad_pdf"
    assert reason_of("a.zip", zipped({"a.bin": b"\x00\x01" * 99})) == "not_text"
    assert reason_of("a.zip", zipped({})) in {"empty", "bad_archive"}


def tar(parts: dict[str, bytes], mode: str = "w:gz") -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode=mode) as archive:
        for name, data in parts.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return target.getvalue()


@pytest.mark.parametrize(("name", "mode"), [("a.tar.gz", "w:gz"), ("a.tgz", "w:gz"), ("a.tar", "w")])
def test_a_tar_is_read_packed_or_not(name: str, mode: str):
    found = read(name, tar({"./a.txt": b"Ok words.", ".env": b"x"}, mode))
    assert (found.title, found.text) == ("a", "# a.txt\n\nOk words.")
    assert found.shortfalls == (("part_unread", "1 hidden file is not in the text."),)


def test_a_packed_file_is_read_as_what_it_is():
    found = read("beds.csv.gz", gzip.compress(b"Ward,Beds\nJuniper,28\n"))
    assert found.text == "Ward: Juniper; Beds: 28."


@pytest.mark.parametrize("suffix", ["zip", "gz", "tar", "tgz"])
def test_what_unfolds_beyond_reason_is_too_large(suffix, zipped, reason_of, monkeypatch):
    monkeypatch.setattr("edge_node.documents.unzipping.MAX_UNZIPPED_BYTES", 10_000)
    monkeypatch.setattr(module, "MAX_UNZIPPED_BYTES", 10_000)
    zeros = b"0" * 20_000
    packed = {"gz": gzip.compress(zeros), "zip": zipped({"a.txt": zeros}), "tgz": tar({"a": zeros})}
    assert reason_of(f"a.{suffix}", packed.get(suffix) or tar({"a": zeros}, "w")) == "too_large"


@pytest.mark.parametrize("suffix", ["zip", "gz", "tar", "tgz"])
def test_what_is_cut_off_is_a_bad_archive(suffix, zipped, reason_of):
    parts = {"a.txt": bytes(range(256)) * 9}
    data = zipped(parts) if suffix == "zip" else tar(parts, "w" if suffix == "tar" else "w:gz")
    assert reason_of(f"a.{suffix}", data[: len(data) // 8]) == "bad_archive"
