"""A file from a model hub, resumed where a broken download stopped."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path

import httpx

TIMEOUT = httpx.Timeout(30.0, connect=3.0)  # a site without a way out should learn it in seconds
ATTEMPTS = 3


def client() -> httpx.Client:
    """A client that checks certificates (certifi's authorities, or those of SSL_CERT_FILE) over TLS 1.2 or newer."""
    return httpx.Client()


def download(http: httpx.Client, url: str, part: Path, *, size: int, report: Callable[[int], None]) -> bool:
    """Bring ``part`` to ``size`` bytes; ``report`` gets the bytes so far. False when the hub cannot give the file now.

    What has arrived stays in ``part`` for the next try. Raises OSError when the disk refuses.
    """
    for _ in range(ATTEMPTS):
        have = part.stat().st_size if part.exists() else 0
        if have == size:
            return True
        try:
            if not _continue(http, url, part, have=have if have < size else 0, size=size, report=report):
                return False
        except httpx.TransportError:
            if not part.exists() or part.stat().st_size <= have:
                return False  # nothing moved: no way out, or a dead line
    return part.exists() and part.stat().st_size == size


def _continue(http: httpx.Client, url: str, part: Path, *, have: int, size: int, report: Callable[[int], None]) -> bool:
    """One request for the bytes from ``have`` on. False when the hub does not give them."""
    headers = {"Range": f"bytes={have}-", "Accept-Encoding": "identity"}
    with http.stream("GET", url, headers=headers, follow_redirects=True, timeout=TIMEOUT) as response:
        if response.status_code not in (HTTPStatus.OK, HTTPStatus.PARTIAL_CONTENT):
            return False
        done = have if response.status_code == HTTPStatus.PARTIAL_CONTENT else 0  # 200: the hub starts over
        if int(response.headers.get("Content-Length", size - done)) != size - done:
            return False  # another file than ours: a new version, or a captive portal's page
        with part.open("ab" if done else "wb") as out:
            for block in response.iter_bytes():
                done += len(block)
                if done > size:
                    return False
                out.write(block)
                report(done)
    return True
