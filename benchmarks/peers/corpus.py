"""The same documents and questions for every system, as JSON Lines files beside the indexes; the order is the source's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import orjson

from benchmarks.errors import BenchmarkError
from shared.ports import Tokenizer

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class CostInput:
    """Files of one size: the documents to index, one more to add; and what they amount to."""

    documents: Path
    new: Path
    count: int
    tokens: int
    new_tokens: int


def cost_input(files: Sequence[Path], *, tokens: int, new_tokens: int, tokenizer: Tokenizer, folder: Path) -> CostInput:
    """Whole documents up to about ``tokens``, and one unseen of about ``new_tokens``: the last ones, joined, the same at every size.

    Raises BenchmarkError when the files are too small.
    """
    rows = [{"id": row["doc_id"], "text": row["text"].strip()} for file in files for row in lines(file)]
    size = used = 0
    while used < len(rows) and size < tokens:
        size += tokenizer.count(rows[used]["text"])
        used += 1
    new, left = "", rows[used:]
    while left and tokenizer.count(new) < new_tokens:
        new = f"{left.pop()['text']}\n\n{new}"
    if size < tokens or tokenizer.count(new) < new_tokens:
        raise BenchmarkError(f"the files hold fewer than {tokens + new_tokens:,} tokens", next_step="name more files, or smaller sizes")
    documents, added = folder / f"documents-{tokens}.jsonl", folder / "new.jsonl"
    write(documents, rows[:used])
    write(added, [{"id": "new-document", "text": new.strip()}])
    return CostInput(documents, added, used, size, tokenizer.count(new))


def quality_input(folder: Path, *, limit: int, out: Path, among: Sequence[Path] = ()) -> tuple[Path, Path, list[Row], dict[str, str]]:
    """Files of passages and questions of a multi-hop set; those questions; those passages by id.

    ``limit``: the first so many questions (0: all), over the passages that came with them where the set says which did. ``among``:
    folders of sets whose passages are added, but for texts that are there.
    """
    passages = _passages(folder)
    asked = list(islice(lines(folder / "questions.jsonl"), limit or None))
    given = [set(question.get("candidate_doc_ids") or passages) for question in asked]
    if limit and given:
        wanted = set.union(*given)
        passages = {key: text for key, text in passages.items() if key in wanted}
    told = set(passages.values())
    for other in among:
        passages |= {key: text for key, text in _passages(other).items() if text not in told}
        told.update(passages.values())
    documents, questions = out / "passages.jsonl", out / "questions.jsonl"
    write(documents, [{"id": key, "text": text} for key, text in passages.items()])
    write(questions, asked)
    return documents, questions, asked, passages


def _passages(folder: Path) -> dict[str, str]:
    return {row["doc_id"]: f"{row['title']}\n{row['text']}".strip() for row in lines(folder / "corpus.jsonl")}


def write(file: Path, rows: Sequence[Row]) -> None:
    """One JSON object a line."""
    file.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))


def lines(file: Path) -> Iterator[Row]:
    """The objects of a JSON Lines file. Raises BenchmarkError for one that is absent or no such file."""
    try:
        with file.open("rb") as raw:
            yield from map(orjson.loads, raw)
    except (OSError, orjson.JSONDecodeError) as error:
        raise BenchmarkError(f"{file} cannot be read", next_step="see that --data names the folder of the evaluation data") from error
