"""R2: the disk at every system call of an edge's life, as a power cut would leave it: what was not synced is lost, in part or torn.

A call is replayed where strace saw it end. Names (created, renamed, removed) are kept at once, the worst case for
whoever renames before it syncs; data is kept at fsync or fdatasync only.
"""

import random
import re
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from tests.faults.forks import Child, Strace

PAGE = 4096  # what a disk writes whole
CALLS = "open,openat,creat,lseek,write,writev,pwrite64,pwritev,ftruncate,truncate,fallocate,fsync,fdatasync,msync,sendfile,copy_file_range"
NAMES = "rename,renameat,renameat2,unlink,unlinkat,link,linkat"
TRACE = ("-y", "-xx", "-s", "10000000", "-e", f"trace={CALLS},{NAMES}")

CALL = re.compile(r"^(\w+)\((.*)\) += (-?\d+)(?:<([^>]*)>)?")
FD = re.compile(r"^(\d+)<([^>]*)>(?:, )?(.*)$")
STRING = re.compile(r'"([^"]*)"')


@dataclass(slots=True)
class File:
    """What is on the platter, and the writes that are only in the cache: (offset, bytes), or (length, None) for a truncation."""

    synced: bytearray = field(default_factory=bytearray)
    cached: list = field(default_factory=list)

    def sync(self):
        for write in self.cached:
            _apply(self.synced, *write)
        self.cached = []

    def content(self, keeps):
        """The bytes after a cut; ``keeps()`` says of each page-sized piece of a cached write whether it reached the platter."""
        found = bytearray(self.synced)
        for offset, data in self.cached:
            for start, piece in [(offset, None)] if data is None else _pieces(offset, data):
                if keeps():
                    _apply(found, start, piece)
        return bytes(found)


def _apply(content, offset, data):
    if data is None:
        del content[offset:]
        content.extend(bytes(offset - len(content)))
    else:
        content.extend(bytes(max(0, offset - len(content))))
        content[offset : offset + len(data)] = data


def _pieces(offset, data):
    """Cut a write at the borders of pages.

    >>> [(start, len(piece)) for start, piece in _pieces(4000, bytes(5000))]
    [(4000, 96), (4096, 4096), (8192, 808)]
    """
    cuts = [offset, *range(offset - offset % PAGE + PAGE, offset + len(data), PAGE), offset + len(data)]
    return [(start, data[start - offset : end - offset]) for start, end in pairwise(cuts)]


@dataclass(slots=True)
class Disk:
    """A folder, replayed call by call; ``said`` is what the child had told through its pipe by then."""

    folder: str
    files: dict = field(default_factory=dict)
    positions: dict = field(default_factory=dict)
    said: str = ""
    syncs: int = 0

    def call(self, name, arguments, result, path):
        """Replay one successful call."""
        if name in ("open", "openat", "creat"):
            self._open(_path(path), int(result), arguments)
        elif name.startswith("rename"):
            self._rename(*map(_text, STRING.findall(arguments)))
        elif name.startswith("unlink"):
            self.files.pop(_text(STRING.search(arguments)[1]), None)
        elif found := FD.match(arguments):
            self._use(name, int(found[1]), _path(found[2]), found[3], int(result))
        else:
            raise NotImplementedError(name)

    def _open(self, path, descriptor, arguments):
        if self._ours(path) and "O_DIRECTORY" not in arguments:
            file = self.files.setdefault(path, File())
            self.positions[descriptor] = 0
            assert "O_APPEND" not in arguments
            if "O_TRUNC" in arguments:
                file.cached.append((0, None))

    def _rename(self, old, new):
        if old in self.files:
            self.files[new] = self.files.pop(old)

    def _use(self, name, descriptor, path, rest, result):
        if path.startswith("pipe:") and name == "write":
            self.said += bytes.fromhex(STRING.search(rest)[1].replace("\\x", "")).decode(errors="replace")
        if not self._ours(path) or path not in self.files:
            return
        file = self.files[path]
        match name:
            case "pwrite64":
                file.cached.append((int(rest.rpartition(", ")[2]), _bytes(rest)[:result]))
            case "write":
                file.cached.append((self.positions[descriptor], _bytes(rest)[:result]))
                self.positions[descriptor] += result
            case "lseek":
                self.positions[descriptor] = result
            case "ftruncate":
                file.cached.append((int(rest), None))
            case "fsync" | "fdatasync":
                file.sync()
                self.syncs += 1
            case _:
                raise NotImplementedError(name)

    def _ours(self, path):
        return path.startswith(self.folder + "/") and not path.endswith(("-shm", "(deleted)"))

    def write_to(self, folder, keeps):
        """Make the image that a cut at this moment leaves."""
        folder.mkdir()
        for path, file in self.files.items():
            target = folder / Path(path).relative_to(self.folder)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.touch(mode=0o600)  # as an edge makes its files: a key that others can read would be refused
            target.write_bytes(file.content(keeps))


def _bytes(text):
    return bytes.fromhex(STRING.search(text)[1].replace("\\x", ""))


def _text(escaped):
    return bytes.fromhex(escaped.replace("\\x", "")).decode()


def _path(escaped):
    return _text(escaped) if escaped and escaped.startswith("\\x") else (escaped or "")


def record(work, trace):
    """Let a child do ``work(say)`` to its end; the trace of its calls lies in ``trace`` then."""
    child = Child(work)
    strace = Strace(child, *TRACE, output=trace)
    child.go()
    said = list(child.lines(limit_s=60))
    strace.wait()
    assert child.status() == 0
    return said


def calls(trace):
    """The successful calls of a trace in the order of their ends: (name, arguments, result, path of the result)."""
    begun = {}
    with trace.open() as lines:
        for line in lines:
            thread, _, text = line.partition(" ")
            text = text.strip()
            if text.endswith("<unfinished ...>"):
                begun[thread] = text.removesuffix("<unfinished ...>").rstrip()
                continue
            if text.startswith("<..."):
                text = begun.pop(thread) + text.partition("resumed>")[2]
            if (call := CALL.match(text)) and not call[3].startswith("-"):
                yield call.groups()


def disks(trace, folder):
    """The disk after each call of a trace."""
    disk = Disk(str(folder))
    for call in calls(trace):
        disk.call(*call)
        yield disk


def lost():
    """Nothing that was not synced has reached the platter."""
    return False


def torn(seed):
    """Half of all cached pages have, by chance."""
    rng = random.Random(seed)
    return lambda: rng.random() < 0.5
