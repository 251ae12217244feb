"""Partitions committed by hand."""

from edge_node.graph.store import Settlement, StoredSummary
from shared.records import Subgraph, Summary


def commit_texts(graph, texts, *, titles=b""):
    """Make the partition one part for each of ``texts`` (id -> text), as a settle would commit it.

    ``titles``: the marks of the new ones.
    """
    known = {summary.summary_id: summary.text for summary in graph.summaries()}
    new = {key: text for key, text in texts.items() if known.get(key) != text}
    told = [StoredSummary(Summary(key, text, 1, 0, titles), f"hash of {text}", (), stale=False) for key, text in new.items()]
    parts = [Subgraph(key, (key,)) for key in texts]
    graph.commit(Settlement(0, (), (), parts, known.keys() - texts.keys(), told, (), (), 0))
