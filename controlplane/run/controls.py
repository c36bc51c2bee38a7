"""The congestion controls of a run: found, checked, kept with it, and the same when it goes on."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from ..config import (
    Loaded,
    check_strategies,
    configured_congestion_controls,
    find_controls,
    takes_modules,
)
from ..contract.control import ControlFile, control_sources, read_control
from ..contract.errors import ConfigError, HostError
from ..contract.manifest import ControlFacts, Manifest
from ..contract.scenario import Scenario
from ..contract.testbed import Testbed
from ..machine.controls.checks import kernels_own_controls, require_controls
from ..machine.controls.modules import module_of
from ..machine.controls.objects import is_shipped, object_of
from ..machine.kernels.cache import GuestKernel, file_digest, find_kernel
from ..machine.paths import CONTROLS, GUEST_CONFIGURATION, ROOT
from ..store.errors import disk_errors

FOLDER = "controls"
"""Folder of a run directory with each of the user's own controls and the files it includes."""


def controls_of(scenario: Loaded[Scenario], testbed: Loaded[Testbed]) -> tuple[ControlFile, ...]:
    """The controls that a scenario needs and the hosts' kernel does not have.

    Raises:
        ConfigError: A file is missing or has a name that is taken.
    """
    return find_controls(scenario, testbed, kernels_own(testbed.model), CONTROLS)


def kernels_own(testbed: Testbed) -> tuple[str, ...]:
    """The controls that the kernel of a testbed's hosts has of its own."""
    if testbed.is_virtual:
        return configured_congestion_controls(GUEST_CONFIGURATION)
    return kernels_own_controls()


def require_strategies(
    scenario: Loaded[Scenario], testbed: Testbed, controls: Sequence[ControlFile]
) -> None:
    """Refuse strategies that the hosts cannot run here; touches nothing.

    Args:
        scenario: The scenario.
        testbed: Where.
        controls: Those of its controls that come from a file.

    Raises:
        ConfigError: One line for each strategy that is unknown or missing.
        HostError: One line for each thing that this machine lacks to run `controls`.
    """
    files = {control.name for control in controls}
    others = [name for name in scenario.model.strategies if name not in files]
    loadable = not testbed.is_virtual
    check_strategies(others, scenario.name, kernels_own(testbed), loadable)
    if not testbed.is_virtual:
        require_controls(controls)
    elif controls and not takes_modules(GUEST_CONFIGURATION):
        names = ", ".join(control.name for control in controls)
        raise HostError(f"{names}: the guests' kernel takes no modules, which it would need")


def keep_controls(folder: Path, controls: Sequence[ControlFile]) -> dict[str, ControlFacts]:
    """Copy the user's own controls into a run directory; returns what its manifest says of all.

    Args:
        folder: The run directory.
        controls: Its controls.
    """
    return {control.name: _kept(folder, control) for control in controls}


def _kept(folder: Path, control: ControlFile) -> ControlFacts:
    if is_shipped(control):
        source = str(control.source.resolve().relative_to(ROOT))
        return ControlFacts(source=source, shipped=True, digest=control.digest)
    place = Path(FOLDER) / control.name
    with disk_errors(folder):
        for name, file in control_sources(control.source, CONTROLS).items():
            if file.is_relative_to(CONTROLS.resolve()):
                continue
            copy = folder / place / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, copy)
    return ControlFacts(
        source=str(place / control.source.name), shipped=False, digest=control.digest
    )


def kept_controls(folder: Path, manifest: Manifest) -> tuple[ControlFile, ...]:
    """The controls that a run began with.

    Args:
        folder: The run directory.
        manifest: Its manifest.

    Raises:
        ConfigError: One of them is not as it was: results depend on it.
    """
    return tuple(_as_it_was(folder, name, facts) for name, facts in manifest.controls.items())


def _as_it_was(folder: Path, name: str, facts: ControlFacts) -> ControlFile:
    source = (ROOT if facts.shipped else folder) / facts.source
    control = read_control(source, CONTROLS)
    if control.digest != facts.digest:
        raise ConfigError(
            f"{source}: {name} or a header of it was changed after the run started; restore it, "
            "or start a new run"
        )
    return control


def with_objects(manifest: Manifest, testbed: Testbed, controls: Sequence[ControlFile]) -> Manifest:
    """Add what the hosts' kernels are given as controls; in virtual time its kernels are known.

    Raises:
        NashbedError: There is no object of one, or not the one that the run began with.
    """
    add = (
        partial(_with_modules, _kernels(manifest, testbed)) if testbed.is_virtual else _with_object
    )
    facts = {c.name: add(manifest.controls[c.name], c) for c in controls}
    return manifest.model_copy(update={"controls": facts})


def _kernels(manifest: Manifest, testbed: Testbed) -> list[GuestKernel]:
    return [find_kernel(name or testbed.virtual.kernel) for name in manifest.guest_kernels]


def _with_modules(
    kernels: Sequence[GuestKernel], facts: ControlFacts, control: ControlFile
) -> ControlFacts:
    made = {kernel.release: file_digest(module_of(kernel, control)) for kernel in kernels}
    changed = [release for release, digest in facts.modules.items() if made.get(release) != digest]
    if changed:
        raise HostError(
            f"{control.name}: the run began with another module for kernel {changed[0]} than there "
            "is now: results depend on it; start a new run"
        )
    return facts.model_copy(update={"modules": made})


def _with_object(facts: ControlFacts, control: ControlFile) -> ControlFacts:
    made = object_of(control)
    if facts.object_digest not in ("", made.digest):
        raise HostError(
            f"{control.name}: the run began with another eBPF object ({facts.object_from}) than "
            f"there is now ({made.made_by}): results depend on it; start a new run"
        )
    return facts.model_copy(update={"object_digest": made.digest, "object_from": made.made_by})
