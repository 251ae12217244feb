"""Carries packets between the nodes' devices as the star says: the loop reads them, and writes each one when it is due.

A timer of the loop fires up to a millisecond late, never early: a link is never faster than its shape.
"""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Mapping

from deploy.lab.links import Star

BIGGEST_PACKET = 65_535
AT_ONCE = 64  # packets of one device, then the others have their turn
NO_ROOM = (errno.EAGAIN, errno.ENOBUFS, errno.EIO)  # the device is full or down: the packet is lost, as on any wire


class Emulator:
    """One device a node, by its number; whoever opened them closes them, after the emulator."""

    def __init__(self, star: Star, devices: Mapping[int, int]) -> None:
        self._star = star
        self._devices = dict(devices)
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        for device in self._devices.values():
            self._loop.add_reader(device, self._read, device)

    def close(self) -> None:
        """Stop; packets on their way are lost."""
        if self._timer:
            self._timer.cancel()
        for device in self._devices.values():
            self._loop.remove_reader(device)

    def _read(self, device: int) -> None:
        for _ in range(AT_ONCE):
            try:
                packet = os.read(device, BIGGEST_PACKET)
            except BlockingIOError:
                break
            self._star.send(self._loop.time(), packet)
        self._deliver()

    def _deliver(self) -> None:
        for receiver, packet in self._star.due(self._loop.time()):
            try:
                os.write(self._devices[receiver], packet)
            except OSError as error:
                if error.errno not in NO_ROOM:
                    raise
        if self._timer:
            self._timer.cancel()
        next_due = self._star.next_due()
        self._timer = self._loop.call_at(next_due, self._deliver) if next_due is not None else None
