"""``dgrag cloud``: what an operator asks of a cloud, here a scripted one."""

import httpx2

from deploy.cli import cloud


def test_an_expelled_edge_is_readmitted_by_its_id(monkeypatch, capsys, tmp_path):
    asked = []

    def handler(request):
        asked.append((request.method, request.url.path))
        return httpx2.Response(204)

    monkeypatch.setattr(cloud, "client", lambda: httpx2.Client(transport=httpx2.MockTransport(handler)))
    monkeypatch.setattr(cloud, "cloud_url", lambda state, url: "http://cloud")
    cloud.readmit("ward", tmp_path)
    assert asked == [("POST", "/v1/edges/ward/readmit")]
    assert capsys.readouterr().out == "readmitted ward\n"
