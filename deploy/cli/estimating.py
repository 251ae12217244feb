"""What documents would cost at an edge, asked before any is sent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import httpx

from deploy.cli.rest import body
from deploy.cli.sending import UPLOAD_TIMEOUT
from deploy.cli.sources import SourceFile, rows
from edge_node.ingest.collections import BadRow, is_collection

BATCH_CHARS = 4_000_000  # of the rows in one request; an edge takes 32 MiB
BATCH_ROWS = 1000
SUMS = ("documents", "chunks", "tokens", "model_calls", "tokens_in", "tokens_out", "seconds", "duplicates")


def estimate(http: httpx.Client, url: str, files: Sequence[SourceFile]) -> dict[str, Any]:
    """The sum of an edge's estimates for all documents of these files."""
    total: dict[str, Any] = {**dict.fromkeys(SUMS, 0), "unreadable": [], "basis": "measured here"}
    for part in _estimates(http, url, files, total["unreadable"]):
        total |= {key: round(total[key] + part[key], 1) for key in SUMS}
        total["unreadable"] += part["unreadable"]
        if part["basis"] != "measured here":
            total["basis"] = part["basis"]
    return total


def _estimates(http: httpx.Client, url: str, files: Sequence[SourceFile], bad: list[dict[str, str]]) -> Iterator[Mapping[str, Any]]:
    """An edge's estimates, part by part; rows of collections that give no document are put into ``bad``."""
    for file in files:
        if is_collection(file.name):
            for batch in _batches(file, bad):
                yield body(http.post(f"{url}/v1/estimate", json={"documents": batch}, timeout=UPLOAD_TIMEOUT))
        else:
            with file.path.open("rb") as content:
                yield body(http.post(f"{url}/v1/estimate", files={"file": (file.name, content)}, timeout=UPLOAD_TIMEOUT))


def _batches(file: SourceFile, bad: list[dict[str, str]]) -> Iterator[list[dict[str, str]]]:
    batch: list[dict[str, str]] = []
    chars = 0
    for row in rows(file, lambda more: None):  # noqa: ARG005 - no bar is shown
        if isinstance(row, BadRow):
            bad.append({"name": f"{file.name}, line {row.line}", "code": row.reason, "reason": row.message})
            continue
        if batch and (len(batch) == BATCH_ROWS or chars + len(row.text) > BATCH_CHARS):
            yield batch
            batch, chars = [], 0
        batch.append({"name": row.name, "title": row.title, "text": row.text})
        chars += len(row.text)
    if batch:
        yield batch
