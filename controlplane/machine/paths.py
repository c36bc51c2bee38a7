"""Where our own files are: in the checkout that the package runs from, or in an installed wheel.

A wheel has all below the package `nashbed`, each file where a checkout has it (hosts/wheel).
"""

import os
from pathlib import Path

from ..contract.errors import PrerequisiteError

ROOT = Path(__file__).resolve().parents[2]
"""The checkout, or the installed package: the control plane is one of its top-level folders."""
IS_INSTALLED = not (ROOT / "Makefile").is_file()
"""Whether it is an installed package: nothing is built there."""

BUILD = Path(os.environ.get("NASHBED_BUILD", ROOT / "build"))
"""Where the C programs were built; another build by this variable, such as one with sanitizers."""
DATAPLANE = BUILD / "hosts" / "dpdk" / "nashbed-dataplane"
REPLAY = BUILD / "hosts" / "dpdk" / "nashbed-replay"
FLOWS = BUILD / "hosts" / "flows" / "nashbed-flows"
PROBE = BUILD / "hosts" / "probe" / "nashbed-probe"
GUEST_INIT = BUILD / "hosts" / "guest" / "nashbed-guest"
GUEST_ADDRESSES = BUILD / "hosts" / "guest" / "nashbed-addresses.so"
VIRTUAL_LIBRARY = BUILD / "hosts" / "dpdk" / "nashbed-virtual.so"
AQM_TOOL = BUILD / "hosts" / "dpdk" / "nashbed-aqm"
PKTGEN_SCRIPT = ROOT / "hosts" / "pktgen" / "nashbed.lua"
CCA_FOLDER = ROOT / "hosts" / "cc"
"""CCAs, cc.h that each of them includes, and their committed objects."""
BUILT_CCAS = BUILD / "hosts" / "cc"
CCA_LOADER = BUILT_CCAS / "nashbed-cc"
CCA_SIMULATOR = BUILT_CCAS / "nashbed-cc-sim"
BPF_COMPILER = CCA_FOLDER / "compile_bpf.py"
CCA_MODULE = CCA_FOLDER / "cc_module.c"
CCA_TEMPLATE = CCA_FOLDER / "mine.c"
AQM_TEMPLATE = ROOT / "hosts" / "dpdk" / "core" / "disciplines" / "mine.c"
MEMORY_TEMPLATE = ROOT / "hosts" / "dpdk" / "core" / "policies" / "mine.c"
AQM_HEADERS = ROOT / "hosts" / "dpdk" / "core"
"""aqm.h and memory.h, which a discipline or a policy of a user's own includes."""
UML = ROOT / "hosts" / "uml"
"""What kernels are made with; installed with the distribution nashbed-kernel."""
SHIPPED_KERNELS = ROOT / "build" / "kernels"
"""Kernels that nashbed-kernel brings; a checkout has none there."""
P4SRC = ROOT / "p4src"
CONFIGS = ROOT / "configs"
MEASURED = ROOT / "controlplane" / "bench" / "measured.json"
"""The speed that the documents tell."""
DEFAULT_TESTBED = CONFIGS / "testbeds" / "virtual.yaml"
REAL_TIME_TESTBED = CONFIGS / "testbeds" / "embedded.yaml"
PUBLISHED_EQUILIBRIA = (
    CONFIGS / "scenarios" / "srivastava2023" / "published" / "fabric_equilibria.csv"
)
GUEST_CONFIGURATION = UML / "kernel.config"
"""What is built into the kernel of virtual time."""


def guest_configuration() -> Path:
    """The configuration of virtual time's kernel; raises PrerequisiteError where there is none."""
    if not GUEST_CONFIGURATION.is_file():
        raise PrerequisiteError(
            f"{GUEST_CONFIGURATION}: missing; restore it from git, or, of a wheel: virtual time "
            "needs a kernel, `pip install nashbed_kernel-*.whl`"
        )
    return GUEST_CONFIGURATION


def built(path: Path) -> Path:
    """A program that `make` builds; raises HostError when it is missing."""
    if path.is_file():
        return path
    if IS_INSTALLED:
        raise PrerequisiteError(
            f"{path.name}: not in the wheel, which has what virtual time needs; the rest is for a "
            "checkout (README.md)"
        )
    raise PrerequisiteError(f"{path}: not built; run `make build`")


def artefact(place: str, folder: Path = P4SRC) -> Path:
    """A target's compiled P4 program; raises HostError when it is missing.

    Args:
        place: Where it is below `folder`, as the target says.
        folder: The P4 sources.
    """
    path = folder / place
    if not path.exists():
        raise PrerequisiteError(f"{path}: missing; restore it from git, or see p4src/README.md")
    return path


def spec() -> Path:
    """The compiled P4 program of the dpdk target."""
    return artefact("dpdk/bottleneck.spec")
