"""The policy file of a site, read anew at each use: a change holds from the next request on."""

from __future__ import annotations

import logging
from pathlib import Path

from edge_node.database.schema import Database
from edge_node.policy.rules import Policy, first_policy, parse
from edge_node.records import Share
from shared.errors import InputError
from shared.identity import replace_private
from shared.ports import Clock

log = logging.getLogger("dgrag.edge.policy")
NAME = "policy.toml"  # in the state folder, where the settings name no other file
SEEN = "policy_seen"  # key in meta: there was a file once, so a missing one is no first start
CHANGE_OF_DEFAULT = "policy_share"  # key in meta: the log has said of an older store that its policy stays as it was
MAX_BYTES = 256 * 2**10
WITHDRAWN_AFTER_S = 10.0  # an editor empties a file and fills it again, and what the cloud holds should survive that


class PolicyFile:
    """One file; while it cannot be read, nothing is sent, and once that has lasted, what the cloud holds is withdrawn."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self.path = path
        self._clock = clock
        self._readable: Policy | None = None  # the last one
        self._unreadable_since = 0.0  # monotonic seconds
        self._read: tuple[bytes | str, Policy] | None = None  # content, or why there is none, and what it means

    def open(self, database: Database, share: Share, *, named: bool = False) -> None:
        """At the first start of a store write a policy with that share, unless there is a file.

        Never one that the owner ``named``, and misspelt: what is not there leaves a policy that shares nothing. What an older release
        let leave a store still leaves it, and the log says so once.
        """
        if database.meta(SEEN):
            if not database.meta(CHANGE_OF_DEFAULT):
                policy = self.current()
                log.warning(
                    "this release shares summaries of a new site's documents only; the policy of this site is as it was: "
                    'unlabelled = "%s", questions = "%s"; `dgrag policy share` changes it',
                    policy.unlabelled,
                    policy.questions,
                )
        else:
            if not named:
                self._write_first(self._first_share(database, share))
            database.set_meta(SEEN, "1")
        if not database.meta(CHANGE_OF_DEFAULT):
            database.set_meta(CHANGE_OF_DEFAULT, "1")

    def _first_share(self, database: Database, share: Share) -> Share:
        """``share``, but of a store with documents, which is older than policies and hid nothing, what it let leave before."""
        if self.path.exists() or database.row("SELECT 1 FROM documents LIMIT 1") is None:
            return share
        log.warning('this store has documents and no policy: all may leave as before, by unlabelled = "full" in %s', self.path)
        return "full"

    def _write_first(self, share: Share) -> None:
        try:
            if not self.path.exists():
                # on the disk before the store says that there was one
                replace_private(self.path, first_policy(share).encode())
        except OSError as error:
            log.error("the first sharing policy cannot be written: %s", error.strerror)

    def current(self) -> Policy:
        """The policy in force. Never raises: what cannot be read shares nothing, and says why in ``fault``."""
        return self.read()[1]

    def read(self) -> tuple[bytes | str, Policy]:
        """The file's bytes, or why there are none, and the policy in force by them. Never raises."""
        content = self._content()
        known = self._read
        if known is None or known[0] != content:
            before, known = known, (content, _policy(content))
            if known[1].fault:
                if before is None or not before[1].fault:
                    self._unreadable_since = self._clock.monotonic()
                log.error("nothing is shared: %s", known[1].fault)
            else:
                self._readable = known[1]
                log.info("sharing policy %s is in force", known[1].key)
            self._read = known
        return known

    def lasting(self) -> Policy:
        """The policy that stored summaries go by: the one in force, but the last readable one in the first seconds without one.

        An edge that starts without a readable policy has no last one.
        """
        policy = self.current()
        if policy.fault and self._readable is not None and self._clock.monotonic() - self._unreadable_since < WITHDRAWN_AFTER_S:
            return self._readable
        return policy

    def _content(self) -> bytes | str:
        try:
            with self.path.open("rb") as file:
                content = file.read(MAX_BYTES + 1)
        except OSError as error:
            return f"the sharing policy cannot be read: {error.strerror}"
        return content if len(content) <= MAX_BYTES else f"the sharing policy has more than {MAX_BYTES} bytes"


def _policy(content: bytes | str) -> Policy:
    if isinstance(content, str):
        return Policy.nothing(content)
    try:
        return parse(content.decode())
    except UnicodeDecodeError:
        return Policy.nothing("the sharing policy cannot be read: it is not UTF-8")
    except InputError as error:
        return Policy.nothing(error.message)
