"""``dgrag export`` and ``import`` with edges behind sockets."""

from __future__ import annotations

import asyncio
import json
import zipfile
from pathlib import Path
from typing import Any

import httpx2
import pytest

from deploy.cli import archive
from deploy.cli.main import run
from edge_node.documents.archive import Archive
from edge_node.settings import EdgeSettings
from shared.models.settings import ModelSettings
from tests.support.live_edge import live_edge, made_key
from tests.support.running_edge import Edge

pytestmark = pytest.mark.process
QUESTIONS = ("Which pump failed?", "Who leads the ward?", "What is in the stores?")
POLICY = 'version = 1\n[labels]\ninternal = "summary"\n'
CANARY = "canary-7f3a"


def dgrag(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as caught:
        run([*arguments])
    said = capsys.readouterr()
    return int(caught.value.code or 0), said.out, said.err


class Commands:
    """Runs the command beside the edges of this process."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    async def __call__(self, *arguments: str | Path) -> tuple[int, str, str]:
        return await asyncio.to_thread(dgrag, self._capsys, *map(str, arguments))


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Commands:
    return Commands(capsys)


async def filled(edge: Edge) -> None:
    await edge.add("wards/icu.md", "The blue pump of the ward failed on Monday.", title="Pumps", labels=["internal"])
    await edge.add("wards/icu.md", "The red pump of the ward failed on Friday.", title="Pumps", labels=["internal", "public"])
    await edge.add("stores.md", "The stores hold forty valves.", source="sync of the stores")
    files = {"file": ("報 告.html", b"<h1>Report</h1><p>Nurse Ann Lee leads the ward.</p>")}
    assert (await edge.http.post("/v1/documents", files=files, data={"labels": "public"})).status_code == 202
    assert (await edge.http.post("/v1/documents", files={"file": ("scan.pdf", b"%PDF-1.4 nothing")})).status_code == 202
    await edge.settled()


async def told(edge: Edge) -> tuple[Any, ...]:
    """What an edge has and finds: its documents but for the jobs, and the passages of sample questions."""
    await edge.settled()
    views = (await edge.http.get("/v1/documents")).json()["documents"]
    kept = ("document_id", "name", "title", "labels", "source", "bytes", "status", "created_at", "code")
    found = [(await edge.http.post("/v1/retrieve", json={"question": one, "top_k": 20})).json()["evidence"] for one in QUESTIONS]
    retrieved = [[{name: value for name, value in one.items() if name != "edge"} for one in passages] for passages in found]
    return [{name: view[name] for name in kept} for view in views], retrieved


async def test_an_edge_that_gets_an_archive_has_and_finds_what_the_first_one_has_and_finds(tmp_path: Path, command: Commands):
    file = tmp_path / "ward.zip"
    async with live_edge(tmp_path / "one") as (one, url), live_edge(tmp_path / "two", id="plant") as (two, other):
        await filled(one)
        (tmp_path / "one" / "policy.toml").write_text(POLICY)
        code, out, err = await command("export", file, "--edge", url, "--json")
        assert (code, json.loads(out)["documents"], json.loads(out)["left_out"]) == (0, 4, []), err
        assert (await command("import", file, "--edge", other))[:2] == (
            0,
            "4 documents added, and indexed soon\nthe sharing policy stays as it is; --policy takes the archive's\n"
            "its edge was started with these settings; an import does not set them:\n"
            "  DGRAG_EDGE_STRATEGY=naive\n  DGRAG_EDGE_MIN_NEARNESS=-1.0\n",
        )
        expected = await told(one)
        assert await told(two) == expected
        assert {view["status"] for view in expected[0]} == {"indexed", "parked"}
        jobs = two.node.documents.database.rows("SELECT job_id FROM jobs")
        assert "4 documents here already" in (await command("import", file, "--edge", other))[1]
        assert await told(two) == expected
        assert two.node.documents.database.rows("SELECT job_id FROM jobs") == jobs  # twice is once


async def test_what_is_at_an_edge_stays_unless_it_is_told_otherwise(tmp_path: Path, command: Commands):
    file = tmp_path / "ward.zip"
    async with live_edge(tmp_path / "one") as (one, url), live_edge(tmp_path / "two") as (two, other):
        await filled(one)
        (tmp_path / "one" / "policy.toml").write_text(POLICY)
        await two.add("stores.md", "The stores are empty.", labels=["mine"])
        await two.add("wards/icu.md", "The red pump of the ward failed on Friday.", title="Mine", labels=["mine"])
        assert (await command("export", file, "--edge", url))[0] == 0
        before = (tmp_path / "two" / "policy.toml").read_text()
        code, out, _ = await command("import", file, "--edge", other)
        assert (code, out.splitlines()[:3]) == (
            0,
            [
                "2 documents added, and indexed soon",
                "1 document here already",
                "1 document not taken: another version is here (--replace takes it)",
            ],
        )
        here = {view["name"]: (view["title"], view["labels"]) for view in (await told(two))[0]}
        assert (here["wards/icu.md"], here["stores.md"]) == (("Mine", ["mine"]), ("", ["mine"]))
        assert (tmp_path / "two" / "policy.toml").read_text() == before
        code, out, _ = await command("import", file, "--edge", other, "--replace", "--policy", "--json")
        assert json.loads(out) == {"added": 1, "here": 3, "kept": 0, "refused": 0, "refusals": []}
        assert (tmp_path / "two" / "policy.toml").read_text() == POLICY
        texts = [one["text"] for one in (await told(two))[1][2]]
        assert "The stores hold forty valves." in texts
        assert "The stores are empty." not in texts


@pytest.mark.parametrize("sent", range(4))
async def test_an_import_that_was_killed_and_is_run_again_is_as_one_that_was_not(
    tmp_path: Path, command: Commands, monkeypatch: pytest.MonkeyPatch, sent: int
):
    file, read, count = tmp_path / "ward.zip", Archive.raw, 0

    def killed(self: Archive, document: Any) -> bytes:
        nonlocal count
        count += 1
        if count > sent:
            raise SystemExit(137)
        return read(self, document)

    async with live_edge(tmp_path / "one") as (one, url), live_edge(tmp_path / "two") as (two, other):
        await filled(one)
        await command("export", file, "--edge", url)
        monkeypatch.setattr(Archive, "raw", killed)
        assert (await command("import", file, "--edge", other))[0] == 137
        assert len((await told(two))[0]) == sent
        monkeypatch.setattr(Archive, "raw", read)
        assert (await command("import", file, "--edge", other))[0] == 0
        assert await told(two) == await told(one)


async def test_an_archive_that_is_not_whole_changes_nothing(tmp_path: Path, command: Commands):
    file = tmp_path / "ward.zip"
    async with live_edge(tmp_path / "one") as (one, url), live_edge(tmp_path / "two") as (two, other):
        await filled(one)
        await command("export", file, "--edge", url)
        file.write_bytes(file.read_bytes()[:-30])
        before = (tmp_path / "two" / "policy.toml").read_text()
        code, _, err = await command("import", file, "--edge", other, "--policy")
        assert code == 1
        assert "no whole archive" in err
        assert (await told(two))[0] == []
        assert (tmp_path / "two" / "policy.toml").read_text() == before


async def test_an_export_that_is_cut_off_leaves_the_former_file(tmp_path: Path, command: Commands, monkeypatch: pytest.MonkeyPatch):
    file = tmp_path / "ward.zip"
    file.write_text("the former one")
    fetch = archive._fetch

    def cut(http: httpx2.Client, url: str, part: Path) -> None:
        fetch(http, url, part)
        part.write_bytes(part.read_bytes()[:-10])

    monkeypatch.setattr(archive, "_fetch", cut)
    async with live_edge(tmp_path / "one") as (one, url):
        await filled(one)
        assert (await command("export", file, "--edge", url, "--force"))[0] == 1
    assert file.read_text() == "the former one"
    assert not file.with_name("ward.zip.part").exists()


async def test_an_export_replaces_a_file_that_is_there_with_force_alone(tmp_path: Path, command: Commands):
    file = tmp_path / "ward.zip"
    file.write_text("the former one")
    async with live_edge(tmp_path / "one") as (one, url):
        await filled(one)
        code, _, err = await command("export", file, "--edge", url)
        assert (code, file.read_text(), "is there already" in err, "--force" in err) == (1, "the former one", True, True)
        assert (await command("export", file, "--edge", url, "--force"))[0] == 0
    assert zipfile.is_zipfile(file)


async def test_a_document_that_the_edge_refuses_is_named_and_the_others_come(tmp_path: Path, command: Commands):
    file = tmp_path / "ward.zip"
    async with live_edge(tmp_path / "one") as (one, url), live_edge(tmp_path / "two", max_document_bytes=45) as (two, other):
        await filled(one)
        await command("export", file, "--edge", url)
        code, _, err = await command("import", file, "--edge", other)
        assert code == 1
        assert "報 告.html: document '報 告.html' is over the limit of 45 bytes" in err
        assert "1 of 4 documents refused" in err
        assert len((await told(two))[0]) == 3


async def test_no_secret_and_no_key_is_in_an_archive(tmp_path: Path, command: Commands, monkeypatch: pytest.MonkeyPatch):
    secrets = [f"DGRAG_MODEL_{name.upper()}" for name, field in ModelSettings.model_fields.items() if "Secret" in str(field.annotation)]
    assert secrets
    for number, name in enumerate(secrets):
        monkeypatch.setenv(name, f"{CANARY}-{number}")
    monkeypatch.setenv("DGRAG_API_KEY", key := made_key(tmp_path / "one", "admin"))
    others = {"cloud_url": f"https://me:{CANARY}@127.0.0.1:9", "otlp_url": f"http://me:{CANARY}@127.0.0.1:9", "oidc_audience": CANARY}
    async with live_edge(tmp_path / "one", oidc_issuer="http://127.0.0.1:9", **others) as (one, url):
        one.http.headers["authorization"] = f"Bearer {key}"
        await filled(one)
        assert (await command("export", tmp_path / "a.zip", "--edge", url))[0] == 0
    with zipfile.ZipFile(tmp_path / "a.zip") as zipped:
        whole = b"\n".join(zipped.read(name) for name in zipped.namelist())
    assert b"The stores hold forty valves." in whole
    assert CANARY.encode() not in whole
    assert key.encode() not in whole
    kept = [path for path in (tmp_path / "one").rglob("*") if path.is_file() and not path.name.startswith(("policy.toml", "edge.db"))]
    lines = [line for path in kept for line in path.read_bytes().splitlines() if len(line) > len(CANARY)]
    assert {"keys.db", "identity.key"} & {path.name for path in kept}
    assert not [line for line in lines if line in whole]
    assert not (tmp_path / "a.zip").stat().st_mode & 0o077


def test_no_setting_that_a_secret_may_stand_in_is_in_an_archive():
    """A new one must be looked at: it is of the machine, or it holds no secret."""
    from edge_node.api.archive import OF_THE_MACHINE

    texts = {name for name, field in EdgeSettings.model_fields.items() if field.annotation is str or "Secret" in str(field.annotation)}
    assert texts - OF_THE_MACHINE == {"ocr_languages"}  # names of files without a path


def test_what_is_of_this_machine_is_no_setting_of_an_archive():
    from edge_node.api.archive import settings_text

    folders = {"/data/reports": "public", "s3://bucket/notes": ""}
    assert settings_text(EdgeSettings(strategy="naive", folders=folders)) == "DGRAG_EDGE_STRATEGY=naive\n"


async def test_only_an_admin_takes_or_brings_an_archive(tmp_path: Path, command: Commands, monkeypatch: pytest.MonkeyPatch):
    made_key(tmp_path / "one", "admin")
    monkeypatch.setenv("DGRAG_API_KEY", made_key(tmp_path / "one", "write"))
    async with live_edge(tmp_path / "one") as (_, url):
        code, _, err = await command("export", tmp_path / "a.zip", "--edge", url)
        assert (code, (tmp_path / "a.zip").exists()) == (1, False)
        assert "admin" in err
