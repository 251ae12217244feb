"""What a trial's services need before the first of them starts: certificates, keys and invitations. A step done twice changes nothing."""

from __future__ import annotations

import dataclasses
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from ipaddress import ip_address
from pathlib import Path

import httpx2
import orjson
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePrivateKey, generate_private_key
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from pydantic import TypeAdapter, ValidationError

from cloud_server.database.opening import open_ring
from cloud_server.registry.credentials import KEY_FILE
from deploy.cluster.errors import ClusterError
from deploy.cluster.names import edge_ids
from shared.client.errors import ServiceError, body
from shared.http.keyring import ApiKey, KeyRing
from shared.identity import open_identity, replace_private
from shared.settings import KeyRole
from shared.tls import trouble

NAMES = ("cloud", "localhost", "127.0.0.1")  # that the cloud is called by: of the service, and from the machine itself
AUTHORITY, KNOWN_KEYS, MODEL_KEY = "ca.pem", "keys.json", "model.key"
HOUR_S = 3600.0
SECRET = Path("/run/secrets/model_key")  # docker-compose.yml mounts it; empty where the operator has named none
KEYS: Mapping[str, KeyRole] = {"enrol": "admin", "user": "write", "metrics": "metrics"}  # by the name of the file that holds the token
FOR_EDGES = frozenset({"user", "metrics"})
IN_TRUST = frozenset({"metrics"})  # a scraper gets at it without the others; it reads counts only

YEAR = timedelta(days=365)
CLOCKS_DIFFER = timedelta(hours=1)  # a machine whose clock is behind takes them too
NO_USE = dict.fromkeys(
    ("digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement", "key_cert_sign", "crl_sign",
     "encipher_only", "decipher_only"), False,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Certificates:
    """PEM texts. The authority's own key is not among them: nothing else can ever be signed by it."""

    authority: bytes
    certificate: bytes
    key: bytes

    def __repr__(self) -> str:
        """Nothing: a private key must not get into a log."""
        return "Certificates()"


def made(names: Sequence[str], *, now: datetime, years: int = 10) -> Certificates:
    """An authority, and a certificate of it for ``names``: host names and IP addresses, the first one is its title.

    >>> from datetime import UTC
    >>> made(["cloud", "127.0.0.1"], now=datetime(2026, 1, 1, tzinfo=UTC)).certificate.splitlines()[0]
    b'-----BEGIN CERTIFICATE-----'
    """
    authority_key, key = generate_private_key(SECP256R1()), generate_private_key(SECP256R1())
    ends = now + years * YEAR
    authority = _signed(_for_authority(authority_key), f"dgrag authority of {names[0]}", now, ends, authority_key, authority_key)
    builder = _for_service(names, key, authority_key)
    certificate = _signed(builder, f"dgrag authority of {names[0]}", now, ends, key, authority_key, subject=names[0])
    private = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return Certificates(authority, certificate, private)


def _for_authority(key: EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.KeyUsage(**{**NO_USE, "key_cert_sign": True, "crl_sign": True}), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _for_service(names: Sequence[str], key: EllipticCurvePrivateKey, authority: EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .add_extension(x509.SubjectAlternativeName([_general(name) for name in names]), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.KeyUsage(**{**NO_USE, "digital_signature": True}), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.public_key()), critical=False)
    )


def _signed(
    builder: x509.CertificateBuilder,
    issuer: str,
    now: datetime,
    ends: datetime,
    key: EllipticCurvePrivateKey,
    by: EllipticCurvePrivateKey,
    *,
    subject: str = "",
) -> bytes:
    builder = builder.subject_name(_title(subject or issuer)).issuer_name(_title(issuer)).public_key(key.public_key())
    builder = builder.serial_number(x509.random_serial_number()).not_valid_before(now - CLOCKS_DIFFER).not_valid_after(ends)
    return builder.sign(by, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def _title(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _general(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)


@dataclasses.dataclass(frozen=True, slots=True)
class KnownKey:
    """A key as a service takes it over: without the secret."""

    key: ApiKey
    hash: str


def set_up(state: Path, trust: Path, keys: Path, *, now: float, store_url: str = "") -> None:
    """Make what is missing: TLS files of the cloud in ``state``, tokens in ``keys``, and in ``trust`` what all services may read.

    ``store_url``: of the PostgreSQL that the clouds share; empty: there is one cloud.
    """
    tls = state / "tls"
    if not all(path.exists() for path in (trust / AUTHORITY, tls / "cloud.pem", tls / "cloud-key.pem")):
        new = made(NAMES, now=datetime.fromtimestamp(now, tz=UTC))
        replace_private(tls / "cloud-key.pem", new.key)
        replace_private(tls / "cloud.pem", new.certificate)
        replace_private(trust / AUTHORITY, new.authority)
    if not (trust / MODEL_KEY).exists():
        replace_private(trust / MODEL_KEY, secrets.token_urlsafe(32).encode())
    trust.chmod(0o750)  # vLLM's image runs as root without capabilities: it reads its key as one of the group, and nothing else here
    (trust / MODEL_KEY).chmod(0o640)
    open_identity(state / KEY_FILE)  # before clouds that share it start: each of them would make one
    ring = open_ring(state, store_url)
    try:
        for name, role in KEYS.items():
            _have_key(ring, name, role, (trust if name in IN_TRUST else keys) / name, now=now)
        known = [KnownKey(key, ring.hash_of(key.key_id)) for key in ring.list() if key.revoked is None and key.name in FOR_EDGES]
    finally:
        ring.close()
    replace_private(trust / KNOWN_KEYS, orjson.dumps(known))


def _have_key(ring: KeyRing, name: str, role: KeyRole, file: Path, *, now: float) -> None:
    present = [key for key in ring.list() if key.name == name and key.revoked is None]
    if present and file.exists():
        return
    for key in present:  # its token is lost
        ring.revoke(key.key_id, now=now)
    replace_private(file, ring.add(name, role, now=now).encode())


def model_key(trust: Path, secret: Path = SECRET) -> dict[str, str]:
    """The setting that names the file of the model server's key: the operator's secret, else what ``set_up`` has made; none: none."""
    given = secret.exists() and secret.read_text(encoding="utf-8").strip()
    file = secret if given else trust / MODEL_KEY
    return {"DGRAG_MODEL_API_KEY_FILE": str(file)} if file.exists() else {}


def adopt_keys(state: Path, trust: Path) -> None:
    """Let the users in that ``trust`` tells of, at the service of ``state``. Raises ClusterError for a file that is not ours."""
    try:
        known = TypeAdapter(tuple[KnownKey, ...]).validate_json((trust / KNOWN_KEYS).read_bytes())
    except FileNotFoundError:
        return  # an edge outside the trial has keys of its own
    except ValidationError as error:
        raise ClusterError(f"{trust / KNOWN_KEYS} cannot be read", next_step="run `docker compose run --rm setup`") from error
    state.mkdir(parents=True, exist_ok=True, mode=0o700)
    ring = KeyRing(state)
    try:
        for one in known:
            ring.adopt(one.key, one.hash, now=time.time())
    finally:
        ring.close()


def token(keys: Path, name: str) -> str:
    """The token of a key that ``set_up`` has made. Raises ClusterError."""
    try:
        return (keys / name).read_text(encoding="utf-8").strip()
    except FileNotFoundError as error:
        raise ClusterError(f"there is no key {name!r} yet", next_step="run `docker compose up` first") from error


def named(words: Sequence[str]) -> list[str]:
    """The edges that the words of a command mean: a count of replicas, or ids. Raises ClusterError for what is no id.

    >>> named(["2"]), named(["plant", "bank"])
    (['edge-1', 'edge-2'], ['plant', 'bank'])
    """
    if len(words) == 1 and words[0].isdecimal():
        return edge_ids(int(words[0]))
    return edge_ids(len(words), names=words)


def write_invitations(http: httpx2.Client, edges: Sequence[str], folder: Path, *, replace: bool = False) -> list[str]:
    """Ask the cloud to invite each of ``edges`` for an hour, and keep the token in ``folder``; returns those that were invited.

    An edge that has joined needs none, and its file goes; ``replace``: it has lost its key, and may join with another one.
    Raises ServiceError, and ClusterError where the cloud does not answer.
    """
    invited = []
    for edge in edges:
        try:
            reply = body(http.post("/v1/invites", json={"edge": edge, "ttl_s": HOUR_S, "replace": replace}))
        except httpx2.RequestError as error:
            why = trouble(error, str(error.request.url)) or "is it up, and reachable from here?"
            raise ClusterError(f"the cloud at {http.base_url} does not answer", next_step=why) from error
        except ServiceError as error:
            if error.status != HTTPStatus.CONFLICT:
                raise
            (folder / edge).unlink(missing_ok=True)
        else:
            replace_private(folder / edge, reply["token"].encode())
            invited.append(edge)
    return invited
