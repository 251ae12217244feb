"""The local embedders: the worker with a toy model, then the real one."""

import subprocess
import sys
import types

import numpy as np
import pytest

from shared.errors import SettingsError
from shared.models.catalogue import model_named
from shared.models.embedders import GROUP, LocalEmbedder, OnnxEmbedder, SentenceTransformersEmbedder, fingerprint


def lengths(texts):
    return np.array([[len(text), 1.0] for text in texts], dtype=np.float32)


async def test_rows_come_in_the_texts_order_and_are_unit():
    rows = await LocalEmbedder("toy", lambda: lengths).embed(["", "abc"])
    assert rows.dtype == np.float32
    assert rows == pytest.approx(np.array([[0, 1], [3 / 10**0.5, 1 / 10**0.5]]), abs=1e-6)


async def test_a_long_list_takes_several_turns():
    sizes = []

    def encode(texts):
        sizes.append(len(texts))
        return lengths(texts)

    rows = await LocalEmbedder("toy", lambda: encode).embed(["a"] * (2 * GROUP + 1))
    assert (rows.shape, sizes) == ((2 * GROUP + 1, 2), [1, GROUP, GROUP, 1])


async def test_no_texts_give_no_rows():
    assert (await LocalEmbedder("toy", lambda: lengths).embed([])).shape == (0, 2)


async def test_a_model_that_gives_no_number_is_refused():
    embedder = LocalEmbedder("toy", lambda: lambda texts: lengths(texts) * (np.nan if texts == ["a"] else 1))
    with pytest.raises(ValueError, match="not finite"):
        await embedder.embed(["a"])


async def test_the_model_is_let_go_at_the_start_and_read_again_when_a_text_comes():
    loads = []
    embedder = LocalEmbedder("toy", lambda: loads.append(1) or lengths)
    assert (len(loads), embedder._model.now) == (1, None)
    await embedder.embed(["a"])
    await embedder.embed(["b"])
    assert (len(loads), embedder._model.now) == (2, lengths)


def test_a_fingerprint_names_model_dimension_and_space():
    one, other = LocalEmbedder("toy", lambda: lengths), LocalEmbedder("toy", lambda: lambda texts: lengths(texts)[:, ::-1])
    assert one.fingerprint.startswith("toy/2/")
    assert (one.dimensions, one.fingerprint == other.fingerprint) == (2, False)


def test_a_fingerprint_does_not_see_noise_in_the_last_digits():
    vector = np.array([0.6, 0.8], dtype=np.float32)
    assert fingerprint("m", vector) == fingerprint("m", vector + np.float32(1e-4))


def test_an_absent_extra_is_named_with_the_command_that_installs_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(SettingsError, match="sentence-transformers") as caught:
        SentenceTransformersEmbedder.load("any")
    assert "pip install 'dgrag[torch]'" in caught.value.next_step


class ToyTransformer:
    def __init__(self, name):
        if name == "absent":
            raise OSError("no such model")

    def encode(self, texts, *, batch_size, convert_to_numpy, show_progress_bar):
        assert convert_to_numpy
        assert not show_progress_bar
        return lengths(texts)


@pytest.fixture
def torch(monkeypatch):
    torch = types.SimpleNamespace(set_num_threads=lambda threads: None)
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "sentence_transformers", types.SimpleNamespace(SentenceTransformer=ToyTransformer))


async def test_a_sentence_transformers_model_is_an_embedder(torch):
    embedder = SentenceTransformersEmbedder.load("toy")
    assert (await embedder.embed(["abc"]))[0] == pytest.approx([0.948683, 0.316228], abs=1e-5)


def test_an_absent_sentence_transformers_model_is_a_setting_that_cannot_work(torch):
    with pytest.raises(SettingsError, match="no such model"):
        SentenceTransformersEmbedder.load("absent")


@pytest.fixture(scope="module", params=["openvino", "onnxruntime"])
def real(minilm, request):
    return OnnxEmbedder.load(minilm, runtime=request.param, probe=model_named("minilm").probe)


@pytest.mark.model
async def test_the_real_model_puts_like_texts_together(real):
    rows = await real.embed(["The pump was repaired.", "Someone fixed the pump.", "Bread needs flour and water."])
    assert rows.shape == (3, 384)
    assert rows[0] @ rows[1] > 0.8
    assert rows[0] @ rows[2] < 0.2


@pytest.mark.model
async def test_the_real_model_gives_a_text_the_same_vector_in_any_company(real):
    alone = await real.embed(["The pump was repaired."])
    among = await real.embed(["A much longer text about quite another thing, so that lengths differ. " * 9, "The pump was repaired.", ""])
    assert among[1] == pytest.approx(alone[0], abs=1e-6)


@pytest.mark.model
async def test_the_real_model_takes_blank_broken_and_endless_texts(real):
    rows = await real.embed(["", "\ud800", "A" * 10_000, "word " * 10_000])
    assert np.linalg.norm(rows, axis=1) == pytest.approx(np.ones(4), abs=1e-5)


@pytest.mark.model
def test_the_real_model_has_one_fingerprint_whatever_runs_it(real, minilm):
    assert real.fingerprint == OnnxEmbedder.load(minilm, threads=1, runtime="onnxruntime").fingerprint
    assert real.fingerprint.startswith("all-MiniLM-L6-v2-int8/384/")


@pytest.mark.model
async def test_both_runtimes_make_the_same_vectors(minilm):
    texts = ["The pump was repaired.", "Who signed the report of 3 March?", "bread " * 300, ""]
    by = [await OnnxEmbedder.load(minilm, runtime=runtime).embed(texts) for runtime in ("openvino", "onnxruntime")]
    assert (by[0] * by[1]).sum(axis=1).min() > 0.998


def test_a_runtime_whose_probe_is_as_good_as_the_known_one_shares_its_fingerprint():
    known = np.array([0.6, 0.8], dtype=np.float32)

    def turned(angle):
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]], dtype=np.float32)
        return LocalEmbedder("tiny", lambda: lambda texts: np.tile(turn @ known, (len(texts), 1)), known).fingerprint

    assert turned(0.03) == turned(0.0) == fingerprint("tiny", known)
    assert turned(0.1) != turned(0.0)


@pytest.mark.model
def test_openvino_binds_no_thread_to_a_core(minilm, monkeypatch):
    """By default each process takes the first cores, so that the embedders of many edges wait for each other while others are idle."""
    openvino = pytest.importorskip("openvino")
    compiled = []

    class Core(openvino.Core):
        def compile_model(self, *given):
            compiled.append(super().compile_model(*given))
            return compiled[-1]

    monkeypatch.setattr(openvino, "Core", Core)
    OnnxEmbedder.load(minilm, runtime="openvino")
    assert [model.get_property("ENABLE_CPU_PINNING") for model in compiled] == [False]


@pytest.mark.model
def test_openvino_reports_nothing_to_its_makers(minilm):
    script = (
        "import socket, sys; from pathlib import Path; from shared.models.embedders import OnnxEmbedder\n"
        "def refuse(*_): sys.exit('it asked for an address')\n"
        "socket.getaddrinfo = socket.socket.connect = refuse\n"
        "OnnxEmbedder.load(Path(sys.argv[1]), runtime='openvino')\n"
        "import openvino.tools.ovc.telemetry_utils as told\n"
        "print(told.tm.__name__)"
    )
    done = subprocess.run([sys.executable, "-c", script, str(minilm)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "openvino.tools.ovc.telemetry_stub", "")


def test_a_runtime_that_is_asked_for_and_not_installed_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "openvino", None)
    with pytest.raises(SettingsError, match="openvino is not installed"):
        OnnxEmbedder.load(tmp_path, runtime="openvino")
