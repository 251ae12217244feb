"""What can go wrong with local processes, beside the errors of the services themselves."""

from __future__ import annotations

from shared.errors import DgragError


class ClusterError(DgragError):
    """The local cluster cannot do what was asked."""

    code = "cluster_error"


class ChildCrashError(ClusterError):
    """A process ended that should run; ``tail`` is the end of its log."""

    code = "child_crashed"

    def __init__(self, name: str, *, exit_code: int | None, tail: str, log: str) -> None:
        super().__init__(f"{name} {how_ended(exit_code)}", next_step=f"read {log}")
        self.name = name
        self.exit_code = exit_code
        self.tail = tail


def how_ended(exit_code: int | None) -> str:
    """What an exit code says; negative: of a signal; None: it runs again, so nobody knows.

    >>> how_ended(-9), how_ended(-15), how_ended(3)
    ('was killed by signal 9', 'was told to end', 'exited with 3')
    """
    if exit_code is None:
        return "ended, and was started again"
    if exit_code == -15:  # SIGTERM, by `dgrag edge restart`, or by somebody else
        return "was told to end"
    return f"was killed by signal {-exit_code}" if exit_code < 0 else f"exited with {exit_code}"
