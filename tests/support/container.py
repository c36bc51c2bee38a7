"""Runs a command as a container does by default: under the system call filter of Docker.

    python -m tests.support.container COMMAND...

The filter is written down from what moby's profile allows to who has no capability: `personality`
with five values, no new namespaces, none of what only an administrator may do. ptrace is allowed,
and reaches only processes of the same user.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys

LIBRARY = "libseccomp.so.2"
PERSONALITIES = (0x0, 0x8, 0x20000, 0x20008, 0xFFFFFFFF)
NAMESPACES = 0x7E020000
"""The flags of `clone` that make a namespace."""
REFUSED = (
    "acct", "add_key", "bpf", "chroot", "clock_settime", "delete_module", "fanotify_init",
    "finit_module", "fsconfig", "fsmount", "fsopen", "fspick", "get_mempolicy", "init_module",
    "io_uring_enter", "io_uring_register", "io_uring_setup", "ioperm", "iopl", "kcmp",
    "kexec_file_load", "kexec_load", "keyctl", "mbind", "migrate_pages", "mount", "mount_setattr",
    "move_mount", "move_pages", "open_by_handle_at", "open_tree", "perf_event_open",
    "pidfd_getfd", "pivot_root", "process_madvise", "quotactl", "reboot", "request_key",
    "set_mempolicy", "setdomainname", "sethostname", "setns", "settimeofday", "swapoff", "swapon",
    "syslog", "umount2", "unshare", "userfaultfd", "vhangup",
)  # fmt: skip
HIGHEST_CALL = 470
ALLOW = 0x7FFF0000
EQUAL, MASKED_EQUAL = 4, 7


class Comparison(ctypes.Structure):
    """libseccomp's struct scmp_arg_cmp."""

    _fields_ = (
        ("argument", ctypes.c_uint),
        ("operator", ctypes.c_int),
        ("first", ctypes.c_uint64),
        ("second", ctypes.c_uint64),
    )


class Filter:
    """A filter of system calls that refuses what is not allowed."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(LIBRARY)
        self._library.seccomp_init.restype = ctypes.c_void_p
        self._context = ctypes.c_void_p(self._library.seccomp_init(_refuse(errno.EPERM)))

    def number(self, name: str) -> int:
        """The number of a system call; negative where the library does not know it."""
        return int(self._library.seccomp_syscall_resolve_name(name.encode()))

    def rule(self, action: int, number: int, *comparisons: Comparison) -> None:
        """Do this with a call for whose arguments all comparisons hold."""
        array = (Comparison * len(comparisons))(*comparisons)
        failed = self._library.seccomp_rule_add_array(
            self._context, ctypes.c_uint32(action), number, len(comparisons), array
        )
        if failed:
            raise OSError(-failed, f"system call {number}: {os.strerror(-failed)}")

    def load(self) -> None:
        """From here on, for this process and all that it starts."""
        failed = self._library.seccomp_load(self._context)
        if failed:
            raise OSError(-failed, os.strerror(-failed))


def confine() -> None:
    """Load the filter of a default container."""
    made = Filter()
    ours = ("personality", "clone", "clone3")
    special = {made.number(name) for name in (*ours, *REFUSED)}
    for number in set(range(HIGHEST_CALL)) - special:
        made.rule(ALLOW, number)
    for value in PERSONALITIES:
        made.rule(ALLOW, made.number("personality"), Comparison(0, EQUAL, value))
    made.rule(ALLOW, made.number("clone"), Comparison(0, MASKED_EQUAL, NAMESPACES))
    made.rule(_refuse(errno.ENOSYS), made.number("clone3"))
    made.load()


def _refuse(number: int) -> int:
    return 0x00050000 | number


if __name__ == "__main__":
    confine()
    os.execvp(sys.argv[1], sys.argv[1:])
