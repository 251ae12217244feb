"""Extraction with a model: spaCy gives the entities, the small model writes the relations between them (DGRAG §III-B ①)."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any, Literal
from unicodedata import combining, normalize

from edge_node.extraction.names import is_entity, normalise
from edge_node.extraction.nlp import Extraction, SpacyExtractor
from edge_node.extraction.syntax import CONCEPT
from edge_node.extraction.words import DETERMINERS, STOP_WORDS
from edge_node.records import CachedGenerator
from shared.errors import ModelReplyError
from shared.ports import Message, Prompt, Reply
from shared.records import Chunk, EntityMention, RelationMention
from shared.text.prompts import load_prompt
from shared.text.refusals import is_refusal
from shared.text.sentences import content_words

SEED = 1  # of samples drawn at a temperature above 0

Form = Literal["lines", "json"]

MAX_ENTITIES = 30
MAX_RELATIONS = 24
MAX_RELATION_WORDS = 6
MAX_NAME_CHARS = 80
MIN_STEM, ENDING = 4, 3  # letters of a word
MAX_TOKENS: Mapping[Form, int] = {"lines": 320, "json": 900}  # a relation costs about 12 tokens as a line, 35 as JSON

_BULLET = re.compile(r"^(?:[-*•]|\(?\d{1,2}[.)])\s*")
_EDGES = " \t|`*\"'“”()[]<>"
_OBJECT = re.compile(r"\{[^{}]*\}")
_JOINING_WORDS = STOP_WORDS - DETERMINERS
_HEADER = ("subject", "source", "entity")
_NOTHING = re.compile(r"none|n/a|no (?:missing |further |other )?relations?(?: found)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class RelationLine:
    """One relation as the model wrote it; the ends carry the given spelling where they are given entities."""

    subject: str
    relation: str
    object: str


@dataclass(frozen=True, slots=True)
class ParsedRelations:
    """What could be read of a reply, without repetition, and how many lines (or JSON objects) could not."""

    items: tuple[RelationLine, ...]
    unread_lines: int


def names_for_prompt(mentions: Iterable[EntityMention]) -> tuple[str, ...]:
    """The first MAX_ENTITIES distinct names, one a key, in order of appearance."""
    by_key: dict[str, str] = {}
    for mention in mentions:
        by_key.setdefault(mention.key, mention.name[:MAX_NAME_CHARS])
    return tuple(by_key.values())[:MAX_ENTITIES]


def relation_prompt(chunk: Chunk, names: Sequence[str], *, form: Form) -> Prompt:
    """Ask for the relations among ``names`` in a chunk: as lines (cheap), or as JSON whose ends can only be ``names``."""
    file = load_prompt("edge_node", "extract_relations" if form == "lines" else "extract_relations_json")
    messages = file.render(entities="; ".join(names), passage=" ".join(chunk.text.split()))
    if form == "json":
        return Prompt(messages, max_tokens=MAX_TOKENS[form], schema=relation_schema(names))
    return Prompt(messages, max_tokens=MAX_TOKENS[form], stop=("\n\n",))


def glean_prompt(asked: Prompt, known: Sequence[RelationLine], *, form: Form) -> Prompt:
    """Ask which relations were missed, showing those that are known (GraphRAG's gleanings)."""
    shown = as_json(known) if form == "json" else as_lines(known)
    messages = (*asked.messages, Message("assistant", shown), *load_prompt("edge_node", "glean").render())
    return Prompt(messages, max_tokens=asked.max_tokens, schema=asked.schema, stop=asked.stop)


def as_lines(items: Iterable[RelationLine]) -> str:
    """The form that the prompt asks for."""
    return "\n".join(f"{item.subject} | {item.relation} | {item.object}" for item in items)


def as_json(items: Iterable[RelationLine]) -> str:
    """The form that the schema asks for."""
    rows = [{"source": item.subject, "relation": item.relation, "target": item.object} for item in items]
    return json.dumps({"relations": rows}, ensure_ascii=False)


def relation_schema(names: Sequence[str]) -> dict[str, Any]:
    """A JSON schema whose ends are an enum of ``names``; all lengths are bounded, so that a small model cannot loop for ever."""
    end = {"type": "string", "enum": list(names)}
    fields = {"source": end, "relation": {"type": "string", "minLength": 2, "maxLength": 40}, "target": end}
    row = {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}
    relations = {"type": "array", "items": row, "maxItems": MAX_RELATIONS}
    return {"type": "object", "properties": {"relations": relations}, "required": ["relations"], "additionalProperties": False}


def parse_relations(reply: str, candidates: Iterable[str], *, form: Form = "lines", passage: str | None = None) -> ParsedRelations:
    r"""Read a reply; never raises: what cannot be read is counted.

    candidates: the names that were given. Another name is accepted when it is one (no pronoun, number, general noun), and its words stand
    in the ``passage``, if only in another form: a small model copies names from the example in its prompt.

    >>> parse_relations("Ann | works at | the mill\nand so on", ["Ann", "Mill"])
    ParsedRelations(items=(RelationLine(subject='Ann', relation='works at', object='Mill'),), unread_lines=1)
    >>> parse_relations("Ann | opened | Tarrow Estates", ["Ann"], passage="Ann runs Marlow Estates.").items
    ()
    """
    given = {normalise(name): name for name in candidates}
    rows = [parted(row, given.values()) for row in rows_of_lines(reply)] if form == "lines" else _rows_of_json(reply)
    words = None if passage is None else _words(passage)
    found: dict[tuple[str, str, str], RelationLine] = {}
    unread = 0
    for row in rows:
        item = _checked(row, given, words)
        if item is None:
            unread += 1
        elif len(found) < MAX_RELATIONS:
            found.setdefault((normalise(item.subject), item.relation.casefold(), normalise(item.object)), item)
    return ParsedRelations(tuple(found.values()), unread)


def fault_of(reply: str, candidates: Iterable[str], *, form: Form = "lines") -> str:
    """Why a reply to a relation prompt cannot be used; empty if it can: it holds a relation, or says that there is none.

    >>> fault_of("Ann | works at | the mill", ["Ann"]), fault_of("NONE", ["Ann"]), fault_of(" ", ["Ann"])
    ('', '', 'it is blank')
    """
    if not reply.strip():
        return "it is blank"
    if parse_relations(reply, candidates, form=form).items or _says_none(reply, form=form):
        return ""
    return "it is a refusal" if is_refusal(reply) else "it holds no relation in the form asked for"


def _nothing(line: str) -> bool:
    return _NOTHING.fullmatch(line.rstrip(". ")) is not None


def _says_none(reply: str, *, form: Form) -> bool:
    if form == "lines":
        return all(_nothing(line.strip()) for line in reply.splitlines() if line.strip())
    try:
        said = json.loads(reply)
    except (ValueError, RecursionError):
        return False
    return isinstance(said, dict) and said.get("relations") == []


def rows_of_lines(reply: str) -> list[list[str]]:
    """The fields of each line of a reply, without those that say "none"."""
    lines = (_BULLET.sub("", line.strip()) for line in reply.splitlines())
    return [[part.strip(_EDGES) for part in line.strip("| ").split("|")] for line in lines if line and not _nothing(line)]


def parted(row: Sequence[str], names: Iterable[str]) -> Sequence[str]:
    """A row in three parts where it has two: small models often write a relation and its object in one.

    The object is the given name that stands first behind the relation, of those at one place the longest.

    >>> parted(["Ann", "is a member of the Old Mill"], ["Mill", "Old Mill"]), parted(["Ann", "is tall"], ["Mill"])
    (['Ann', 'is a member of', 'Old Mill'], ['Ann', 'is tall'])
    """
    if len(row) != 2:
        return row
    subject, said = row
    found = ((match.start(), -len(name), name) for name in names if (match := re.search(rf"(?<!\w){re.escape(name)}(?!\w)", said)))
    at, _, name = min(found, default=(0, 0, ""))
    words = said[:at].split()
    while words and words[-1].casefold() in DETERMINERS:
        words.pop()
    return [subject, " ".join(words), name] if words else row


def _rows_of_json(reply: str) -> list[list[str]]:
    """Each inner object by itself: a reply that was cut off loses only its last one."""
    rows = []
    for text in _OBJECT.findall(reply.replace("{}", "")):
        try:
            row = json.loads(text)
        except (ValueError, RecursionError):
            rows.append([text])
        else:
            if "relations" not in row:  # an empty list of them
                rows.append([str(row.get(field, "")).strip(_EDGES) for field in ("source", "relation", "target")])
    if not rows and reply.strip() and '"relations"' not in reply:
        rows.append([reply])
    return rows


def _checked(row: Sequence[str], given: Mapping[str, str], words: Set[str] | None) -> RelationLine | None:
    if len(row) != 3 or row[0].casefold() in _HEADER:
        return None
    subject, relation, target = _end(row[0], given, words), " ".join(row[1].split()), _end(row[2], given, words)
    readable = any(character.isalpha() for character in relation) and len(relation.split()) <= MAX_RELATION_WORDS
    if not (subject and target and readable) or normalise(subject) == normalise(target):
        return None
    return RelationLine(subject, relation, target)


def _end(text: str, given: Mapping[str, str], told: Set[str] | None) -> str:
    """The name that an end stands for: a given one, also where more follows ("Rowan Ward by telephone"); a new one; or none."""
    words = text.split()
    if not words or len(text) > MAX_NAME_CHARS or words[0].casefold() in _JOINING_WORDS:
        return ""
    for known in (text, " ".join(takewhile(lambda word: word.casefold() not in _JOINING_WORDS, words))):
        if normalise(known) in given:
            return given[normalise(known)]
    return text if is_entity(text) and (told is None or all(_is_told(word, told) for word in _words(text))) else ""


def _words(text: str) -> Set[str]:
    """The words that carry meaning, without accents."""
    return content_words("".join(letter for letter in normalize("NFKD", text) if not combining(letter)))


def _is_told(word: str, told: Set[str]) -> bool:
    """Whether a word is told, or one that differs from it in its ending, as "factories" from "factory"."""
    stem = word[: max(MIN_STEM, len(word) - ENDING)]
    return word in told or (len(stem) >= MIN_STEM and any(one.startswith(stem) for one in told))


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
        generator: CachedGenerator,
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
            parsed = parse_relations(whole_lines(reply), names, form=self.form, passage=chunk.text)
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
        fault = fault_of(whole_lines(reply), names, form=self.form)
        return reply, ModelReplyError(f"the model's reply cannot be used: {fault}") if fault else None


def whole_lines(reply: Reply) -> str:
    """A reply without the line that its end cuts off."""
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
