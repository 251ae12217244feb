"""Readers in processes of their own: a file that takes too long, too much memory or the whole reader costs that file and nothing else."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol

from edge_node.documents.readers import read
from edge_node.documents.readers.framing import HEAD, MAX_OUTPUT_BYTES, BrokenAnswerError, Failed, take_answer, write_document
from edge_node.documents.readers.tessdata import AS_INSTALLED, Recognition
from edge_node.documents.readers.text import ReadText
from shared.errors import UnreadableDocument

OUT_OF_MEMORY = 3  # exit status of a child, as in ``__main__``
PATIENCE = 4  # seconds of the clock for each second of a core that a child may take: others work too
START_S = 30.0  # for a fork, and for the first one with the modules' import


class Reads(Protocol):
    """Turns a document's bytes into text."""

    async def read(self, name: str, raw: bytes) -> ReadText:
        """As ``readers.read``. Raises UnreadableDocument. Cancelled, it stops the reader."""

    def close(self) -> None:
        """Stop what is under way."""


class ReadsHere:
    """Reads in a thread of this process, without limits: for documents that one has written oneself."""

    async def read(self, name: str, raw: bytes) -> ReadText:
        """As ``readers.read``."""
        return await asyncio.to_thread(read, name, raw)

    def close(self) -> None:
        """Nothing is held."""


@dataclass(frozen=True, slots=True)
class ReaderLimits:
    """Of one document: seconds of a core, bytes of address space beyond what the modules take, bytes of text in UTF-8."""

    seconds: int
    memory_bytes: int
    output_bytes: int = MAX_OUTPUT_BYTES


class ReaderPool:
    """Reads each document in a child forked for it (``readers.__main__``), ``at_once`` children at the same time."""

    def __init__(self, limits: ReaderLimits, *, at_once: int, recognition: Recognition = AS_INSTALLED) -> None:
        """Start the process that the children are forked from; it loads its modules while nobody waits."""
        self._limits = limits
        self._threads = ThreadPoolExecutor(at_once, thread_name_prefix="reader")  # each waits for one child
        self._forker = _Forker(recognition)

    async def read(self, name: str, raw: bytes) -> ReadText:
        """As ``readers.read``; the further reasons are ``too_slow``, ``too_large`` (memory) and ``reader_failed``."""
        child = _Child(self._forker, self._limits)
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, child.read, name, raw)
        except asyncio.CancelledError:
            child.kill()
            raise

    def close(self) -> None:
        """End the children and the process that they come from."""
        self._forker.close()
        self._threads.shutdown(cancel_futures=True)


@dataclass(frozen=True, slots=True)
class _Reader:
    """A child, and the process that it was forked from: while that lives and was not told to end it, the pid is nobody else's."""

    parent: subprocess.Popen[bytes]
    pid: int

    def kill(self) -> None:
        """End it now; with its parent it has ended already."""
        if self.parent.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)


class _Child:
    """One document's reader. ``kill`` may come from another thread, at any time, and never waits."""

    def __init__(self, forker: _Forker, limits: ReaderLimits) -> None:
        self._forker = forker
        self._limits = limits
        self._lock = threading.Lock()  # held for moments only
        self._reader: _Reader | None = None
        self._killed = False

    def kill(self) -> None:
        """End the child now; one that has not begun never does."""
        with self._lock:
            self._killed = True
            if self._reader is not None:
                self._reader.kill()

    def read(self, name: str, raw: bytes) -> ReadText:
        """As ``readers.read``. A document whose child ended because that of another one broke their parent is read once more."""
        answer, status = self._attempt(name, raw)
        if answer is None and status is None and not self._killed:
            answer, status = self._attempt(name, raw)
        if isinstance(answer, Failed):
            raise answer.to_error(name)
        if answer is None:
            raise self._failure(name, signal.SIGKILL if status is None else status)
        return answer

    def _attempt(self, name: str, raw: bytes) -> tuple[ReadText | Failed | None, int | None]:
        """The answer, None if none came, and how the child ended, None if its parent is gone."""
        ours, theirs = socket.socketpair()
        with ours:
            reader = self._begin(name, theirs)
            try:
                answer = self._exchange(ours, name, raw)
            finally:
                with self._lock:
                    self._reader = None
                status = self._forker.end(reader)
        return answer, status

    def _begin(self, name: str, theirs: socket.socket) -> _Reader:
        with theirs:
            if self._killed:
                raise asyncio.CancelledError
            try:
                reader = self._forker.fork(theirs, self._limits)
            except OSError as error:
                step = "free memory or processes, then retry it"
                raise UnreadableDocument(name, "reader_failed", "no process can be started to read it", next_step=step) from error
        with self._lock:
            self._reader = reader
            if self._killed:
                reader.kill()
        return reader

    def _exchange(self, line: socket.socket, name: str, raw: bytes) -> ReadText | Failed | None:
        """None: no whole answer came in time."""
        timer = threading.Timer(PATIENCE * self._limits.seconds, self.kill)
        timer.start()
        try:
            with line.makefile("rwb") as stream:
                write_document(stream, name, raw)
                return take_answer(stream, most_bytes=self._limits.output_bytes)
        except (OSError, BrokenAnswerError):
            return None
        finally:
            timer.cancel()

    def _failure(self, name: str, status: int) -> UnreadableDocument:
        if self._killed or (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU):
            step = "split it or save it as text; DGRAG_EDGE_READER_SECONDS allows more"
            return UnreadableDocument(name, "too_slow", f"reading it took more than {self._limits.seconds} s of a core", next_step=step)
        if os.WIFEXITED(status) and os.WEXITSTATUS(status) == OUT_OF_MEMORY:
            step = "split it; DGRAG_EDGE_READER_MEMORY_BYTES allows more"
            return UnreadableDocument(
                name, "too_large", f"reading it takes more than {self._limits.memory_bytes:,} bytes of memory", next_step=step
            )
        if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGABRT:  # native code that gets no memory ends so
            step = "split it, or save it as PDF or text again; DGRAG_EDGE_READER_MEMORY_BYTES allows more"
            said = f"its reader broke off: it is damaged, or takes more than {self._limits.memory_bytes:,} bytes of memory"
            return UnreadableDocument(name, "too_large", said, next_step=step)
        return UnreadableDocument(
            name, "reader_failed", "its reader broke down: it may be damaged", next_step="save it as PDF or text again"
        )


class _Forker:
    """The process ``readers.__main__``; where it has died it is started again for the next child."""

    def __init__(self, recognition: Recognition) -> None:
        self._lock = threading.Lock()
        self._closed = False
        self._recognition = recognition
        self._process, self._control = self._start()

    def fork(self, theirs: socket.socket, limits: ReaderLimits) -> _Reader:
        """A child that speaks on ``theirs``. Raises OSError where no process can be started."""
        command = b"read %d %d %d" % (limits.seconds, limits.memory_bytes, limits.output_bytes)
        with self._lock:
            if self._closed:
                raise asyncio.CancelledError
            try:
                return _Reader(self._process, self._said(command, theirs))
            except OSError:
                self._stop()
                self._process, self._control = self._start()
                return _Reader(self._process, self._said(command, theirs))

    def end(self, reader: _Reader) -> int | None:
        """Kill a child and return its wait status; None where the process that it came from is gone, and it with that."""
        with self._lock:
            if reader.parent is not self._process:
                return None
            try:
                return self._said(b"end %d" % reader.pid)
            except OSError:
                self._stop()  # a late reply must not be taken for another one's
                return None

    def close(self) -> None:
        """End it, and with it its children."""
        with self._lock:
            self._closed = True
            self._stop()

    def _said(self, command: bytes, *sent: socket.socket) -> int:
        socket.send_fds(self._control, [command], [part.fileno() for part in sent])
        reply = self._control.recv(HEAD.size, socket.MSG_WAITALL)
        if len(reply) < HEAD.size:
            raise ConnectionResetError("the readers' parent is gone")
        return int(HEAD.unpack(reply)[0])

    def _start(self) -> tuple[subprocess.Popen[bytes], socket.socket]:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        ours.settimeout(START_S)
        with theirs:
            process = subprocess.Popen(  # noqa: S603 - our own words
                [sys.executable, "-I", "-m", __package__, str(theirs.fileno()), self._recognition.wanted, self._recognition.joined],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,  # a traceback could hold what the document says
                env={},  # no key gets to a reader
                start_new_session=True,
            )
        return process, ours

    def _stop(self) -> None:
        self._control.close()
        self._process.kill()
        self._process.wait()
