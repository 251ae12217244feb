"""Where a server's routes are, by the address that is set for it, and how its key is sent. Pure."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

ROUTE, MODELS, EMBEDDINGS, VERSION = "/chat/completions", "/models", "/embeddings", "/v1"
KEY_HEADER, KEYED_BY = "api-key", "api-version"  # Azure's header, and the query of its addresses


def addresses_of(url: str) -> list[str]:
    """Where the route may be: as the address is given, and with or without the version at its end.

    >>> addresses_of("http://box:11434/")
    ['http://box:11434', 'http://box:11434/v1']
    >>> addresses_of("http://box/v1/chat/completions?key=7")
    ['http://box/v1?key=7', 'http://box?key=7']
    """
    path, query = _parts(url)
    given = path.removesuffix(ROUTE)
    other = given.removesuffix(VERSION) if given.endswith(VERSION) else given + VERSION
    return [given + query, other + query]


def route_of(address: str, route: str) -> str:
    """A route below an address, before the query that the address has.

    >>> route_of("https://x.example/deployments/d?api-version=2024-10-21", "/models")
    'https://x.example/deployments/d/models?api-version=2024-10-21'
    """
    path, query = _parts(address)
    return path.removesuffix(route) + route + query


def key_headers(address: str, key: str | None) -> dict[str, str]:
    """The headers with a server's key; a second one where the address is of Azure's kind.

    >>> sorted(key_headers("https://x.example/d?api-version=2024-10-21", "k"))
    ['Authorization', 'api-key']
    """
    if not key:
        return {}
    headers = {"Authorization": f"Bearer {key}"}
    return headers | {KEY_HEADER: key} if is_deployment(address) else headers


def is_deployment(address: str) -> bool:
    """Whether an address is of Azure's kind: of one model, with the version in its query."""
    return KEYED_BY in parse_qs(urlsplit(address).query)


def _parts(address: str) -> tuple[str, str]:
    """An address without slashes at its ends, and its query with the mark before it."""
    path, mark, query = address.rstrip("/").partition("?")
    return path.rstrip("/"), mark + query
