"""Summaries of subgraphs and long descriptions by a model, each with a fallback that needs none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from edge_node.graph.knowledge_graph import DESCRIPTION_CHARS, Graph, describe
from edge_node.graph.summaries import MAX_SUMMARY_CHARS, description_prompt, extractive_summary, summary_prompt, usable, whole_sentences
from shared.ports import Generator, Prompt, Reply


@dataclass(frozen=True, slots=True)
class Written:
    """A text; ``by_model`` is False where the model's was unusable. ``reply`` carries what the call cost."""

    text: str
    by_model: bool
    reply: Reply


async def model_summary(generator: Generator, part: Graph, *, deadline_s: float, max_chars: int = MAX_SUMMARY_CHARS) -> Written:
    """Summarise a subgraph in three sentences (DGRAG §III-B ②); extractive when the reply is empty or loops.

    Raises ModelTimeout, ModelUnavailable, ModelReplyError.
    """
    return await _written(generator, summary_prompt(part), extractive_summary(part, max_chars=max_chars), deadline_s, max_chars)


async def model_description(
    generator: Generator, name: str, descriptions: Sequence[str], *, deadline_s: float, max_chars: int = DESCRIPTION_CHARS
) -> Written:
    """Merge an entity's descriptions into a short one (DGRAG §III-B ①); joined when the reply is empty or loops. Raises as above."""
    return await _written(generator, description_prompt(name, descriptions), describe(descriptions, max_chars), deadline_s, max_chars)


async def _written(generator: Generator, prompt: Prompt, fallback: str, deadline_s: float, max_chars: int) -> Written:
    reply = await generator.generate(prompt, deadline_s=deadline_s)
    text = whole_sentences(reply.texts[0])[:max_chars] if reply.texts else ""
    return Written(text, True, reply) if usable(text) else Written(fallback, False, reply)
