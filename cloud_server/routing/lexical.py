"""The words of the summaries, searchable: names that a question and a summary share mean little to an embedder."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from hashlib import blake2b
from threading import Lock
from typing import cast
from unicodedata import normalize

from tantivy import DocAddress, Document, Filter, Index, Occur, Query, SchemaBuilder, Searcher, TextAnalyzer, TextAnalyzerBuilder, Tokenizer

from shared.records import EdgeId
from shared.text.marks import mark_of, unpacked
from shared.text.sentences import WORD, content_words, names_in, spaced

MOST_WORDS, MOST_NAMES = 64, 16  # of a text that is looked up
LOOKED_AT, OF_ONE_EDGE = 1000, 50  # summaries: many of one edge push none of the others' out of sight (goal S10)
LONGEST_WORD = 60  # bytes
WRITER_BYTES, WRITERS = 50_000_000, 2  # that new texts may take before they become a segment; threads


def _analyser() -> TextAnalyzer:
    """Words without case, accents and English endings."""
    words = TextAnalyzerBuilder(Tokenizer.simple()).filter(Filter.remove_long(LONGEST_WORD)).filter(Filter.lowercase())
    return words.filter(Filter.ascii_fold()).filter(Filter.stemmer("english")).build()


class LexicalIndex:
    """BM25 over summary texts: a tantivy index in memory, filled from the store at each start, so that no file keeps a second copy.

    >>> index = LexicalIndex()
    >>> index.put(["bank/s1", "ward/s1"], ["Loans and gold", "Infusion pumps of Juniper Ward"])
    >>> [key for key, _ in index.top("Who repairs the pump of Juniper Ward?")]
    ['ward/s1']
    >>> index.put(["yiyuan/s1"], ["雪松病房的输液泵"])
    >>> [key for key, _ in index.top("谁更换了输液泵？")]
    ['yiyuan/s1']
    """

    def __init__(self) -> None:
        self._analyser = _analyser()
        schema = SchemaBuilder().add_text_field("text", tokenizer_name="words")
        schema.add_text_field("key", tokenizer_name="raw", index_option="basic")
        schema.add_integer_field("number", fast=True)  # of the key: a thousand of these are read at once, where stored keys take 8 ms
        schema.add_text_field("edge", tokenizer_name="raw", index_option="basic")
        schema.add_unsigned_field("titles", indexed=True)
        self._schema = schema.build()
        self._index = Index(self._schema)
        self._index.config_reader("manual")  # a reload of its own would make ours wait a tenth of a second for its lock
        self._index.register_tokenizer("words", self._analyser)
        self._writer = self._index.writer(WRITER_BYTES, WRITERS)
        self._lock = Lock()  # of the writer; readers need none
        self._keys: dict[int, str] = {}  # by number; what is dropped leaves it before its text goes

    def put(self, keys: Sequence[str], texts: Sequence[str]) -> None:
        """Insert or replace; keys are those of ``matching.index_key``."""
        self.renew([(keys, dict(zip(keys, ((text, b"") for text in texts), strict=True)))])

    def renew(self, batches: Iterable[tuple[Sequence[str], Mapping[str, tuple[str, bytes]]]]) -> None:
        """Drop keys, and put text and marks behind keys that are new or dropped, batch by batch; all is found, or not, from the end on."""
        with self._lock:
            is_changed = False
            for dropped, told in batches:
                is_changed |= self._delete(dropped)
                self._add(told)
                is_changed |= bool(told)
            if is_changed:
                self._commit()

    def drop(self, keys: Iterable[str]) -> None:
        """Remove; unknown keys are ignored."""
        with self._lock:
            if self._delete(keys):
                self._commit()

    def _add(self, told: Mapping[str, tuple[str, bytes]]) -> None:
        for key, (text, titles) in told.items():
            number = _number_of(key)
            self._keys[number] = key
            document = Document(text=spaced(normalize("NFKC", text)), key=key, number=number, edge=_edge_of(key))
            for mark in unpacked(titles):
                document.add_unsigned("titles", mark)
            self._writer.add_document(document)

    def _delete(self, keys: Iterable[str]) -> bool:
        given = tuple(keys)
        for key in given:
            self._keys.pop(_number_of(key), None)
            self._writer.delete_documents_by_term("key", key)
        return bool(given)

    def _commit(self) -> None:
        self._writer.commit()
        self._index.reload()

    def top(self, text: str, barred: Collection[EdgeId] = ()) -> list[tuple[str, float]]:
        """The LOOKED_AT best (key, BM25) that share a word with ``text``, best first; of an edge OF_ONE_EDGE."""
        words = sorted(content_words(text), key=len, reverse=True)[:MOST_WORDS]
        terms = dict.fromkeys(self._terms(" ".join(words)))
        return self._search(Query.boolean_query([(Occur.Should, self._term(term)) for term in terms]), barred) if terms else []

    def top_named(self, text: str, barred: Collection[EdgeId] = ()) -> list[list[tuple[str, float]]]:
        """For each name in ``text`` as ``top``, of the summaries that hold it word by word."""
        return [self._search(self._phrase(name), barred) for name in names_in(text)[:MOST_NAMES]]

    def titled(self, name: str, barred: Collection[EdgeId] = ()) -> frozenset[EdgeId]:
        """The edges that have the mark of a document of this title."""
        return frozenset(_edge_of(key) for key, _ in self._search(Query.term_query(self._schema, "titles", mark_of(name)), barred))

    def _terms(self, text: str) -> list[str]:
        return self._analyser.analyze(spaced(normalize("NFKC", text)))

    def _term(self, term: str) -> Query:
        return Query.term_query(self._schema, "text", term)

    def _phrase(self, name: str) -> Query:
        terms = self._terms(" ".join(WORD.findall(name)))
        if len(terms) > 1:
            return Query.phrase_query(self._schema, "text", list(terms))
        return self._term(terms[0]) if terms else Query.empty_query()

    def _search(self, wanted: Query, barred: Collection[EdgeId]) -> list[tuple[str, float]]:
        """Edges with more than OF_ONE_EDGE among the best are left out of another look, until no edge has more."""
        searcher, full, shut_out = self._index.searcher(), list[tuple[str, float]](), set(barred)
        while True:
            others = [(Occur.MustNot, Query.term_query(self._schema, "edge", edge)) for edge in sorted(shut_out)]
            query = Query.boolean_query([(Occur.Must, wanted), *others])
            hits = searcher.search(query, LOOKED_AT, count=False).hits
            found = self._by_edge(searcher, hits)
            crowded = {edge for edge, own in found.items() if len(own) > OF_ONE_EDGE}
            full += [hit for edge in crowded for hit in found[edge][:OF_ONE_EDGE]]
            if not crowded or len(hits) < LOOKED_AT or len(full) >= LOOKED_AT:
                rest = [hit for edge, own in found.items() if edge not in crowded for hit in own]
                return sorted(full + rest, key=lambda hit: (-hit[1], hit[0]))[:LOOKED_AT]
            shut_out |= crowded

    def _by_edge(self, searcher: Searcher, hits: Sequence[tuple[float, DocAddress]]) -> dict[EdgeId, list[tuple[str, float]]]:
        """(key, BM25) of each edge's hits, best first."""
        found = defaultdict[EdgeId, list[tuple[str, float]]](list)
        numbers = cast("list[int]", searcher.fast_field_values("number", [place for _, place in hits]))
        for key, (score, _) in zip(map(self._keys.get, numbers), hits, strict=True):
            if key is not None:
                found[_edge_of(key)].append((key, score))
        return found


def _number_of(key: str) -> int:
    """64 bits of a hash: of a million keys two have the same with a probability of 3 in 10⁸."""
    return int.from_bytes(blake2b(key.encode(), digest_size=8).digest(), signed=True)


def _edge_of(key: str) -> EdgeId:
    return EdgeId(key.partition("/")[0])
