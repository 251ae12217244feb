"""What the cloud keeps, against one index of all documents (DGRAG §IV-D): bytes of the stopped services' folders."""

from __future__ import annotations

from benchmarks.stages import Work
from benchmarks.stages.index import disk_bytes
from benchmarks.systems import CENTRAL

WHAT = (
    "cloud: its whole state folder (summaries, their vectors, registry, keys); "
    "centralised: the whole store of one edge with all documents (texts, chunks, mentions, graph, vectors)"
)


def storage(work: Work, state: str, subgraph_entities: int) -> None:
    """Compare a stopped cluster's cloud with the stopped central edge."""
    key = f"{work.split.name}/{subgraph_entities}"
    if work.journal.done("storage", key):
        return
    cloud = disk_bytes(work.fleet.state(state) / "cloud")
    central = disk_bytes(work.fleet.state(work.states["central"]) / "edges" / CENTRAL)
    row = {"split": work.split.name, "subgraph_entities": subgraph_entities, "cloud_bytes": cloud, "centralised_bytes": central}
    work.journal.add("storage", key, {**row, "ratio": central / cloud, "what": WHAT})
