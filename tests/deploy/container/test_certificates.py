"""TLS of a trial: what `setup` makes is taken by our own clients, under its names only, and by nobody who trusts another authority."""

import ssl
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509

from deploy.container.first_start import made
from shared.tls import client_context, server_context

NOW = datetime.now(tz=UTC)


def written(folder, certificates):
    folder.mkdir()
    for name in ("authority", "certificate", "key"):
        (folder / name).write_bytes(getattr(certificates, name))
    return folder


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return written(tmp_path_factory.mktemp("tls") / "files", made(["cloud", "localhost", "127.0.0.1"], now=NOW))


def shaken(server, client):
    """Shake hands in memory; raises what the client says."""
    inward, outward = ssl.MemoryBIO(), ssl.MemoryBIO()
    ours = client.wrap_bio(inward, outward, server_hostname=client.asked)
    theirs = server.wrap_bio(outward, inward, server_side=True)
    for _ in range(4):
        for side in (ours, theirs):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
    return ours.version()


class Asking(ssl.SSLContext):
    """A client that knows whom it calls."""

    asked = ""


def client_of(files, name):
    context = client_context(files / "authority")
    context.__class__ = Asking
    context.asked = name
    return context


@pytest.mark.parametrize("name", ["cloud", "localhost", "127.0.0.1"])
def test_a_client_that_trusts_the_authority_takes_each_of_the_names(files, name):
    server = server_context(files / "certificate", files / "key")
    assert shaken(server, client_of(files, name)) == "TLSv1.3"


def test_another_name_is_refused(files):
    with pytest.raises(ssl.SSLCertVerificationError, match=r"doesn't match|mismatch"):
        shaken(server_context(files / "certificate", files / "key"), client_of(files, "edge"))


def test_a_client_of_another_authority_refuses(files, tmp_path):
    other = written(tmp_path / "other", made(["cloud"], now=NOW))
    with pytest.raises(ssl.SSLCertVerificationError):
        shaken(server_context(files / "certificate", files / "key"), client_of(other, "cloud"))


def test_strict_checking_of_extensions_finds_nothing(files):
    context = client_of(files, "cloud")
    context.verify_flags |= ssl.VERIFY_X509_STRICT  # what newer Pythons do by default
    assert shaken(server_context(files / "certificate", files / "key"), context) == "TLSv1.3"


def test_it_holds_for_ten_years_also_where_a_clock_is_behind():
    found = x509.load_pem_x509_certificate(made(["cloud"], now=NOW).certificate)
    assert found.not_valid_before_utc < NOW < found.not_valid_after_utc - timedelta(days=3640)


def test_the_private_key_is_not_shown_in_a_log():
    assert "PRIVATE" not in repr(made(["cloud"], now=NOW))
