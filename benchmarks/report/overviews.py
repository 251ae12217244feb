"""Sections on answers made of reports: what was read and moved, references, coverage (GraphRAG §2.6, federated); how long reports are."""

from __future__ import annotations

from benchmarks.report.tables import Cell, Column, Row, Section, Table, estimate, names

MEASURED = {
    "seconds": Column("seconds", "s"),
    "reports": Column("reports read"),
    "reports_there": Column("of so many"),
    "calls": Column("model calls"),
    "bytes_moved": Column("bytes moved"),
    "bytes_of_corpus": Column("of the corpus", "%"),
    "over_slowest": Column("time over the slowest edge’s", "×"),
    "referenced": Column("sentences with a reference", "%"),
    "opened": Column("references that open", "%"),
}
TEXT = (
    "Bytes moved: question and answer between the asking edge and the cloud, the requests to all edges and their replies. The corpus is "
    "counted in characters, so the share is rather too high. One model server stands for the edges and the cloud: on machines of their own "
    "the edges would work at the same time. A reference opens where its document and its report are at the edge that it names, and the "
    "report rests on the document."
)

OF_A_LEVEL = (
    *(Column(title) for title in ("split", "index", "edge", "level", "communities", "written by the model")),
    Column("tokens of one of these"),
    Column("tokens of a plain one"),
    Column("tokens of the level"),
    Column("of the texts", "%"),
    Column("plain: tokens of the level"),
    Column("plain: of the texts", "%"),
)


def overviews(result: Row) -> Section:
    """What global answers rest on, by system; which sites each tells of."""
    told = result.get("coverage", ())
    splits = names(told, "split")
    tables = [table for split in splits for table in (_measured(result, split), _coverage(result, split))]
    return Section("Answers about everything (GraphRAG §2.6)", TEXT if splits else "", (), tuple(tables))


def _measured(result: Row, split: str) -> Table:
    rows = [row for row in result["systems"] if row["split"] == split]
    shown = [name for name in MEASURED if any(name in row["metrics"] for row in rows)]
    cells = [(row["system"], *(estimate(row["metrics"].get(name)) for name in shown)) for row in rows]
    return Table(f"overviews-{split}", f"Split {split}", (Column("system"), *(MEASURED[name] for name in shown)), tuple(cells))


def levels(result: Row) -> Section:
    """How long the reports of each level are that the model has written, beside the plain ones and the texts."""
    cells = [cells for row in result["index"] for cells in _levels(row)]
    note = (
        "Tokens as a question's map step reads a report: its title and its findings. A community that is not divided stands on the next "
        "level too. Where the model's text was of no use, the plain report stands. TS: all passages, with what they share."
    )
    table = Table("levels", "Reports on each level", OF_A_LEVEL, tuple(cells), note)
    return Section("Reports of the model on each level (GraphRAG §3.6, Table 3)", "", (), (table,) if cells else ())


def _levels(row: Row) -> list[tuple[Cell, ...]]:
    """One edge's levels, and its texts below; nothing where the model has written no reports."""
    place = row["split"], row["layout"], row["edge"]
    found = [(*place, *_level(one, row["tokens"])) for one in row.get("reports", ())]
    return [*found, (*place, "TS", None, None, None, None, row["tokens"], 1.0, None, None)] if found else []


def _level(one: Row, text_tokens: int) -> tuple[Cell, ...]:
    units, written = one["communities"], one["by_model"]
    means = (tokens / count if count else None for tokens, count in ((one["tokens_by_model"], written), (one["tokens_plain"], units)))
    sums = (cell for tokens in (one["tokens"], one["tokens_plain"]) for cell in (tokens, tokens / text_tokens if text_tokens else None))
    return f"C{one['level']}", units, written, *means, *sums


def _coverage(result: Row, split: str) -> Table:
    rows = [row for row in result["coverage"] if row["split"] == split]
    columns = Column("system"), Column("question"), Column("coverage"), Column("references that do not open")
    cells = [(row["system"], row["question_id"], row["coverage"], "; ".join(row["faults"])) for row in rows]
    return Table(f"coverage-{split}", f"Whom each answer tells of, split {split}", columns, tuple(cells))
