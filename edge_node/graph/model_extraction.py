"""Extraction with a model: spaCy gives the entities, the small model writes the relations between them (DGRAG §III-B ①)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from edge_node.graph.extraction import Form, RelationLine, glean_prompt, names_for_prompt, parse_relations, relation_prompt
from edge_node.graph.names import normalise
from edge_node.graph.nlp import Extraction, SpacyExtractor
from edge_node.graph.syntax import CONCEPT
from shared.ports import Generator
from shared.records import Chunk, EntityMention, RelationMention


@dataclass(frozen=True, slots=True)
class ModelExtraction:
    """The mentions of one chunk, and what they cost. ``unread_lines``: what the model wrote that could not be used."""

    extraction: Extraction
    tokens_in: int
    tokens_out: int
    calls: int
    unread_lines: int


class ModelExtractor:
    """One prompt a chunk over the entities that spaCy finds, then up to ``gleanings`` follow-ups while they bring something new."""

    def __init__(
        self, generator: Generator, spacy_extractor: SpacyExtractor, *, form: Form = "lines", gleanings: int = 0, deadline_s: float = 120.0
    ) -> None:
        self.generator = generator
        self.spacy_extractor = spacy_extractor
        self.form: Form = form
        self.gleanings = gleanings
        self.deadline_s = deadline_s  # of one call

    async def extract(self, chunk: Chunk, base: Extraction | None = None) -> ModelExtraction:
        """Return the chunk's mentions. ``base``: what spaCy found in it when it read the whole document, if that is known.

        Where the model relates two entities, its words replace spaCy's. Raises ModelTimeout, ModelUnavailable, ModelReplyError.
        """
        if base is None:
            base = await asyncio.to_thread(self.spacy_extractor.extract, [chunk])
        names = names_for_prompt(base.entities)
        if not names:
            return ModelExtraction(base, 0, 0, 0, 0)
        prompt = relation_prompt(chunk, names, form=self.form)
        known: list[RelationLine] = []
        tokens_in = tokens_out = calls = unread = 0
        for _ in range(1 + self.gleanings):
            reply = await self.generator.generate(
                glean_prompt(prompt, known, form=self.form) if known else prompt, deadline_s=self.deadline_s
            )
            calls, tokens_in, tokens_out = calls + 1, tokens_in + reply.tokens_in, tokens_out + reply.tokens_out
            parsed = parse_relations(_whole_lines(reply.texts[0], cut=any(reply.truncated)), names, form=self.form)
            unread += parsed.unread_lines
            new = [item for item in parsed.items if item not in known]
            known += new
            if not new:
                break
        return ModelExtraction(with_relations(base, known, chunk), tokens_in, tokens_out, calls, unread)


def _whole_lines(text: str, *, cut: bool) -> str:
    return text.rpartition("\n")[0] if cut and "\n" in text else text


def with_relations(base: Extraction, lines: Sequence[RelationLine], chunk: Chunk) -> Extraction:
    """Add ``lines`` and the entities that only these name to ``base``, whose relations of the same pairs give way.

    The others stay: a small model overlooks more than it gets wrong, and retrieval misses a relation more than it minds one.
    """
    entities = {mention.key: mention for mention in base.entities}
    relations: list[RelationMention] = []
    for line in lines:
        text = f"{line.subject} {line.relation} {line.object}."
        source, target = normalise(line.subject), normalise(line.object)
        for key, name in ((source, line.subject), (target, line.object)):
            entities.setdefault(key, EntityMention(key, name, CONCEPT, text, chunk.chunk_id))
        relations.append(RelationMention(source, target, text, (line.relation.lower(),), 1.0, chunk.chunk_id))
    told = {frozenset((relation.source, relation.target)) for relation in relations}
    kept = [relation for relation in base.relations if frozenset((relation.source, relation.target)) not in told]
    return Extraction(tuple(entities.values()), (*relations, *kept))
