"""``python -m deploy.cluster.child PARENT COMMAND…``: become COMMAND, and die with the process PARENT.

The kernel's parent-death signal reaches a child even where its parent was killed with -9 and could tell nobody. It is set here,
after the fork and before the exec, because Python code between fork and exec inside a threaded parent may deadlock. Linux only;
elsewhere the command runs without that guard. SIGKILL, because nobody is left to wait: an edge's truth is committed at any time.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1  # linux/prctl.h


def die_with(parent: int) -> bool:
    """Ask the kernel to kill this process when ``parent`` ends; False when it has ended already."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    return os.getppid() == parent


def main(arguments: list[str]) -> int:
    """Become the command; returns only when the parent is gone."""
    parent, *command = arguments
    if die_with(int(parent)):
        os.execvp(command[0], command)  # noqa: S606 - no shell is meant
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
