"""Where our own files are: the checkout that the package runs from."""

from __future__ import annotations

from pathlib import Path

from ..contract.errors import HostError

ROOT = Path(__file__).resolve().parents[2]
"""The checkout: the control plane is one of its top-level folders."""

DATAPLANE = ROOT / "build" / "hosts" / "dpdk" / "nashbed-dataplane"
FLOWS = ROOT / "build" / "hosts" / "flows" / "nashbed-flows"
PROBE = ROOT / "build" / "hosts" / "probe" / "nashbed-probe"
PKTGEN_SCRIPT = ROOT / "hosts" / "pktgen" / "nashbed.lua"
P4SRC = ROOT / "p4src"
CONFIGS = ROOT / "configs"
DEFAULT_TESTBED = CONFIGS / "testbeds" / "embedded.yaml"


def built(path: Path) -> Path:
    """A program that `make` builds; raises HostError when it is missing."""
    if not path.is_file():
        raise HostError(f"{path}: not built; run `make build`")
    return path


def artefact(place: str, folder: Path = P4SRC) -> Path:
    """A target's compiled P4 program; raises HostError when it is missing.

    Args:
        place: Where it is below `folder`, as the target says.
        folder: The P4 sources.
    """
    path = folder / place
    if not path.exists():
        raise HostError(f"{path}: missing; restore it from git, or see p4src/README.md")
    return path


def spec() -> Path:
    """The compiled P4 program of the dpdk target."""
    return artefact("dpdk/bottleneck.spec")
