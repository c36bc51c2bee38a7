"""Where our own files are: the checkout that the package runs from."""

from __future__ import annotations

from pathlib import Path

from ..contract.errors import HostError

ROOT = Path(__file__).resolve().parents[2]
"""The checkout: the control plane is one of its top-level folders."""

DATAPLANE = ROOT / "build" / "hosts" / "dpdk" / "nashbed-dataplane"
FLOWS = ROOT / "build" / "hosts" / "flows" / "nashbed-flows"
SPEC_FOLDER = ROOT / "p4src" / "dpdk"
CONFIGS = ROOT / "configs"
DEFAULT_TESTBED = CONFIGS / "testbeds" / "embedded.yaml"


def built(path: Path) -> Path:
    """A program that `make` builds; raises HostError when it is not there."""
    if not path.is_file():
        raise HostError(f"{path}: not built; run `make build`")
    return path


def spec(folder: Path = SPEC_FOLDER) -> Path:
    """The compiled P4 program of the dpdk target; raises HostError when it is not there."""
    found = sorted(folder.rglob("*.spec"))
    if len(found) != 1:
        raise HostError(
            f"{folder}: holds {len(found)} .spec files, expected 1; see p4src/README.md"
        )
    return found[0]
