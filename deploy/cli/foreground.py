"""``dgrag edge run`` and ``dgrag cloud run``: this process turns into the service."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import NoReturn


def become(module: str, settings: Mapping[str, str]) -> NoReturn:
    """Turn this process into ``python -P -m module``: signals, exit code and log are its own, no code is the current folder's."""
    os.execve(sys.executable, [sys.executable, "-P", "-m", module], {**os.environ, **settings})  # noqa: S606 - no shell is meant
