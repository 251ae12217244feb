"""What a global answer rests on: references by sentence, whether they open, what was moved for it (GraphRAG §2.6, over several sites)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from benchmarks.records import Cited, EdgeShare, Overview
from deploy.evaluation.text import referenced


def overview_of(said: Mapping[str, Any]) -> Overview:
    """Read an answer as ``POST /v1/query`` gives it. Raises KeyError for a citation or an edge without what it must have."""
    cited = tuple(map(_cited, said["citations"]))
    all_, with_one = referenced(said["answer"], {one.n for one in cited})
    edges = tuple(EdgeShare(**{name: one[name] for name in EdgeShare.__dataclass_fields__}) for one in said["edges"])
    return Overview(said.get("coverage", ""), edges, all_, with_one, cited)


def _cited(one: Mapping[str, Any]) -> Cited:
    chunks = one["chunk_id"], *one.get("chunks", ())
    return Cited(one["n"], one["edge"], one["document_id"], one["document"], one.get("report", ""), chunks)


def overview_values(answer: Mapping[str, Any]) -> dict[str, float]:
    """Return the metrics of a global answer; those that do not apply to it, or that it does not tell, are left out.

    An answer that says that there is none tells nothing that would need a reference.
    """
    found = answer.get("overview")
    if not found:
        return {}
    values, edges, cited = dict[str, float](), [one for one in found["edges"] if one["status"] == "answered"], found["cited"]
    if answer["answered"] and found["sentences"]:
        values["referenced"] = found["referenced"] / found["sentences"]
    if answer["answered"] and cited:
        values["opened"] = sum(not one["fault"] for one in cited) / len(cited)
    if edges:
        values |= {"reports": sum(one["reports"] for one in edges), "reports_there": sum(one["reports_there"] for one in edges)}
    slowest = max((one["ms"] for one in edges), default=0.0)
    if answer["asked_edges"] and found["corpus_chars"] and slowest:
        moved = carried(found["edges"], answer["steps"])
        values |= {"bytes_moved": moved, "bytes_of_corpus": moved / found["corpus_chars"]}
        values["over_slowest"] = answer["seconds"] * 1000 / slowest
    return values


def carried(edges: Collection[Mapping[str, Any]], steps: Collection[Mapping[str, Any]]) -> int:
    """Bytes of what the edges sent, of the requests to them, and of the question and its answer between the asking edge and the cloud."""
    own = sum(step["bytes_out"] + step["bytes_in"] for step in steps if step["step"] == "cloud")
    requests = sum(step["bytes_out"] for step in steps if step["step"] == "cloud: fan_out")
    return int(sum(edge["bytes"] for edge in edges) + own + requests)
