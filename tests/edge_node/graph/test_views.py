import networkx as nx

from edge_node.graph.knowledge_graph import Graph, adjacency_of
from edge_node.graph.view import graphml, named, neighbourhood
from shared.records import Entity, Relation
from tests.support.running_edge import running_edge


def graph(*pairs, name="{}"):
    keys = sorted({key for pair in pairs for key in pair})
    entities = {key: Entity(key, name.format(key), "concept", "told of", ("c",), 1) for key in keys}
    return Graph(entities, {pair: Relation(*pair, "", ("has", "is"), 1.0, ("c",)) for pair in pairs})


CHAIN = graph(("a", "b"), ("b", "c"), ("c", "d"))


def found(entity, hops, limit=10):
    view = neighbourhood(CHAIN, adjacency_of(CHAIN), entity, hops=hops, limit=limit)
    return [entity["key"] for entity in view["entities"]], [(relation["source"], relation["target"]) for relation in view["relations"]]


def test_the_neighbourhood_grows_hop_by_hop_and_holds_the_relations_among_its_entities():
    assert found("a", 0) == (["a"], [])
    assert found("a", 1) == (["a", "b"], [("a", "b")])
    assert found("a", 2) == (["a", "b", "c"], [("a", "b"), ("b", "c")])


def test_without_an_entity_the_best_connected_come_first():
    assert found("", 0, limit=2) == (["b", "c"], [("b", "c")])


def test_an_unknown_entity_has_no_neighbourhood():
    assert found("nobody", 3) == ([], [])


def test_the_name_that_is_meant_comes_first_then_those_that_begin_so_then_words_then_parts():
    names = graph(("pump", "pump room"), ("foot pump", "sump pumper"), ("Pumpernickel", "valve"))
    found = [one["key"] for one in named(names, adjacency_of(names), " PUMP ", limit=9)]
    assert found == ["pump", "Pumpernickel", "pump room", "foot pump", "sump pumper"]
    assert [one["key"] for one in named(names, adjacency_of(names), "room pum", limit=9)] == ["pump room"]
    assert [one["degree"] for one in named(CHAIN, adjacency_of(CHAIN), "", limit=2)] == [2, 2]


def test_other_programs_can_read_the_export_even_with_characters_that_xml_cannot_hold():
    strange = graph(("a\x0cb", "c"), name="{} <&> \x00\ufffe")
    read = nx.parse_graphml(graphml(strange))
    assert sorted(read) == ["ab", "c"]
    assert read.nodes["c"]["name"] == "c <&> "
    assert read.edges["ab", "c"]["keywords"] == "has, is"


async def test_an_edge_exports_its_graph_and_says_so_where_it_has_none(tmp_path):
    async with running_edge(tmp_path / "graph", strategy="dgrag") as edge:
        await edge.add("a.md", "Juniper Ward bought the Fenlow Ventilator.")
        assert "juniper ward" in nx.parse_graphml((await edge.http.get("/v1/graph.graphml")).text)
    async with running_edge(tmp_path / "naive", strategy="naive") as edge:
        refused = await edge.http.get("/v1/graph.graphml")
        assert (refused.status_code, refused.json()["code"]) == (400, "bad_input")
