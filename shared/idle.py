"""What is dear to hold and quick to open: held while it is used, and let go when it is not."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

Held = TypeVar("Held")


class HeldWhileUsed(Generic[Held]):
    """Opens a thing at its first use, and closes it when nobody has used it for ``idle_s`` seconds. One user at a time.

    >>> held = HeldWhileUsed(lambda: ["open"], idle_s=60.0, close=list.clear)
    >>> with held.used() as thing:
    ...     thing
    ['open']
    >>> held.close(), held.now is None
    (None, True)
    """

    def __init__(self, open_it: Callable[[], Held], *, idle_s: float, close: Callable[[Held], object] = lambda _: None) -> None:
        self._open, self._close, self._idle_s = open_it, close, idle_s
        self._lock = threading.Lock()
        self._held: Held | None = None
        self._used = 0.0
        self._timer: threading.Timer | None = None

    @property
    def now(self) -> Held | None:
        """What is held."""
        return self._held

    @property
    def is_used(self) -> bool:
        """Somebody uses it now, or opens it."""
        return self._lock.locked()

    @contextmanager
    def used(self) -> Iterator[Held]:
        """The thing, for one user; an exception within closes it, as it may be broken."""
        with self._lock:
            if self._held is None:
                self._held = self._open()
                self._watch(self._idle_s)
            is_sound = False
            try:
                yield self._held
                is_sound = True
            finally:
                self._used = time.monotonic()
                if not is_sound:
                    self._let_go()

    def close(self) -> None:
        """Close it now; the next user opens it again."""
        with self._lock:
            self._let_go()

    def _watch(self, wait_s: float) -> None:
        self._timer = threading.Timer(wait_s, self._look)
        self._timer.daemon = True
        self._timer.start()

    def _look(self) -> None:
        with self._lock:
            left_s = self._used + self._idle_s - time.monotonic()
            if self._held is not None and left_s > 0:
                self._watch(left_s)
            else:
                self._let_go()

    def _let_go(self) -> None:
        held, self._held = self._held, None
        if self._timer is not None:
            self._timer.cancel()
        if held is not None:
            self._close(held)
