"""How quick and how large the console's pages are: ``python -m benchmarks.console http://127.0.0.1:8100`` (a running site or cloud).

A real browser opens each page of the navigation, five times in a new context: nothing is cached. *paint_ms* is the first contentful
paint, *bytes* all that was fetched but the graph library. It needs the extra dev and Chromium.
"""

from __future__ import annotations

import shutil
from typing import Annotated, Any

import numpy as np
import orjson
import typer
from playwright.sync_api import Browser, sync_playwright

from benchmarks.errors import BenchmarkError
from benchmarks.machine import code, machine

TIMES = 5
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


def measured(url: str, executable: str) -> dict[str, Any]:
    """Each page of the navigation."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page()
        page.goto(url)
        paths = page.eval_on_selector_all("nav[aria-label=Console] a", "links => links.map(link => link.getAttribute('href'))")
        told = {}
        for path in paths:
            visits = [opened(browser, f"{url}{path}") for _ in range(TIMES)]
            paints = [paint for paint, _ in visits]
            bytes_ = max(size for _, size in visits)
            told[path] = {"paint_ms": round(float(np.median(paints))), "most_ms": round(max(paints)), "bytes": bytes_}
        browser.close()
    return told


def main(url: Annotated[str, typer.Argument(help="Of a running service without keys.")]) -> None:
    """Open each page of a console, and print what it took as one JSON line."""
    if (executable := shutil.which("chromium")) is None:
        raise BenchmarkError("there is no Chromium", next_step="apt-get install chromium")
    typer.echo(orjson.dumps({**code(), "machine": machine(), "pages": measured(url.rstrip("/"), executable)}))


if __name__ == "__main__":
    typer.run(main)
