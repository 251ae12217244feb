"""How quick and how large the console's pages are: ``python -m benchmarks.edges.console http://127.0.0.1:8100`` (a running site or cloud).

A real browser opens each page of the navigation, five times in a new context: nothing is cached. *paint_ms* is the first contentful
paint, *bytes* all that was fetched but the graph library. Without an address a site with ``--documents`` documents is started, which it
begins to index, and the middle of their list and a search in it are opened too. It needs the extra dev and Chromium.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import orjson
import typer
from playwright.sync_api import Browser, sync_playwright

from benchmarks.errors import BenchmarkError
from benchmarks.machine import code, machine
from benchmarks.synthetic import Names
from benchmarks.synthetic import documents as texts
from benchmarks.under_load import edge_process
from edge_node.documents.store import DocumentStore
from edge_node.maintenance import open_store
from shared.ports import SystemClock

TIMES = 5
SEED = 7
NAMED = "note"
FURTHER = (f"/console/documents?after={NAMED}-5", f"/console/documents?part={NAMED}-77")  # the middle of the list, and a search
LIBRARY = "cytoscape"
PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null"
FETCHED = (
    "performance.getEntriesByType('resource').concat(performance.getEntriesByType('navigation')).map(one => [one.name, one.transferSize])"
)


def opened(browser: Browser, url: str) -> tuple[float, int]:
    """One visit of a page: milliseconds to the first paint, bytes fetched."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.goto(url, wait_until="load")
    while (paint := page.evaluate(PAINT)) is None:  # playwright's own wait is an eval, which the page's policy forbids
        page.wait_for_timeout(20)
    fetched = page.evaluate(FETCHED)
    context.close()
    return float(paint), sum(size for name, size in fetched if LIBRARY not in name)


@contextmanager
def site(documents: int) -> Iterator[str]:
    """The address of a site that has so many documents to index."""
    with tempfile.TemporaryDirectory() as folder:
        database = open_store(Path(folder) / "edge.db", SystemClock())
        store = DocumentStore(database, SystemClock())
        for name, text in texts(Names(SEED), passages=documents, each=1, prefix=NAMED):
            store.accept(name, text.encode(), reader="text")
        database.close()
        with edge_process(Path(folder)) as (http, _):
            yield str(http.base_url).rstrip("/")


def measured(url: str, executable: str, further: Sequence[str]) -> dict[str, Any]:
    """Each page of the navigation, and further ones."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page()
        page.goto(url)
        paths = page.eval_on_selector_all("nav[aria-label=Console] a", "links => links.map(link => link.getAttribute('href'))")
        told = {}
        for path in (*paths, *further):
            visits = [opened(browser, f"{url}{path}") for _ in range(TIMES)]
            paints = [paint for paint, _ in visits]
            bytes_ = max(size for _, size in visits)
            told[path] = {"paint_ms": round(float(np.median(paints))), "most_ms": round(max(paints)), "bytes": bytes_}
        browser.close()
    return told


def main(
    url: Annotated[str, typer.Argument(help="Of a running service without keys; none: a site is started.")] = "",
    documents: Annotated[int, typer.Option(min=1, help="Of the site that is started.")] = 10_000,
) -> None:
    """Open each page of a console, and print what it took as one JSON line."""
    if (executable := shutil.which("chromium")) is None:
        raise BenchmarkError("there is no Chromium", next_step="apt-get install chromium")
    with nullcontext(url.rstrip("/")) if url else site(documents) as address:
        found = measured(address, executable, () if url else FURTHER)
    typer.echo(orjson.dumps({**code(), "machine": machine(), "documents": None if url else documents, "pages": found}))


if __name__ == "__main__":
    typer.run(main)
