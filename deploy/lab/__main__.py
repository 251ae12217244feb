"""``python -m deploy.lab STATE``: the links that ``STATE/wan.json`` plans, until SIGTERM or SIGINT."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
from pathlib import Path

from deploy.cluster.errors import ClusterError
from deploy.lab import network
from deploy.lab.topology import words_of

PRIORITY = 1  # of a round robin ahead of all that is not in real time: a link that waits for a processor is longer than its shape

log = logging.getLogger(__name__)


async def run(folder: Path) -> None:
    """Hold the links until a signal comes. Raises ClusterError."""
    ended = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    plan = network.read(folder)
    async with network.opened(plan, folder):
        with contextlib.suppress(OSError):  # not everywhere allowed
            os.sched_setscheduler(0, os.SCHED_RR | os.SCHED_RESET_ON_FORK, os.sched_param(PRIORITY))
        log.info("%d links: %s", len(plan.ports) - 1, words_of(plan.shape))
        await ended.wait()


def main(arguments: list[str]) -> int:
    """Run for the state folder that is named; 1 where no link can be made."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    try:
        asyncio.run(run(Path(arguments[0])))
    except ClusterError as error:
        log.error("%s (%s)", error.message, error.next_step)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
