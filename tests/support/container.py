"""Runs a command as a container does by default: under Docker's filter of system calls.

    python tests/support/container.py COMMAND...

The filter is moby's `profiles/seccomp/default.json`, as Debian packages it, applied as Docker does
to a container that was given no capability beyond the default ones: what the profile does not name
is refused.
"""

import ctypes
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

LIBRARY = "libseccomp.so.2"
PACKAGE = "golang-github-docker-docker-dev"
IN_PACKAGE = "usr/share/gocode/src/github.com/docker/docker/profiles/seccomp/default.json"
HERE = Path(__file__).resolve().parent
KEPT = "docker-seccomp.json"
"""Beside this script, the profile is taken from here: for machines that cannot fetch it."""
CAPABILITIES = frozenset(
    f"CAP_{name}"
    for name in (
        "AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD",
        "NET_BIND_SERVICE", "NET_RAW", "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT",
    )
)  # fmt: skip
"""Docker's defaults."""
ARCHITECTURE = "amd64"
NOT_PERMITTED = 1
ALLOW, ERRNO = 0x7FFF0000, 0x00050000
OPERATORS = {"SCMP_CMP_NE": 1, "SCMP_CMP_EQ": 4, "SCMP_CMP_MASKED_EQ": 7}


class ProfileError(Exception):
    """Docker's profile is not to be had here; says why."""


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
        self._context = ctypes.c_void_p(self._library.seccomp_init(ERRNO | NOT_PERMITTED))

    def rule(self, action: int, name: str, *comparisons: Comparison) -> None:
        """Do this with a call for whose arguments all comparisons hold."""
        number = int(self._library.seccomp_syscall_resolve_name(name.encode()))
        if number < 0:
            return  # another architecture's, or newer than the library: refused
        array = (Comparison * len(comparisons))(*comparisons)
        failed = self._library.seccomp_rule_add_array(
            self._context, ctypes.c_uint32(action), number, len(comparisons), array
        )
        if failed:
            raise OSError(-failed, f"{name}: {os.strerror(-failed)}")

    def load(self) -> None:
        """From here on, for this process and all that it starts."""
        failed = self._library.seccomp_load(self._context)
        if failed:
            raise OSError(-failed, os.strerror(-failed))


def profile_text() -> str:
    """Docker's profile.

    Raises:
        ProfileError: It is not here, and cannot be fetched.
    """
    for path in (HERE / KEPT, Path("/") / IN_PACKAGE):
        if path.exists():
            return path.read_text()
    try:
        return _fetched()
    except (OSError, subprocess.SubprocessError) as error:
        raise ProfileError(f"Docker's seccomp profile (Debian's {PACKAGE}): {error}") from error


def confine() -> None:
    """Load the filter of a default container."""
    made = Filter()
    for entry in json.loads(profile_text())["syscalls"]:
        if not _applies(entry):
            continue
        allowed = entry["action"] == "SCMP_ACT_ALLOW"
        action = ALLOW if allowed else ERRNO | entry.get("errnoRet", NOT_PERMITTED)
        for name in entry["names"]:
            made.rule(action, name, *map(_comparison, entry.get("args") or ()))
    made.load()


def _applies(entry: Mapping[str, Any]) -> bool:
    """Whether a line of the profile is one for this machine and a default container."""
    wanted, barred = entry.get("includes") or {}, entry.get("excludes") or {}
    kernel = tuple(int(part) for part in platform.release().split("-")[0].split(".")[:2])
    oldest = tuple(int(part) for part in wanted.get("minKernel", "0.0").split("."))
    return (
        ARCHITECTURE in wanted.get("arches", [ARCHITECTURE])
        and CAPABILITIES.issuperset(wanted.get("caps", []))
        and kernel >= oldest
        and ARCHITECTURE not in barred.get("arches", [])
        and CAPABILITIES.isdisjoint(barred.get("caps", []))
    )


def _comparison(args: Mapping[str, Any]) -> Comparison:
    """Two values where the operator is masked: the mask, and what is to be left."""
    return Comparison(args["index"], OPERATORS[args["op"]], args["value"], args.get("valueTwo", 0))


def _fetched() -> str:
    """Out of Debian's package, of which nothing is installed."""
    with tempfile.TemporaryDirectory() as folder:
        for command in (
            ("apt-get", "download", "-q", PACKAGE),
            ("sh", "-c", "dpkg-deb --extract *.deb files"),
        ):
            subprocess.run(command, cwd=folder, check=True, timeout=120, capture_output=True)
        return (Path(folder) / "files" / IN_PACKAGE).read_text()


if __name__ == "__main__":
    confine()
    os.execvp(sys.argv[1], sys.argv[1:])
