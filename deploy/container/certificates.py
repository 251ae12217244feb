"""A private authority that signs one certificate and is gone: what a trial's services need to speak TLS. Pure but for chance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from ipaddress import ip_address

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePrivateKey, generate_private_key
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

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
