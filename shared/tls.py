"""TLS as all of ours speak it: version 1.2 or newer, certificates checked (goal S15); plain HTTP on this machine only."""

from __future__ import annotations

import ssl
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

import httpx2

from shared.errors import SettingsError

UNFIT = frozenset({9, 10, 62, 64})  # OpenSSL's codes: not valid yet, expired, for another name, for another address


def is_loopback(host: str) -> bool:
    """Whether ``host`` can only be reached from this machine; any name but ``localhost`` may resolve elsewhere.

    >>> is_loopback("127.0.0.1"), is_loopback("[::1]"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, True, False)
    """
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


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


def server_context(cert: Path, key: Path, *, settings: str = "tls_cert and tls_key") -> ssl.SSLContext:
    """What a service shows; ``settings`` name the two files. Raises SettingsError."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(cert, key)
    except (OSError, ssl.SSLError) as error:
        raise SettingsError(
            f"{cert} and {key} cannot be used for TLS ({error})", next_step=f"name a PEM certificate and its key in {settings}"
        ) from error
    return context


def trouble(error: BaseException, url: str) -> str:
    """What is wrong with TLS where a call of ``url`` failed by ``error``, and what to do; "" where TLS is not the matter.

    >>> trouble(ConnectionRefusedError(), "http://127.0.0.1:9"), trouble(ssl.SSLError(1, "unknown"), "https://127.0.0.1:9")
    ('', 'TLS failed (unknown): is it https:// that is spoken there?')
    """
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            step = "it needs a new one" if cause.verify_code in UNFIT else "give --ca FILE or DGRAG_EDGE_CLOUD_CA"
            return f"its certificate is not trusted ({cause.verify_message.rstrip('.')}): {step}"
        if isinstance(cause, ssl.SSLError):
            return f"TLS failed ({cause}): is it https:// that is spoken there?"
        cause = cause.__cause__ or cause.__context__
    cut = isinstance(error, httpx2.RemoteProtocolError | httpx2.ReadError)  # how a service that waits for TLS takes anything else
    return "it ended the connection: where it speaks HTTPS, use https://" if cut and not url.startswith("https:") else ""


def check_plain_http(url: str, *, allowed: bool, setting: str) -> None:
    """Raises SettingsError for http:// to another machine, unless the ``setting`` that allows it is on, and for what is no URL.

    >>> check_plain_http("http://127.0.0.1:8099", allowed=False, setting="X")
    """
    try:
        parts = urlsplit(url)
    except ValueError:  # brackets that hold no address
        parts = urlsplit("")
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise SettingsError(f"{url!r} is no URL of a service", next_step="give http:// or https://, as in https://HOST:PORT")
    if parts.scheme != "https" and not is_loopback(parts.hostname or "") and not allowed:
        raise SettingsError(
            f"{url} would carry everything in clear to another machine", next_step=f"use https://, or set {setting}=true inside a VPN"
        )
