"""① What a model says of each entity of a passage, as far as the passage says it in these words (DGRAG §III-B ①, GraphRAG §3.1.1)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from edge_node.extraction.model_extraction import ModelExtraction, names_for_prompt, rows_of_lines, whole_lines
from edge_node.extraction.names import normalise
from edge_node.extraction.nlp import Extraction
from edge_node.extraction.parsing import MAX_DESCRIPTION_CHARS, shortened
from edge_node.records import CachedGenerator
from shared.errors import ModelReplyError
from shared.ports import Prompt
from shared.records import Chunk, EntityMention
from shared.text.fence import one_line
from shared.text.prompts import load_prompt
from shared.text.sentences import content_words, sentences
from shared.text.support import by_words, is_plain

MAX_TOKENS = 320  # of a reply; a line takes about 35
MAX_CHARS = 2 * MAX_DESCRIPTION_CHARS  # of a description, in whole sentences; a mention's is one sentence
_POINTING = re.compile(r"(?:He|She|It)\b")
_ALONE = r"(?=\s*\(|,?\s+(?!(?:and|at|by|de|for|from|in|nor|of|on|or|to|with)\b)[a-z])"  # not in "Ann's son", "Ann of Lee", "Ann and Bo"
_BRACKETS = re.compile(r"(?:(?<!\s)\s++)?\([^()]*\)")


class ModelDescriber:
    """One prompt a passage over the entities that were found in it. A reply of no use is not asked for twice: the sentences stay."""

    def __init__(self, generator: CachedGenerator, *, deadline_s: float) -> None:
        """``deadline_s``: of one call."""
        self._generator = generator
        self._deadline_s = deadline_s

    async def described(self, chunk: Chunk, found: ModelExtraction) -> ModelExtraction:
        """What was found, with what the model says of it, and what that cost. Raises ModelTimeout and ModelUnavailable."""
        names = names_for_prompt(found.extraction.entities)
        if not names:
            return found
        prompt = description_prompt(chunk, names)
        try:  # what says nothing of use is kept too: it would be said again
            reply = await self._generator.generate(prompt, deadline_s=self._deadline_s, document=chunk.document_id)
        except ModelReplyError:
            return replace(found, calls=found.calls + 1)
        said = descriptions_said(whole_lines(reply), chunk, names)
        return replace(
            found,
            extraction=with_descriptions(found.extraction, said),
            tokens_in=found.tokens_in + reply.tokens_in,
            tokens_out=found.tokens_out + reply.tokens_out,
            calls=found.calls + 1,
        )


def description_prompt(chunk: Chunk, names: Sequence[str]) -> Prompt:
    """Ask what a chunk says of the entities with these names, a line each."""
    messages = load_prompt("edge_node", "describe_entities").render(entities="; ".join(names), passage=" ".join(chunk.text.split()))
    return Prompt(messages, max_tokens=MAX_TOKENS, stop=("\n\n",))


def descriptions_said(reply: str, chunk: Chunk, names: Sequence[str]) -> dict[str, str]:
    r"""What a reply says of the entities with these names, by key; never raises: what cannot be used is left out.

    A sentence counts where it holds the name and a sentence of the chunk says the same words in the same order (``by_words``), with a
    name in the place of "he", "she" or "it" (``told_of``) or without. Of a name that has several lines the first counts.

    >>> from shared.records import ChunkId, DocumentId
    >>> chunk = Chunk(ChunkId("d:0"), DocumentId("d"), 0, "Ann Lee (born 1950) was a nurse in Leeds. She left it for York.", 0, 62, 16)
    >>> descriptions_said("Ann Lee | Ann Lee left it for York.\nLeeds | Leeds left Ann Lee.", chunk, ["Ann Lee", "Leeds"])
    {'ann lee': 'Ann Lee left it for York.'}
    """
    given = {normalise(name): name for name in names}
    whole = told_of(names, chunk.text)
    told = whole, _BRACKETS.sub(lambda match: "" if is_plain(match[0]) else match[0], whole)
    said = dict[str, str]()
    for key, text in ((normalise(row[0]), told_of(names, row[1])) for row in rows_of_lines(reply) if len(row) == 2):
        if key in given and key not in said and (description := _held(text, given[key], told)):
            said[key] = description
    return said


def _held(text: str, name: str, told: Sequence[str]) -> str:
    """The sentences of a text that name an entity and that are told, as many whole ones as a description holds."""
    aside, named = content_words(name), re.compile(rf"(?<!\w){re.escape(name)}(?!\w)", re.IGNORECASE)
    parts = dict.fromkeys(one_line(text[start:end]) for start, end in sentences(text))
    held = ""
    for part in parts:
        longer = f"{held} {part}".strip()
        if named.search(part) and by_words(part, told, aside=aside) and (not held or len(longer) <= MAX_CHARS):
            held = longer
    return shortened(held, MAX_CHARS)


def told_of(names: Sequence[str], text: str) -> str:
    """A text with a name in the place of "He", "She" or "It", where such a sentence follows one that begins with that name.

    Whom a passage means is not sure in this way ("Ann met Bo. He …"): it counts only where the model says it of the same name.

    >>> told_of(["Ann Lee", "Bo Orr"], "Ann Lee is a nurse. She is old. Bo Orr is young. He left. Men came. He stayed.")
    'Ann Lee is a nurse. Ann Lee is old. Bo Orr is young. Bo Orr left. Men came. He stayed.'
    """
    longest_first = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    opening = re.compile(rf"(?:(?:A|An|The)\s+)?((?i:{longest_first})){_ALONE}")
    told, meant = list[str](), ""
    for start, end in sentences(text):
        sentence = text[start:end]
        if meant and _POINTING.match(sentence):
            sentence = meant + _POINTING.sub("", sentence, count=1)
        else:
            found = opening.match(sentence)
            meant = found[1] if found else ""
        told.append(sentence)
    return "".join(told)


def with_descriptions(found: Extraction, said: Mapping[str, str]) -> Extraction:
    """What was found, each entity with what is said of it, where that has a word more than the description that it has."""

    def is_more(one: EntityMention) -> bool:
        return not content_words(said.get(one.key, "")) <= content_words(one.description)

    entities = (replace(one, description=said[one.key]) if is_more(one) else one for one in found.entities)
    return replace(found, entities=tuple(entities))
