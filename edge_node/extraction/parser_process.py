"""The process that parses, beside the edge: no question waits for Python's lock, and its memory goes when it is idle."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from edge_node.extraction.parsing import Passage, Reading
from shared.errors import ModelUnavailable
from shared.idle import HeldWhileUsed
from shared.text.language import READ

IDLE_S = 60.0  # it starts again in a second and a half


@dataclass(frozen=True, slots=True)
class _Child:
    process: subprocess.Popen[bytes]
    line: Connection

    def end(self) -> None:
        """Kill it."""
        self.line.close()
        self.process.kill()
        self.process.wait()


class ParserProcess:
    """``LanguagePacks`` in the process ``python -m edge_node.extraction``, started at first use, and again where it has ended.

    One call at a time. Raises OSError where the model is not there, and ModelUnavailable where the process ends twice.
    """

    def __init__(self, model_name: str, *, idle_s: float = IDLE_S) -> None:
        self._model_name = model_name
        self._child = HeldWhileUsed(self._start, idle_s=idle_s, close=_Child.end)

    def read(self, passages: Sequence[Passage], *, with_facts: bool, language: str = READ) -> list[Reading]:
        """As ``LanguagePacks.read``."""
        readings: list[Reading] = self._asked("read", passages, with_facts=with_facts, language=language)
        return readings

    def phrases(self, question: str, *, language: str = READ) -> list[str]:
        """As ``LanguagePacks.phrases``."""
        found: list[str] = self._asked("phrases", question, language=language)
        return found

    @property
    def pid(self) -> int | None:
        """Of the child, None where there is none."""
        child = self._child.now
        return child.process.pid if child else None

    def close(self) -> None:
        """End the child; the next call starts another one."""
        self._child.close()

    def _asked(self, name: str, *arguments: Any, **options: Any) -> Any:
        try:
            reply = self._exchange((name, arguments, options))
        except (EOFError, OSError):  # it has ended: another one is asked
            try:
                reply = self._exchange((name, arguments, options))
            except (EOFError, OSError) as error:
                step = "free memory on this machine, then retry the document"
                raise ModelUnavailable("the process that parses ended while it read", next_step=step) from error
        if isinstance(reply, Exception):
            raise reply
        return reply

    def _exchange(self, call: tuple[str, tuple[Any, ...], dict[str, Any]]) -> Any:
        with self._child.used() as child:
            child.line.send(call)
            return child.line.recv()

    def _start(self) -> _Child:
        ours, theirs = socket.socketpair()
        with theirs:
            process = subprocess.Popen(  # noqa: S603 - our own words
                [sys.executable, "-I", "-m", __package__, str(theirs.fileno()), self._model_name],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,  # a traceback could hold what the document says
                env={"OPENBLAS_NUM_THREADS": "1"},  # no key gets to it; products so small take twice the time in two threads
                start_new_session=True,
            )
        return _Child(process, Connection(ours.detach()))
