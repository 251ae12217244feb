"""The local model server: llama.cpp's OpenAI-compatible server as a process (``python -m shared.models.serve``).

One server a machine, never one a node: two of them on the same cores are slower than one with twice the work.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from shared.errors import SettingsError

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


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve until SIGTERM, SIGINT, or the death of ``--parent``."""
    options = parse(arguments)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    # libgomp reads it when it is loaded: with its default, waiting threads spin and starve every other process on the machine
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")
    server = start(options)
    while not stop.wait(PARENT_CHECK_S):
        if options.parent is not None and os.getppid() != options.parent:
            break
    del server  # its destructor joins the threads


def command(options: ServeOptions) -> list[str]:
    """The command line that runs this module with these options."""
    words = [sys.executable, "-m", "shared.models.serve"]
    for field in fields(options):
        if (value := getattr(options, field.name)) is not None:
            words += [f"--{field.name}", str(value)]
    return words


def start(options: ServeOptions) -> object:
    """Load the model and listen; the server lives as long as the returned object."""
    try:
        import xllamacpp  # here: an extra, and it must load after GOMP_SPINCOUNT is set
    except ImportError as error:
        raise SettingsError("the model server is not installed", next_step="run `pip install 'dgrag[model]'`") from error

    params = xllamacpp.CommonParams()
    params.model.path = str(options.model)
    params.model_alias = {options.name}
    params.hostnames = [options.host]
    params.port = options.port
    params.n_ctx = options.context
    params.n_parallel = options.parallel
    params.kv_unified = True  # the sequences share one cache: n samples hold their common prompt once
    params.cache_ram_mib = PROMPT_CACHE_MIB
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
    return ServeOptions(**vars(parser.parse_args(arguments)))


if __name__ == "__main__":
    main()
