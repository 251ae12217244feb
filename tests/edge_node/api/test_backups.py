"""Backups over HTTP, of the store that serves meanwhile; and whether the ledger is whole."""

import asyncio
import shutil

import pytest

from edge_node.database import backup
from edge_node.database.backup import KEPT, Backups
from edge_node.egress.ledger import EgressRecord
from edge_node.maintenance import restore
from shared.errors import Conflict, DiskFull, StoreDamaged
from shared.http.keyring import KeyRing
from tests.support.running_edge import running_edge
from tests.support.storing import SetClock

PUMPS = "Juniper Ward reported the failure of four infusion pumps."


async def test_a_backup_that_was_made_over_http_is_the_edge_again(tmp_path):
    async with running_edge(tmp_path / "ward") as edge:
        assert (await edge.http.get("/v1/backups")).json() == {"backups": [], "kept": KEPT}
        await edge.add("report.md", PUMPS)
        response = await edge.http.post("/v1/backups")
        made = response.json()
        assert (response.status_code, made["damages"], made["seconds"] >= 0) == (201, 0, True)
        (kept,) = (await edge.http.get("/v1/backups")).json()["backups"]
        file = tmp_path / "ward" / "backups" / made["name"]
        assert (kept["name"], kept["bytes"]) == (made["name"], made["bytes"]) == (file.name, file.stat().st_size)
        await edge.add("later.md", "The valve was replaced.")  # the store goes on as before
    restore(file, tmp_path / "again")
    async with running_edge(tmp_path / "again") as edge:
        assert [one["name"] for one in (await edge.http.get("/v1/documents")).json()["documents"]] == ["report.md"]


async def test_documents_that_come_while_backups_are_made_are_all_there_and_no_copy_is_damaged(edge):
    async def two_backups():
        return [await edge.http.post("/v1/backups") for _ in range(2)]

    *accepted, backups = await asyncio.gather(
        *(edge.http.post("/v1/documents", json={"name": f"{n}.md", "text": f"{PUMPS} {n}"}) for n in range(20)), two_backups()
    )
    assert {one.status_code for one in accepted} == {202}
    assert [(one.status_code, one.json()["damages"]) for one in backups] == [(201, 0)] * 2
    await edge.settled()
    assert (await edge.http.get("/v1/status")).json()["documents"]["indexed"] == 20


async def test_only_an_admin_makes_a_backup_or_verifies_the_ledger(edge):
    ring = KeyRing(edge.node.settings.state_dir)
    writer = {"authorization": f"Bearer {ring.add('anna', 'write', now=0.0)}"}
    ring.close()
    assert (await edge.http.post("/v1/backups", headers=writer)).status_code == 403
    for path in ("/v1/backups", "/v1/audit/verify"):
        assert (await edge.http.get(path, headers=writer)).status_code == 403


async def test_the_newest_backups_stay_and_a_persons_own_are_let_be(tmp_path):
    clock = SetClock()
    async with running_edge(tmp_path):
        backups = Backups(tmp_path, clock, min_free_bytes=0)
        names = []
        for _ in range(KEPT + 2):
            clock.time += 0.5
            names.append(backups.make().name)
            (tmp_path / "backups" / "edge-before-upgrade.db").touch()
        assert [one.name for one in backups.list()] == names[:1:-1]
        assert len(list((tmp_path / "backups").iterdir())) == KEPT + 1


def test_one_backup_is_made_at_a_time_and_one_that_fails_leaves_nothing(tmp_path, monkeypatch):
    backups = Backups(tmp_path, SetClock(), min_free_bytes=0)

    def fails(folder, target):
        with pytest.raises(Conflict):
            backups.make()
        raise StoreDamaged("no")

    monkeypatch.setattr(backup, "back_up", fails)
    for _ in range(2):  # the second shows that the first let go
        with pytest.raises(StoreDamaged):
            backups.make()
    assert backups.list() == []


def test_a_disk_without_room_for_a_copy_is_not_filled(tmp_path):
    (tmp_path / "edge.db").write_bytes(b"x" * 1000)
    backups = Backups(tmp_path, SetClock(), min_free_bytes=shutil.disk_usage(tmp_path).total)
    with pytest.raises(DiskFull):
        backups.make()
    assert list((tmp_path / "backups").iterdir()) == []


async def test_a_ledger_is_verified_and_a_changed_record_is_named(edge):
    verified = (await edge.http.get("/v1/audit/verify")).json()
    assert verified == {"records": 0, "whole": True, "fault_count": 0, "faults": []}
    for number in range(3):
        edge.node.ledger.record(EgressRecord("question", "http://cloud", b"{}", subject=str(number)))
    assert (await edge.http.get("/v1/audit/verify")).json()["whole"]
    with edge.node.documents.database.write() as tx:
        tx.execute("UPDATE egress SET requester = 'bank' WHERE seq = 2")
        tx.execute("DELETE FROM egress WHERE seq = 3")
        tx.execute("INSERT INTO egress_heads (epoch, seq, hash, at, signature) VALUES ('e', 3, 'h', 1.0, 's')")
    verified = (await edge.http.get("/v1/audit/verify")).json()
    assert (verified["records"], verified["whole"], verified["fault_count"]) == (2, False, 2)
    assert [fault["what"] for fault in verified["faults"]] == [
        "the record was changed",
        "the cloud has countersigned record 3, and the ledger ends at 2",
    ]
