"""spaCy's parse of passages, and what is found in it; it runs in the process ``edge_node.extraction`` (design §5, extraction `nlp`)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from edge_node.extraction.cells import Cell, Found, with_cells
from edge_node.extraction.facts import Fact, find_facts
from edge_node.extraction.syntax import NameCandidate, Triple, find_candidates, find_triples
from shared.records import Chunk

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token

MAX_DESCRIPTION_CHARS = 200

_COLUMN = re.compile(r"(?:^|(?<=[;.] ))[^:;.]{1,40}(?=: )")


@dataclass(frozen=True, slots=True)
class Passage:
    """A paragraph, list item, heading or table row of a chunk. ``cells``: of rows."""

    chunk: Chunk
    text: str
    is_heading: bool
    cells: tuple[Cell, ...] = ()


@dataclass(frozen=True, slots=True)
class Reading:
    """One parsed passage of a chunk."""

    candidates: dict[int, NameCandidate]
    triples: list[Triple]
    sentences: dict[int, str]  # per head token of a candidate
    facts: list[Fact]

    def in_cells(self, passage: Passage, places: Mapping[int, int]) -> Reading:
        """The reading of rows with their cells as entities, see ``with_cells``; of another passage itself."""
        if not passage.cells:
            return self
        found = with_cells(passage.text, passage.cells, Found(self.candidates, self.triples, self.sentences), places)
        return Reading(found.candidates, found.triples, found.sentences, self.facts)


class Parser:
    """A loaded spaCy model. Raises OSError where it is not there."""

    def __init__(self, model_name: str) -> None:
        import spacy  # here: 35 MB that only the process which parses should take
        from thinc.api import NumpyOps, set_current_ops

        set_current_ops(NumpyOps(use_blis=False))  # numpy's own matrix products: a third less than those that spaCy brings along
        self._nlp: Any = spacy.load(model_name)
        self._lemmatizer: Any = self._nlp.get_pipe("lemmatizer")

    def read(self, passages: Sequence[Passage], *, with_facts: bool) -> list[Reading]:
        """One reading for each passage, in their order."""
        # only verbs need a lemma, so the lemmatizer runs on them alone: a fifth of the time saved
        docs = self._nlp.pipe([passage.text for passage in passages], batch_size=len(passages), disable=["lemmatizer"])
        return [self._reading(doc, passage, with_facts=with_facts) for doc, passage in zip(docs, passages, strict=True)]

    def phrases(self, question: str) -> list[str]:
        """The names and noun phrases of a question, in its order."""
        doc = self._nlp(question, disable=["lemmatizer"])
        return list(dict.fromkeys(candidate.name for _, candidate in sorted(find_candidates(doc, heading=False).items())))

    def _reading(self, doc: Doc, passage: Passage, *, with_facts: bool) -> Reading:
        columns = column_names(doc.text)
        found = find_candidates(doc, heading=passage.is_heading)
        candidates = {root: candidate for root, candidate in found.items() if not any(doc[root].idx in column for column in columns)}
        triples = [] if passage.is_heading else find_triples(doc, candidates, self._lemma)
        facts = find_facts(doc, passage.chunk, candidates, self._lemma) if with_facts and not passage.is_heading else []
        return Reading(candidates, triples, _sentences(doc, candidates), facts).in_cells(
            passage, {root: doc[root].idx for root in candidates}
        )

    def _lemma(self, token: Token) -> str:
        return str(self._lemmatizer.lemmatize(token)[0]).lower()


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
