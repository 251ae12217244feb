"""Extraction with a model: spaCy gives the entities, the small model writes the relations between them (DGRAG §III-B ①)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from edge_node.graph.extraction import Form, RelationLine, fault_of, glean_prompt, names_for_prompt, parse_relations, relation_prompt
from edge_node.graph.names import normalise
from edge_node.graph.nlp import Extraction, SpacyExtractor
from edge_node.graph.syntax import CONCEPT
from edge_node.store.replies import RememberingGenerator
from shared.errors import ModelReplyError
from shared.ports import Prompt, Reply
from shared.records import Chunk, EntityMention, RelationMention

SEED = 1  # of samples drawn at a temperature above 0


@dataclass(frozen=True, slots=True)
class ModelExtraction:
    """The mentions of one chunk, and what they cost. ``unread_lines``: what the model wrote that could not be used.

    ``failure``: why nothing that the model said could be used; the mentions are then spaCy's.
    """

    extraction: Extraction
    tokens_in: int
    tokens_out: int
    calls: int
    unread_lines: int
    failure: ModelReplyError | None = None


class ModelExtractor:
    """One prompt a chunk over the entities that spaCy finds, then up to ``gleanings`` follow-ups while they bring something new."""

    def __init__(
        self,
        generator: RememberingGenerator,
        spacy_extractor: SpacyExtractor,
        *,
        form: Form = "lines",
        gleanings: int = 0,
        deadline_s: float = 120.0,
    ) -> None:
        self.generator = generator
        self.spacy_extractor = spacy_extractor
        self.form: Form = form
        self.gleanings = gleanings
        self.deadline_s = deadline_s  # of one call

    async def extract(self, chunk: Chunk, base: Extraction | None = None, *, temperature: float = 0.0) -> ModelExtraction:
        """Return the chunk's mentions. ``base``: what spaCy found in it when it read the whole document, if that is known.

        Where the model relates two entities, its words replace spaCy's. Raises ModelTimeout and ModelUnavailable; an answer
        that cannot be used is a ``failure``, unless an earlier one of the chunk could be.
        """
        if base is None:
            base = await asyncio.to_thread(self.spacy_extractor.extract, [chunk])
        names = names_for_prompt(base.entities)
        if not names:
            return ModelExtraction(base, 0, 0, 0, 0)
        prompt = replace(relation_prompt(chunk, names, form=self.form), temperature=temperature, seed=SEED if temperature else None)
        known: list[RelationLine] = []
        tokens_in = tokens_out = calls = unread = 0
        for _ in range(1 + self.gleanings):
            asked = glean_prompt(prompt, known, form=self.form) if known else prompt
            reply, failure = await self._ask(asked, chunk, names)
            calls, tokens_in, tokens_out = calls + 1, tokens_in + reply.tokens_in, tokens_out + reply.tokens_out
            parsed = parse_relations(_whole_lines(reply), names, form=self.form)
            unread += parsed.unread_lines
            if failure is not None and not known:
                return ModelExtraction(base, tokens_in, tokens_out, calls, unread, failure)
            new = [item for item in parsed.items if item not in known]
            known += new
            if not new:
                break
        return ModelExtraction(with_relations(base, known, chunk), tokens_in, tokens_out, calls, unread)

    async def _ask(self, prompt: Prompt, chunk: Chunk, names: Sequence[str]) -> tuple[Reply, ModelReplyError | None]:
        """A reply, and why it cannot be used."""

        def usable(text: str) -> bool:
            return not fault_of(text, names, form=self.form)

        try:
            reply = await self.generator.generate(prompt, deadline_s=self.deadline_s, usable=usable, document=chunk.document_id)
        except ModelReplyError as error:
            return Reply(("",), 0, 0), error
        fault = fault_of(_whole_lines(reply), names, form=self.form)
        return reply, ModelReplyError(f"the model's reply cannot be used: {fault}") if fault else None


def _whole_lines(reply: Reply) -> str:
    text = reply.texts[0]
    return text.rpartition("\n")[0] if any(reply.truncated) and "\n" in text else text


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
