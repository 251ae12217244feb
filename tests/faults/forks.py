"""Children that share what their parent has loaded: a life of an edge takes a third of a second, and can be ended thousands of times."""

import os
import select
import shutil
import signal
import subprocess
import time
import traceback

STRACE = shutil.which("strace")
DETACH_S = 10.0


class Child:
    """A forked process that does ``work(say)`` once it is let ``go``; what it says reaches the parent even if it dies at once after it."""

    def __init__(self, work):
        go, self._go = os.pipe()
        self._lines, lines = os.pipe()
        self._rest = b""
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self._go)
            os._exit(_outcome(work, go, lines))
        os.close(go)
        os.close(lines)

    def go(self):
        os.close(self._go)

    def kill(self):
        os.kill(self.pid, signal.SIGKILL)

    def line(self, *, limit_s):
        """What it says next; None once it has ended. Raises TimeoutError after ``limit_s`` seconds."""
        until = time.monotonic() + limit_s
        while b"\n" not in self._rest:
            if not select.select([self._lines], [], [], max(0.0, until - time.monotonic()))[0]:
                raise TimeoutError
            if not (more := os.read(self._lines, 65536)):
                return None
            self._rest += more
        line, _, self._rest = self._rest.partition(b"\n")
        return line.decode()

    def lines(self, *, limit_s):
        """All that it says until it ends. Raises TimeoutError where that takes more than ``limit_s`` seconds."""
        until = time.monotonic() + limit_s
        while (line := self.line(limit_s=max(0.0, until - time.monotonic()))) is not None:
            yield line

    def status(self):
        """Wait for its end: 0, a positive code, or minus the signal that ended it."""
        os.close(self._lines)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def _outcome(work, go, lines):
    os.read(go, 1)
    try:
        work(lambda line: os.write(lines, f"{line}\n".encode()))
    except BaseException:  # noqa: BLE001 - a fork must not run on in its parent's code
        traceback.print_exc()
        return 1
    return 0


class Strace:
    """strace on a child and its threads, from before its first step on."""

    def __init__(self, child, *options, output="/dev/null"):
        command = [STRACE, "-f", "-o", str(output), *options, "-p", str(child.pid)]
        self._process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        while "attached" not in (line := self._process.stderr.readline()):
            if not line:
                raise RuntimeError("strace cannot attach: " + " ".join(command))

    def detach(self):
        """Let the child go on untraced."""
        self._process.terminate()
        try:
            self._process.communicate(timeout=DETACH_S)
        except subprocess.TimeoutExpired:  # the child ended at this moment: strace waits for it, and it for strace to reap its threads
            self._process.kill()
            self._process.communicate()

    def wait(self):
        """Until all that it traces has ended, and its output is complete."""
        self._process.communicate()


def run(work, *, limit_s=120):
    """Do ``work(say)`` in a child to its end; returns (lines, exit status). A child that hangs is killed: status -9."""
    child, said = Child(work), []
    child.go()
    try:
        for line in child.lines(limit_s=limit_s):
            said.append(line)
    except TimeoutError:
        child.kill()
    return said, child.status()
