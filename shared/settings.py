"""Sections of settings that both services have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from shared.telemetry.logs import LogForm

Port = Annotated[int, Field(ge=0, le=65535)]
Count = Annotated[int, Field(ge=1)]


class Section(BaseModel):
    """The knobs of one subject. A part is handed its section; a service's settings are each of theirs."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class FrontSettings(Section):
    """How the service faces the network (goals S1, S2, S7, R13): docs/security.md."""

    host: str = "127.0.0.1"
    port: Port
    state_dir: Path  # folder of the store, and of the keys
    tls_cert: Path | None = None  # PEM; with tls_key the service speaks HTTPS
    tls_key: Path | None = None
    behind_tls_proxy: bool = False  # True: something in front of the service speaks HTTPS for it
    requests_per_minute: Count  # of one edge or API key; beyond, 429
    head_s: Annotated[float, Field(gt=0, le=600)] = 10.0  # that a request's head may take, and a TLS handshake
    connections_per_address: Annotated[int, Field(ge=0)]  # 0: any number. Not on loopback, nor behind a TLS proxy


class TelemetrySettings(Section):
    """What is told of the service's work: docs/operations.md, "Watch it"."""

    log: LogForm = "text"
    otlp_url: str = ""  # of an OpenTelemetry collector, as http://127.0.0.1:4318; empty: no spans. Needs the extra otel
