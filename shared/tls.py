"""TLS as all of ours speak it: version 1.2 or newer, certificates checked, never an exception (goal S15)."""

from __future__ import annotations

import ssl
from pathlib import Path
from urllib.parse import urlsplit

from shared.errors import SettingsError
from shared.loopback import is_loopback


def client_context(ca: Path | None = None) -> ssl.SSLContext:
    """What a client trusts: the authorities in ``ca`` (PEM) and no other, or the system's. Raises SettingsError."""
    try:
        context = ssl.create_default_context(cafile=ca)
    except (OSError, ssl.SSLError) as error:
        raise SettingsError(
            f"{ca} holds no certificates that can be used ({error})", next_step="name a file of PEM certificates"
        ) from error
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


def server_context(cert: Path, key: Path) -> ssl.SSLContext:
    """What a service shows. Raises SettingsError."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(cert, key)
    except (OSError, ssl.SSLError) as error:
        raise SettingsError(f"{cert} and {key} cannot be used for TLS ({error})", next_step="name a PEM certificate and its key") from error
    return context


def check_plain_http(url: str, *, allowed: bool, setting: str) -> None:
    """Raises SettingsError for http:// to another machine, unless the ``setting`` that allows it is on.

    >>> check_plain_http("http://127.0.0.1:8099", allowed=False, setting="X")
    """
    parts = urlsplit(url)
    if parts.scheme != "https" and not is_loopback(parts.hostname or "") and not allowed:
        raise SettingsError(
            f"{url} would carry everything in clear to another machine", next_step=f"use https://, or set {setting}=true inside a VPN"
        )
