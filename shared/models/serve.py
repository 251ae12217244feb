"""The local model server: llama.cpp's OpenAI-compatible server as a process (``python -m shared.models.serve``).

One server a machine, never one a node: two of them on the same cores are slower than one with twice the work. Who may ask it, ``front``
says. The key comes by DGRAG_MODEL_API_KEY or DGRAG_MODEL_API_KEY_FILE, never by the command line, which every user of the machine can read.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from shared.errors import SettingsError
from shared.models.front import Door, listen
from shared.models.settings import ModelSettings
from shared.tls import is_loopback

PARENT_CHECK_S = 1.0
PARALLEL = 8  # sequences at once: a question draws up to as many samples in one request
PROMPT_CACHE_MIB = 1024  # prompts whose place another request took, kept to go on from; the engine's own default is 8 GiB


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """How the server runs. ``context`` is in tokens, shared by all ``parallel`` sequences."""

    model: Path
    name: str
    host: str = "127.0.0.1"
    port: int = 8090
    context: int = 8192
    parallel: int = PARALLEL
    threads: int = 2
    parent: int | None = None  # process id; the server ends when that process is no longer its parent
    allow_host: tuple[str, ...] = ()  # names that it is called by, beside those of loopback and ``host``


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve until SIGTERM, SIGINT, or the death of ``--parent``."""
    options = parse(arguments)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    # libgomp reads it when it is loaded: with its default, waiting threads spin and starve every other process on the machine
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")
    key = ModelSettings().key()
    door = door_of(options, key)
    with tempfile.TemporaryDirectory(prefix="dgrag-model-", ignore_cleanup_errors=True) as folder:  # mode 0700
        engine = Path(folder) / "engine.sock"
        try:
            port = listen(door, options.host, options.port, engine)
        except OSError as error:
            at = f"{options.host}:{options.port}"
            raise SettingsError(f"the model server cannot listen on {at}: {error.strerror}", next_step="choose another port") from error
        server = start(options, engine, key)
        while not stop.wait(PARENT_CHECK_S):
            if options.parent is not None and os.getppid() != options.parent:
                break
        del server  # its destructor joins the threads
        port.close()


def door_of(options: ServeOptions, key: str) -> Door:
    """Who may ask the server. Raises SettingsError for one without a key that other machines reach."""
    if not key and not is_loopback(options.host):
        raise SettingsError(
            f"a model server on {options.host} needs a key",
            next_step="set DGRAG_MODEL_API_KEY or DGRAG_MODEL_API_KEY_FILE, or use 127.0.0.1",
        )
    return Door(key, frozenset(name.lower() for name in (options.host, *options.allow_host)))


def command(options: ServeOptions) -> list[str]:
    """The command line that runs this module with these options."""
    words = [sys.executable, "-P", "-m", "shared.models.serve"]
    for field in fields(options):
        value = getattr(options, field.name)
        for each in value if isinstance(value, tuple) else (value,):
            words += [] if each is None else [f"--{field.name.replace('_', '-')}", str(each)]
    return words


def start(options: ServeOptions, engine: Path, key: str) -> object:
    """Load the model and listen on the socket ``engine``; the server lives as long as the returned object."""
    try:
        import xllamacpp  # here: an extra, and it must load after GOMP_SPINCOUNT is set
    except ImportError as error:
        raise SettingsError("the model server is not installed", next_step="run `pip install 'dgrag[model]'`") from error

    params = xllamacpp.CommonParams()
    params.model.path = str(options.model)
    params.model_alias = {options.name}
    params.hostnames = [str(engine)]
    params.api_keys = [key] if key else []
    params.cors_origins = params.cors_methods = params.cors_headers = ""
    params.cors_credentials = params.ui = False
    params.n_ctx = options.context
    params.n_parallel = options.parallel
    params.kv_unified = True  # the sequences share one cache: n samples hold their common prompt once
    params.cache_ram_mib = PROMPT_CACHE_MIB
    params.cache_idle_slots = False  # else the next prompt, which begins like the last one, finds no slot that holds its beginning
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = options.threads
    return xllamacpp.Server(params)


def parse(arguments: Sequence[str] | None) -> ServeOptions:
    """The command line as a record; what is not given keeps the record's default."""
    parser = argparse.ArgumentParser(prog="python -m shared.models.serve", description=__doc__, argument_default=argparse.SUPPRESS)
    parser.add_argument("--model", type=Path, required=True, help="GGUF file")
    parser.add_argument("--name", required=True, help="name that clients use")
    parser.add_argument("--host", help="address to listen on; default: loopback")
    parser.add_argument("--port", type=int)
    parser.add_argument("--context", type=int, help="tokens, shared by all parallel sequences")
    parser.add_argument("--parallel", type=int, help="sequences at once")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--parent", type=int, help="end when this process is no longer the parent")
    parser.add_argument("--allow-host", action="append", help="a name that it is called by, beside loopback's; may be repeated")
    given = vars(parser.parse_args(arguments))
    return ServeOptions(**given | {"allow_host": tuple(given.get("allow_host", ()))})


if __name__ == "__main__":
    main()
