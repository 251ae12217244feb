"""What the cloud learns about a subgraph (DGRAG §III-B ②): subject area, main entities, key relations; nothing that need not leave."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from edge_node.extraction.names import TITLE
from edge_node.graph.knowledge_graph import DESCRIPTION_CHARS, Adjacency, Graph, describe
from shared.ports import Prompt, Reply
from shared.records import Entity, Relation
from shared.text.prompts import load_prompt

MAX_SUMMARY_CHARS = 900
SUBJECTS = 4
NAMES_SHARE = 0.6  # of a summary's characters; the rest is for relations
PROMPT_ENTITIES = 20
PROMPT_RELATIONS = 25
SUMMARY_TOKENS = 160
DESCRIPTION_TOKENS = 120
MAX_SENTENCES = 3
_LOOP_WORDS = 5
_SENTENCE_BREAK = re.compile(r"(?<=[.!?])\s+")


def part_of(graph: Graph, adjacency: Adjacency, keys: Iterable[str]) -> Graph:
    """The entities ``keys``, and the relations among them."""
    inside = set(keys)
    pairs = ((key, other) for key in inside for other in adjacency.get(key, ()) if key < other and other in inside)
    return Graph({key: graph.entities[key] for key in sorted(inside)}, {pair: graph.relations[pair] for pair in sorted(pairs)})


def extractive_summary(part: Graph, *, max_chars: int = MAX_SUMMARY_CHARS) -> str:
    """Say without a model what a subgraph is about, in at most ``max_chars``.

    Names and verbs only, so no sentence of a document leaves, and nothing that only a document's title or file name says.
    Central names come first: they are what an embedding of the text is to be near to.
    """
    names = [entity.name for entity in told_entities(part)]
    if not names:
        return ""
    text = f"This part is about {_listed(names[:SUBJECTS])}."
    text = _extended(text, " It also covers ", names[SUBJECTS:], int(max_chars * NAMES_SHARE), separator=", ")
    clauses = dict.fromkeys(_clause(relation, part) for relation in ranked_relations(part) if _telling(relation))
    return _extended(text, " Relations: ", list(clauses), max_chars, separator="; ")[:max_chars]


def ranked_entities(part: Graph) -> list[Entity]:
    """By number of relations within the part, then by mentions, then by key."""
    degrees = Counter(end for pair in part.relations for end in pair)
    return sorted(part.entities.values(), key=lambda entity: (-degrees[entity.key], -entity.mentions, entity.key))


def told_entities(part: Graph) -> list[Entity]:
    """``ranked_entities`` that a text names: a title may be a sentence, and a file's name what its text keeps to itself."""
    return [entity for entity in ranked_entities(part) if entity.type != TITLE]


def ranked_relations(part: Graph) -> list[Relation]:
    """By weight, then by how central their ends are, then by keys."""
    place = {entity.key: number for number, entity in enumerate(ranked_entities(part))}

    def order(relation: Relation) -> tuple[float, int, str, str]:
        return -relation.weight, place[relation.source] + place[relation.target], relation.source, relation.target

    return sorted(part.relations.values(), key=order)


def _clause(relation: Relation, part: Graph) -> str:
    ends = [part.entities[relation.source], part.entities[relation.target]]
    names = [entity.name.casefold() for entity in ends]
    sentences = relation.description.casefold().split(". ")
    told = next((sentence for sentence in sentences if all(name in sentence for name in names)), "")
    # the record is undirected; the words were taken from a sentence, in its order
    if told.find(names[0]) > told.find(names[1]):
        ends.reverse()
    verb = relation.keywords[0] if relation.keywords else "and"
    return f"{ends[0].name} – {verb} – {ends[1].name}"


def _telling(relation: Relation) -> bool:
    """False for "Freud – of – Freud's theory", which says nothing that the second name does not."""
    return relation.source not in relation.target and relation.target not in relation.source


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _extended(text: str, opening: str, items: Sequence[str], max_chars: int, *, separator: str) -> str:
    kept: list[str] = []
    used = len(text) + len(opening) + 1
    for item in items:
        if used + len(item) > max_chars:
            break
        kept.append(item)
        used += len(item) + len(separator)
    return f"{text}{opening}{separator.join(kept)}." if kept else text


def summary_prompt(part: Graph) -> Prompt:
    """Ask a model for three sentences about a subgraph (DGRAG §III-B ②)."""
    entities = ", ".join(entity.name for entity in told_entities(part)[:PROMPT_ENTITIES])
    relations = "\n".join(f"- {_clause(relation, part)}" for relation in ranked_relations(part)[:PROMPT_RELATIONS])
    messages = load_prompt("edge_node", "summarise_subgraph").render(entities=entities, relations=relations or "- none")
    return Prompt(messages, max_tokens=SUMMARY_TOKENS)


def description_prompt(name: str, descriptions: Iterable[str], *, max_chars: int = 6000) -> Prompt:
    """Ask a model to merge the descriptions of one entity that have grown too long (DGRAG §III-B ①)."""
    notes = "\n".join(f"- {text}" for text in dict.fromkeys(descriptions))[:max_chars]
    return Prompt(load_prompt("edge_node", "summarise_description").render(name=name, descriptions=notes), max_tokens=DESCRIPTION_TOKENS)


def usable(text: str) -> bool:
    """False for an empty reply, and for one that goes round in circles.

    >>> usable("The ward uses pumps."), usable(" "), usable("a pump in a ward and " * 4)
    (True, False, False)
    """
    words = text.casefold().split()
    runs = Counter(tuple(words[start : start + _LOOP_WORDS]) for start in range(len(words) - _LOOP_WORDS + 1))
    return len(words) >= 3 and max(runs.values(), default=0) < 3


def whole_sentences(text: str, *, most: int = MAX_SENTENCES) -> str:
    """Keep the first ``most`` sentences, without a last one that was cut off, unless it is the only one.

    >>> whole_sentences("It is a ward. It has"), whole_sentences("It has"), whole_sentences("One. Two. Three.", most=2)
    ('It is a ward.', 'It has', 'One. Two.')
    """
    sentences = _SENTENCE_BREAK.split(" ".join(text.split()))
    if len(sentences) > 1 and not sentences[-1].endswith((".", "!", "?")):
        sentences.pop()
    return " ".join(sentences[:most])


def summarised(reply: Reply | None, part: Graph, *, max_chars: int = MAX_SUMMARY_CHARS) -> str:
    """A subgraph in the model's sentences (DGRAG §III-B ②); extractive where there is no reply, or it is empty or loops."""
    return _told(reply, max_chars) or extractive_summary(part, max_chars=max_chars)


def described(reply: Reply | None, descriptions: Sequence[str], *, max_chars: int = DESCRIPTION_CHARS) -> str:
    """An entity in the model's sentences (DGRAG §III-B ①); its descriptions joined where there is no reply, or it is empty or loops."""
    return _told(reply, max_chars) or describe(descriptions, max_chars)


def _told(reply: Reply | None, max_chars: int) -> str:
    text = whole_sentences(reply.texts[0])[:max_chars] if reply and reply.texts else ""
    return text if usable(text) else ""
