"""What a reader's child may still do once it holds its document: compute, and read the files of the programs it runs on.

Landlock limits the files, seccomp the system calls; each is used where the kernel has it. Both hold until the child ends.
"""

from __future__ import annotations

import ctypes
import errno
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

SYSTEM = (
    "/usr",
    "/lib",
    "/lib64",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/etc/fonts",
    "/etc/mime.types",
    "/opt/homebrew",
    "/dev/null",
    "/dev/urandom",
    "/dev/zero",
    "/sys/devices/system/cpu",
)
ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}  # the place in the table, and the kernel's name
FORBIDDEN = {  # system calls by which something outside is changed or reached: their numbers on x86_64 and aarch64, None where it has none
    # files are changed
    "chmod": (90, None),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "chown": (92, None),
    "fchown": (93, 55),
    "lchown": (94, None),
    "fchownat": (260, 54),
    "utime": (132, None),
    "utimes": (235, None),
    "futimesat": (261, None),
    "utimensat": (280, 88),
    "truncate": (76, 45),
    "ftruncate": (77, 46),
    "setxattr": (188, 5),
    "lsetxattr": (189, 6),
    "fsetxattr": (190, 7),
    "setxattrat": (463, 463),
    "removexattr": (197, 14),
    "lremovexattr": (198, 15),
    "fremovexattr": (199, 16),
    "removexattrat": (466, 466),
    "rename": (82, None),
    "renameat": (264, 38),
    "renameat2": (316, 276),
    "link": (86, None),
    "linkat": (265, 37),
    "symlink": (88, None),
    "symlinkat": (266, 36),
    "unlink": (87, None),
    "unlinkat": (263, 35),
    "rmdir": (84, None),
    "mknod": (133, None),
    "mknodat": (259, 33),
    "creat": (85, None),
    # file systems are mounted
    "mount": (165, 40),
    "umount2": (166, 39),
    "move_mount": (429, 429),
    "open_tree": (428, 428),
    "fsopen": (430, 430),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_by_handle_at": (304, 265),
    # somebody is reached
    "socket": (41, 198),
    "connect": (42, 203),
    "bind": (49, 200),
    "listen": (50, 201),
    "accept": (43, 202),
    "accept4": (288, 242),
    "shmget": (29, 194),
    "shmat": (30, 196),
    "msgget": (68, 186),
    "semget": (64, 190),
    "mq_open": (240, 180),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    # programs and processes begin
    "execve": (59, 221),
    "execveat": (322, 281),
    "fork": (57, None),
    "vfork": (58, None),
    "unshare": (272, 97),
    "setns": (308, 268),
    # other processes are touched
    "kill": (62, 129),
    "tkill": (200, 130),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
    "pidfd_open": (434, 434),
    "pidfd_getfd": (438, 438),
    "pidfd_send_signal": (424, 424),
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "process_mrelease": (448, 448),
    "kcmp": (312, 272),
    "setpriority": (141, 140),
    "sched_setscheduler": (144, 119),
    "sched_setparam": (142, 118),
    "sched_setattr": (314, 274),
    "sched_setaffinity": (203, 122),
    "ioprio_set": (251, 30),
    "migrate_pages": (256, 238),
    "move_pages": (279, 239),
    # the kernel is programmed
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "fanotify_init": (300, 262),
}
TGKILL, PRLIMIT64, CLONE, CLONE3 = (234, 131), (302, 261), (56, 220), (435, 435)  # allowed with some arguments
CLONE_THREAD = 0x10000
MKDIR, MKDIRAT = (83, 34), (258, 34)
X32_CALLS = 0x40000000  # a second table of calls on x86_64
LOAD, IF_EQUAL, IF_AT_LEAST, IF_ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
ALLOW, FAIL = 0x7FFF0000, 0x00050000  # the second with the number of an error
REFUSE, ABSENT, THERE = FAIL | errno.EPERM, FAIL | errno.ENOSYS, FAIL | errno.EEXIST
CALL, MACHINE, ARGUMENT = 0, 4, 16  # where the kernel puts them: the number, its table, the lower half of the first argument


def available() -> tuple[str, ...]:
    """What this kernel has: "landlock", "seccomp", both or neither."""
    found = []
    if _landlock_version() > 0:
        found.append("landlock")
    if sys.platform == "linux" and platform.machine() in ARCHITECTURES and _libc().prctl(PR_GET_SECCOMP, 0, 0, 0, 0) >= 0:
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
        except OSError:  # it is not there, or not for this user: then it need not be readable
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
    code = filter_program(machine, os.getpid())
    program = _Program(len(code) // 8, code)
    _checked(_libc().prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0))


def filter_program(machine: str, pid: int) -> bytes:
    """Instructions for the kernel's packet filter, 8 bytes each: calls in ``FORBIDDEN`` fail, and all calls of another machine's table.

    The process ``pid`` may still end itself, look at its own limits and start threads.

    >>> len(filter_program("x86_64", 1)) // 8 > len(FORBIDDEN)
    True
    """
    place, name = ARCHITECTURES[machine]
    forbidden = [numbers[place] for numbers in FORBIDDEN.values()]
    return b"".join(
        (
            _instruction(LOAD, MACHINE),
            *_unless(IF_EQUAL, name, REFUSE),
            _instruction(LOAD, CALL),
            *_when(IF_AT_LEAST, X32_CALLS, REFUSE),
            *(part for number in forbidden if number is not None for part in _when(IF_EQUAL, number, REFUSE)),
            *_when(IF_EQUAL, MKDIR[place], THERE),  # a library that makes sure of a folder takes no other error
            *_when(IF_EQUAL, MKDIRAT[place], THERE),
            *_when(IF_EQUAL, CLONE3[place], ABSENT),  # its arguments cannot be looked at; the C library takes the older call then
            *_of(TGKILL[place], *_unless(IF_EQUAL, pid, REFUSE)),
            *_of(PRLIMIT64[place], *_when(IF_EQUAL, pid, ALLOW), *_unless(IF_EQUAL, 0, REFUSE)),
            *_of(CLONE[place], *_unless(IF_ANY_BIT, CLONE_THREAD, REFUSE)),
            _instruction(RETURN, ALLOW),
        )
    )


def _of(number: int, *checks: bytes) -> list[bytes]:
    """Checks of a call's first argument; it is allowed where they return nothing."""
    inner = [_instruction(LOAD, ARGUMENT), *checks, _instruction(RETURN, ALLOW)]
    return [_instruction(IF_EQUAL, number, no=len(inner)), *inner]


def _when(comparison: int, operand: int, verdict: int) -> list[bytes]:
    return [_instruction(comparison, operand, no=1), _instruction(RETURN, verdict)]


def _unless(comparison: int, operand: int, verdict: int) -> list[bytes]:
    return [_instruction(comparison, operand, yes=1), _instruction(RETURN, verdict)]


def _instruction(code: int, operand: int, *, yes: int = 0, no: int = 0) -> bytes:
    """``yes``, ``no``: over so many instructions where a comparison holds, or does not."""
    return struct.pack("=HBBI", code, yes, no, operand)


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _checked(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
