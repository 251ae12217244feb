"""What a service without keys lets in: programs of this machine and its own pages. No proxy, no page of another site (goal S1)."""

from __future__ import annotations

from urllib.parse import SplitResult, urlsplit

from starlette.requests import Request

from shared.client.access import CALLER, HEADER
from shared.errors import Forbidden
from shared.tls import is_loopback

__all__ = ["CALLER", "HEADER", "check_local"]

WITH_CREDENTIALS = (HEADER, "authorization", "signature-input")  # one of them: no form and no plain fetch of a page sends it
FORWARDED = ("forwarded", "via", "x-real-ip", "x-client-ip", "x-cluster-client-ip", "true-client-ip", "cf-connecting-ip", "x-original-host")
FORWARDED_PREFIX = "x-forwarded-"
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
KEYS = "make keys with `dgrag edge key add` or `dgrag cloud key add`"


def check_local(request: Request) -> None:
    """Let in what a program of this machine sends. Raises Forbidden.

    Whoever a proxy or a browser serves comes from our loopback too, so what they add to a request, and what they lack, tells.
    No header proves where a caller is: behind a proxy a service needs keys.
    """
    _check_proxy(request)
    _check_page(request)


def _check_proxy(request: Request) -> None:
    headers = request.headers
    if any(name in FORWARDED or name.startswith(FORWARDED_PREFIX) for name in headers):
        raise Forbidden(
            "this service has no keys, so no proxy may pass anybody on to it", next_step=f"call it without the proxy, or {KEYS}"
        )
    if request.scope["http_version"] == "1.0":  # what nginx before 1.29.7 speaks to a service, and hardly any program on this machine
        raise Forbidden("this service has no keys, so it takes no HTTP/1.0, which proxies speak", next_step=f"use HTTP/1.1, or {KEYS}")
    if not is_loopback(_split(f"//{headers.get('host', '')}").hostname or ""):
        raise Forbidden(
            "this service has no keys, so it is called by this machine's own name only",
            next_step=f"call it by 127.0.0.1 or localhost, or {KEYS}",
        )


def _check_page(request: Request) -> None:
    headers = request.headers
    origin, site = headers.get("origin"), headers.get("sec-fetch-site", "")
    if (origin is not None and _split(origin).netloc != headers.get("host")) or site in ("cross-site", "same-site"):
        raise Forbidden(
            "this service has no keys, so no web page of another origin may call it",
            next_step=f"call it from a program, or from a page that it serves itself, as /docs, or {KEYS}",
        )
    if request.method in SAFE or site in ("same-origin", "none") or any(name in headers for name in WITH_CREDENTIALS):
        return
    raise Forbidden(
        f"this service has no keys, so {request.method} needs the header {HEADER}, which a web page of another site cannot send",
        next_step=f"add the header, as in `curl -H '{HEADER}: 1'` (any Authorization header will do as well), or {KEYS}",
    )


def _split(url: str) -> SplitResult:
    """The parts of an address; of one that is none ("http://["), no parts."""
    try:
        return urlsplit(url)
    except ValueError:
        return urlsplit("")
