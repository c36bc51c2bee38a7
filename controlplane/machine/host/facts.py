"""Facts about this machine for records and the doctor: hardware, software, PTP, P4 tools."""

import os
import platform
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from ...contract.errors import HostError
from ..paths import ROOT
from ..process import command
from ..process.command import Completed

_PACKAGES = ("nashbed", "numpy", "pyarrow", "pydantic", "polars", "scipy")

PMC_TIMEOUT_S = 5.0
_DATA_SETS = ("PORT_DATA_SET", "TIME_STATUS_NP", "CURRENT_DATA_SET")
_PMC_FIELDS = {
    "portState": "port_state",
    "master_offset": "offset_ns",
    "gmPresent": "grandmaster_present",
    "gmIdentity": "grandmaster",
    "meanPathDelay": "path_delay_ns",
    "stepsRemoved": "steps_removed",
}
"""pmc's name -> ours; all values are text."""

_RELEASE = re.compile(r"\b\d+(?:\.\d+){2,}\S*")
_COMMIT = re.compile(r"SHA: (\w+)")
_STAMP = re.compile(r"sources sha256:\w+ (\S+) (\w+)")
STAMP_BYTES = 512
"""An artefact begins with its stamp."""


def clocksource() -> str:
    """The kernel's current clock source."""
    return _first_line("/sys/devices/system/clocksource/clocksource0/current_clocksource")


def kernel() -> str:
    """Kernel release and build."""
    return f"{platform.release()} {platform.version()}"


def cpu() -> str:
    """CPU model and number of cores."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return f"{names[0] if names else platform.machine()}, {os.cpu_count()} cores"


def cpu_family() -> str:
    """Architecture and kind of the processor: within one, the same instructions are used."""
    keys = ("vendor_id", "cpu family", "model", "CPU implementer", "CPU architecture", "CPU part")
    found = dict.fromkeys(keys, "")
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        key, _, value = line.partition(":")
        if key.strip() in found and not found[key.strip()]:
            found[key.strip()] = value.strip()
    named = [f"{key} {value}" for key, value in found.items() if value]
    return ", ".join([platform.machine(), *named])


def software() -> dict[str, str]:
    """Versions of what computes."""
    from importlib import metadata  # noqa: PLC0415 - slow to import

    versions = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            versions[package] = "not installed"
    return versions


def git(root: Path = ROOT) -> dict[str, str]:
    """Commit and state of the checkout; empty outside a git checkout, and without git.

    Never fails: git reads every file where it does not know the file system, and a run can do
    without.
    """
    if not (root / ".git").exists() or shutil.which("git") is None:
        return {}
    commit = _git(root, "rev-parse", "HEAD")
    if not commit:
        return {}
    changes = _git(root, "status", "--porcelain")
    tree = "unknown" if changes is None else "modified" if changes else "clean"
    return {"commit": commit, "tree": tree}


def _git(root: Path, *args: str) -> str | None:
    """What git says; None where it fails, or takes too long."""
    try:
        done = command.attempt(["git", "-C", str(root), *args])
    except command.CommandTimeoutError:
        return None
    return done.out.strip() if done.code == 0 else None


def host() -> dict[str, str]:
    """Everything else worth keeping."""
    governor = "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"
    return {
        "machine": platform.machine(),
        "cpu_family": cpu_family(),
        "hostname": platform.node(),
        "governor": _first_line(governor),
        "isolated_cores": _first_line("/sys/devices/system/cpu/isolated"),
        "available_congestion_controls": _first_line(
            "/proc/sys/net/ipv4/tcp_available_congestion_control"
        ),
    }


def ptp_state() -> dict[str, str]:
    """What ptp4l says about the clock (linuxptp's pmc); `state`: synchronised, running or absent.

    Never fails: PTP is optional, and its absence is worth recording.
    """
    if shutil.which("pmc") is None:
        return {"state": "absent", "detail": "pmc (linuxptp) is not installed"}
    queries = [f"GET {name}" for name in _DATA_SETS]
    try:
        done = command.attempt(["pmc", "-u", "-b", "0", *queries], timeout_s=PMC_TIMEOUT_S)
    except HostError as error:
        return {"state": "absent", "detail": error.message}
    return _read_pmc(done)


def _read_pmc(done: Completed) -> dict[str, str]:
    """Lines of `name value`; without an answer from ptp4l there are none."""
    fields: dict[str, str] = {}
    for line in done.out.splitlines():
        name, _, value = line.strip().partition(" ")
        if name in _PMC_FIELDS and value.strip():
            fields[_PMC_FIELDS[name]] = value.strip()
    if not fields:
        return {"state": "absent", "detail": "ptp4l does not answer pmc"}
    synchronised = fields.get("port_state") in ("SLAVE", "MASTER", "GRAND_MASTER")
    return {"state": "synchronised" if synchronised else "running", **fields}


@dataclass(frozen=True)
class Tool:
    """A program on PATH.

    Attributes:
        release: Its version; empty where it does not say.
        commit: The commit it was built from; empty where it does not say.
    """

    path: str
    release: str
    commit: str


def find_tool(program: str) -> Tool | None:
    """A program on PATH with its version; None where it is not there."""
    path = shutil.which(program)
    if path is None:
        return None
    try:
        done = command.attempt([path, "--version"])
    except HostError:
        return Tool(path, "", "")
    words = done.out + done.err if done.code == 0 else ""
    release, commit = _RELEASE.search(words), _COMMIT.search(words)
    return Tool(path, release[0] if release else "", commit[1] if commit else "")


def compiled_by(artefact: Path) -> str:
    """The commit of the compiler that made a committed artefact; empty where it does not say."""
    try:
        with artefact.open("rb") as file:
            stamp = _STAMP.search(file.read(STAMP_BYTES).decode(errors="replace"))
    except OSError:
        return ""
    return stamp[2] if stamp else ""


def _first_line(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8").splitlines()[0].strip()
    except (OSError, IndexError):
        return "unknown"
