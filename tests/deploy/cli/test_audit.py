"""``dgrag audit``: list, export, verify."""

import csv
import json
import re
import sqlite3
from contextlib import closing
from datetime import datetime

import httpx2
import pytest
from typer.testing import CliRunner

from cloud_server.answering.coordinator import Models
from cloud_server.api.app import create_app
from cloud_server.build import build_cloud
from cloud_server.settings import CloudSettings
from deploy.cli import membership
from deploy.cli.main import app
from edge_node.database.schema import Database
from edge_node.egress.ledger import EgressRecord, Ledger
from shared.models.fake import HashEmbedder, ScriptedGenerator, WordTokenizer
from shared.ports import SystemClock
from tests.support.signed import URL


@pytest.fixture
def state(tmp_path):
    folder = tmp_path / "ward"
    database = Database(folder / "edge.db")
    ledger = Ledger(database, SystemClock())
    ledger.record(EgressRecord("summaries", "http://cloud", b"123", subject="1", items=("s1",)))
    ledger.record(EgressRecord("evidence", "http://cloud", b"12345", requester="bank", purpose="=cmd()", rule="labels.public"))
    yield folder
    database.close()


def dgrag(*arguments):
    return CliRunner().invoke(app, ["audit", *map(str, arguments)])


def tamper(folder, sql):
    with closing(sqlite3.connect(folder / "edge.db")) as connection:
        connection.execute(sql)
        connection.commit()


def test_a_clusters_folder_is_refused_by_what_makes_an_edge_with_the_folders_of_its_edges(tmp_path):
    (tmp_path / "edges" / "ward").mkdir(parents=True)
    told = CliRunner().invoke(app, ["edge", "join", "--id", "ward", "--cloud", URL, "--state", str(tmp_path)]).exception
    assert told.next_step == f"give an edge's with --state: {tmp_path / 'edges' / 'ward'}"


def test_an_edge_of_a_cluster_is_named_as_elsewhere(state, tmp_path):
    whole = tmp_path / "cluster"
    (whole / "edges").mkdir(parents=True)
    (whole / "edges" / "ward").symlink_to(state)
    both = dgrag("list", "--state", state).output
    assert dgrag("list", "--state", whole).output == both  # the only one
    (whole / "edges" / "bank").mkdir()
    assert dgrag("list", "--state", whole, "--edge", "ward").output == both
    told = [dgrag("list", "--state", whole).exception, dgrag("list", "--state", whole, "--edge", "../ward").exception]
    assert [error.next_step for error in told] == ["name one with --edge: bank, ward", "choose one of bank, ward"]


def test_what_is_no_cluster_has_no_edge_to_name(state, tmp_path):
    assert "leave out --edge" in dgrag("list", "--state", state, "--edge", "ward").exception.next_step
    (tmp_path / "cluster.lock").touch()
    assert "lie in their volumes" in dgrag("list", "--state", tmp_path).exception.next_step


def test_the_list_shows_what_left_while_the_store_is_open_elsewhere(state):
    told = dgrag("list", "--state", state)
    assert told.exit_code == 0
    assert "labels.public" in told.output
    records = json.loads(dgrag("list", "--state", state, "--json", "--limit", "1").output)["records"]
    assert [(record["seq"], record["bytes"], record["requester"]) for record in records] == [(2, 5, "bank")]


def test_the_list_has_one_line_a_record_on_a_narrow_screen(state):
    with closing(Database(state / "edge.db")) as database:
        long = EgressRecord(
            "evidence", "http://cloud", b"x" * 12_345, requester="operator:a-long-name-of-a-key", rule="labels.patients; policy c0f7aa"
        )
        Ledger(database, SystemClock()).record(long)
    told = dgrag("list", "--state", state)
    assert len(told.output.splitlines()) == 1 + 3
    assert max(map(len, told.output.splitlines())) <= 80
    *_, last = told.output.splitlines()
    assert re.match(r"     3  \d{4}-\d\d-\d\d \d\d:\d\d:\d\d  evidence   operator:a\S*…  -        labels.p\S*…?  12,345$", last.rstrip())


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ((), [1, 2]),
        (("--limit", "1"), [2]),
        (("--requester", "bank"), [2]),
        (("--requester", "ban"), []),
        (("--since", "2100-01-01"), []),
        (("--since", "2020-01-01T00:00:00"), [1, 2]),
    ],
)
def test_the_list_can_be_narrowed(state, options, expected):
    records = json.loads(dgrag("list", "--state", state, "--json", *options).output)["records"]
    assert [record["seq"] for record in records] == expected


def test_an_export_has_every_column_of_every_record(state, tmp_path):
    assert dgrag("export", tmp_path / "out.jsonl", "--state", state).exit_code == 0
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [line["kind"] for line in lines] == ["summaries", "evidence"]
    assert lines[1]["previous"] == lines[0]["hash"]
    assert dgrag("export", tmp_path / "out.csv", "--state", state).exit_code == 0
    rows = list(csv.DictReader((tmp_path / "out.csv").read_text().splitlines()))
    assert [row["sha256"] for row in rows] == [line["sha256"] for line in lines]
    assert rows[1]["purpose"] == "'=cmd()"
    assert [datetime.fromisoformat(row["at"]).timestamp() for row in rows] == pytest.approx([line["at"] for line in lines], abs=0.001)
    assert all(row["at"].endswith("Z") for row in rows)
    assert "is there already" in str(dgrag("export", tmp_path / "out.csv", "--state", state).exception)
    assert dgrag("export", tmp_path / "out.csv", "--state", state, "--force").exit_code == 0


def test_a_requester_brings_no_control_character_and_no_formula_into_a_table(state, tmp_path):
    with closing(Database(state / "edge.db")) as database:
        Ledger(database, SystemClock()).record(EgressRecord("evidence", "http://cloud", b"1", requester="\tba\x1b]0;x\x07nk\r=1"))
    assert dgrag("export", tmp_path / "out.csv", "--state", state).exit_code == 0
    written = (tmp_path / "out.csv").read_text()
    assert not set(written) & set("\t\x1b\x07")
    (*_, last) = csv.DictReader(written.splitlines())
    assert not last["requester"].startswith(("=", "\t", "\r"))
    assert dgrag("export", tmp_path / "out.jsonl", "--state", state).exit_code == 0
    (*_, line) = map(json.loads, (tmp_path / "out.jsonl").read_text().splitlines())
    assert line["requester"] == "\tba\x1b]0;x\x07nk\r=1"


def test_an_export_in_another_form_is_refused(state, tmp_path):
    told = dgrag("export", tmp_path / "out.xlsx", "--state", state)
    assert "neither .jsonl nor .csv" in str(told.exception)


def test_a_whole_ledger_ends_with_0_and_a_forged_one_with_4_and_the_record(state):
    whole = dgrag("verify", "--state", state)
    assert (whole.exit_code, "2 records" in whole.output) == (0, True)
    tamper(state, "UPDATE egress SET requester = 'nobody' WHERE seq = 2")
    forged = dgrag("verify", "--state", state, "--json")
    assert forged.exit_code == 4
    assert json.loads(forged.output)["faults"] == [{"seq": 2, "what": "the record was changed"}]


def test_a_folder_without_a_store_and_an_edge_without_a_cloud_are_named(state, tmp_path):
    assert "there is no store" in str(dgrag("list", "--state", tmp_path / "none").exception)
    assert "has joined no cloud" in str(dgrag("verify", "--cloud", "--state", state).exception)


@pytest.fixture
def joined(state, tmp_path, monkeypatch):
    """The edge has joined a cloud, which has seen its ledger's end."""
    models = Models(HashEmbedder(), ScriptedGenerator(lambda _: "-"), WordTokenizer())
    built = build_cloud(CloudSettings(state_dir=tmp_path / "cloud"), models)
    cloud = create_app(built)
    monkeypatch.setattr(membership, "cloud_http", lambda url, **_: httpx2.AsyncClient(transport=httpx2.ASGITransport(cloud), base_url=url))
    membership.join(URL, "ward", state)
    with closing(Database(state / "edge.db")) as database:
        ledger = Ledger(database, SystemClock())

        async def show(client, member):
            seen = await client.head(ledger.unseen())
            ledger.countersigned(seen)

        membership.with_client(URL, "ward", state, show, ca=None, plain_http=False)
    yield state
    built.close()
    cloud.state.guard.close()


def test_the_cloud_vouches_for_a_whole_ledger(joined):
    told = dgrag("verify", "--cloud", "--state", joined)
    assert (told.exit_code, told.output) == (0, "4 records, each as it was written\n")


def test_a_cut_tail_whose_heads_are_gone_too_is_seen_with_the_cloud_only(joined):
    tamper(joined, "DELETE FROM egress WHERE seq >= 3")
    assert dgrag("verify", "--state", joined).exit_code == 4
    tamper(joined, "DELETE FROM egress_heads")
    assert dgrag("verify", "--state", joined).exit_code == 0
    told = dgrag("verify", "--cloud", "--state", joined, "--json")
    assert told.exit_code == 4
    assert json.loads(told.output)["faults"] == [{"seq": 3, "what": "the cloud has countersigned record 3, and the ledger ends at 2"}]


def test_records_of_which_the_cloud_has_countersigned_an_older_end_cannot_be_written_anew(joined):
    """Also when it has countersigned the end of the new story since."""
    tamper(joined, "DELETE FROM egress")
    tamper(joined, "DELETE FROM egress_heads")
    with closing(Database(joined / "edge.db")) as database:
        ledger = Ledger(database, SystemClock())
        for _ in range(6):
            ledger.record(EgressRecord("question", "http://cloud", b"{}"))

        async def show(client, member):
            ledger.countersigned(await client.head(ledger.unseen()))

        membership.with_client(URL, "ward", joined, show, ca=None, plain_http=False)
    assert dgrag("verify", "--state", joined).exit_code == 0
    told = dgrag("verify", "--cloud", "--state", joined, "--json")
    assert told.exit_code == 4
    assert json.loads(told.output)["faults"] == [{"seq": 3, "what": "the record is not the one that the cloud has countersigned"}]


def test_a_file_that_cannot_be_written_is_named(state, tmp_path):
    told = dgrag("export", tmp_path / "none" / "out.csv", "--state", state)
    assert "there is no folder" in str(told.exception)


def test_a_head_that_the_cloud_has_not_signed_is_no_proof(joined):
    with closing(sqlite3.connect(joined.parent / "cloud" / "cloud.db")) as connection:
        connection.execute("UPDATE ledger_heads SET seq = 2")
        connection.commit()
    told = dgrag("verify", "--cloud", "--state", joined)
    assert "not signed by the cloud" in str(told.exception)


def test_the_check_of_a_store_names_a_forged_ledger(state):
    tamper(state, "DELETE FROM egress WHERE seq = 1")
    told = CliRunner().invoke(app, ["edge", "check", "--state", str(state), "--json"])
    assert told.exit_code == 4
    assert json.loads(told.output)["damages"][0]["table"] == "egress"


def test_a_ledger_that_is_whole_is_said_to_be_so_by_this_folder_alone(state):
    assert dgrag("verify", "--state", state).output == "2 records, each as it was written; the cloud was not asked (--cloud)\n"


@pytest.mark.parametrize("filters", [("--requester", "nobody"), ("--since", "2999-01-01")])
def test_a_filter_that_nothing_matches_does_not_say_that_nothing_has_left(state, filters):
    assert dgrag("list", "--state", state, *filters).output == "nothing matches\n"


def test_crawlers_are_told_all_together_first_and_then_those_that_had_most(state):
    with closing(Database(state / "edge.db")) as database:
        for name, items in (("bank", ("a", "b")), ("ghost-1", ("c",)), ("ghost-2", ("c",))):
            Ledger(database, SystemClock()).record(EgressRecord("evidence", "http://cloud", b"1", requester=name, items=items))
    rows = dgrag("crawlers", "--state", state, "--limit", 2).output.splitlines()[1:]
    assert [row.split()[:-1] for row in rows] == [["all", "together", "3"], ["bank", "2"], ["ghost-1", "1"]]
    told = json.loads(dgrag("crawlers", "--state", state, "--json").output)
    assert told == {"passages": 0, "together": 3, "disclosed": {"bank": 2, "ghost-1": 1, "ghost-2": 1}}
