"""The references of a global answer, each opened at the edge that it names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import httpx2

from benchmarks.records import Cited, Overview
from benchmarks.systems import read


async def opened(overview: Overview, urls: Mapping[str, str], http: httpx2.AsyncClient) -> Overview:
    """The overview with the fault of each reference that does not open. ``urls``: of the edges, by id.

    Its document must be there, and its report too; and the report's findings must rest on each passage that the reference names, by
    the edge's own id or by the one that other sites know.
    """
    said = dict[str, tuple[Mapping[str, Any], str]]()

    async def fetched(url: str) -> tuple[Mapping[str, Any], str]:
        if url not in said:
            try:
                said[url] = read(await http.get(url))
            except httpx2.HTTPError as error:
                said[url] = {}, f"{type(error).__name__}: {error}"
        return said[url]

    async def fault(one: Cited) -> str:
        if one.edge not in urls:
            return f"there is no edge {one.edge}"
        _, error = await fetched(f"{urls[one.edge]}/v1/documents/{one.document_id}")
        if error or not one.report:
            return error
        report, error = await fetched(f"{urls[one.edge]}/v1/reports/{one.report}")
        sources = [source for finding in report.get("findings", ()) for source in finding["sources"]]
        missing = set(one.chunks).difference(source[name] for source in sources for name in ("chunk_id", "outside_id"))
        return error or (f"the report does not rest on {', '.join(sorted(missing))}" if missing else "")

    return replace(overview, cited=tuple([replace(one, fault=await fault(one)) for one in overview.cited]))
