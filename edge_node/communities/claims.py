"""Claims that passages make about entities: the prompt, and a parser that keeps what the passage supports (GraphRAG §2.2, covariates)."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Literal, get_args

from edge_node.extraction.model_extraction import MAX_ENTITIES, MAX_NAME_CHARS
from edge_node.extraction.names import TITLE, normalise
from edge_node.graph.knowledge_graph import Graph
from edge_node.graph.summaries import usable, whole_sentences
from shared.ports import Prompt
from shared.records import Chunk, ChunkId, EntityMention
from shared.sqlite import crc
from shared.text.citations import is_supported
from shared.text.fence import Fence, one_line
from shared.text.inert import inert
from shared.text.prompts import load_prompt
from shared.text.refusals import is_refusal
from shared.text.sentences import WORD, content_words, sentences

Status = Literal["TRUE", "FALSE", "SUSPECTED"]

MAX_CLAIMS = 8  # of a chunk
MAX_TOKENS = 400  # of a reply; a claim takes about 45
MAX_TEXT_CHARS = 400
_FIELDS = 7
_BULLET = re.compile(r"^(?:[-*•]|\(?\d{1,2}[.)])\s*")
_NONE = "NONE"
_EDGES = ' \t`*"“”'
DENIES = re.compile(r"n['’]t\b|\b(?:no|not|never|none|nor|den(?:y|ies|ied)|false|untrue|refuted?|wrongly|without)\b", re.IGNORECASE)
LEAVES_OPEN = re.compile(
    r"\b(?:alleged(?:ly)?|suspect\w*|accus\w+|said to|reported(?:ly)?|claim\w*|may|might|could|possibl[ey]|perhaps|rumou?r\w*|charged)\b",
    re.IGNORECASE,
)
_SAID_OF = {"TRUE": "", "FALSE": "found to be false", "SUSPECTED": "suspected"}


@dataclass(frozen=True, slots=True)
class Claim:
    """What a model says that a chunk claims, each part of it as far as the chunk says so."""

    chunk_id: ChunkId
    subject: str  # key of an entity that the chunk names
    object: str  # another one's; "": none
    type: str  # one or two words; "": none of the chunk's own
    status: Status
    sentence: str  # one, that says the claim by itself
    span: tuple[int, int]  # of the chunk's text: the sentence that says most of it
    since: str  # as the chunk writes it; "": not told
    until: str

    @property
    def description(self) -> str:
        """The sentence, with what it does not say of the claim's status and time."""
        times = [(word, time) for word, time in (("since", self.since), ("until", self.until)) if time]
        untold = [f"{word} {time}" for word, time in times if not _words(time) <= _words(self.sentence)]
        more = ", ".join(filter(None, (_SAID_OF[self.status], *untold)))
        return f"{self.sentence.rstrip('.')} ({more})." if more else self.sentence

    @property
    def chunk_ids(self) -> tuple[ChunkId, ...]:
        """As entities and relations have."""
        return (self.chunk_id,)

    @property
    def fact(self) -> int:
        """A number for it, as entities and relations have."""
        return crc(self.chunk_id, self.subject, self.description)


@dataclass(frozen=True, slots=True)
class ParsedClaims:
    """What could be read of a reply, each claim once, and how many lines could not."""

    claims: tuple[Claim, ...]
    unread_lines: int


def names_of(mentions: Iterable[EntityMention]) -> dict[str, str]:
    """The entities that a chunk itself names, as many as a model is given: key by name. Its document's title is not said by it."""
    names = dict[str, str]()
    for mention in mentions:
        if mention.type != TITLE:
            names.setdefault(mention.key, mention.name[:MAX_NAME_CHARS])
    return {name: key for key, name in islice(names.items(), MAX_ENTITIES)}


def claims_prompt(chunk: Chunk, names: Iterable[str], fence: Fence) -> Prompt:
    """Ask for the claims that a chunk makes about the entities with these names."""
    passage, entities = fence.around(one_line(chunk.text)), one_line("; ".join(names))
    messages = load_prompt("edge_node", "claims").render(entities=entities, passage=passage, most=str(MAX_CLAIMS))
    return Prompt(messages, max_tokens=MAX_TOKENS, stop=("\n\n",))


def parsed_claims(reply: str, chunk: Chunk, names: Mapping[str, str]) -> ParsedClaims:
    """Read a reply; never raises: what cannot be used is counted.

    names: key by name. A claim is kept if its subject is one of them, and one sentence of the chunk says it: that one has all words of the
    claim's, in their order, and the claim's has one of the subject's name. Its object is another of them, or none. A type of which the
    chunk does not hold every word is left out, and a date that the sentence does not hold. FALSE counts where the sentence denies
    something, SUSPECTED where it leaves something open: a small model writes them of plain statements.
    """
    reader = _Reader(chunk, names)
    claims, unread = dict[tuple[str, frozenset[str]], Claim](), 0
    for line in filter(None, map(str.strip, reply.splitlines())):
        row = [part.strip(_EDGES) for part in _BULLET.sub("", line).strip("| ").split("|", _FIELDS - 1)]
        if [part.upper().rstrip(".") for part in row] == [_NONE]:
            continue
        claim = reader.claim(row) if len(row) == _FIELDS else None
        if claim is None or len(claims) == MAX_CLAIMS:
            unread += 1
        else:
            claims.setdefault((claim.subject, content_words(claim.sentence)), claim)
    return ParsedClaims(tuple(claims.values()), unread)


def linked(claims: Iterable[Claim], graph: Graph, canonical: Mapping[str, str]) -> dict[str, tuple[Claim, ...]]:
    """Claims by the key of the entity that is their subject, which is also what they call it, as far as the graph has it from their chunk.

    canonical: key -> the key of its entity, for aliases only. What the graph may not tell of, no claim tells of: one from a chunk that the
    graph knows nothing of is left out.
    """
    found: defaultdict[str, list[Claim]] = defaultdict(list)
    for claim in claims:
        key = canonical.get(claim.subject, claim.subject)
        if key in graph.entities and claim.chunk_id in graph.entities[key].chunk_ids:
            found[key].append(replace(claim, subject=key))
    return {key: tuple(several) for key, several in found.items()}


class _Reader:
    """Checks what a model says against the chunk that it was given."""

    def __init__(self, chunk: Chunk, names: Mapping[str, str]) -> None:
        self._chunk = chunk
        self._keys = {normalise(name): key for name, key in names.items()}
        self._words = _words(chunk.text)

    def claim(self, row: Sequence[str]) -> Claim | None:
        """The claim of one line; None where the chunk does not make it."""
        subject, other, kind, status, since, until, text = row
        key, object_key, sentence = (
            self._keys.get(normalise(subject)),
            self._keys.get(normalise(other), ""),
            whole_sentences(inert(text), most=1),
        )
        known = next((one for one in get_args(Status) if one == status.upper()), None)
        span = self._span(sentence)
        source = self._chunk.text[slice(*span)]
        if key is None or known is None or not self._says(source, sentence, subject):
            return None
        held = _words(source)
        said = (_said(kind, self._words).lower(), _said(since, held), _said(until, held))
        other = "" if object_key == key else object_key
        return Claim(self._chunk.chunk_id, key, other, said[0], _status(known, source), sentence, span, *said[1:])

    def _says(self, source: str, text: str, subject: str) -> bool:
        """Whether a sentence of the chunk says a claim about its subject."""
        is_one = len(text) <= MAX_TEXT_CHARS and usable(text) and not is_refusal(text)
        name = _words(subject)  # the model may have put it in the place of "she"
        is_said = is_supported(text, [source], aside=content_words(subject)) and _in_order(text, source, aside=name)
        return is_one and is_said and bool(name & _words(text))

    def _span(self, sentence: str) -> tuple[int, int]:
        text, words = self._chunk.text, content_words(sentence)
        start, end = max(sentences(text), key=lambda span: len(words & content_words(text[slice(*span)])))
        return start, start + len(text[start:end].rstrip())


def _said(text: str, held: frozenset[str]) -> str:
    """The text, if each of its words is held; else ""."""
    is_said = len(text) <= MAX_NAME_CHARS and text.upper() != _NONE and _words(text) <= held
    return one_line(inert(text)) if is_said else ""


def _status(told: Status, source: str) -> Status:
    """What the model told of a claim, if the sentence has a word for it."""
    words = {"TRUE": None, "FALSE": DENIES, "SUSPECTED": LEAVES_OPEN}[told]
    return told if words and words.search(source) else "TRUE"


def _in_order(text: str, source: str, *, aside: frozenset[str] = frozenset()) -> bool:
    """Whether the words of a text, less those ``aside``, stand in another one in their order: the words alone do not tell who beat whom.

    >>> [_in_order(text, "After rain, Leeds beat York.") for text in ("Leeds beat York.", "York beat Leeds.")]
    [True, False]
    """
    words = iter(WORD.findall(source.casefold()))
    return all(word in words for word in WORD.findall(text.casefold()) if word not in aside)


def _words(text: str) -> frozenset[str]:
    """All of them: "May" is no word that carries meaning, but half of a date."""
    return frozenset(WORD.findall(text.casefold()))
