"""Sections of settings that both services have."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import Annotated, Literal, Self

import orjson
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, model_validator
from pydantic_settings import NoDecode

from shared.errors import SettingsError
from shared.telemetry.logs import LogForm

Port = Annotated[int, Field(ge=0, le=65535)]
Count = Annotated[int, Field(ge=1)]


class Section(BaseModel):
    """The knobs of one subject. A part is handed its section; a service's settings are each of theirs."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def parsed_names(value: object) -> object:
    """What names stand for, as in "staff=read, CN=hr=payroll" or as JSON; anything but a text as it is. Raises ValueError.

    >>> parsed_names("staff=read, /clinic/hr=hr"), parsed_names('{"CN=hr,DC=site": "hr"}'), parsed_names("")
    ({'staff': 'read', '/clinic/hr': 'hr'}, {'CN=hr,DC=site': 'hr'}, {})
    """
    if not isinstance(value, str):
        return value
    if value.lstrip().startswith("{"):
        return orjson.loads(value)
    pairs = [part.strip().rpartition("=") for part in value.split(",") if part.strip()]
    if not all(name and target for name, _, target in pairs):
        raise ValueError(f"{value!r} must say what each name stands for, as in staff=read,nurses=write; names with commas as JSON")
    return {name.strip(): target.strip() for name, _, target in pairs}


def parsed_set(value: object) -> object:
    """The set that a text names by commas; anything else as it is."""
    if not isinstance(value, str):
        return value
    return frozenset(name.strip() for name in value.split(",") if name.strip())


def parsed_tuple(value: object) -> object:
    """The parts of a text that commas part, in their order; anything else as it is."""
    return tuple(filter(None, map(str.strip, value.split(",")))) if isinstance(value, str) else value


def secret_of(given: SecretStr | None, file: Path | None, variable: str) -> str:
    """A secret that is given, or that stands in a file; "" for none. Raises SettingsError for a file that cannot be read.

    ``variable``: the one that names the file.
    """
    if given:
        return given.get_secret_value()
    try:
        return file.read_text(encoding="utf-8").strip() if file else ""
    except OSError as error:
        raise SettingsError(f"{file} cannot be read: {error.strerror}", next_step=f"check {variable}, and who may read it") from error


Algorithm = Literal["RS256", "ES256", "EdDSA"]  # with a secret of the issuer's own: never "none", nor HS256
KeyRole = Literal["read", "write", "admin", "metrics"]
ALGORITHMS: frozenset[Algorithm] = frozenset({"RS256", "ES256", "EdDSA"})
ROLE_NAMES: Mapping[str, KeyRole] = {"dgrag-read": "read", "dgrag-write": "write", "dgrag-admin": "admin", "dgrag-metrics": "metrics"}
Names = Annotated[frozenset[str], NoDecode, BeforeValidator(parsed_set)]
Networks = Annotated[tuple[IPv4Network | IPv6Network, ...], NoDecode, BeforeValidator(parsed_tuple)]
Algorithms = Annotated[frozenset[Algorithm], NoDecode, BeforeValidator(parsed_set), Field(min_length=1)]


class OidcSettings(Section):
    """Tokens of an OpenID Connect issuer, which are taken beside API keys: docs/security.md."""

    oidc_issuer: str = ""  # as its tokens name it, as in https://id.example/realms/ward; empty: API keys only
    oidc_audience: str = ""  # this service's name at the issuer; a token for another one is refused
    oidc_clients: Names = frozenset()  # programs whose tokens are taken (azp, client_id), by commas; empty: every program's
    oidc_algorithms: Algorithms = ALGORITHMS  # of signatures that are taken, by commas
    oidc_leeway_s: Annotated[float, Field(ge=0, le=600)] = 60.0  # between the issuer's clock and ours
    oidc_keys_s: Annotated[float, Field(ge=600)] = 86_400.0  # so long the issuer's keys are used while it cannot be asked; then 503
    oidc_ca: Path | None = None  # PEM; the authorities that the issuer's certificate may be of; empty: the system's
    oidc_role_claim: str = "roles"  # of a token; a path with dots leads into a claim, as in realm_access.roles
    oidc_roles: Annotated[dict[str, KeyRole], NoDecode, BeforeValidator(parsed_names)] = dict(ROLE_NAMES)  # what the claim's values allow
    oidc_label_claim: str = "dgrag_labels"  # a token reads documents with these labels, and those without any; empty: all documents
    oidc_labels: Annotated[dict[str, str], NoDecode, BeforeValidator(parsed_names)] = {}  # the claim's values as labels; empty: as they are

    @model_validator(mode="after")
    def _a_token_is_for_somebody(self) -> Self:
        if self.oidc_issuer and not self.oidc_audience:
            raise ValueError("with oidc_issuer set oidc_audience too: else a token for any other service of the issuer would come in")
        return self


class FrontSettings(OidcSettings):
    """How the service faces the network (goals S1, S2, S7, R13): docs/security.md."""

    host: str = "127.0.0.1"
    port: Port
    state_dir: Path  # folder of the store, and of the keys
    tls_cert: Path | None = None  # PEM; with tls_key the service speaks HTTPS
    tls_key: Path | None = None
    behind_tls_proxy: bool = False  # True: something in front of the service speaks HTTPS for it
    trusted_proxies: Networks = ()  # addresses and networks, by commas, of proxies that say who asks; what others say of it is ignored
    proxy_header: Literal["x-forwarded-for", "forwarded"] = "x-forwarded-for"  # where they say it; its last entry is believed
    requests_per_minute: Count  # of one edge or API key; beyond, 429
    head_s: Annotated[float, Field(gt=0, le=600)] = 10.0  # that a request's head may take, and a TLS handshake
    connections_per_address: Annotated[int, Field(ge=0)]  # 0: any number. Not on loopback, nor behind a TLS proxy


class TelemetrySettings(Section):
    """What is told of the service's work: docs/operations.md, "Watch it"."""

    log: LogForm = "text"
    otlp_url: str = ""  # of an OpenTelemetry collector, as http://127.0.0.1:4318; empty: no spans. Needs the extra otel
