"""Readers in processes of their own: a file that takes too long, too much memory or the whole reader costs that file and nothing else."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Protocol

import orjson

from edge_node.documents.parsers import PARSERS, read
from edge_node.documents.readers.confinement import available
from edge_node.documents.readers.controls import CONTROLS, IMAGE_CONTROL, Control
from edge_node.documents.readers.framing import (
    HEAD,
    MAX_OUTPUT_BYTES,
    Answer,
    BrokenAnswerError,
    Failed,
    Request,
    take_answer,
    write_request,
)
from edge_node.documents.readers.tessdata import AS_INSTALLED, Recognition
from edge_node.documents.text import ReadText
from shared.errors import DgragError, ReaderUnavailable, UnreadableDocument

log = logging.getLogger("dgrag.edge.readers")
OUT_OF_MEMORY = 3  # exit status of a child, as in ``__main__``
PATIENCE = 4  # seconds of the clock for each second of a core that a child may take: others work too
START_S = 60.0  # for a fork, and for the first one with the modules' import and the unpacking of a library
PAGE_SECONDS = 20  # of a core, at most, for the picture of a page …
MAX_PAGE_BYTES = 16 * 2**20  # … and its size
QUICK_S, REST = 5.0, 9  # a check that takes longer is not made again for so many times the rest of its time


@dataclass(frozen=True, slots=True)
class ReaderFault:
    """What cannot be read here, whatever the document; ``detail`` is for operators, as it may name folders."""

    kind: str
    detail: str

    @property
    def message(self) -> str:
        """What anybody may know of it.

        >>> ReaderFault("PDF files", "").message
        'PDF files cannot be read here now'
        """
        return f"{self.kind} cannot be read here now"


class Reads(Protocol):
    """Turns a document's bytes into text."""

    @property
    def faults(self) -> tuple[ReaderFault, ...]:
        """What could not be read at the last check."""

    async def read(self, name: str, raw: bytes) -> ReadText:
        """As ``readers.read``. Raises UnreadableDocument, ReaderUnavailable. Cancelled, it stops the reader."""

    async def page_image(self, name: str, raw: bytes, page: int, *, mark: str = "", width: int = 0) -> bytes:
        """As ``Registry.page_image``. Raises as ``read``. Cancelled, it stops the reader."""

    async def versions(self) -> frozenset[str]:
        """The version tags of the parsers that read now."""

    async def media_types(self) -> dict[str, str]:
        """As ``Registry.media_types``, of those."""

    async def check(self) -> tuple[ReaderFault, ...]:
        """Read the control files; what of them cannot be read."""

    def close(self) -> None:
        """Stop what is under way."""


class ReadsHere:
    """Reads in a thread of this process, without limits: for documents that one has written oneself."""

    faults: tuple[ReaderFault, ...] = ()

    async def read(self, name: str, raw: bytes) -> ReadText:
        """As ``readers.read``."""
        return await asyncio.to_thread(read, name, raw)

    async def page_image(self, name: str, raw: bytes, page: int, *, mark: str = "", width: int = 0) -> bytes:
        """As ``Registry.page_image``."""
        return await asyncio.to_thread(PARSERS.page_image, name, raw, page, mark=mark, width=width)

    async def versions(self) -> frozenset[str]:
        """As ``Registry.versions``."""
        return await asyncio.to_thread(lambda: PARSERS.versions)

    async def media_types(self) -> dict[str, str]:
        """As ``Registry.media_types``."""
        return await asyncio.to_thread(lambda: PARSERS.media_types)

    async def check(self) -> tuple[ReaderFault, ...]:
        """Nothing is checked."""
        return self.faults

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
        self._faults = dict[Control, ReaderFault]()
        self._versions: frozenset[str] | None = None
        self._check_after = 0.0  # of the loop's clock
        self._limits = limits
        self._threads = ThreadPoolExecutor(at_once, thread_name_prefix="reader")  # each waits for one child
        self._recognition = recognition
        self._forker = _Forker(recognition)

    @property
    def faults(self) -> tuple[ReaderFault, ...]:
        """What could not be read at the last check."""
        return tuple(self._faults.values())

    async def read(self, name: str, raw: bytes) -> ReadText:
        """As ``readers.read``; the further reasons are ``too_slow``, ``too_large`` (memory) and ``reader_failed``.

        Raises ReaderUnavailable where a control file of the document's kind cannot be read either: then the document is not to blame.
        """
        try:
            found = await self._read(name, raw)
        except UnreadableDocument as error:
            await self._require_sound({error.reason}, error)
            raise
        except ReaderUnavailable as error:
            await self._require_sound(None, error)
            raise
        await self._require_sound({code for code, _ in found.shortfalls}, None)
        if self._faults and asyncio.get_running_loop().time() >= self._check_after:
            await self._check(tuple(self._faults))
        return found

    async def page_image(self, name: str, raw: bytes, page: int, *, mark: str = "", width: int = 0) -> bytes:
        """As ``Registry.page_image``, in at most ``PAGE_SECONDS``; a picture of more than ``MAX_PAGE_BYTES`` is ``too_large``."""
        seconds = min(PAGE_SECONDS, self._limits.seconds)
        limits = replace(self._limits, seconds=seconds, output_bytes=MAX_PAGE_BYTES)
        answer = await self._answer(Request(name, "page", page, mark, width), raw, limits)
        assert isinstance(answer, bytes)
        return answer

    async def versions(self) -> frozenset[str]:
        """Those of the process that the children come from, which may be other modules than this one's."""
        if self._versions is None:
            answer = await self._answer(Request("", "versions"), b"", self._limits)
            assert isinstance(answer, bytes)
            self._versions = frozenset(map(str, orjson.loads(answer)))
        return self._versions

    async def media_types(self) -> dict[str, str]:
        """Of the same process."""
        answer = await self._answer(Request("", "media_types"), b"", self._limits)
        assert isinstance(answer, bytes)
        return {str(suffix): str(each) for suffix, each in orjson.loads(answer).items()}

    async def check(self) -> tuple[ReaderFault, ...]:
        """Read the control files, images only where text in them is recognised; keeps in ``faults`` what cannot be read."""
        return await self._check(self._controls())

    def _controls(self) -> tuple[Control, ...]:
        return (*CONTROLS, IMAGE_CONTROL) if self._recognition.data() else CONTROLS

    async def _check(self, controls: Sequence[Control]) -> tuple[ReaderFault, ...]:
        """Of these files, what cannot be read now."""
        clock = asyncio.get_running_loop().time
        started = clock()
        for control in controls:
            fault = await self._fault(control)
            before = self._faults.pop(control, None)
            if fault is None and before is not None:
                log.info("%s can be read again", control.kind)
            elif fault is not None:
                self._faults[control] = fault
                if fault != before:
                    log.error("%s: %s", fault.message, fault.detail)
        self._check_after = clock() + REST * max(0.0, clock() - started - QUICK_S)
        return tuple(self._faults[control] for control in controls if control in self._faults)

    async def _read(self, name: str, raw: bytes) -> ReadText:
        answer = await self._answer(Request(name), raw, self._limits)
        assert isinstance(answer, ReadText)
        return answer

    async def _answer(self, request: Request, raw: bytes, limits: ReaderLimits) -> ReadText | bytes:
        child = _Child(self._forker, limits)
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, child.answer, request, raw)
        except asyncio.CancelledError:
            child.kill()
            raise

    async def _require_sound(self, doubts: set[str] | None, error: DgragError | None) -> None:
        """Raises ReaderUnavailable where a control file of those in doubt cannot be read; None: all are in doubt."""
        controls = [control for control in self._controls() if doubts is None or control.doubts & doubts]
        if faults := await self._check(controls):
            kinds, details = ", ".join(fault.kind for fault in faults), "; ".join(fault.detail for fault in faults)
            step = "nothing has to be done with the document: it is tried again by itself; the edge's log says what is wrong"
            raise ReaderUnavailable(f"{kinds} cannot be read here now", detail=details, next_step=step) from error

    async def _fault(self, control: Control) -> ReaderFault | None:
        try:
            found = await self._read(control.name, control.data)
        except UnreadableDocument as error:
            if not control.words and error.reason in ("empty", "no_text"):  # an image in which no letter was recognised
                return None
            return ReaderFault(control.kind, " – ".join(filter(None, (error.message, str(error.__cause__ or "")))))
        except ReaderUnavailable as error:
            return ReaderFault(control.kind, error.detail or error.message)
        if control.words not in found.text:
            return ReaderFault(control.kind, f"a control file is read without the words that stand in it ({control.name})")
        return None

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

    def answer(self, request: Request, raw: bytes) -> ReadText | bytes:
        """A child's answer, of the kind that its task has. Raises as ``readers.read``.

        A document whose child ended because that of another one broke their parent is tried once more.
        """
        answer, status = self._attempt(request, raw)
        if answer is None and status is None and not self._killed:
            answer, status = self._attempt(request, raw)
        if isinstance(answer, Failed):
            raise answer.to_error(request.name)
        if answer is None:
            raise self._failure(request.name, signal.SIGKILL if status is None else status)
        return answer

    def _attempt(self, request: Request, raw: bytes) -> tuple[Answer | None, int | None]:
        """The answer, None if none came, and how the child ended, None if its parent is gone."""
        ours, theirs = socket.socketpair()
        with ours:
            reader = self._begin(theirs)
            try:
                answer = self._exchange(ours, request, raw)
            finally:
                with self._lock:
                    self._reader = None
                status = self._forker.end(reader)
        return answer, status

    def _begin(self, theirs: socket.socket) -> _Reader:
        with theirs:
            if self._killed:
                raise asyncio.CancelledError
            try:
                reader = self._forker.fork(theirs, self._limits)
            except OSError as error:
                step = "free memory or processes of the machine; it is tried again by itself"
                raise ReaderUnavailable("no process can be started to read documents", detail=str(error), next_step=step) from error
        with self._lock:
            self._reader = reader
            if self._killed:
                reader.kill()
        return reader

    def _exchange(self, line: socket.socket, request: Request, raw: bytes) -> Answer | None:
        """None: no whole answer came in time, or one of another kind."""
        timer = threading.Timer(PATIENCE * self._limits.seconds, self.kill)
        timer.start()
        try:
            with line.makefile("rwb") as stream:
                write_request(stream, request, raw)
                answer = take_answer(stream, most_bytes=self._limits.output_bytes)
        except (OSError, BrokenAnswerError):
            return None
        finally:
            timer.cancel()
        is_text = not isinstance(answer, bytes)
        return answer if isinstance(answer, Failed) or is_text == (request.task == "read") else None

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
            said = f"its reader broke off, as it does where a document takes more than {self._limits.memory_bytes:,} bytes of memory"
            return UnreadableDocument(name, "too_large", said, next_step=step)
        ended = f"by signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"with status {os.WEXITSTATUS(status)}"
        step = "retry it; if that fails too, save it as PDF or text again"
        return UnreadableDocument(name, "reader_failed", f"the reader ended {ended} before it had read it", next_step=step)


_BEGIN = """
import json, runpy, sys
sys.path[:] = json.loads(sys.argv.pop(1))
runpy.run_module(sys.argv.pop(1), run_name="__main__", alter_sys=True)
"""


def _python(module: str | None) -> list[str]:
    """Begins a command that runs a module, isolated from its surroundings, with the packages that this process has."""
    path = json.dumps([entry for entry in sys.path if entry])
    return [sys.executable, "-I", "-c", _BEGIN, path, str(module)]


class _Forker:
    """The process ``readers.__main__``; where it has died it is started again for the next child."""

    def __init__(self, recognition: Recognition) -> None:
        self._lock = threading.Lock()
        self._closed = False
        self._recognition = recognition
        log.info("readers are confined by %s", " and ".join(available()) or "limits of time, memory and files alone")
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
        recognition = self._recognition.arguments()
        with theirs:
            process = subprocess.Popen(  # noqa: S603 - our own words
                [*_python(__package__), str(theirs.fileno()), *recognition],
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
