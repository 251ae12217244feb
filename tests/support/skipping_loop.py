"""An event loop whose time stands still while anything works, and jumps to what is due next when everything waits.

Deadlines of minutes are tested in milliseconds, and exactly: a busy machine does not make them late.
"""

import asyncio
import selectors
import time


class SkippingLoop(asyncio.SelectorEventLoop):
    """``time()`` in seconds; for ``asyncio.Runner(loop_factory=SkippingLoop)``. Sockets have no time of their own here: use none."""

    def __init__(self):
        self.seconds = 0.0
        self.in_threads = 0  # calls that a thread works on
        super().__init__(_Selector(self))

    def time(self):
        return self.seconds

    def run_in_executor(self, executor, func, *args):
        self.in_threads += 1
        future = super().run_in_executor(executor, func, *args)
        future.add_done_callback(self._returned)
        return future

    def _returned(self, _):
        self.in_threads -= 1


class _Selector(selectors.DefaultSelector):
    def __init__(self, loop):
        super().__init__()
        self._loop = loop

    def select(self, timeout=None):
        if timeout is None or self._loop.in_threads:
            return super().select(timeout)
        self._loop.seconds += max(0.0, timeout)
        return super().select(0)


async def run_sync(func, *args, **_):
    """For ``anyio.to_thread.run_sync``, by which FastAPI calls a plain function: through the loop, which then knows of it."""
    return await asyncio.get_running_loop().run_in_executor(None, func, *args)


class LoopClock:
    """A Clock that tells a loop's time; the time of day is the machine's."""

    def __init__(self, loop):
        self._loop = loop

    def now(self):
        return time.time()

    def monotonic(self):
        return self._loop.time()
