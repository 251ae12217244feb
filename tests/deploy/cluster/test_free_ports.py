"""Ports that nobody listens on."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from deploy.cluster.errors import ClusterError
from deploy.cluster.names import Ports, is_free


@pytest.fixture
def busy() -> Iterator[int]:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        yield server.getsockname()[1]


def test_a_port_where_somebody_listens_is_not_free(busy: int):
    assert not is_free(busy)
    assert Ports().take(busy) > busy


def test_a_port_is_handed_out_once(busy: int):
    ports = Ports()
    assert len({ports.take(busy) for _ in range(5)}) == 5


def test_a_site_that_has_run_keeps_its_port_and_new_ones_get_what_nobody_had(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("deploy.cluster.names.is_free", lambda port: port != 103)
    ports = Ports({"ward": 100, "bank": 101, "plant": 103})
    assert ports.take(99) == 99
    assert [ports.of_edge(edge, 100) for edge in ("attic", "bank", "plant", "ward")] == [102, 101, 104, 100]
    assert Ports({"ward": 100}).of_edge("ward", 200) == 200


def test_no_port_left_is_said(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("deploy.cluster.names.is_free", lambda port: False)
    with pytest.raises(ClusterError, match="no port at or above 65530 is free"):
        Ports().take(65530)
