"""A control is tried: compiled for kernel and simulator, loaded where possible, simulated."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..contract.control import ControlFile, read_control
from ..contract.errors import ConfigError
from ..machine.controls.checks import held_controls, kernel_problems, kernels_own_controls
from ..machine.controls.loader import try_loading
from ..machine.controls.objects import PACKAGES, find_clang, is_shipped, object_of
from ..machine.controls.simulator import Simulation, compile_for_simulator, simulate
from ..machine.log import ShowStep
from ..machine.paths import CONTROLS
from ..store.staging import scratch_folder
from .behaviour import ControlBehaviour, behaviour_on, require_sending
from .paths import OWN, SimulatedCase, panel


@dataclass(frozen=True)
class ControlVerdict:
    """What is known of a control after it was tried.

    Attributes:
        control: The control.
        object_from: What made its eBPF object; empty: there is none.
        loads: Whether this machine's kernel takes it; None: that was not tried.
        skipped: Why something was not tried; empty: everything was.
        behaviour: What it does on each path.
    """

    control: ControlFile
    object_from: str
    loads: bool | None
    skipped: str
    behaviour: tuple[ControlBehaviour, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "ok": True,
            "name": self.control.name,
            "digest": self.control.digest,
            "object_from": self.object_from,
            "loads": self.loads,
            "skipped": self.skipped,
            "paths": [each.to_dict() for each in self.behaviour],
        }


def check_control(source: Path, show: ShowStep) -> ControlVerdict:
    """Try a control.

    Args:
        source: Its C file.
        show: Called as it goes on.

    Raises:
        ConfigError: It does not compile, the verifier refuses it, its name is taken, it crashes,
            or it never sends.
        HostError: The simulator is not built.
    """
    control = read_control(source, CONTROLS)
    if control.name in kernels_own_controls():
        raise ConfigError(f"{source}: the kernel has {control.name!r} of its own; rename the file")
    with scratch_folder("cc") as folder:
        shared = folder / f"{control.name}.so"
        show(f"compiling {control.name}", 0, len(panel()))
        compile_for_simulator(control, shared)
        object_from, loads, skipped = _loaded(control)
        found = _simulated(control, shared, show)
    require_sending(control.name, found)
    return ControlVerdict(control, object_from, loads, skipped, tuple(found))


def _loaded(control: ControlFile) -> tuple[str, bool | None, str]:
    """What made the eBPF object, whether it loads, and why that was not tried."""
    if find_clang() is None and not is_shipped(control):
        return "", None, f"clang is not installed: {PACKAGES}"
    made = object_of(control)
    problems = kernel_problems()
    if problems:
        return made.made_by, None, problems[0]
    if control.name in held_controls():
        return made.made_by, None, "a nashbed-cc that is running has registered this name"
    try_loading(made)
    return made.made_by, True, ""


def _simulated(control: ControlFile, shared: Path, show: ShowStep) -> list[ControlBehaviour]:
    """What the control does on each path."""

    def run(case: SimulatedCase) -> Simulation:
        names = [str(shared) if flow == OWN else flow for flow in case.flows]
        return simulate(case.where, names)

    paths, found = panel(), []
    with ThreadPoolExecutor(max_workers=len(os.sched_getaffinity(0))) as pool:
        for done, each in enumerate(pool.map(lambda path: behaviour_on(path, run), paths)):
            found.append(each)
            show(f"simulating {control.name}", done + 1, len(paths))
    return found
