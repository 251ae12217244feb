from pathlib import Path

import orjson
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.sharing import sharing, sharing_policy
from cloud_server.settings import CloudSettings
from edge_node.documents.text import one_line
from edge_node.policy.rules import Level, parse


def row(**fields):
    return orjson.dumps(fields)


@given(st.sets(st.text("aé ä\"\\\n\t'#=.[]", min_size=1, max_size=20).filter(str.strip)))
def test_every_label_of_the_data_may_leave_by_the_edges_own_reading(labels):
    policy = parse(sharing_policy([row(label=label) for label in labels]))
    assert all(policy.summary_level([one_line(label)]) == Level.FULL for label in labels)


def test_rows_without_labels_make_a_policy_that_shares_all():
    assert parse(sharing_policy([row(text="x"), row(label=3), row(labels=None)])).unlabelled == "full"


def test_whoever_asks_however_much_gets_it():
    policy = parse(sharing_policy([row(text="x")]))
    assert (policy.daily.lifted, policy.daily_all.lifted) == (True, True)


def test_an_operator_vouches_for_those_who_tell_answers_and_for_nobody_else(tmp_path, monkeypatch):
    for edge in ("a", "b"):
        (tmp_path / f"{edge}.jsonl").write_bytes(row(label="x"))
    found = {shares: sharing(tmp_path, ["a", "b"], shares) for shares in ("", "hints", "answers")}
    assert [len(settings) for settings in found.values()] == [1, 1, 2]
    monkeypatch.setenv("DGRAG_CLOUD_MEMORY_TRUSTED", found["answers"]["DGRAG_CLOUD_MEMORY_TRUSTED"])
    assert CloudSettings().memory_trusted == ("a", "b")


def test_each_way_to_share_memories_has_a_policy_of_its_own(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(row(label="x"))
    for shares in ("", "hints", "answers"):
        policy = Path(sharing(tmp_path, ["a"], shares)["DGRAG_EDGE_POLICY_FILE"])
        assert parse(policy.read_text()).memories.share == (shares or "off")
