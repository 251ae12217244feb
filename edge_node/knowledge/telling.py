"""② Which summaries a change of the graph makes different, and what they say until a language model says it better."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace

import orjson

from edge_node.graph.knowledge_graph import Graph
from edge_node.graph.summaries import extractive_summary
from edge_node.store.graph import StoredSummary
from edge_node.store.passages import text_hash
from shared.checksum import crc
from shared.records import Summary, SummaryId


@dataclass(frozen=True, slots=True)
class SummaryForm:
    """Who writes summaries; a model's is written again when this share of its facts is different (performance goal F4)."""

    by_model: bool
    staleness: float


@dataclass(frozen=True, slots=True)
class Told:
    """Summaries that the cloud must learn, and those that say what they said but are made of something else, or are stale now."""

    changed: list[StoredSummary]
    kept: list[StoredSummary]


def tell(
    parts: Mapping[str, Graph],
    stored: Mapping[str, StoredSummary],
    removed_from: Collection[str],
    form: SummaryForm,
    mask: Callable[[str], str],
) -> Told:
    """Look at parts as they may be told. removed_from: those whose text may tell of something that was removed: it must not stay."""
    told = Told([], [])
    for subgraph_id, part in parts.items():
        old, made_of = stored.get(subgraph_id), summary_hash(part)
        if old is not None and old.input_hash == made_of and subgraph_id not in removed_from:
            continue
        if old is not None and form.by_model and old.facts and subgraph_id not in removed_from:  # plain ones have no facts to find them by
            stale = old.stale or changed_share(old.facts, facts_of(part)) >= form.staleness
            told.kept.append(replace(old, input_hash=made_of, stale=stale))
            continue
        text = mask(extractive_summary(part))
        summary = Summary(SummaryId(subgraph_id), text, len(part.entities), len(part.relations))
        facts = facts_of(part) if form.by_model else ()  # a plain text is always of its part as it is
        new = StoredSummary(summary, made_of, facts, stale=form.by_model and bool(part.entities))
        (told.kept if old is not None and old.summary == summary else told.changed).append(new)
    return told


def disobeying(parts: Mapping[str, Graph], stored: Mapping[str, StoredSummary], mask: Callable[[str], str]) -> set[str]:
    """Parts whose stored text is of other facts than may be told now, or holds what is masked now."""
    return {
        subgraph_id
        for subgraph_id, old in stored.items()
        if old.input_hash != summary_hash(parts[subgraph_id]) or mask(old.summary.text) != old.summary.text
    }


def summary_hash(part: Graph) -> str:
    """Identity of what a summary is made of: the part's entities and relations with their descriptions."""
    entities = [part.entities[key] for key in sorted(part.entities)]
    relations = [part.relations[pair] for pair in sorted(part.relations)]
    return text_hash(orjson.dumps([entities, relations], option=orjson.OPT_PASSTHROUGH_SUBCLASS).decode())


def facts_of(part: Graph) -> tuple[int, ...]:
    """One number for each entity and each relation."""
    return (*sorted(map(crc, part.entities)), *sorted(crc(*pair) for pair in part.relations))


def fact_numbers(keys: Iterable[str]) -> list[int]:
    """The numbers of entities among the facts."""
    return [crc(key) for key in keys]


def changed_share(before: Collection[int], now: Collection[int]) -> float:
    """Jaccard distance of two sets of facts, in [0, 1].

    >>> changed_share([1, 2, 3], [2, 3, 4])
    0.5
    """
    either = set(before) | set(now)
    return len(set(before) ^ set(now)) / len(either) if either else 0.0
