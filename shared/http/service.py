"""What both services do alike at start: settings, logging, the check of who could come in, and one clear line when settings cannot work."""

from __future__ import annotations

import asyncio
import logging
import os
import shlex
import socket
import sys
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import cast

import uvicorn
from fastapi import FastAPI, Request
from fastapi.telemetry import TelemetryConfig
from pydantic import ValidationError
from pydantic_core import ErrorDetails
from pydantic_settings import BaseSettings

from shared.errors import DgragError, SettingsError
from shared.http.addresses import client_network
from shared.http.connections import ConnectionLimits, Crowd, bounded
from shared.http.console.sessions import Sessions, SharedSignIn
from shared.http.doorkeeper import Doorkeeper, EdgeAuthenticator, peer_of
from shared.http.issuer import Tokens
from shared.http.keyring import KeyRing
from shared.ports import Clock, SystemClock
from shared.settings import FrontSettings
from shared.telemetry import logs
from shared.telemetry.correlation import Recorder
from shared.tls import check_plain_http, is_loopback, server_context

# FastAPI's own wakes by an environment variable or a global provider, and records query strings and exceptions' messages (goal S13).
TELEMETRY_OFF: TelemetryConfig = {
    "tracing": False,
    "metrics": False,
    "logs": False,
    "operation_spans": False,
    "auto_configure": False,
}
GRACE_S = 5  # for requests under way when the service is told to stop
INTERRUPTED = 130  # 128 + SIGINT
FOR_BROWSERS = [  # on every response: scripts, styles and calls of our own origin only, in no frame; Swagger UI's icons are data: URLs
    (
        "content-security-policy",
        "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
]
log = logging.getLogger("dgrag")

MARK_DIGITS = 8  # of an identity's id
NEAR = 0.75  # of the letters are alike, in their order


def strangers(settings: BaseSettings, environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Variables that have the settings' prefix and that they do not read, each with the one that may be meant, or nothing."""
    prefix = settings.model_config.get("env_prefix", "")
    known = [field.upper() for field in type(settings).model_fields]
    given = sorted(name.removeprefix(prefix) for name in environment if name.startswith(prefix))
    near = {name: get_close_matches(name, known, n=1, cutoff=NEAR) for name in given if name not in known}
    return {f"{prefix}{name}": f"{prefix}{found[0]}" if found else "" for name, found in near.items()}


def is_exposed(front: FrontSettings) -> bool:
    """Whether others than this machine's users can reach the service."""
    return not is_loopback(front.host) or front.behind_tls_proxy


def doorkeeper(
    front: FrontSettings,
    keys: KeyRing,
    edges: EdgeAuthenticator | None = None,
    clock: Clock | None = None,
    sessions: Sessions | None = None,
) -> Doorkeeper:
    """The guard of a service. ``edges``: who knows edges by their signatures, at the cloud; ``sessions``: of its console.

    Raises SettingsError for an issuer that cannot be asked safely.
    """
    open_to_some, most = not is_exposed(front), front.requests_per_minute
    clock = clock or SystemClock()
    tokens = Tokens.of(front, clock) if front.oidc_issuer else None

    def address_of(request: Request) -> str:
        return client_network(peer_of(request), request.headers, proxies=front.trusted_proxies, header=front.proxy_header)

    return Doorkeeper(
        keys,
        clock,
        may_be_open=open_to_some,
        per_minute=most,
        edges=edges,
        sessions=sessions,
        tokens=tokens,
        address_of=address_of,
    )


def browser_sessions(
    front: FrontSettings, keys: KeyRing, *, kind: str, name: str, key_id: str, shared: SharedSignIn | None = None
) -> Sessions:
    """The sessions at a service's console. ``kind``, ``name`` and ``key_id``, of its identity: of its own, so the cookie bears them.

    ``shared``: with other services of that identity.
    """
    cookie = f"dgrag-{kind}-{name}-{key_id[:MARK_DIGITS]}"
    secure = front.tls_cert is not None or front.behind_tls_proxy
    return Sessions(keys, SystemClock(), cookie=cookie, secure=secure, shared=shared)


def typed_folder(front: FrontSettings) -> str:
    """The state's folder as its operator types it at this machine; "FOLDER" where others are shown it: paths are not theirs to know."""
    return "FOLDER" if is_exposed(front) else shlex.quote(str(front.state_dir.absolute()))


def check_front(front: FrontSettings, *, verb: str, ring: Callable[[], KeyRing] | None = None) -> None:
    """Closed by default (goal S1): others come in with keys and over TLS only. ``verb``: ``edge`` or ``cloud``. Raises SettingsError.

    ``ring``: opens the service's keys, where they are not in its folder.
    """
    prefix = f"DGRAG_{verb.upper()}"
    both = f"{prefix}_TLS_CERT and {prefix}_TLS_KEY"
    if (front.tls_cert is None) != (front.tls_key is None):
        raise SettingsError("TLS takes a certificate and its key, one of them is missing", next_step=f"set both, {both}")
    if front.tls_cert and front.tls_key:
        server_context(front.tls_cert, front.tls_key, settings=both)
    if not is_exposed(front):
        return
    if not is_loopback(front.host) and front.tls_cert is None and not front.behind_tls_proxy:
        raise SettingsError(
            f"{front.host} can be reached from other machines, and there is no TLS",
            next_step=f"set {both}, or {prefix}_BEHIND_TLS_PROXY=true where a proxy speaks HTTPS, or listen on 127.0.0.1",
        )
    keys = ring() if ring else KeyRing(front.state_dir)
    try:
        if keys.is_empty() and not front.oidc_issuer:
            step = f"make one with `dgrag {verb} key add NAME --role admin --state {front.state_dir}`, or listen on 127.0.0.1"
            raise SettingsError(f"{front.host} can be reached from other machines, and there are no API keys", next_step=step)
    finally:
        keys.close()


def recorder_of(url: str, *, service: str, instance: str, setting: str) -> Recorder | None:
    """Who sends spans to the collector at ``url``; none where that is empty. Raises SettingsError for no URL, and without the extra.

    ``setting``: the name of the variable. Plain HTTP is taken to any machine: spans hold names of routes and steps, times and counts.
    """
    if not url:
        return None
    check_plain_http(url, allowed=True, setting=setting)
    try:
        from shared.telemetry.spans import spans_to  # an extra
    except ImportError as error:
        step = f"run: pip install 'dgrag[otel]', or take {setting} away"
        raise SettingsError("spans need OpenTelemetry, which is not installed", next_step=step) from error
    return spans_to(url, service=service, instance=instance)


def limits_of(front: FrontSettings) -> ConnectionLimits:
    """What connections are held to. Raises SettingsError for a certificate that cannot be used.

    Nobody's are counted where all come from one address: from this machine, or from the proxy in front, which has to count its clients.
    """
    cert, key = front.tls_cert, front.tls_key
    counted = not is_loopback(front.host) and not front.behind_tls_proxy
    tls = server_context(cert, key) if cert and key else None
    return ConnectionLimits(front.head_s, Crowd(front.connections_per_address if counted else 0), tls)


def server_config(app: FastAPI, front: FrontSettings) -> uvicorn.Config:
    """How we run uvicorn; ``check_front`` comes first. Raises SettingsError for a certificate that cannot be used."""
    return uvicorn.Config(
        app,
        host=front.host,
        port=front.port,
        loop="asyncio" if sys.platform == "win32" else "uvloop",
        http=cast("type[asyncio.Protocol]", bounded(limits_of(front))),  # it speaks TLS too
        log_config=None,  # its lines go where ours go
        log_level="warning",
        access_log=False,
        server_header=False,
        headers=FOR_BROWSERS,
        proxy_headers=False,  # the scheme and the caller are no header's to say; for counting: shared.http.addresses
        timeout_graceful_shutdown=GRACE_S,
    )


class Server(uvicorn.Server):
    """Says in one line when it answers, where, and to whom; ``check_front`` comes first."""

    def __init__(self, app: FastAPI, front: FrontSettings, *, name: str) -> None:
        super().__init__(server_config(app, front))
        self._app = app
        self._door: Doorkeeper = app.state.guard
        self._front = front
        self._name = name

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start as uvicorn does, and say so, or where it cannot listen: ``shared.telemetry.logs`` cuts short what uvicorn says."""
        self.server_state.default_headers = self.config.encoded_headers  # until uvicorn's first tick sets them again, with the date
        try:
            await super().startup(sockets)
        except SystemExit:
            if not self.lifespan.should_exit:
                log.critical("%s cannot listen at %s:%d", self._name, self._front.host, self._front.port)
            raise
        if self.started:
            host, port = self.servers[0].sockets[0].getsockname()[:2]
            address = f"[{host}]" if ":" in host else host
            who = "this machine only, no keys needed" if await asyncio.to_thread(self._door.is_open) else "keys needed"
            log.info("%s is ready at %s://%s:%d; %s", self._name, "https" if self._front.tls_cert else "http", address, port, who)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop as uvicorn does; what is under way knows that it is for this that it is cancelled."""
        self._app.state.stopping = True
        await super().shutdown(sockets)


def _fault(prefix: str, fault: ErrorDetails) -> str:
    """What is wrong with a setting, by the name of its variable; with several together: no name."""
    said = fault["msg"].removeprefix("Value error, ")
    return ": ".join([*(f"{prefix}{str(field).upper()}" for field in fault["loc"][:1]), said])


def warn_of_strangers(settings: BaseSettings) -> None:
    """Name the variables that begin as the service's do and that it does not read: most are misspelt."""
    for name, near in strangers(settings).items():
        log.warning("%s is no setting of this service and changes nothing%s", name, f"; is {near} meant?" if near else "")


def run(serve: Callable[[], None], *, prefix: str = "") -> int:
    """Run a service; returns its exit status. What is wrong with its settings or its state is said in one line.

    prefix: of the variables that hold its settings.
    """
    os.umask(0o077)  # store and log hold documents: for this user only
    logs.begin()
    for chatty in ("httpx2", "nano-vectordb"):  # a line for each model request, each index
        logging.getLogger(chatty).setLevel(logging.ERROR)
    try:
        serve()
    except ValidationError as error:
        log.critical("the settings cannot be used: %s", "; ".join(_fault(prefix, fault) for fault in error.errors()))
        return 1
    except DgragError as error:
        log.critical("%s – %s", error.message, error.next_step)
        return error.exit_status
    except KeyboardInterrupt:  # uvicorn has stopped as it should, and passes the signal on
        return INTERRUPTED
    return 0
