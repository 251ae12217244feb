"""What an edge holds in memory, compared with its store: at rest, both say the same."""

from edge_node.graph.summaries import part_of
from edge_node.graph.view import relation_key, told_by
from tests.support.hash_model import summary_of

SAME = 1 - 1e-5  # cosine of a vector with itself, in float32


def unlike_the_store(strategy):
    """Where a DGRAG strategy's indexes, graph or parts are not what its store holds; a line for each."""
    write_path, store = strategy.write_path, strategy.write_path._tools.graph
    updater = write_path.updater
    view, members = updater.view, updater.placer.parts.members
    graph = {"entity": set(view.graph.entities), "relation": set(map(relation_key, view.graph.relations))}
    for kind, index in (("chunk", write_path.passages._index), ("entity", view.entities), ("relation", view.relations)):
        rows = store.vectors.load(kind, write_path._tools.embedder.dimensions)
        nearness = {key: index.scores(row, [key])[0] for key, row in zip(rows.keys, rows.vectors, strict=True)}
        if len(index) != len(rows.keys) or None in nearness.values():
            yield f"{kind} index: {len(index)} rows, {sum(near is not None for near in nearness.values())} of {len(rows.keys)} vectors"
        elif old := sorted(key for key, near in nearness.items() if near < SAME):
            yield f"{kind} index: another vector than the store for {old}"
        if kind in graph and graph[kind] != set(rows.keys):
            yield f"graph: the {kind} vectors differ by {sorted(graph[kind] ^ set(rows.keys))}"
    if view.told != told_by(view.graph):
        yield "told: not the entities of each chunk"
    if sorted(write_path.passages._words._rows) != sorted(key for key, _ in write_path._tools.documents.texts()):
        yield "words: not of the chunks that are there"
    if members != store.subgraphs():
        yield "parts: not as stored"
    if set(members) != store.summary_ids():
        yield "summaries: not one for each part"


def misjudged_parts(strategy):
    """Summaries that are stale, or do not say what the ``hash_model`` says of their part; a line for each."""
    updater, store = strategy.write_path.updater, strategy.write_path._tools.graph
    view, members = updater.view, updater.placer.parts.members
    for key, stored in store.stored_summaries(members).items():
        if stored.stale or stored.summary.text != summary_of(part_of(view.graph, view.adjacency, members[key])):
            yield f"summary {key}: {'stale' if stored.stale else 'not of its part'}"
