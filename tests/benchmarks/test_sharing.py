import orjson
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.sharing import sharing_policy
from edge_node.ingest.readers.text import one_line
from edge_node.policy.rules import Level, parse


def row(**fields):
    return orjson.dumps(fields)


@given(st.sets(st.text("aé ä\"\\\n\t'#=.[]", min_size=1, max_size=20).filter(str.strip)))
def test_every_label_of_the_data_may_leave_by_the_edges_own_reading(labels):
    policy = parse(sharing_policy([row(label=label) for label in labels]))
    assert all(policy.summary_level([one_line(label)]) == Level.FULL for label in labels)


def test_rows_without_labels_make_a_policy_that_shares_all():
    assert parse(sharing_policy([row(text="x"), row(label=3), row(labels=None)])).unlabelled == "full"
