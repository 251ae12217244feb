"""``python -m edge_node.documents.readers FD LANGUAGES TESSDATA REREADS``: the process that readers' children are forked from.

It holds the readers' modules and nothing else: no key, no store, no socket but the control socket ``FD`` and a child's own. On the
control socket the edge writes a line and gets one:

- ``read SECONDS MEMORY_BYTES OUTPUT_BYTES`` with a descriptor: a child takes one request and its document from that socket, answers
  there and ends; the reply is its pid.
- ``end PID``: the child is killed if it still runs; the reply is its wait status.

The last three say how text in images is recognised (``tessdata.Recognition.arguments``).

A child begins in milliseconds, because the modules are loaded already, and it never sees another document. It ends with its parent.
"""

from __future__ import annotations

import ctypes
import gc
import os
import resource
import signal
import socket
import sys
from pathlib import Path
from typing import NoReturn

import orjson

from edge_node.documents.parsers import PARSERS
from edge_node.documents.readers.confinement import confine
from edge_node.documents.readers.framing import HEAD, Answer, Failed, Request, take_request, write_answer
from edge_node.documents.readers.tessdata import FOLDERS, Recognition, chosen
from shared.errors import ReaderUnavailable, UnreadableDocument

NICENESS = 5  # questions go first
OPEN_FILES = 64
OUT_OF_MEMORY = 3  # exit status
PR_SET_PDEATHSIG = 1
MOST_COMMAND_BYTES = 256


def serve(control: socket.socket) -> None:
    """Fork and end children until the edge closes the control socket."""
    ours = set[int]()  # children that were not ended yet; no other process is ever killed
    while True:
        line, descriptors, _, _ = socket.recv_fds(control, MOST_COMMAND_BYTES, 1)
        match line.split():
            case [b"read", *limits] if descriptors:
                reply = _fork(control, descriptors[0], *map(int, limits))
                ours.add(reply)
            case [b"end", pid] if int(pid) in ours:
                ours.discard(int(pid))
                reply = _end(int(pid))
            case _:
                return
        control.sendall(HEAD.pack(reply))


def _fork(control: socket.socket, descriptor: int, seconds: int, memory_bytes: int, output_bytes: int) -> int:
    pid = os.fork()
    if pid == 0:
        control.close()
        _read_one(descriptor, seconds, memory_bytes, output_bytes)
    os.close(descriptor)
    return pid


def _end(pid: int) -> int:
    os.kill(pid, signal.SIGKILL)  # a child that has ended keeps its pid until the next line
    return os.waitpid(pid, 0)[1]


def _read_one(descriptor: int, seconds: int, memory_bytes: int, output_bytes: int) -> NoReturn:
    line = socket.socket(fileno=descriptor)
    stream = line.makefile("rwb")
    request, raw = take_request(stream)
    _limit(seconds, memory_bytes)
    try:
        confine(map(Path, (*FOLDERS, *filter(None, [chosen.get().joined]))))
        write_answer(stream, _answer(request, raw), most_bytes=output_bytes)
    except (UnreadableDocument, ReaderUnavailable) as error:
        write_answer(stream, Failed.of(error), most_bytes=output_bytes)
    except MemoryError:
        os._exit(OUT_OF_MEMORY)  # with the line still open: when the edge sees its end, the status stands
    os._exit(0)  # what a parser has left behind is not tidied up: that could take long


def _answer(request: Request, raw: bytes) -> Answer:
    match request.task:
        case "read":
            return PARSERS.read(request.name, raw)
        case "page":
            return PARSERS.page_image(request.name, raw, request.page, mark=request.mark, width=request.width)
        case "versions":
            return orjson.dumps(sorted(PARSERS.versions))
        case "media_types":
            return orjson.dumps(PARSERS.media_types)


def _limit(seconds: int, memory_bytes: int) -> None:
    """From here on: so much more address space, so many seconds of a core, no file written, no core dumped."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        memory_bytes += int(Path("/proc/self/statm").read_bytes().split()[0]) * resource.getpagesize()
        Path("/proc/self/oom_score_adj").write_bytes(b"1000")  # first to go when memory is short
    os.nice(NICENESS)
    used = resource.getrusage(resource.RUSAGE_SELF)
    cpu_seconds = int(used.ru_utime + used.ru_stime) + seconds + 1
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 1))  # at the first SIGXCPU, which tells why; at the second SIGKILL
    for which, most in (
        (resource.RLIMIT_AS, memory_bytes),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, OPEN_FILES),
    ):
        resource.setrlimit(which, (most, most))


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the edge, which closes the control socket when it stops
    chosen.set(Recognition.of(*sys.argv[2:5]))
    PARSERS.load_all()
    gc.freeze()
    serve(socket.socket(fileno=int(sys.argv[1])))
