"""What a reader's child may still do once it holds its document: compute, and read the files of the programs it runs on.

Landlock limits the files, seccomp the system calls; each is used where the kernel has it. Both hold until the child ends.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
import sys
from collections.abc import Iterable
from pathlib import Path

PR_SET_NO_NEW_PRIVS, PR_GET_SECCOMP, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 21, 22, 2
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446  # Landlock's calls, alike on all machines
WANT_VERSION, PATH_BENEATH = 1, 1
READ_FILE, READ_DIR = 1 << 2, 1 << 3
FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15}  # how many kinds of access each version of Landlock knows
NEWEST_FILE_RIGHTS = 16
SCOPES_SINCE, SCOPES = 6, 0b11  # abstract sockets and signals to processes outside

SYSTEM = ("/usr", "/lib", "/lib64", "/etc", "/opt/homebrew", "/dev/null", "/dev/urandom", "/dev/zero", "/sys/devices/system/cpu")
AUDIT_ARCHES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
FORBIDDEN = {  # calls that reach out of the process: sockets, programs, other processes
    "x86_64": {
        "socket": 41,
        "connect": 42,
        "bind": 49,
        "execve": 59,
        "kill": 62,
        "ptrace": 101,
        "tkill": 200,
        "process_vm_readv": 310,
        "process_vm_writev": 311,
        "execveat": 322,
        "io_uring_setup": 425,
        "pidfd_open": 434,
        "pidfd_getfd": 438,
    },
    "aarch64": {
        "ptrace": 117,
        "kill": 129,
        "tkill": 130,
        "socket": 198,
        "bind": 200,
        "connect": 203,
        "execve": 221,
        "process_vm_readv": 270,
        "process_vm_writev": 271,
        "execveat": 281,
        "io_uring_setup": 425,
        "pidfd_open": 434,
        "pidfd_getfd": 438,
    },
}
X32_CALLS = 0x40000000  # a second table of calls on x86_64
LOAD, IF_EQUAL, IF_AT_LEAST, RETURN = 0x20, 0x15, 0x35, 0x06
ALLOW, REFUSE = 0x7FFF0000, 0x00050001  # the second: the call fails with EPERM


def available() -> tuple[str, ...]:
    """What this kernel has: "landlock", "seccomp", both or neither."""
    found = []
    if _landlock_version() > 0:
        found.append("landlock")
    if sys.platform == "linux" and platform.machine() in FORBIDDEN and _libc().prctl(PR_GET_SECCOMP, 0, 0, 0, 0) >= 0:
        found.append("seccomp")
    return tuple(found)


def confine(readable: Iterable[Path]) -> None:
    """From here on this thread opens no socket, starts no program, and opens for reading what lies below ``readable`` alone.

    The programs' own folders and the system's are readable too. Raises OSError where the kernel refuses what it has.
    """
    mechanisms = available()
    if not mechanisms:
        return
    _checked(_libc().prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    if "landlock" in mechanisms:
        _limit_files([*map(Path, SYSTEM), *_own_folders(), *readable])
    if "seccomp" in mechanisms:
        _limit_calls(platform.machine())


def _own_folders() -> list[Path]:
    """Python's, those of its packages and our own packages'."""
    own = Path(__file__).parents[3]  # in a checkout it holds much else, such as the folder of an edge's state
    packages = [Path(entry) for entry in sys.path if entry and Path(entry) != own]
    return [Path(sys.prefix), Path(sys.base_prefix), *packages, own / "edge_node", own / "shared"]


def _landlock_version() -> int:
    """0 where there is none."""
    if sys.platform != "linux":
        return 0
    return max(0, int(_libc().syscall(CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(WANT_VERSION))))


def _limit_files(readable: Iterable[Path]) -> None:
    version = _landlock_version()
    handled = (1 << FILE_RIGHTS.get(version, NEWEST_FILE_RIGHTS)) - 1
    rules = struct.pack("=QQQ", handled, 0, SCOPES if version >= SCOPES_SINCE else 0)[: 24 if version >= SCOPES_SINCE else 8]
    ruleset = _checked(_libc().syscall(CREATE_RULESET, rules, ctypes.c_size_t(len(rules)), ctypes.c_uint32(0)))
    for path in readable:
        try:
            folder = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        rights = READ_FILE | READ_DIR if path.is_dir() else READ_FILE
        rule = struct.pack("=Qi", rights, folder)
        _checked(_libc().syscall(ADD_RULE, ruleset, PATH_BENEATH, rule, ctypes.c_uint32(0)))
        os.close(folder)
    _checked(_libc().syscall(RESTRICT_SELF, ruleset, ctypes.c_uint32(0)))
    os.close(ruleset)


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def _limit_calls(machine: str) -> None:
    code = filter_program(machine)
    program = _Program(len(code) // 8, code)
    _checked(_libc().prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0))


def filter_program(machine: str) -> bytes:
    """Instructions for the kernel's packet filter, 8 bytes each: calls in ``FORBIDDEN`` fail, and all calls of another machine's table.

    >>> len(filter_program("x86_64")) // 8
    20
    """
    numbers = list(FORBIDDEN[machine].values())
    checks = [_instruction(IF_EQUAL, number, jump=len(numbers) - at) for at, number in enumerate(numbers)]
    return b"".join(
        (
            _instruction(LOAD, 4),  # the machine
            _instruction(IF_EQUAL, AUDIT_ARCHES[machine], jump=1),
            _instruction(RETURN, REFUSE),
            _instruction(LOAD, 0),  # the call
            _instruction(IF_AT_LEAST, X32_CALLS, jump=len(numbers) + 1),
            *checks,
            _instruction(RETURN, ALLOW),
            _instruction(RETURN, REFUSE),
        )
    )


def _instruction(code: int, operand: int, *, jump: int = 0) -> bytes:
    """``jump``: over so many instructions where a comparison holds."""
    return struct.pack("=HBBI", code, jump, 0, operand)


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _checked(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
