"""IPv4 packets as the devices give them."""

from __future__ import annotations

ACK = 0x10


def tcp(sender: int, receiver: int, size: int = 40, seq: int = 0) -> bytes:
    """A TCP packet of ``size`` bytes between two nodes' addresses; 40 bytes are headers. A node's port is 4000 and its number.

    ``seq``: TCP's number of the first byte after the headers.
    """
    assert size >= 40
    ip = bytes([0x45, 0]) + size.to_bytes(2) + bytes([0, 0, 0, 0, 64, 6, 0, 0, 10, 88, sender, 2, 10, 88, receiver, 2])
    ports = (4000 + sender).to_bytes(2) + (4000 + receiver).to_bytes(2)
    return ip + ports + seq.to_bytes(4) + bytes(4) + bytes([0x50, ACK]) + bytes(6) + bytes(size - 40)
