"""Network namespaces and the TUN devices in them. Linux and root only."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import os
import shutil
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

from deploy.cluster.errors import ClusterError
from deploy.lab.topology import NETWORK, Node

NAMESPACES = Path("/run/netns")  # where `ip netns` has them
TUN = Path("/dev/net/tun")
DEVICE = "wan0"
CLONE_NEWNET = 0x40000000  # linux/sched.h
TUNSETIFF = 0x400454CA  # linux/if_tun.h
IFF_TUN, IFF_NO_PI = 0x0001, 0x1000
QUEUE = 2_000  # packets: the emulator drops, not the device


def unable() -> str:
    """Why no link can be made here; empty if it can, which is tried."""
    if shutil.which("ip") is None or not Path("/proc/self/ns/net").exists():
        return "network namespaces need Linux and `ip` of iproute2"
    if os.geteuid():
        return "network namespaces can only be made by root"
    if not TUN.exists():
        return f"there is no {TUN}"
    name = f"dgrag-try-{os.getpid()}"
    try:
        make(name)
        try:
            os.close(tun(name, Node(1, "try")))
        finally:
            remove(name)
    except ClusterError as error:  # root in a container need not have the right
        return error.message
    return ""


def make(name: str) -> None:
    """Have a namespace with nothing but its loopback; one that is there stays as it is. Raises ClusterError."""
    if not (NAMESPACES / name).exists():
        _ip("netns", "add", name)
    _ip("-n", name, "link", "set", "lo", "up")


def remove(name: str) -> None:
    """Take the namespace's name away; what runs in it goes on without a link. Raises ClusterError."""
    if (NAMESPACES / name).exists():
        _ip("netns", "delete", name)


def left(prefix: str) -> list[str]:
    """The namespaces whose name begins so, sorted."""
    return sorted(place.name for place in NAMESPACES.glob(f"{prefix}*"))


def tun(name: str, node: Node) -> int:
    """A device in a namespace with the node's address and the way to all others: a descriptor that gives and takes its packets.

    It goes when it is closed. Raises ClusterError.
    """
    try:
        with inside(name):
            device = os.open(TUN, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
            try:
                fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH22x", DEVICE.encode(), IFF_TUN | IFF_NO_PI))
            except OSError:
                os.close(device)
                raise
    except OSError as error:
        taken = error.errno == errno.EBUSY
        step = "stop the cluster whose links these are: `dgrag down`" if taken else "see that this user may make devices (CAP_NET_ADMIN)"
        raise ClusterError(f"no device can be made in {name}: {error.strerror}", next_step=step) from error
    for words in (
        f"addr add {node.address}/32 dev {DEVICE}",
        f"link set {DEVICE} txqueuelen {QUEUE} up",
        f"route add {NETWORK} dev {DEVICE}",
    ):
        _ip("-n", name, *words.split())
    return device


@contextlib.contextmanager
def inside(name: str) -> Iterator[None]:
    """In the block this thread makes its sockets and devices in a namespace; "": where it is. Nothing may be awaited there."""
    if not name:
        yield
        return
    with Path("/proc/thread-self/ns/net").open("rb") as home, (NAMESPACES / name).open("rb") as there:
        _enter(there.fileno())
        try:
            yield
        finally:
            _enter(home.fileno())


def _enter(handle: int) -> None:
    if ctypes.CDLL(None, use_errno=True).setns(handle, CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "the namespace cannot be entered")


def _ip(*words: str) -> None:
    """Run ``ip``. Raises ClusterError with what it says."""
    done = subprocess.run([shutil.which("ip") or "ip", *words], capture_output=True, text=True, check=False)  # noqa: S603 - our own words
    if done.returncode:
        step = "see that network namespaces are allowed here, or start without links"
        raise ClusterError(f"`ip {' '.join(words)}` failed: {done.stderr.strip()}", next_step=step)
