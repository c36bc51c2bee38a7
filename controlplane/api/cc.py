"""Congestion controls in one C file each: those that nashbed has, and your own.

>>> import nashbed as nb
>>> nb.cc.new("mycc")
>>> nb.cc.check("mycc.c").behaviour[0].link_share
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from nashbed.controlplane.contract.errors import ConfigError
from nashbed.controlplane.machine.c_files.cc_check import (
    LOSSES_PPM,
    CcaBehaviour,
    CcaVerdict,
    check_cca,
)
from nashbed.controlplane.machine.c_files.kernel_support import available_ccas, kernels_own_ccas
from nashbed.controlplane.machine.c_files.kinds import CCA, form_of
from nashbed.controlplane.machine.c_files.shipped import ShippedCca, shipped_ccas
from nashbed.controlplane.machine.paths import CCA_TEMPLATE as TEMPLATE
from nashbed.controlplane.machine.paths import CONFIGS

from .files import write_template
from .steps import ShowStep, show_nothing

if TYPE_CHECKING:
    from nashbed.analysis.results.conformance import Conformance

    from .runs import RunLike

QUESTION = CONFIGS / "scenarios" / "harm" / "fair.yaml"
EXAMPLE = "[cubic, reno, bbr3]"
"""The strategies of the shipped form of it."""

__all__ = [
    "LOSSES_PPM",
    "TEMPLATE",
    "CcaBehaviour",
    "CcaVerdict",
    "ShippedCca",
    "alike",
    "check",
    "fair",
    "kernels_own",
    "new",
    "shipped",
]


def kernels_own() -> tuple[str, ...]:
    """The congestion controls that this machine's kernel has."""
    return available_ccas()


def shipped() -> tuple[ShippedCca, ...]:
    """The congestion controls that nashbed brings along, and how they are had here."""
    return tuple(shipped_ccas())


def new(name: str, folder: str | Path = ".") -> Path:
    """Write a small congestion control that works, to be changed.

    Args:
        name: Its name, at most 15 of a-z, 0-9 and _.
        folder: Where NAME.c is written.

    Returns:
        The file.

    Raises:
        ConfigError: There is such a file, or its name cannot be a CCA's.
    """
    file = CCA.file(name)
    if file.stem in kernels_own_ccas():
        raise ConfigError(
            f"{file.stem}: the kernel has a congestion control of this name; take another"
        )
    return write_template(TEMPLATE, file, Path(folder))


def check(source: str | Path, on_step: ShowStep = show_nothing) -> CcaVerdict:
    """Compile a congestion control, load it if this machine can, and simulate what it does.

    It is simulated on nine paths: 10, 50 and 200 Mbit/s at base RTTs of 5, 40 and 100 ms, each with
    a drop-tail buffer of 2 BDP: alone, with random loss, against itself, and against CUBIC.
    Nothing of this needs root but loading it. An ordinary kernel module runs in guests instead, on
    four paths, and one of eBPF is loaded only.

    Args:
        source: Its C file, or the folder of a kernel module's files.
        on_step: Called as it goes on: what is done, steps done, steps in all.

    Raises:
        ConfigError: It does not compile, the verifier refuses it, its name is taken, it crashes,
            or it never sends.
        HostError: The simulator is not built, or a module crashes its guest: where.
    """
    cca = CCA.read(Path(source))
    if form_of(cca) == "module":
        from .cc_guest import check_in_guest  # noqa: PLC0415 - slow to import

        return check_in_guest(cca, on_step)
    return check_cca(cca, on_step)


def fair(source: str | Path, folder: str | Path = ".") -> Path:
    """Write fair.yaml: is a congestion control fair to CUBIC, and would it be adopted?

    Args:
        source: Its C file, or the folder of a kernel module's files.
        folder: Where the scenario is written.

    Returns:
        The scenario.

    Raises:
        ConfigError: There is no such congestion control, or fair.yaml is there already.
    """
    cca = CCA.read(Path(source))
    form_of(cca)
    written = os.path.relpath(cca.source, folder) + "/" * cca.source.is_dir()
    strategy = written if written.startswith("..") else f"./{written}"
    changes = {EXAMPLE: f"[cubic, reno, {strategy}]", "../../schema": str(CONFIGS / "schema")}
    return write_template(QUESTION, Path(QUESTION.name), Path(folder), changes)


def alike(run: RunLike, cca: str, reference: str = "bbr") -> tuple[Conformance, ...]:
    """Say how alike two congestion controls of a run behave where each is alone.

    The score is the share of their points (RTT and goodput over ten base RTTs) that lie in the
    performance envelopes of both: two series of the same one score about 0.95. The run needs
    settings in which all flows run the one, and the other.

    Args:
        run: The run.
        cca: A strategy of the run.
        reference: The one to hold it against.

    Returns:
        One for each setting.

    Raises:
        RunError: The run has no such settings.
    """
    from nashbed.analysis.results.conformance import (  # noqa: PLC0415 - slow to import
        conformance_of_run,
    )

    from .runs import measures_of  # noqa: PLC0415

    return tuple(conformance_of_run(measures_of(run), cca, reference))
