"""Debian's Chromium at a page of ours, and all that it complains of: errors, refused scripts, requests to elsewhere."""

import contextlib
import os
import shutil
from dataclasses import dataclass, field
from typing import Any

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.async_api import async_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")
QUIET = ("--disable-gpu", "--in-process-gpu", "--disable-quic")  # beside what Playwright gives
SIZES = {"wide": {"width": 1280, "height": 900}, "narrow": {"width": 360, "height": 740}}
SERIOUS = ("serious", "critical")


def chromium():
    """Where the browser is. Skips where there is none; with DGRAG_REQUIRE_BROWSER=1, as CI sets it, fails."""
    if found := next(filter(None, map(shutil.which, NAMES)), None):
        return found
    why = "no Chromium is installed: apt-get install chromium"
    if os.environ.get("DGRAG_REQUIRE_BROWSER") == "1":
        pytest.fail(f"{why} (DGRAG_REQUIRE_BROWSER=1)", pytrace=False)
    return pytest.skip(why)


@dataclass
class Visitor:
    """A browser's page, and what went wrong there."""

    page: Any
    complaints: list[str] = field(default_factory=list)

    async def serious(self):
        """What a reader with a screen reader or without a mouse would stumble over, by axe-core."""
        if not await self.page.evaluate("'axe' in window"):
            await self.page.evaluate(AXE_SCRIPT)
        found = await self.page.evaluate("axe.run({ resultTypes: ['violations'] }).then((found) => found.violations)")
        return [f"{one['id']}: {[node['target'] for node in one['nodes']]}" for one in found if one["impact"] in SERIOUS]


@contextlib.asynccontextmanager
async def visitor(url, *, size="wide", expected=()):
    """A new browser that may speak to ``url`` alone. ``expected``: parts of messages that are no complaint: of refusals that are meant."""
    options = [*QUIET, *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium(), args=options)
        page = await browser.new_page(viewport=SIZES[size], base_url=url)
        found = Visitor(page)

        def complain(text):
            if not any(part in text for part in expected):
                found.complaints.append(text)

        page.on("console", lambda message: complain(message.text) if message.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: complain(str(error)))
        page.on("request", lambda request: None if request.url.startswith((url, "data:")) else complain(f"asked for {request.url}"))
        try:
            yield found
        finally:
            await browser.close()
