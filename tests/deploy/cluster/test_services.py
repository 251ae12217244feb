"""Commands and environments of the services."""

from __future__ import annotations

import json

import httpx2
import pytest

from deploy.cluster.errors import ClusterError
from deploy.cluster.launch import remote_model
from deploy.cluster.lifecycle import answers
from deploy.cluster.services import EdgeOptions, ModelEndpoint, cloud_service, edge_service, model_service
from edge_node.settings import EdgeSettings
from shared.models.settings import ModelSettings

DEPLOYMENT = "/openai/deployments/d?api-version=2024-10-21"
MODEL = ModelEndpoint("http://127.0.0.1:8090/v1", "standard")


def test_the_edge_reads_what_we_give_it(monkeypatch: pytest.MonkeyPatch):
    service = edge_service("ward", MODEL, "http://127.0.0.1:8099", "/state/ward", EdgeOptions(0.25, "model"), port=8101)
    for key, value in service.environment.items():
        monkeypatch.setenv(key, value)
    edge, model = EdgeSettings(), ModelSettings()
    assert (edge.id, edge.port, edge.extraction_share, edge.summaries) == ("ward", 8101, 0.25, "model")
    assert (edge.cloud_url, str(edge.state_dir)) == ("http://127.0.0.1:8099", "/state/ward")
    assert (model.url, model.name) == (MODEL.url, "standard")
    assert (service.url, service.ready_url) == ("http://127.0.0.1:8101", "http://127.0.0.1:8101/ready")


def test_what_nobody_has_chosen_stays_as_the_surroundings_say(monkeypatch: pytest.MonkeyPatch):
    service = edge_service("ward", MODEL, "http://127.0.0.1:8099", "/state/ward", EdgeOptions(), port=8101)
    for key, value in {"DGRAG_EDGE_EXTRACTION_SHARE": "1", "DGRAG_EDGE_SUMMARIES": "model", **service.environment}.items():
        monkeypatch.setenv(key, value)
    assert (EdgeSettings().extraction_share, EdgeSettings().summaries) == (1.0, "model")


def test_the_cloud_gets_its_port_and_the_model():
    service = cloud_service(MODEL, "/state/cloud", port=8099)
    assert service.environment["DGRAG_CLOUD_PORT"] == "8099"
    assert service.environment["DGRAG_MODEL_URL"] == MODEL.url
    assert service.command == ("-m", "cloud_server")


def test_the_model_server_does_not_spin():
    service = model_service("standard", "weights.gguf", port=8090)
    assert service.environment == {"GOMP_SPINCOUNT": "1000"}
    assert service.url == MODEL.url
    assert service.command[:6] == ("-m", "shared.models.serve", "--model", "weights.gguf", "--name", "standard")


def served(*names: str) -> httpx2.Client:
    body = json.dumps({"data": [{"id": name} for name in names]})
    return httpx2.Client(transport=httpx2.MockTransport(lambda request: httpx2.Response(200, text=body)))


def test_of_a_remote_server_the_model_of_the_settings_is_taken_if_it_has_it():
    assert remote_model("http://gpu/v1/", served("a", "b"), ModelSettings(name="b")) == ModelEndpoint("http://gpu/v1", "b")
    assert remote_model("http://gpu/v1", served("a", "b"), ModelSettings(name="c")) == ModelEndpoint("http://gpu/v1", "a")


def test_of_a_server_whose_address_lacks_the_version_the_first_model_that_chats_is_taken():
    names = [{"id": "nomic-embed-text"}, {"id": "qwen3"}]

    def answer(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, json={"data": names}) if request.url.path == "/v1/models" else httpx2.Response(404)

    http = httpx2.Client(transport=httpx2.MockTransport(answer))
    assert remote_model("http://box:11434", http, ModelSettings()) == ModelEndpoint("http://box:11434/v1", "qwen3")


def test_a_remote_server_gets_the_key():
    seen: list[str | None] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        seen.append(request.headers.get("authorization"))
        return httpx2.Response(200, json={"data": [{"id": "a"}]})

    remote_model("http://gpu/v1", httpx2.Client(transport=httpx2.MockTransport(answer)), ModelSettings(api_key="secret"))
    assert seen == ["Bearer secret"]


@pytest.mark.parametrize(
    "response",
    [httpx2.Response(500), httpx2.Response(200, text="hello"), httpx2.Response(200, json=[]), httpx2.Response(200, json={"data": [1]})],
)
def test_a_server_that_is_not_openai_compatible_is_refused(response: httpx2.Response):
    http = httpx2.Client(transport=httpx2.MockTransport(lambda request: response))
    with pytest.raises(ClusterError, match="no OpenAI-compatible server"):
        remote_model("http://gpu/v1", http, ModelSettings())


def test_a_server_without_a_model_is_refused():
    with pytest.raises(ClusterError, match="serves no model"):
        remote_model("http://gpu/v1", served(), ModelSettings())


def test_the_command_line_takes_a_deployment_that_lists_no_models():
    seen = []

    def handler(request):
        seen.append(request)
        return httpx2.Response(404, json={"error": {"code": "404", "message": "Resource not found"}})

    url = f"https://x.example{DEPLOYMENT}"
    with httpx2.Client(transport=httpx2.MockTransport(handler)) as http:
        endpoint = remote_model(url, http, ModelSettings(name="gpt", api_key="k3y"))
        assert endpoint == ModelEndpoint(url, "gpt")
        assert answers(http, str(seen[0].url), "k3y")
        assert not answers(http, "https://x.example/v1/models", "k3y")
    assert str(seen[0].url) == "https://x.example/openai/deployments/d/models?api-version=2024-10-21"
    assert [request.headers.get("api-key") for request in seen] == ["k3y", "k3y", None]
