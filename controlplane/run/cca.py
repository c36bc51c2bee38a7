"""The CCAs of a run: found, checked, kept with it, and the same when it goes on."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from ..config import (
    Loaded,
    check_strategies,
    configured_ccas,
    find_ccas,
    takes_modules,
)
from ..contract.cca import CcaFile, read_cca
from ..contract.errors import ConfigError, HostError
from ..contract.manifest import CcaFacts, Manifest
from ..contract.scenario import Scenario
from ..contract.testbed import Testbed
from ..machine.cca.checks import kernels_own_ccas, require_ccas
from ..machine.cca.modules import module_of
from ..machine.cca.objects import is_shipped, object_of
from ..machine.kernels.cache import GuestKernel, find_kernel
from ..machine.paths import CCA_FOLDER, ROOT, guest_configuration
from ..store.checksums import file_digest
from .kept_sources import keep_sources

FOLDER = "controls"
"""Folder of a run directory with each of the user's own CCAs and the files it includes."""


def ccas_of(scenario: Loaded[Scenario], testbed: Loaded[Testbed]) -> tuple[CcaFile, ...]:
    """The CCAs that a scenario needs and the hosts' kernel does not have.

    Raises:
        ConfigError: A file is missing or has a name that is taken.
    """
    return find_ccas(scenario, testbed, kernels_own(testbed.model), CCA_FOLDER)


def kernels_own(testbed: Testbed) -> tuple[str, ...]:
    """The CCAs that the kernel of a testbed's hosts has of its own."""
    if testbed.is_virtual:
        return configured_ccas(guest_configuration())
    return kernels_own_ccas()


def require_strategies(
    scenario: Loaded[Scenario], testbed: Testbed, ccas: Sequence[CcaFile]
) -> None:
    """Refuse strategies that the hosts cannot run here; touches nothing.

    Args:
        scenario: The scenario.
        testbed: Where.
        ccas: Those of its CCAs that come from a file.

    Raises:
        ConfigError: One line for each strategy that is unknown or missing.
        HostError: One line for each thing that this machine lacks to run `ccas`.
    """
    files = {cca.name for cca in ccas}
    others = [name for name in scenario.model.ccas if name not in files]
    loadable = not testbed.is_virtual
    check_strategies(others, scenario.name, kernels_own(testbed), loadable)
    if not testbed.is_virtual:
        require_ccas(ccas)
    elif ccas and not takes_modules(guest_configuration()):
        names = ", ".join(cca.name for cca in ccas)
        raise HostError(f"{names}: the guests' kernel takes no modules, which it would need")


def keep_ccas(folder: Path, ccas: Sequence[CcaFile]) -> dict[str, CcaFacts]:
    """Copy the user's own CCAs into a run directory; returns what its manifest says of all.

    Args:
        folder: The run directory.
        ccas: Its CCAs.
    """
    return {cca.name: _kept(folder, cca) for cca in ccas}


def _kept(folder: Path, cca: CcaFile) -> CcaFacts:
    if is_shipped(cca):
        source = str(cca.source.resolve().relative_to(ROOT))
        return CcaFacts(source=source, shipped=True, digest=cca.digest)
    kept = keep_sources(folder, Path(FOLDER) / cca.name, cca.source, CCA_FOLDER)
    return CcaFacts(source=kept, shipped=False, digest=cca.digest)


def kept_ccas(folder: Path, manifest: Manifest) -> tuple[CcaFile, ...]:
    """The CCAs that a run began with.

    Args:
        folder: The run directory.
        manifest: Its manifest.

    Raises:
        ConfigError: One of them is not as it was: results depend on it.
    """
    return tuple(_as_it_was(folder, name, facts) for name, facts in manifest.controls.items())


def _as_it_was(folder: Path, name: str, facts: CcaFacts) -> CcaFile:
    source = (ROOT if facts.shipped else folder) / facts.source
    cca = read_cca(source, CCA_FOLDER)
    if cca.digest != facts.digest:
        raise ConfigError(
            f"{source}: {name} or a header of it was changed after the run started; restore it, "
            "or start a new run"
        )
    return cca


def with_objects(manifest: Manifest, testbed: Testbed, ccas: Sequence[CcaFile]) -> Manifest:
    """Add what the hosts' kernels are given as CCAs; in virtual time its kernels are known.

    Raises:
        NashbedError: There is no object of one, or not the one that the run began with.
    """
    add = (
        partial(_with_modules, _kernels(manifest, testbed)) if testbed.is_virtual else _with_object
    )
    facts = {c.name: add(manifest.controls[c.name], c) for c in ccas}
    return manifest.model_copy(update={"controls": facts})


def _kernels(manifest: Manifest, testbed: Testbed) -> list[GuestKernel]:
    return [find_kernel(name or testbed.virtual.kernel) for name in manifest.guest_kernels]


def _with_modules(kernels: Sequence[GuestKernel], facts: CcaFacts, cca: CcaFile) -> CcaFacts:
    made = {kernel.release: file_digest(module_of(kernel, cca)) for kernel in kernels}
    changed = [release for release, digest in facts.modules.items() if made.get(release) != digest]
    if changed:
        raise HostError(
            f"{cca.name}: the run began with another module for kernel {changed[0]} than there "
            "is now: results depend on it; start a new run"
        )
    return facts.model_copy(update={"modules": made})


def _with_object(facts: CcaFacts, cca: CcaFile) -> CcaFacts:
    made = object_of(cca)
    if facts.object_digest not in ("", made.digest):
        raise HostError(
            f"{cca.name}: the run began with another eBPF object ({facts.object_from}) than "
            f"there is now ({made.made_by}): results depend on it; start a new run"
        )
    return facts.model_copy(update={"object_digest": made.digest, "object_from": made.made_by})
