"""How a client of our services comes in: its API key, and what it says of itself."""

from __future__ import annotations

import os
from collections.abc import Generator

import httpx2

from shared.errors import SettingsError
from shared.tls import is_loopback

HEADER = "X-DGRAG"  # a caller of ours shows it, with any value: a page of another site cannot, without asking a service first
CALLER = {HEADER: "1"}  # what our own clients send
KEY_VARIABLE = "DGRAG_API_KEY"


class Bearer(httpx2.Auth):
    """Shows the API key, to other machines over TLS only."""

    def __init__(self, key: str) -> None:
        self._key = key

    def auth_flow(self, request: httpx2.Request) -> Generator[httpx2.Request, httpx2.Response, None]:
        """Add the key. Raises SettingsError where it would travel in clear."""
        if request.url.scheme != "https" and not is_loopback(request.url.host):
            raise SettingsError(f"the API key would travel to {request.url.host} in clear", next_step="use the service's https:// URL")
        request.headers["Authorization"] = f"Bearer {self._key}"
        yield request


def entrance(key: str | None) -> httpx2.Auth | None:
    """What shows the key, or the one of the environment where none is given; None where there is none, or it is ""."""
    chosen = os.environ.get(KEY_VARIABLE, "") if key is None else key
    return Bearer(chosen) if chosen else None
