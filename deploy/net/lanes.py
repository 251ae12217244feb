"""One direction of a link: when a packet that is sent now is there, if ever. Pure: the clock and chance come from outside."""

from __future__ import annotations

from dataclasses import dataclass, field

from deploy.net.shape import Shape


@dataclass(slots=True)
class Tally:
    """How many packets, and their bytes with all headers of IP."""

    packets: int = 0
    bytes: int = 0

    def add(self, size: int) -> None:
        """Count one packet."""
        self.packets += 1
        self.bytes += size


@dataclass(slots=True)
class Lane:
    """One direction of an edge's link. Every packet is counted once: carried, lost, full (no room in the queue) or cut."""

    shape: Shape
    is_cut: bool = False
    free_at: float = 0.0  # when the last packet's last bit is on the wire
    last_at: float = 0.0  # when the last packet arrives
    carried: Tally = field(default_factory=Tally)
    lost: Tally = field(default_factory=Tally)
    full: Tally = field(default_factory=Tally)
    cut: Tally = field(default_factory=Tally)

    def admit(self, now: float, size: int, chance: float) -> float | None:
        """When a packet of ``size`` bytes arrives; None if it never does. ``chance``: drawn from [0, 1), below ``loss`` it is lost.

        >>> lane = Lane(Shape(mbit=8, delay_ms=10, queue_ms=1))  # a byte takes a microsecond
        >>> lane.admit(0.0, 1500, 0.5), lane.admit(0.0, 1500, 0.5)
        (0.0115, None)
        """
        if self.is_cut:
            self.cut.add(size)
            return None
        if chance < self.shape.loss:
            self.lost.add(size)
            return None
        begins = max(now, self.free_at)
        if (begins - now) * 1000 > self.shape.queue_ms:
            self.full.add(size)
            return None
        self.carried.add(size)
        self.free_at = begins + size * 8 / (self.shape.mbit * 1e6)
        self.last_at = max(self.last_at, self.free_at + self.shape.delay_ms / 1000)  # a delay that was made shorter reorders nothing
        return self.last_at
