"""``python -m tests.faults.forker``: loads once what the campaigns need, then forks a process for each that a test asks for.

A line names a folder for what is printed, a module of ``tests.faults`` and its options; the answer is the exit status. A process of its
own, as only one without threads may fork.
"""

import importlib
import json
import os
import sys
import traceback
from pathlib import Path

from tests.faults import workload

OUT, ERR = "out", "err"


def main():
    workload.preload()
    for line in sys.stdin:
        folder, module, *options = json.loads(line)
        pid = os.fork()
        if pid == 0:
            os._exit(campaign(Path(folder), module, options))
        sys.stdout.write(f"{os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])}\n")
        sys.stdout.flush()


def campaign(folder, module, options):
    for number, name in ((1, OUT), (2, ERR)):
        os.dup2(os.open(folder / name, os.O_WRONLY | os.O_CREAT), number)
    sys.argv = [module, *options]
    try:
        importlib.import_module(f"tests.faults.{module}").main()
        sys.stdout.flush()
    except BaseException:  # noqa: BLE001 - a fork must not run on in its parent's code
        traceback.print_exc()
        return 1
    return 0


if __name__ == "__main__":
    main()
