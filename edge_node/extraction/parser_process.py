"""The process that parses, beside the edge: no question waits for Python's lock, and its memory goes when it is idle."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection
from typing import Any

from edge_node.extraction.parsing import Passage, Reading
from shared.errors import ModelUnavailable

IDLE_S = 60.0  # it starts again in a second and a half


class ParserProcess:
    """A ``parsing.Parser`` in the process ``python -m edge_node.extraction``, started at first use, and again where it has ended.

    One call at a time. Raises OSError where the model is not there, and ModelUnavailable where the process ends twice.
    """

    def __init__(self, model_name: str, *, idle_s: float = IDLE_S) -> None:
        self._model_name = model_name
        self._idle_s = idle_s
        self._lock = threading.Lock()
        self._child: tuple[subprocess.Popen[bytes], Connection] | None = None
        self._used = 0.0

    def read(self, passages: Sequence[Passage], *, with_facts: bool) -> list[Reading]:
        """As ``Parser.read``."""
        readings: list[Reading] = self._asked("read", passages, with_facts=with_facts)
        return readings

    def phrases(self, question: str) -> list[str]:
        """As ``Parser.phrases``."""
        found: list[str] = self._asked("phrases", question)
        return found

    @property
    def pid(self) -> int | None:
        """Of the child, None where there is none."""
        child = self._child
        return child[0].pid if child else None

    def close(self) -> None:
        """End the child; the next call starts another one."""
        with self._lock:
            self._end()

    def _asked(self, name: str, *arguments: Any, **options: Any) -> Any:
        with self._lock:
            for is_last in (False, True):
                try:
                    reply = self._exchange((name, arguments, options))
                    break
                except (EOFError, OSError) as error:
                    self._end()
                    if is_last:
                        step = "free memory on this machine, then retry the document"
                        raise ModelUnavailable("the process that parses ended while it read", next_step=step) from error
            self._used = time.monotonic()
        if isinstance(reply, Exception):
            raise reply
        return reply

    def _exchange(self, call: tuple[str, tuple[Any, ...], dict[str, Any]]) -> Any:
        if self._child is None:
            self._child = self._start()
            self._watch(self._idle_s)
        _, line = self._child
        line.send(call)
        return line.recv()

    def _start(self) -> tuple[subprocess.Popen[bytes], Connection]:
        ours, theirs = socket.socketpair()
        with theirs:
            process = subprocess.Popen(  # noqa: S603 - our own words
                [sys.executable, "-I", "-m", __package__, str(theirs.fileno()), self._model_name],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,  # a traceback could hold what the document says
                env={},  # no key gets to it
                start_new_session=True,
            )
        return process, Connection(ours.detach())

    def _watch(self, wait_s: float) -> None:
        timer = threading.Timer(wait_s, self._end_if_idle)
        timer.daemon = True
        timer.start()

    def _end_if_idle(self) -> None:
        with self._lock:
            left_s = self._used + self._idle_s - time.monotonic()
            if self._child is None:
                return
            if left_s > 0:
                self._watch(left_s)
            else:
                self._end()

    def _end(self) -> None:
        if self._child is not None:
            process, line = self._child
            self._child = None
            line.close()
            process.kill()
            process.wait()
