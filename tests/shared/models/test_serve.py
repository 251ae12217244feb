"""The server's command line, and its life as a process; what it answers is in test_live_server."""

import os
import select
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from shared.errors import ModelUnavailable, SettingsError
from shared.models import serve
from shared.models.build import build_generator, model_http
from shared.models.serve import ServeOptions, command, parse
from shared.models.settings import ModelSettings
from shared.ports import Message, Prompt


def test_options_survive_the_command_line():
    options = ServeOptions(Path("w.gguf"), "m", port=1, threads=4, parent=7, allow_host=("model", "gpu"))
    assert command(options)[:4] == [sys.executable, "-P", "-m", "shared.models.serve"]
    assert parse(command(options)[4:]) == options


def test_what_is_not_given_keeps_its_default():
    assert parse(["--model", "w.gguf", "--name", "m"]) == ServeOptions(Path("w.gguf"), "m")


def test_a_missing_engine_is_named_with_the_command_that_installs_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(SettingsError) as caught:
        serve.start(ServeOptions(Path("w.gguf"), "m"), Path("engine.sock"), "")
    assert "pip install 'dgrag[model]'" in caught.value.next_step


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.mark.model
@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="watches a process as only Linux can")
def test_the_real_server_ends_when_its_parent_does(small_weights):
    port = free_port()
    words = command(ServeOptions(small_weights, "small", port=port, context=512, parent=0))
    place = words.index("--parent") + 1
    script = f"import os, subprocess; words = {words!r}; words[{place}] = str(os.getpid()); print(subprocess.Popen(words, stderr=-3).pid)"
    started = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert started.stdout.strip().isdigit()
    assert ended(int(started.stdout))


def ended(pid):
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    with os.fdopen(process):
        watch = select.poll()
        watch.register(process, select.POLLIN)
        return bool(watch.poll(20_000))


async def test_a_server_that_is_not_there_is_unavailable():
    settings = ModelSettings(url=f"http://127.0.0.1:{free_port()}/v1")
    async with model_http(settings) as http:
        with pytest.raises(ModelUnavailable, match="no model server"):
            await build_generator(settings, http).generate(Prompt((Message("user", "?"),), 1), deadline_s=5)
