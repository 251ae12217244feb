"""``dgrag edge check``, ``backup``, ``restore`` and ``reembed``: exit codes that a script can use."""

import sqlite3
from contextlib import closing

import orjson
import pytest

from deploy.cli import main, store
from edge_node.database.commits import only_user
from edge_node.database.schema import Database
from shared.models.fake import HashEmbedder
from tests.support.releases import store_of_release


@pytest.fixture
def folder(tmp_path):
    Database(store_of_release("v1", tmp_path / "ward")).close()
    return tmp_path / "ward"


def damage(folder, statement):
    with closing(sqlite3.connect(folder / "edge.db", isolation_level=None)) as connection:
        connection.execute(statement)


def dgrag(*arguments):
    with pytest.raises(SystemExit) as ended:
        main.run(["edge", *map(str, arguments)])
    return ended.value.code or 0


def test_a_sound_store_is_0_and_damaged_rows_are_4_with_what_is_done(folder, capsys):
    assert dgrag("check", "--state", folder) == 0
    damage(folder, "UPDATE chunks SET text = 'x' WHERE ordinal = 2")
    capsys.readouterr()
    assert dgrag("check", "--state", folder, "--json") == 4
    [found] = orjson.loads(capsys.readouterr().out)["damages"]
    assert (found["table"], found["document_id"], found["remedy"]) == ("chunks", "7fff4027cd39e651ca5b00f8", "index again")


def test_a_broken_file_is_5_a_store_in_use_3_and_no_store_1(folder, tmp_path, capsys):
    assert dgrag("check", "--state", tmp_path) == 1
    with only_user(folder):
        assert dgrag("check", "--state", folder) == 6
    (folder / "edge.db").write_bytes(b"no database" * 5000)
    assert dgrag("check", "--state", folder) == 5
    assert "restore a backup" in capsys.readouterr().err


def test_missing_commits_are_5_until_the_operator_accepts_the_loss(folder, capsys):
    former = (folder / "edge.db").read_bytes()
    database = Database(folder / "edge.db")
    database.set_meta("note", "lost")
    database.close()
    (folder / "edge.db").write_bytes(former)
    assert dgrag("check", "--state", folder) == 5
    assert "--accept-loss" in capsys.readouterr().err
    assert dgrag("check", "--state", folder, "--accept-loss") == 0


def test_a_backup_goes_out_and_comes_back(folder, tmp_path, capsys):
    assert dgrag("backup", tmp_path / "ward.bak", "--state", folder, "--json") == 0
    assert orjson.loads(capsys.readouterr().out)["damages"] == 0
    assert dgrag("backup", tmp_path / "ward.bak", "--state", folder) == 1
    assert "is there already" in capsys.readouterr().err
    assert dgrag("backup", tmp_path / "ward.bak", "--state", folder, "--force") == 0
    assert dgrag("restore", tmp_path / "ward.bak", "--state", folder) == 1
    assert "--force" in capsys.readouterr().err
    assert dgrag("restore", tmp_path / "ward.bak", "--state", folder, "--force") == 0
    assert "the former store is in" in capsys.readouterr().out.replace("\n", " ")
    assert dgrag("restore", tmp_path / "ward.bak", "--state", tmp_path / "new") == 0
    assert dgrag("check", "--state", tmp_path / "new") == 0


def test_an_edge_of_a_cluster_is_named_as_elsewhere(folder, tmp_path, capsys):
    cluster = tmp_path / "cluster"
    (cluster / "edges" / "bank").mkdir(parents=True)
    folder.rename(cluster / "edges" / "ward")
    assert dgrag("backup", tmp_path / "ward.bak", "--state", cluster) == 1
    assert "name one with --edge: bank, ward" in capsys.readouterr().err
    for words in (("backup", tmp_path / "ward.bak"), ("check",), ("restore", tmp_path / "ward.bak", "--force")):
        assert dgrag(*words, "--state", cluster, "--edge", "ward") == 0


def test_the_backup_of_a_store_with_damaged_rows_is_made_and_is_4(folder, tmp_path):
    damage(folder, "UPDATE chunks SET text = 'x' WHERE ordinal = 2")
    assert dgrag("backup", tmp_path / "ward.bak", "--state", folder) == 4
    assert (tmp_path / "ward.bak").exists()


def test_all_vectors_are_made_again_with_the_present_model(folder, monkeypatch, capsys):
    monkeypatch.setattr(store, "build_embedder", lambda settings: HashEmbedder(dimensions=32))
    assert dgrag("reembed", "--state", folder) == 0
    assert capsys.readouterr().out.startswith("7 vectors made")
    assert dgrag("reembed", "--state", folder) == 0
    assert capsys.readouterr().out.startswith("0 vectors made")
