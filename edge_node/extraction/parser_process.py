"""The processes that parse, beside the edge: no question waits for Python's lock, and their memory goes when they are idle."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
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


def _exchange(one: HeldWhileUsed[_Child], call: tuple[str, tuple[Any, ...], dict[str, Any]]) -> Any:
    with one.used() as child:
        child.line.send(call)
        return child.line.recv()


class ParserProcesses:
    """``LanguagePacks`` in ``most`` processes ``python -m edge_node.extraction``, each started at first use, and again where it has ended.

    A process has one call at a time; the later ones are used while those before them are, and rest else. Raises OSError where the model
    is not there, and ModelUnavailable where the process ends twice.
    """

    def __init__(self, model_name: str, *, most: int = 1, idle_s: float = IDLE_S) -> None:
        self._model_name = model_name
        self._children = [HeldWhileUsed(self._start, idle_s=idle_s, close=_Child.end) for _ in range(most)]
        self._map: Callable[..., Iterator[list[Reading]]] = map
        if most > 1:
            self._map = ThreadPoolExecutor(most, thread_name_prefix="parser").map

    def read(self, passages: Sequence[Passage], *, with_facts: bool, language: str = READ) -> list[Reading]:
        """As ``LanguagePacks.read``."""
        readings: list[Reading] = self._asked("read", passages, with_facts=with_facts, language=language)
        return readings

    def read_all(self, batches: Sequence[Sequence[Passage]], *, with_facts: bool, language: str = READ) -> Iterator[list[Reading]]:
        """``read`` of each batch, in their order, by all processes at once."""
        return self._map(partial(self.read, with_facts=with_facts, language=language), batches)

    def phrases(self, question: str, *, language: str = READ) -> list[str]:
        """As ``LanguagePacks.phrases``."""
        found: list[str] = self._asked("phrases", question, language=language)
        return found

    @property
    def pids(self) -> list[int]:
        """Of those that there are."""
        return [child.process.pid for one in self._children if (child := one.now)]

    def close(self) -> None:
        """End them; the next call starts another one."""
        for child in self._children:
            child.close()

    def _asked(self, name: str, *arguments: Any, **options: Any) -> Any:
        child = next((one for one in self._children if not one.is_used), self._children[0])
        try:
            reply = _exchange(child, (name, arguments, options))
        except (EOFError, OSError):  # it has ended: one in its place is asked
            try:
                reply = _exchange(child, (name, arguments, options))
            except (EOFError, OSError) as error:
                step = "free memory on this machine, then retry the document"
                raise ModelUnavailable("the process that parses ended while it read", next_step=step) from error
        if isinstance(reply, Exception):
            raise reply
        return reply

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
