"""Changes of the policy file that come over HTTP: checked, never over a text that the writer has not seen, the former one kept."""

from __future__ import annotations

import errno
import hashlib
import logging
import re
import threading
from dataclasses import dataclass
from pathlib import Path

from edge_node.database.backup import disk_error
from edge_node.egress.policy_file import MAX_BYTES, PolicyFile
from edge_node.policy.rules import Policy, doubts, parse
from shared.errors import Conflict, DiskFull, NotFound, TooLarge
from shared.identity import replace_private
from shared.ports import Clock

log = logging.getLogger("dgrag.edge.policy")
FOLDER = "policy-history"  # in the state folder: a file for each former text, which names tell of: number, milliseconds, key, who
NAME = re.compile(r"(\d{8,12})_(\d{1,16})_([0-9a-f]{12})_(.{1,80})\.toml")
MOST = 100  # former texts that are kept
NEXT_STEP = "change it on the edge's machine: it counts at the next request"
NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT})


@dataclass(frozen=True, slots=True)
class PolicyText:
    """The policy file as it is. ``fault``: why it shares nothing; ``fixed``: why it cannot be changed over HTTP; both may be empty."""

    text: str
    hash: str  # SHA-256 of the file, in hexadecimal; of no file, that of an empty one
    key: str  # of its meaning
    warnings: tuple[str, ...]
    fault: str
    fixed: str


@dataclass(frozen=True, slots=True)
class FormerPolicy:
    """A former text: when (seconds since the epoch) and by whom it was replaced, and the key of its meaning."""

    number: int
    at: float
    key: str
    who: str


class PolicyEditor:
    """The policy file of one edge. Reads and writes the disk: to be called in a thread.

    ``named``: the settings name the file, so its owner keeps it elsewhere.
    """

    def __init__(self, file: PolicyFile, folder: Path, clock: Clock, *, named: bool) -> None:
        self._file = file
        self._folder = folder
        self._clock = clock
        self._named = named
        self._lock = threading.Lock()  # from the look at the file to its replacement

    def present(self) -> PolicyText:
        """The text in the file. Raises Conflict where it cannot be read."""
        content, policy = self._read()
        warnings = () if policy.fault else doubts(policy)
        return PolicyText(content.decode(errors="replace"), _hash(content), policy.key, warnings, policy.fault, self._fixed())

    def replace(self, text: str, *, base: str, who: str) -> PolicyText:
        """Put a text in force; ``base``: the hash of the one that its writer has seen, "" for whichever there is.

        Raises InputError for one that cannot be read as a policy, TooLarge, Conflict where the file has another text meanwhile or cannot be
        changed, DiskFull, DiskFailed.
        """
        checked(text)
        content = text.encode()
        with self._lock:
            if fixed := self._fixed():
                raise Conflict(fixed, next_step=NEXT_STEP)
            former, policy = self._read()
            if base not in ("", _hash(former)):
                raise Conflict("the policy has changed since you read it", next_step="read it again, and bring your change into that text")
            if content != former:
                self._put(content, former, key=policy.key, who=who)
        log.info("the sharing policy was changed by %s", who)
        return self.present()

    def history(self) -> list[FormerPolicy]:
        """The former texts, newest first."""
        return [former for former, _ in self._kept()]

    def former(self, number: int) -> str:
        """A former text. Raises NotFound."""
        with self._lock:
            for former, path in self._kept():
                if former.number == number:
                    return path.read_bytes().decode(errors="replace")
        raise NotFound("former policy", str(number), next_step="GET /v1/policy/history lists them")

    def _put(self, content: bytes, former: bytes, *, key: str, who: str) -> None:
        path, kept = self._file.path, self._kept()
        number, at_ms = kept[0][0].number + 1 if kept else 1, round(self._clock.now() * 1000)
        try:
            if path.exists():
                replace_private(self._folder / f"{number:08}_{at_ms}_{key}_{who}.toml", former)
            replace_private(path, content)
            for _, oldest in kept[MOST - 1 :]:
                oldest.unlink()
        except OSError as error:
            raise DiskFull(path.parent) if error.errno in NO_ROOM else disk_error(path, error) from error

    def _kept(self) -> list[tuple[FormerPolicy, Path]]:
        found = [(NAME.fullmatch(path.name), path) for path in self._folder.glob("*.toml")]
        kept = [(FormerPolicy(int(told[1]), int(told[2]) / 1000, told[3], told[4]), path) for told, path in found if told]
        return sorted(kept, key=lambda one: one[0].number, reverse=True)

    def _fixed(self) -> str:
        path = self._file.path
        if self._named or path.is_symlink():
            return f"the owner of this edge keeps its policy elsewhere, as {path}"
        if path.exists() and not path.stat().st_mode & 0o200:
            return f"{path} is read-only"
        return ""

    def _read(self) -> tuple[bytes, Policy]:
        content, policy = self._file.read()
        if isinstance(content, bytes):
            return content, policy
        if self._file.path.exists():
            raise Conflict(content, next_step=NEXT_STEP)
        return b"", policy


def checked(text: str) -> Policy:
    """The policy that a text would be. Raises InputError, TooLarge."""
    if len(text.encode()) > MAX_BYTES:
        raise TooLarge("the policy", limit=MAX_BYTES)
    return parse(text)


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
