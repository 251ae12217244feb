"""Which site a replica is: replicas of one service cannot tell their number, so each takes the lowest place that no other holds."""

from __future__ import annotations

import fcntl
import os
from dataclasses import dataclass
from pathlib import Path

from deploy.cluster.errors import ClusterError

FOLDER = "slots"


@dataclass(frozen=True, slots=True)
class Slot:
    """A place, held until ``descriptor`` is closed in this process and in what it turned into: also by kill -9."""

    number: int
    descriptor: int

    @property
    def edge(self) -> str:
        """The edge's id.

        >>> Slot(3, -1).edge
        'edge-3'
        """
        return f"edge-{self.number}"


def claimed(root: Path, most: int) -> Slot:
    """The lowest free slot of 1 … ``most`` under ``root``, by flock: the folder has to be on a local disk, not on NFS.

    The descriptor survives exec. Raises ClusterError where all are taken.
    """
    folder = root / FOLDER
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    for number in range(1, most + 1):
        descriptor = os.open(folder / str(number), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
        else:
            os.set_inheritable(descriptor, True)
            return Slot(number, descriptor)
    raise ClusterError(
        f"all {most} places for edges are taken", next_step="set DGRAG_EDGES to as many as you scale to, and the range of ports with it"
    )
