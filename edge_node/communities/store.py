"""Upper communities and the reports that a model has written, on disk. A report goes in the transaction that deletes a chunk of its."""

from __future__ import annotations

import json
import logging
import sqlite3
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass

from edge_node.communities.elements import Finding
from edge_node.communities.hierarchy import Uppers
from edge_node.communities.reports import Report
from edge_node.database.schema import Database
from edge_node.graph.mentions import KEYS
from shared.records import ChunkId
from shared.sqlite import crc

log = logging.getLogger("dgrag.edge.store")


@dataclass(frozen=True, slots=True)
class StoredReport:
    """A report, and the community that it was written about. ``report.by_model`` False: the model was asked, and its text was of no use."""

    report: Report
    facts: tuple[int, ...]  # a number for each entity and each relation
    made_of: frozenset[ChunkId]  # all chunks that tell of them


class ReportStore:
    """Tables report_uppers, reports and report_chunks."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def uppers(self) -> Uppers:
        """The labels of each part, by its id. Damaged rows are left out."""
        rows = [
            row
            for row in self._database.rows("SELECT * FROM report_uppers")
            if crc(row["subgraph_id"], row["root"], row["middle"]) == row["crc"]
        ]
        return Uppers({row["subgraph_id"]: row["root"] for row in rows}, {row["subgraph_id"]: row["middle"] for row in rows})

    def save_uppers(self, uppers: Uppers) -> None:
        """Put labels in the place of all that there were."""
        rows = [(part, root, uppers.middle[part]) for part, root in uppers.root.items()]
        with self._database.write() as tx:
            tx.execute("DELETE FROM report_uppers")
            tx.executemany("INSERT INTO report_uppers VALUES (?, ?, ?, ?)", [(*row, crc(*row)) for row in rows])

    def texts(self) -> dict[str, StoredReport]:
        """All reports, by community id. Damaged ones are left out."""
        made_of: defaultdict[str, set[ChunkId]] = defaultdict(set)
        found = {}
        for row in self._database.rows("SELECT community_id, chunk_id FROM report_chunks"):
            made_of[row["community_id"]].add(row["chunk_id"])
        for row in self._database.rows("SELECT * FROM reports"):
            *fields, checksum = row
            sources = frozenset(made_of[row["community_id"]])
            if crc(*fields) == checksum and len(sources) == row["sources"]:
                found[row["community_id"]] = StoredReport(_report(row), tuple(json.loads(row["facts"])), sources)
            else:
                log.error("a damaged report is left out")
        return found

    def commit(self, stored: StoredReport) -> bool:
        """Keep a report in the place of a former one about its community; False if one of its chunks is gone."""
        community_id, chunk_ids = stored.report.community_id, sorted(stored.made_of)
        with self._database.write() as tx:
            there = tx.execute(f"SELECT count(*) FROM chunks WHERE chunk_id IN {KEYS}", (json.dumps(chunk_ids),)).fetchone()[0]
            if there < len(chunk_ids):
                return False
            tx.execute("DELETE FROM reports WHERE community_id = ?", (community_id,))
            tx.execute("INSERT INTO reports VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", _values(stored))
            tx.executemany("INSERT INTO report_chunks VALUES (?, ?)", [(community_id, chunk_id) for chunk_id in chunk_ids])
        return True

    def clear(self) -> None:
        """Delete all reports, which say words of passages. The labels stay, so that communities stay the same ones."""
        if self._database.row("SELECT 1 FROM reports LIMIT 1") is not None:
            with self._database.write() as tx:
                tx.execute("DELETE FROM reports")

    def drop(self, community_ids: Collection[str]) -> None:
        """Delete the reports of some communities."""
        with self._database.write() as tx:
            tx.execute(f"DELETE FROM reports WHERE community_id IN {KEYS}", (json.dumps(list(community_ids)),))


def _values(stored: StoredReport) -> tuple[str | int, ...]:
    one = stored.report
    findings = json.dumps([(finding.text, finding.chunk_ids, finding.elements) for finding in one.findings])
    fields = (
        one.community_id, one.level, one.content, json.dumps(stored.facts), one.title, one.summary, one.rating, one.reason, findings,
        int(one.by_model), len(stored.made_of),
    )  # fmt: skip
    return (*fields, crc(*fields))


def _report(row: sqlite3.Row) -> Report:
    findings = tuple(Finding(text, tuple(chunk_ids), tuple(elements)) for text, chunk_ids, elements in json.loads(row["findings"]))
    told = (row["title"], row["summary"], row["rating"], row["reason"])
    return Report(row["community_id"], row["level"], *told, findings, bool(row["by_model"]), row["content"])
