"""Multi-hop sets: a folder with ``corpus.jsonl`` (short documents, dealt to clients) and ``questions.jsonl`` (with gold documents)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from benchmarks.datasets.corpus import DatasetError, lines_of, matching, parsed, text_of, texts_of
from benchmarks.records import Question, SourceDocument

CORPUS, QUESTIONS = "corpus.jsonl", "questions.jsonl"


@dataclass(frozen=True, slots=True)
class Passages:
    """Implements Corpus. A document's domain is its client, ``client-N``; a question's is the client that asks it."""

    folders: tuple[Path, ...]
    found: tuple[SourceDocument, ...]
    asked: tuple[Question, ...]
    malformed: tuple[str, ...]

    @classmethod
    def read(cls, folder: Path, client: str, among: Sequence[Path] = ()) -> Self:
        """Scan a set; ``client`` is the corpus's field that deals documents to clients, such as ``client_iid``; "": there is one client.

        A question is asked at its home (the field ``home_<client>``), without one at the client of its first gold document; where no
        document is known, the clients take turns. ``among``: sets whose documents lie among this one's, but for those of the same text.
        Raises DatasetError for a missing file or field, or no row that can be used.
        """
        matching(folder, [CORPUS, QUESTIONS])
        malformed: list[str] = []
        documents: dict[str, SourceDocument] = {}
        texts = set[str]()
        for place, line in _lines((folder, *among)):
            try:
                row = parsed(line)
                document, text = _document(row, client), " ".join(row["text"].split()).casefold()
                if document.document_id in documents:
                    raise DatasetError(f"`doc_id` {document.document_id!r} comes again")
                if not among or text not in texts:
                    documents[document.document_id] = document
                texts.add(text)
            except DatasetError as error:
                malformed.append(f"{place}: {error}")
        if not documents:
            raise DatasetError(f"{folder / CORPUS}: no row can be used; {next(iter(malformed), 'it is empty')}")
        clients = sorted({document.domain for document in documents.values()})
        questions: dict[str, Question] = {}
        for place, line in lines_of(folder / QUESTIONS):
            try:
                question = _question(parsed(line), client, documents, turn=clients[len(questions) % len(clients)])
                if question.question_id in questions:
                    raise DatasetError(f"`id` {question.question_id!r} comes again")
                questions[question.question_id] = question
            except DatasetError as error:
                malformed.append(f"{place}: {error}")
        return cls((folder, *among), tuple(documents.values()), tuple(questions.values()), tuple(malformed))

    def documents(self) -> tuple[SourceDocument, ...]:
        """Implements Corpus."""
        return self.found

    def questions(self) -> tuple[Question, ...]:
        """Implements Corpus."""
        return self.asked

    def skipped(self) -> tuple[str, ...]:
        """Implements Corpus."""
        return self.malformed

    def rows(self, ids: Collection[str]) -> Iterator[tuple[str, bytes]]:
        """Implements Corpus."""
        wanted, bad = set(ids), {reason.split(": ")[0] for reason in self.malformed}
        for place, line in _lines(self.folders):
            if place not in bad and (document_id := text_of(parsed(line), "doc_id")) in wanted:
                yield document_id, line


def _lines(folders: Sequence[Path]) -> Iterator[tuple[str, bytes]]:
    for folder in folders:
        for place, line in lines_of(folder / CORPUS):
            yield (f"{folder.name}/{place}" if folder != folders[0] else place), line


def _document(row: dict[str, Any], client: str) -> SourceDocument:
    title = row.get("title")
    text = text_of(row, "text")
    return SourceDocument(text_of(row, "doc_id"), _client(row, client), title if isinstance(title, str) else "", len(text))


def _client(row: dict[str, Any], field: str) -> str:
    if not field:
        return "client-0"
    if not isinstance(number := row.get(field), int) or isinstance(number, bool):
        known = ", ".join(sorted(name for name in row if name.startswith("client"))) or "none"
        raise DatasetError(f"`{field}` is missing or no whole number; fields of this row that name a client: {known}")
    return f"client-{number}"


def _question(row: dict[str, Any], client: str, documents: Mapping[str, SourceDocument], *, turn: str) -> Question:
    gold = texts_of(row, "gold_doc_ids")
    if unknown := [document_id for document_id in gold if document_id not in documents]:
        raise DatasetError(f"the gold document {unknown[0]!r} is not in {CORPUS}")
    home = f"home_{client}"
    asked_at = _client(row, home) if client and row.get(home) is not None else documents[gold[0]].domain if gold else turn
    kind = row.get("type")
    return Question(
        question_id=text_of(row, "id"),
        text=text_of(row, "question"),
        domain=asked_at,
        references=texts_of(row, "answers"),
        gold=gold,
        kind=kind if isinstance(kind, str) else "",
    )
