"""Sections on answers made of all sites' reports: what was read and moved, references, coverage (GraphRAG §2.6, federated)."""

from __future__ import annotations

from benchmarks.report.tables import Column, Row, Section, Table, estimate, names

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


def _coverage(result: Row, split: str) -> Table:
    rows = [row for row in result["coverage"] if row["split"] == split]
    columns = Column("system"), Column("question"), Column("coverage"), Column("references that do not open")
    cells = [(row["system"], row["question_id"], row["coverage"], "; ".join(row["faults"])) for row in rows]
    return Table(f"coverage-{split}", f"Whom each answer tells of, split {split}", columns, tuple(cells))
