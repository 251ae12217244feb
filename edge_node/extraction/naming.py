"""Names where no pack reads: the model says entities and relations by itself, and what does not stand in the passage is dropped."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from edge_node.extraction.model_extraction import (
    MAX_NAME_CHARS,
    MAX_RELATION_WORDS,
    SEED,
    ModelExtraction,
    ModelExtractor,
    rows_of_lines,
    whole_lines,
)
from edge_node.extraction.names import is_entity, normalise
from edge_node.extraction.nlp import Extraction
from edge_node.extraction.parsing import shortened
from edge_node.extraction.syntax import CONCEPT
from shared.errors import ModelReplyError
from shared.ports import Prompt
from shared.records import Chunk, ChunkId, EntityMention, RelationMention
from shared.text.fence import one_line
from shared.text.prompts import load_prompt
from shared.text.sentences import sentences

BY_MODEL = "the model"  # in the place of a pack's name
KINDS = {"person": "person", "organization": "organization", "place": "place", "thing": CONCEPT}
MAX_TOKENS = 640  # Cyrillic takes two to three tokens a word
MAX_NAMES = 30
MIN_RELATED = 2
_QUOTES = "«»„“”‘’\"'"


async def named_by_model(model: ModelExtractor, chunk: Chunk, *, temperature: float = 0.0) -> ModelExtraction:
    """What the model says of a chunk that no pack reads; nothing, with the ``failure``, where its reply is of no use.

    A small model often writes the names alone: it is then asked for the relations between them, as where a pack found the names.
    Raises ModelTimeout and ModelUnavailable.
    """
    named = await _names(model, chunk, temperature=temperature)
    if named.failure or named.extraction.relations or len(named.extraction.entities) < MIN_RELATED:
        return named
    related = await model.extract(chunk, named.extraction, temperature=temperature)
    text = one_line(chunk.text)
    entities = tuple(mention for mention in related.extraction.entities if stands(mention.name, text))
    keys = {mention.key for mention in entities}
    relations = tuple(one for one in related.extraction.relations if {one.source, one.target} <= keys)
    return replace(
        related,
        extraction=Extraction(entities, relations),
        tokens_in=named.tokens_in + related.tokens_in,
        tokens_out=named.tokens_out + related.tokens_out,
        calls=named.calls + related.calls,
        failure=None,
    )


async def _names(model: ModelExtractor, chunk: Chunk, *, temperature: float) -> ModelExtraction:
    prompt = replace(naming_prompt(chunk.text), temperature=temperature, seed=SEED if temperature else None)

    def usable(text: str) -> bool:
        return not _fault_of(text, chunk)

    try:
        reply = await model.generator.generate(prompt, deadline_s=model.deadline_s, usable=usable, document=chunk.document_id)
    except ModelReplyError as error:
        return ModelExtraction(Extraction((), ()), 0, 0, 1, 0, error)
    said = whole_lines(reply)
    found, unread = names_said(said, chunk)
    fault = _fault_of(said, chunk)
    failure = ModelReplyError(f"the model's reply cannot be used: {fault}") if fault else None
    return ModelExtraction(found, reply.tokens_in, reply.tokens_out, 1, unread, failure)


def naming_prompt(text: str) -> Prompt:
    """Ask for the names in a passage of any language, and for the relations between them."""
    return Prompt(load_prompt("edge_node", "name_entities").render(passage=one_line(text)), max_tokens=MAX_TOKENS, stop=("\n\n",))


def names_said(reply: str, chunk: Chunk) -> tuple[Extraction, int]:
    r"""What a reply says of a chunk, and how many of its lines cannot be used; never raises.

    A name counts where it stands letter by letter in the passage, a relation where both its ends are such names.

    >>> from shared.records import ChunkId, DocumentId
    >>> chunk = Chunk(ChunkId("d:0"), DocumentId("d"), 0, "Ольга уехала в Пермь.", 0, 21, 8)
    >>> found, unread = names_said("person | Ольга\nplace | Казань\nplace | Пермь\nОльга | уехала в | Пермь", chunk)
    >>> [one.name for one in found.entities], found.relations[0].keywords, unread
    (['Ольга', 'Пермь'], ('уехала в',), 1)
    """
    text, rows = one_line(chunk.text), rows_of_lines(reply)
    told = [text[start:end] for start, end in sentences(text)]
    entities: dict[str, EntityMention] = {}
    for kind, name in (row for row in rows if len(row) == 2):
        key = normalise(name := _unquoted(name))
        if kind.casefold() in KINDS and key not in entities and len(entities) < MAX_NAMES and stands(name, text):
            where = next((sentence for sentence in told if name in sentence), text)
            entities[key] = EntityMention(key, name, KINDS[kind.casefold()], shortened(where), chunk.chunk_id)
    relations = dict.fromkeys(one for row in rows if len(row) == 3 and (one := _relation(row, entities, chunk.chunk_id)))
    return Extraction(tuple(entities.values()), tuple(relations)), len(rows) - len(entities) - len(relations)


def stands(name: str, text: str) -> bool:
    """Whether a name stands in a text as whole words; where letters have a case, one of its own is a capital or a digit.

    >>> [stands(name, "Иван Петров купил насос P-7; 張偉在杭州") for name in ("Иван Петров", "Петр", "насос", "P-7", "Ольга", "杭州")]
    [True, False, False, True, False, True]
    """
    if len(name) > MAX_NAME_CHARS or not is_entity(name):
        return False
    if name.lower() == name.upper():  # Chinese, Thai and Arabic have no capitals, and some no blanks
        return name in text
    is_named = any(letter.isupper() or letter.isdigit() for letter in name)
    return is_named and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


def _unquoted(name: str) -> str:
    """A name without the quotes around the whole of it: "Банк «Берег»" keeps its own."""
    return name.strip(_QUOTES) if name[:1] in _QUOTES else name


def _relation(row: Sequence[str], entities: Mapping[str, EntityMention], chunk_id: ChunkId) -> RelationMention | None:
    source, verb, target = normalise(_unquoted(row[0])), " ".join(row[1].split()), normalise(_unquoted(row[2]))
    is_verb = any(map(str.isalpha, verb)) and len(verb.split()) <= MAX_RELATION_WORDS and len(verb) <= MAX_NAME_CHARS
    if not is_verb or source == target or not {source, target} <= entities.keys():
        return None
    text = f"{entities[source].name} {verb} {entities[target].name}."
    return RelationMention(source, target, text, (verb.lower(),), 1.0, chunk_id)


def _fault_of(reply: str, chunk: Chunk) -> str:
    """Why a reply cannot be used; empty if it can: it holds a name of the passage, or says that there is none."""
    if not reply.strip():
        return "it is blank"
    return "" if not rows_of_lines(reply) or names_said(reply, chunk)[0].entities else "it holds no name of the passage"
