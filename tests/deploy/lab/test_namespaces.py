import pytest

from deploy.cluster.errors import ClusterError
from deploy.lab import namespaces


@pytest.fixture
def root_with_ip(monkeypatch):
    if not namespaces.Path("/proc/self/ns/net").exists():
        pytest.skip("namespaces are Linux's")
    monkeypatch.setattr(namespaces.os, "geteuid", lambda: 0)
    monkeypatch.setattr(namespaces.shutil, "which", lambda _: "/sbin/ip")


def test_why_no_namespace_can_be_made_is_said(root_with_ip, monkeypatch):
    monkeypatch.setattr(namespaces.os, "geteuid", lambda: 1000)
    assert namespaces.unable() == "network namespaces can only be made by root"
    monkeypatch.setattr(namespaces.shutil, "which", lambda _: None)
    assert namespaces.unable() == "network namespaces need Linux and `ip` of iproute2"


def test_a_machine_without_tun_is_told(root_with_ip, monkeypatch, tmp_path):
    monkeypatch.setattr(namespaces, "TUN", tmp_path / "tun")
    assert namespaces.unable() == f"there is no {tmp_path / 'tun'}"


def test_root_without_the_right_to_make_one_is_told_what_the_system_says(root_with_ip, monkeypatch, tmp_path):
    def refuse(*words):
        raise ClusterError("`ip netns add` failed: Operation not permitted")

    monkeypatch.setattr(namespaces, "TUN", tmp_path)
    monkeypatch.setattr(namespaces, "_ip", refuse)
    assert namespaces.unable() == "`ip netns add` failed: Operation not permitted"
