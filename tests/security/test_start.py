"""Goal S1: a service that others could reach does not start without keys and TLS."""

import itertools
import os
import re
import subprocess
import sys

import pytest
import trustme

from cloud_server.settings import CloudSettings
from edge_node.settings import EdgeSettings
from shared.errors import SettingsError
from shared.http.keyring import KeyRing
from shared.http.service import check_front, is_exposed
from shared.identity import open_identity
from shared.models.settings import ModelSettings

HOSTS = {"127.0.0.1": True, "::1": True, "localhost": True, "0.0.0.0": False, "::": False, "10.1.2.3": False, "site.example.org": False}
PACKAGES = ("shared", "edge_node", "cloud_server", "deploy", "benchmarks")
SECRET = re.compile(
    r"dgk_[0-9a-f]{12}_[\w-]{43}|inv_[\w-]{43}|-----BEGIN [A-Z ]*PRIVATE KEY|AKIA[0-9A-Z]{16}|\bgh[ps]_\w{36}|\bhf_\w{34}"
    r"|(?i:\b(?:api_?key|secret|password|token)\s*[=:]\s*[\"'][\w-]{8,}[\"'])"
)
SERVICES = {"edge": EdgeSettings, "cloud": CloudSettings}


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tls")
    issued = trustme.CA().issue_cert("localhost")
    issued.private_key_pem.write_to_path(folder / "key.pem")
    issued.cert_chain_pems[0].write_to_path(folder / "cert.pem")
    return {"tls_cert": folder / "cert.pem", "tls_key": folder / "key.pem"}


def with_key(folder):
    ring = KeyRing(folder)
    ring.add("ops", "admin", now=0.0)
    ring.close()


@pytest.mark.parametrize(("service", "host", "keys", "tls", "proxy"), list(itertools.product(SERVICES, HOSTS, *[(False, True)] * 3)))
def test_the_start_matrix(tmp_path, certificate, service, host, keys, tls, proxy):
    settings = SERVICES[service](host=host, state_dir=tmp_path, behind_tls_proxy=proxy, **(certificate if tls else {}))
    if keys:
        with_key(tmp_path)
    here_only = HOSTS[host] and not proxy
    assert is_exposed(settings) is not here_only
    if here_only or (keys and (HOSTS[host] or tls or proxy)):
        check_front(settings, verb=service)
    else:
        with pytest.raises(SettingsError) as refused:
            check_front(settings, verb=service)
        assert "keys" in refused.value.message or "TLS" in refused.value.message
        assert refused.value.next_step


@pytest.mark.parametrize("service", SERVICES)
@pytest.mark.parametrize("half", ["tls_cert", "tls_key"])
def test_half_of_a_tls_setting_is_refused(tmp_path, certificate, half, service):
    with pytest.raises(SettingsError, match="missing") as refused:
        check_front(SERVICES[service](state_dir=tmp_path, **{half: certificate[half]}), verb=service)
    assert f"DGRAG_{service.upper()}_TLS_CERT and DGRAG_{service.upper()}_TLS_KEY" in refused.value.next_step


def test_a_certificate_that_is_none_is_refused(tmp_path):
    (tmp_path / "x.pem").write_text("nonsense")
    with pytest.raises(SettingsError, match="cannot be used"):
        check_front(EdgeSettings(state_dir=tmp_path, tls_cert=tmp_path / "x.pem", tls_key=tmp_path / "x.pem"), verb="edge")


@pytest.mark.parametrize("settings", [EdgeSettings, CloudSettings, ModelSettings])
def test_no_setting_that_names_a_secret_has_a_default(settings):
    secret = [name for name in settings.model_fields if re.search(r"(^|_)(key|token|secret|password)$", name)]
    assert secret
    assert {settings.model_fields[name].default for name in secret} == {None}


def test_two_services_share_no_secret(tmp_path):
    rings = [KeyRing(tmp_path / name) for name in ("ward", "bank")]
    made = {ring.add("ops", "admin", now=0.0).split("_", 2)[2] for ring in rings}
    for ring in rings:
        ring.close()
    identities = {open_identity(tmp_path / name / "identity" / "edge.key").key_id for name in ("ward", "bank")}
    assert (len(made), len(identities)) == (2, 2)


def secrets_in(text):
    return SECRET.findall(text)


def test_no_file_that_is_installed_holds_a_secret(root):
    files = [file for package in PACKAGES for file in (root / package).rglob("*") if file.is_file() and "__pycache__" not in file.parts]
    assert len(files) > 200
    assert [str(file) for file in files if secrets_in(file.read_text("utf-8", "replace"))] == []


def test_null_control_secrets_are_seen(tmp_path):
    ring = KeyRing(tmp_path)
    made = ring.add("ops", "admin", now=0.0)
    ring.close()
    open_identity(tmp_path / "edge.key")
    for text in (f"key = {made!r}", "inv_" + "a" * 43, (tmp_path / "edge.key").read_text(), "hf_" + "a" * 34, 'api_key="abcdefgh"'):
        assert secrets_in(text), text


@pytest.mark.process
@pytest.mark.parametrize(("module", "prefix"), [("edge_node", "DGRAG_EDGE"), ("cloud_server", "DGRAG_CLOUD")])
def test_the_real_process_on_an_open_address_ends_with_status_1_and_one_line(tmp_path, module, prefix):
    settings = {f"{prefix}_HOST": "0.0.0.0", f"{prefix}_PORT": "0", f"{prefix}_STATE_DIR": str(tmp_path)}
    ended = subprocess.run(
        [sys.executable, "-m", module], env={**os.environ, **settings}, capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.returncode == 1
    assert len(ended.stderr.strip().splitlines()) == 1
    assert "TLS" in ended.stderr
    assert "Traceback" not in ended.stderr
