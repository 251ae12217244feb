"""Archives: what is written is read again, and what is not whole is refused."""

import hashlib
import io
import json
import random
import warnings
import zipfile
from pathlib import Path

import pytest

from edge_node.documents.archive import Original, archive_of, checked_archive
from shared.errors import InputError

ORIGINALS = [
    Original("wards/icu pumps.md", "Pumps", ("internal",), "text.txt", 1_767_225_600.5, b"The pump stopped.", "folder ward"),
    Original("../../etc/passwd", "", (), "../../etc/passwd", 0.0, b"\x00\xff" * 5_000),
    Original("電/報告.md", "報告", (), "報告.md", 1.0, b""),
    Original("gone.md", "", (), "gone.md", 2.0, None),
]
TEXTS = {"policy.toml": "version = 1\n", "settings.env": "DGRAG_EDGE_STRATEGY=naive\n"}


def written(originals=ORIGINALS, texts=TEXTS):
    return b"".join(archive_of(originals, texts, release="1.0", edge="ward", made_at=5.0))


def read(folder: Path, content: bytes):
    path = folder / "a.zip"
    path.write_bytes(content)
    with checked_archive(path) as archive:
        found = [
            (one.name, one.title, one.labels, one.reader, one.created_at, archive.raw(one), one.source)
            for one in archive.manifest.documents
        ]
        return archive.manifest, found, {name: archive.text(name) for name in ("policy.toml", "settings.env")}


def changed(content: bytes, change, *, kind=zipfile.ZIP_DEFLATED):
    """The same archive with other members: ``change`` is given them by name, and may return others or a list with one name twice."""
    with zipfile.ZipFile(io.BytesIO(content)) as old:
        members = {name: old.read(name) for name in old.namelist()}
    made = change(members) or members
    into = io.BytesIO()
    with zipfile.ZipFile(into, "w", kind) as new, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, data in made.items() if isinstance(made, dict) else made:
            new.writestr(name, data)
    return into.getvalue()


def with_manifest(**fields):
    def change(members):
        members["manifest.json"] = json.dumps(json.loads(members["manifest.json"]) | fields).encode()

    return change


def with_document(**fields):
    def change(members):
        manifest = json.loads(members["manifest.json"])
        manifest["documents"][0] |= fields
        members["manifest.json"] = json.dumps(manifest).encode()

    return change


def test_all_that_is_written_is_read_again_and_no_member_has_a_path_of_its_documents(tmp_path):
    manifest, found, texts = read(tmp_path, written())
    assert found == [(one.name, one.title, one.labels, one.reader, one.created_at, one.raw, one.source) for one in ORIGINALS[:3]]
    assert texts == TEXTS
    assert (manifest.edge, manifest.release, manifest.left_out) == ("ward", "1.0", ("gone.md",))
    names = zipfile.ZipFile(tmp_path / "a.zip").namelist()
    assert names[:3] == ["documents/000001-wards_icu_pumps.md", "documents/000002-.._.._etc_passwd", "documents/000003-_.md"]
    assert read(tmp_path, written([], {}))[1:] == ([], {"policy.toml": "", "settings.env": ""})


def test_an_archive_of_a_release_that_knew_no_sources_is_read(tmp_path):
    def older(members):
        manifest = json.loads(members["manifest.json"])
        for document in manifest["documents"]:
            del document["source"]
        members["manifest.json"] = json.dumps(manifest).encode()

    assert [one[-1] for one in read(tmp_path, changed(written(), older))[1]] == ["", "", ""]


def test_one_document_at_a_time_is_held():
    taken = []

    def originals():
        for number in range(5):
            taken.append(number)
            yield Original(f"{number}.md", "", (), "a.md", 0.0, bytes([number]) * 100)

    pieces = archive_of(originals(), {}, release="1.0", edge="ward", made_at=5.0)
    for number in range(5):
        assert next(pieces)
        assert taken == list(range(number + 1))


def twice(members):
    return [*members.items(), next(iter(members.items()))]


def more(members):
    members["../evil.sh"] = b"x"


def fewer(members):
    del members["policy.toml"]


def others(members):
    members["documents/000001-wards_icu_pumps.md"] = b"The pump is fine."


def longer(members):
    members["documents/000001-wards_icu_pumps.md"] += b"!"


def a_bomb(members):
    members["policy.toml"] = bytes(300 * 2**20)
    with_manifest(texts={"policy.toml": hashlib.sha256(members["policy.toml"]).hexdigest(), "settings.env": "0" * 64})(members)


def two_of_one_name(members):
    manifest = json.loads(members["manifest.json"])
    manifest["documents"][1]["name"] = manifest["documents"][0]["name"]
    members["manifest.json"] = json.dumps(manifest).encode()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (twice, "two of its files have one name"),
        (more, "differ, as in '../evil.sh'"),
        (fewer, "differ, as in 'policy.toml'"),
        (others, "is not what its manifest says"),
        (longer, "is larger than its manifest says"),
        (a_bomb, "is larger than its manifest says"),
        (two_of_one_name, "names a document twice"),
        (lambda members: members.pop("manifest.json") and None, "no manifest of dgrag's"),
        (with_manifest(version=2), "has version 2, and this release of dgrag reads version 1"),
        (with_manifest(kind="other"), "not one of dgrag's"),
        (with_manifest(more=1), "cannot be read at more"),
        (with_document(file="../evil.md"), "cannot be read at documents.0.file"),
        (with_document(file="manifest.json"), "cannot be read at documents.0.file"),
        (with_document(bytes=-1), "cannot be read at documents.0.bytes"),
        (with_document(name=""), "cannot be read at documents.0.name"),
        (with_document(created_at=-1), "cannot be read at documents.0.created_at"),
        (lambda members: members.update({"manifest.json": b"[]"}), "not one of dgrag's"),
        (lambda members: members.update({"manifest.json": b"[" * 100_000}), "no whole archive"),
    ],
)
def test_an_archive_that_is_not_as_dgrag_writes_it_is_refused(tmp_path, change, said):
    with pytest.raises(InputError, match=r"no whole archive") as caught:
        read(tmp_path, changed(written(), change))
    assert said in caught.value.message
    assert read(tmp_path, changed(written(), dict))[1]  # null control: the same members, written anew


def test_members_that_are_packed_otherwise_are_refused(tmp_path):
    assert read(tmp_path, changed(written(), dict, kind=zipfile.ZIP_STORED))
    with pytest.raises(InputError, match="another way"):
        read(tmp_path, changed(written(), dict, kind=zipfile.ZIP_LZMA))


def test_what_is_cut_off_or_damaged_is_refused_and_never_read_as_something_else(tmp_path):
    whole, rng = written(), random.Random(24)
    good, refused = read(tmp_path, whole)[1:], 0
    cases = [whole[:at] for at in range(0, len(whole), 97)]
    for _ in range(400):
        damaged = bytearray(whole)
        damaged[rng.randrange(len(whole))] ^= rng.randrange(1, 256)
        cases.append(bytes(damaged))
    for case in cases:
        try:
            assert read(tmp_path, case)[1:] == good  # bytes that say nothing, as a date
        except InputError:
            refused += 1
    assert refused > len(cases) // 2
