from pathlib import Path

import pytest

from deploy.cluster.errors import ClusterError
from deploy.lab.scenario import read, steps
from deploy.lab.topology import LinkShape, parsed

HEAD = 'about = "x"\n[[edge]]\nname = "a"\ndata = "a.md"\n[[event]]\n'


SCENARIOS = Path(__file__).parents[3] / "deploy" / "scenarios"


@pytest.mark.parametrize("file", sorted(SCENARIOS.glob("*.toml")), ids=lambda file: file.stem)
def test_the_scenarios_that_are_shipped_can_be_read_and_their_documents_are_there(file):
    scenario = read(file.read_text(encoding="utf-8"))
    for path in [site.data for site in scenario.edge] + [event.document for event in scenario.event if event.document]:
        assert (SCENARIOS / path).exists()
    for words in [scenario.link, *(event.link for event in scenario.event)]:
        parsed(words.split(), LinkShape())


@pytest.mark.parametrize("file", sorted(SCENARIOS.glob("*.toml")), ids=lambda file: file.stem)
def test_a_scenario_has_eight_edges_and_asks_for_partial_where_a_site_is_missing(file):
    scenario = read(file.read_text(encoding="utf-8"))
    assert len(scenario.edge) == 8
    assert {event.expect.partial for event in scenario.event if event.expect.missing} <= {True}


def test_the_three_scenarios_are_there():
    assert {file.stem for file in SCENARIOS.glob("*.toml")} == {"transfers", "cut-mid-query", "cut-mid-sync"}


@pytest.mark.parametrize(
    ("event", "why"),
    [
        ('do = "explode"', "event.0.do"),
        ('do = "cut"\nedge = "moon"', "there is no edge 'moon' for cut"),
        ('do = "cut"\nedge = "cloud"', "there is no edge 'cloud' for cut"),
        ('do = "kill"', "kill needs an edge"),
        ('do = "set"\nedge = "a"', "set needs a link"),
        ('do = "retrieve"\nedge = "a"', "retrieve needs a question"),
        ('do = "add"\nedge = "a"', "add needs a document"),
        ('do = "ask"\nedge = "a"\nquestion = "why?"', "to ask takes a model"),
        ('do = "cut"\nonce_sent = 9', "cut needs an edge"),
        ('do = "heal"\nonce_swallowed = 9', "heal needs an edge"),
        ('do = "retrieve"\nedge = "a"\nquestion = "why?"\nexpect = { cites = ["b"] }', "there is no edge 'b'"),
        ("do = 1\nsurprise = 2", "event.0.surprise"),
        ("do =", "is no TOML"),
    ],
)
def test_what_cannot_be_played_is_refused_and_the_place_is_named(event, why):
    with pytest.raises(ClusterError) as refused:
        read(HEAD + event)
    assert why in refused.value.message


def test_the_cloud_may_be_killed_and_links_of_all_be_cut():
    assert [event.edge for event in read(HEAD + 'do = "kill"\nedge = "cloud"\n[[event]]\ndo = "cut"').event] == ["cloud", "all"]


def test_events_beside_each_other_are_one_step():
    events = read(HEAD + 'do = "cut"\nbeside = true\n[[event]]\ndo = "heal"\n[[event]]\ndo = "look"\nbeside = true').event
    assert [[event.do for event in step] for step in steps(events)] == [["cut"], ["heal", "look"]]
