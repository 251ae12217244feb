from cloud_server.api.app import readings_of
from shared.wire import EdgeView


def view(edge, **changes):
    fields = {"online": True, "last_seen": 90.0, "summaries": 3, "epoch": "e", "version": 1, "quarantined": "", "memories": 2}
    return EdgeView(edge=edge, **{**fields, **changes})


def figures(*edges, now=100.0):
    return {reading.name: dict(reading.values) for reading in readings_of(list(edges), now=now)}


def test_each_edge_is_in_one_state_and_quarantine_comes_first():
    found = figures(view("ward"), view("bank", online=False), view("plant", quarantined="it lies"), view("law"))
    assert found["dgrag_edges"] == {("online",): 2, ("offline",): 1, ("quarantined",): 1}


def test_summaries_and_memories_are_those_of_all_edges():
    found = figures(view("ward"), view("bank", summaries=5, memories=0))
    assert (found["dgrag_summaries"], found["dgrag_memories"]) == ({(): 8}, {("told",): 2})


def test_an_edge_is_told_of_by_the_seconds_since_it_spoke_and_a_clock_that_went_back_makes_none_negative():
    assert figures(view("ward"), view("bank", last_seen=120.0))["dgrag_edge_seconds_since_seen"] == {("ward",): 10.0, ("bank",): 0.0}


def test_without_edges_the_states_are_there_all_the_same():
    assert figures()["dgrag_edges"] == {("online",): 0, ("offline",): 0, ("quarantined",): 0}
