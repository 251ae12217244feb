"""Goal S1: a service that others could reach does not start without keys and TLS."""

import itertools
import os
import subprocess
import sys

import pytest
import trustme

from cloud_server.settings import CloudSettings
from edge_node.settings import EdgeSettings
from shared.errors import SettingsError
from shared.keyring import KeyRing
from shared.service import check_front, is_exposed

HOSTS = {"127.0.0.1": True, "::1": True, "localhost": True, "0.0.0.0": False, "::": False, "10.1.2.3": False, "site.example.org": False}
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


@pytest.mark.parametrize("half", ["tls_cert", "tls_key"])
def test_half_of_a_tls_setting_is_refused(tmp_path, certificate, half):
    with pytest.raises(SettingsError, match="missing"):
        check_front(EdgeSettings(state_dir=tmp_path, **{half: certificate[half]}), verb="edge")


def test_a_certificate_that_is_none_is_refused(tmp_path):
    (tmp_path / "x.pem").write_text("nonsense")
    with pytest.raises(SettingsError, match="cannot be used"):
        check_front(EdgeSettings(state_dir=tmp_path, tls_cert=tmp_path / "x.pem", tls_key=tmp_path / "x.pem"), verb="edge")


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
