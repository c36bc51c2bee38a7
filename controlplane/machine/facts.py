"""Facts about the machine for the manifest."""

from __future__ import annotations

import os
import platform
import shutil
from datetime import UTC, datetime
from pathlib import Path

from . import command
from .paths import ROOT

_PACKAGES = ("nashbed", "numpy", "pyarrow", "pydantic", "polars", "scipy")


def _first_line(path: str) -> str:
    try:
        return Path(path).read_text().splitlines()[0].strip()
    except (OSError, IndexError):
        return "unknown"


def clocksource() -> str:
    """The kernel's current clock source."""
    return _first_line("/sys/devices/system/clocksource/clocksource0/current_clocksource")


def kernel() -> str:
    """Kernel release and build."""
    return f"{platform.release()} {platform.version()}"


def cpu() -> str:
    """CPU model and number of cores."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return f"{names[0] if names else platform.machine()}, {os.cpu_count()} cores"


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
    """Commit and state of the checkout; empty outside a git checkout, and without git."""
    if not (root / ".git").exists() or shutil.which("git") is None:
        return {}
    commit = command.attempt(["git", "-C", str(root), "rev-parse", "HEAD"])
    status = command.attempt(["git", "-C", str(root), "status", "--porcelain"])
    if commit.code != 0:
        return {}
    return {"commit": commit.out.strip(), "tree": "modified" if status.out.strip() else "clean"}


def host() -> dict[str, str]:
    """Everything else worth keeping."""
    governor = "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"
    return {
        "machine": platform.machine(),
        "hostname": platform.node(),
        "governor": _first_line(governor),
        "isolated_cores": _first_line("/sys/devices/system/cpu/isolated"),
        "available_congestion_controls": _first_line(
            "/proc/sys/net/ipv4/tcp_available_congestion_control"
        ),
    }


def softnet() -> dict[str, int]:
    """Losses of the kernel's receive path over all cores (packets, and budget squeezes)."""
    rows = [line.split() for line in Path("/proc/net/softnet_stat").read_text().splitlines()]
    return {"dropped": sum(int(row[1], 16) for row in rows)}


def utc_now() -> str:
    """Wall-clock time (ISO 8601, UTC)."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
