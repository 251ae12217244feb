"""The sharing policy over HTTP: read, checked, replaced, and its former texts."""

import asyncio
import contextlib

import pytest

from edge_node.database.schema import Database
from edge_node.egress.policy_editor import FOLDER, MOST, PolicyEditor
from edge_node.egress.policy_file import MAX_BYTES, NAME, PolicyFile
from edge_node.policy.rules import STANDARD
from shared.errors import Conflict
from shared.http.keyring import KeyRing
from tests.support.running_edge import running_edge
from tests.support.storing import SetClock

CLOSED = 'version = 1\nunlabelled = "never"\n'


async def put(edge, text, base="", **headers):
    return await edge.http.put("/v1/policy", json={"text": text, "base": base}, **headers)


async def present(edge):
    return (await edge.http.get("/v1/policy/text")).json()


async def history(edge):
    return (await edge.http.get("/v1/policy/history")).json()["versions"]


async def test_a_policy_that_is_put_is_in_force_at_once_and_the_former_one_is_kept(edge):
    before = await present(edge)
    assert (before["text"], before["fault"], before["fixed"], await history(edge)) == (STANDARD, "", "", [])
    told = (await put(edge, CLOSED, before["hash"])).json()
    file = edge.node.settings.state_dir / NAME
    assert (told, file.read_text(), file.stat().st_mode & 0o777) == (await present(edge), CLOSED, 0o600)
    assert (await edge.http.get("/v1/policy")).json()["key"] == told["key"] != before["key"]
    (version,) = await history(edge)
    assert (version["number"], version["key"], version["who"]) == (1, before["key"], "local")
    assert (await edge.http.get("/v1/policy/history/1")).json() == {"number": 1, "text": STANDARD}
    restored = await put(edge, STANDARD, told["hash"])
    assert restored.json() == before
    assert [one["number"] for one in await history(edge)] == [2, 1]


async def test_the_one_who_replaced_a_policy_is_named_and_only_an_admin_may(edge):
    ring = KeyRing(edge.node.settings.state_dir)
    as_key = {role: {"headers": {"authorization": f"Bearer {ring.add(f'{role}_1', role, now=0.0)}"}} for role in ("read", "write", "admin")}
    ring.close()
    for role in ("read", "write"):
        assert (await put(edge, CLOSED, **as_key[role])).status_code == 403
        assert (await edge.http.get("/v1/policy/text", **as_key[role])).status_code == 403
    assert (await put(edge, CLOSED, **as_key["admin"])).status_code == 200
    assert [one["who"] for one in (await edge.http.get("/v1/policy/history", **as_key["admin"])).json()["versions"]] == ["admin_1"]


async def test_a_text_that_is_no_policy_changes_nothing_and_says_where_it_is_wrong(edge):
    for text, said in (("version = ?\n", "line 1"), ("version = 1\nunlabeled = 'full'", "did you mean unlabelled"), ("a" * MAX_BYTES, "")):
        for problem in (await put(edge, text), await edge.http.post("/v1/policy/check", json={"text": text})):
            assert (problem.status_code, said in problem.json()["detail"]) == (400, True)
    assert (await put(edge, "ä" * MAX_BYTES)).status_code == 413
    assert (await edge.http.put("/v1/policy", content=rb'{"text": "\ud800", "base": ""}')).status_code == 422
    assert (await put(edge, CLOSED, base="1")).status_code == 422
    assert ((await present(edge))["text"], await history(edge)) == (STANDARD, [])


async def test_a_check_tells_the_warnings_and_writes_nothing(edge):
    text = 'version = 1\n[redact]\ntypes = ["people"]\n[daily_all]\nreplies = 0\npassages = 0\nbytes = 0\n'
    checked = (await edge.http.post("/v1/policy/check", json={"text": text})).json()
    assert [warning.split()[0] for warning in checked["warnings"]] == ["the", "it", "[daily_all]"]
    assert (await present(edge))["text"] == STANDARD
    told = (await put(edge, text)).json()
    assert (told["warnings"], told["key"]) == (checked["warnings"], checked["key"])


async def test_of_two_who_have_seen_the_same_text_one_is_told_that_it_changed(edge):
    base = (await present(edge))["hash"]
    replies = await asyncio.gather(*(put(edge, f"{CLOSED}# {number}\n", base) for number in range(8)))
    assert sorted(reply.status_code for reply in replies) == [200] + [409] * 7
    assert len(await history(edge)) == 1


async def test_a_change_by_hand_is_not_written_over_unless_it_is_meant(edge):
    base = (await present(edge))["hash"]
    (edge.node.settings.state_dir / NAME).write_text("version = oops")
    assert "the sharing policy cannot be read" in (await present(edge))["fault"]
    refused = await put(edge, CLOSED, base)
    assert (refused.status_code, "read it again" in refused.json()["next_step"]) == (409, True)
    assert (await put(edge, CLOSED)).status_code == 200
    assert (await edge.http.get("/v1/policy/history/1")).json()["text"] == "version = oops"
    assert (await edge.http.get("/v1/policy/history/2")).status_code == 404


async def test_a_policy_that_was_deleted_can_be_put_back(edge):
    (edge.node.settings.state_dir / NAME).unlink()
    missing = await present(edge)
    assert (missing["text"], "No such file" in missing["fault"]) == ("", True)
    assert (await put(edge, CLOSED, missing["hash"])).json()["fault"] == ""
    assert await history(edge) == []


async def test_the_same_text_again_is_no_new_version(edge):
    assert (await put(edge, STANDARD)).status_code == 200
    assert await history(edge) == []


async def test_a_policy_that_its_owner_keeps_elsewhere_or_protects_is_not_changed(tmp_path):
    named = tmp_path / "named.toml"
    named.write_text(STANDARD)
    async with running_edge(tmp_path / "named", policy_file=named) as edge:
        assert str(named) in (await present(edge))["fixed"]
        assert (await put(edge, CLOSED)).status_code == 409
    async with running_edge(tmp_path / "own") as edge:
        file = edge.node.settings.state_dir / NAME
        file.chmod(0o400)
        assert "read-only" in (await put(edge, CLOSED)).json()["detail"]
        file.unlink()
        file.symlink_to(named)
        assert (await put(edge, CLOSED)).status_code == 409
    assert named.read_text() == STANDARD


@pytest.fixture
def editor(tmp_path):
    with contextlib.closing(Database(tmp_path / "edge.db")) as database:
        clock = SetClock()
        file = PolicyFile(tmp_path / NAME, clock)
        file.open(database, "full")
        yield PolicyEditor(file, tmp_path / FOLDER, clock, named=False)


def test_the_newest_hundred_texts_are_kept_and_foreign_files_are_let_be(editor, tmp_path):
    for number in range(MOST + 3):
        editor.replace(f"{CLOSED}# {number}\n", base="", who="a_b.c")
        (tmp_path / FOLDER / "notes.toml").touch()
    kept = editor.history()
    assert [one.number for one in kept] == list(range(MOST + 3, 3, -1))
    assert {one.who for one in kept} == {"a_b.c"}
    assert editor.former(MOST + 3) == f"{CLOSED}# {MOST + 1}\n"
    assert (tmp_path / FOLDER / "notes.toml").exists()


def test_a_file_that_is_too_large_to_keep_is_not_replaced(editor, tmp_path):
    (tmp_path / NAME).write_bytes(b"#" * (MAX_BYTES + 1))
    with pytest.raises(Conflict):
        editor.replace(CLOSED, base="", who="local")
