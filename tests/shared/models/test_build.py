"""From settings to models."""

import pytest
from pydantic import ValidationError

from shared.errors import FetchError
from shared.models.build import build_embedder, build_generator, build_tokenizer, model_http
from shared.models.settings import ModelSettings


def test_defaults_need_no_environment(monkeypatch):
    for name in ("URL", "NAME", "EMBEDDER"):
        monkeypatch.delenv(f"DGRAG_MODEL_{name}", raising=False)
    settings = ModelSettings()
    assert (settings.url, settings.name, settings.embedder) == ("http://127.0.0.1:8090/v1", "standard", "minilm-onnx")


def test_the_environment_sets_what_the_prefix_names(monkeypatch):
    monkeypatch.setenv("DGRAG_MODEL_NAME", "big")
    monkeypatch.setenv("DGRAG_MODEL_API_KEY", "s3cret")
    settings = ModelSettings()
    assert settings.name == "big"
    assert "s3cret" not in repr(settings)


@pytest.mark.parametrize("wrong", [{"url": "model:8090"}, {"name": ""}, {"embedder_threads": 0}])
def test_settings_that_cannot_work_are_refused(wrong):
    with pytest.raises(ValidationError):
        ModelSettings(**wrong)


async def test_the_generator_is_named_after_the_model():
    settings = ModelSettings(name="m")
    async with model_http(settings) as http:
        assert build_generator(settings, http).name == "m"


@pytest.mark.parametrize(
    ("url", "through_proxy"),
    [
        ("http://127.0.0.1:8090/v1", False),
        ("http://localhost/v1", False),
        ("http://[::1]:1/v1", False),
        ("http://gpu.site/v1", True),
        ("http://10.0.0.1/v1", True),
    ],
)
async def test_a_model_on_this_machine_is_not_asked_through_a_proxy(url, through_proxy):
    async with model_http(ModelSettings(url=url)) as http:
        assert http.trust_env is through_proxy


@pytest.mark.parametrize("build", [build_embedder, build_tokenizer])
def test_absent_weights_are_answered_with_the_command_that_fetches_them(build, tmp_path):
    with pytest.raises(FetchError) as caught:
        build(ModelSettings(dir=tmp_path))
    assert "dgrag model fetch minilm" in caught.value.next_step


@pytest.mark.model
async def test_fetched_weights_make_an_embedder_and_a_tokenizer(minilm):
    settings = ModelSettings(dir=minilm.parent)
    assert build_embedder(settings).dimensions == 384
    assert build_tokenizer(settings).count("one two") == 2
