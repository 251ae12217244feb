"""UltraDomain files (Qian et al. 2024) as published: one row a question, the whole book repeated in each, a file a domain.

Lines have megabytes and files hundreds of them: both passes hold one line at a time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, Self

from benchmarks.datasets.corpus import DatasetError, lines_of, matching, parsed, text_of, texts_of
from benchmarks.records import Question, SourceDocument


@dataclass(frozen=True, slots=True)
class UltraDomain:
    """Implements Corpus. A document is a context; its domain is the file's name without the suffix."""

    files: tuple[Path, ...]
    found: tuple[SourceDocument, ...]
    asked: tuple[Question, ...]
    malformed: tuple[str, ...]

    @classmethod
    def read(cls, root: Path, patterns: Sequence[str]) -> Self:
        """Scan the files below ``root`` once. Raises DatasetError for no file, two of one name, or no row that can be used."""
        files = matching(root, patterns)
        if twice := [stem for stem, count in Counter(file.stem for file in files).items() if count > 1]:
            raise DatasetError(
                f"two files are called {twice[0]!r}, and a file's name is its domain", next_step="name one of them in `files`"
            )
        scan = _Scan()
        for file in files:
            for place, line in lines_of(file):
                scan.take(file.stem, place, line)
        if not scan.asked:
            why = next(iter(scan.malformed), "there is none")
            raise DatasetError(f"no row can be used of {', '.join(file.name for file in files)}; {why}", next_step="give UltraDomain files")
        return cls(files, tuple(scan.found.values()), tuple(scan.asked.values()), tuple(scan.malformed))

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
        for file in self.files:
            for place, line in lines_of(file):
                if not wanted:
                    return
                if place not in bad and (document_id := _context_id(parsed(line))) in wanted:
                    wanted.remove(document_id)
                    yield document_id, line


class _Scan:
    """What is known after the rows so far."""

    def __init__(self) -> None:
        self.found: dict[tuple[str, str], SourceDocument] = {}  # by domain and context
        self.asked: dict[str, Question] = {}
        self.malformed: list[str] = []
        self._digests: dict[str, bytes] = {}

    def take(self, domain: str, place: str, line: bytes) -> None:
        try:
            self._row(domain, parsed(line))
        except DatasetError as error:
            self.malformed.append(f"{place}: {error}")

    def _row(self, domain: str, row: dict[str, Any]) -> None:
        context, context_id, question_id = text_of(row, "context"), _context_id(row), text_of(row, "_id")
        question = Question(question_id, text_of(row, "input"), domain, texts_of(row, "answers"), gold=(context_id,))
        digest = blake2b(context.encode("utf-8", errors="surrogatepass"), digest_size=16).digest()
        if self._digests.setdefault(context_id, digest) != digest:
            raise DatasetError(f"`context_id` {context_id!r} already stands for another text")
        if question_id in self.asked:
            raise DatasetError(f"`_id` {question_id!r} comes again")
        meta = row.get("meta")
        title = meta.get("title") if isinstance(meta, dict) else None
        document = SourceDocument(context_id, domain, title if isinstance(title, str) else "", len(context))
        self.asked[question_id] = question
        self.found.setdefault((domain, context_id), document)


def _context_id(row: dict[str, Any]) -> str:
    """As the edges name the document: on one line, with single blanks."""
    return " ".join(text_of(row, "context_id").split())
