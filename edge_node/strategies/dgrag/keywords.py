"""④ Keywords of a question on two levels, by spaCy or by the model (DGRAG §III-C ④, after LightRAG)."""

from __future__ import annotations

import asyncio
from typing import Any, Protocol

import orjson

from edge_node.graph.nlp import SpacyExtractor
from edge_node.strategies.dgrag.dual_level import Keywords
from shared.ports import Generator, Prompt
from shared.prompts import load_prompt

PROMPT = load_prompt("edge_node", "keywords")
LIST = {"type": "array", "maxItems": 6, "items": {"type": "string", "maxLength": 60}}
SCHEMA: dict[str, Any] = {"type": "object", "properties": {"low": LIST, "high": LIST}, "required": ["low", "high"]}
MAX_TOKENS = 120
DEADLINE_S = 30.0


class KeywordFinder(Protocol):
    """Question to keywords."""

    async def find(self, question: str) -> Keywords:
        """Never empty: a question without keywords is its own keyword."""


class NlpKeywords:
    """Names and noun phrases are low level; the question itself, which holds the theme, is high level. No model call."""

    def __init__(self, extractor: SpacyExtractor) -> None:
        self._extractor = extractor

    async def find(self, question: str) -> Keywords:
        """As the class says."""
        phrases = await asyncio.to_thread(self._extractor.phrases, question)
        return Keywords(low=tuple(phrases) or (question,), high=(question,))


class ModelKeywords:
    """Asks the model; what it cannot say falls back to the question."""

    def __init__(self, generator: Generator) -> None:
        self._generator = generator

    async def find(self, question: str) -> Keywords:
        """As the class says. Raises ModelError."""
        prompt = Prompt(PROMPT.render(question=question), max_tokens=MAX_TOKENS, schema=SCHEMA)
        reply = await self._generator.generate(prompt, deadline_s=DEADLINE_S)
        return parse_keywords(reply.texts[0], question)


def parse_keywords(reply: str, question: str) -> Keywords:
    """The two lists of a reply; whatever is missing or unreadable is the question itself.

    >>> parse_keywords('{"low": ["Orrin Mill"]}', "Who built it?")
    Keywords(low=('Orrin Mill',), high=('Who built it?',))
    """
    try:
        parsed = orjson.loads(reply)
    except orjson.JSONDecodeError:
        parsed = {}

    def texts(level: str) -> tuple[str, ...]:
        found = parsed.get(level) if isinstance(parsed, dict) else None
        return tuple(text for text in found if isinstance(text, str) and text.strip()) if isinstance(found, list) else ()

    return Keywords(texts("low") or (question,), texts("high") or (question,))
