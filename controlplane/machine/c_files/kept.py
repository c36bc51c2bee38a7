"""The C files of a run: kept with it, on the record, and the same when it goes on."""

import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from ...contract.c_files import CFile
from ...contract.errors import ConfigError, HostError
from ...contract.manifest import CcaFacts, DisciplineFacts, Manifest
from ...contract.testbed import Testbed
from ...store.checksums import file_digest
from ...store.errors import disk_errors
from ..kernels.cache import GuestKernel, find_kernel
from ..paths import ROOT
from .guest_modules import module_of
from .kinds import CCA, DISCIPLINE, Kind, is_shipped
from .objects import ebpf_object, shared_object

ANEW = "results depend on it; start a new run"


def keep_ccas(folder: Path, ccas: Sequence[CFile]) -> dict[str, CcaFacts]:
    """Copy the user's own CCAs into a run directory; returns what its manifest says of all."""
    return {cca.name: _kept_cca(folder, cca) for cca in ccas}


def _kept_cca(folder: Path, cca: CFile) -> CcaFacts:
    if is_shipped(cca):
        source = str(cca.source.resolve().relative_to(ROOT))
        return CcaFacts(source=source, shipped=True, digest=cca.digest)
    return CcaFacts(source=_copied(folder, CCA, cca), shipped=False, digest=cca.digest)


def keep_disciplines(folder: Path, own: Sequence[CFile]) -> dict[str, DisciplineFacts]:
    """Copy the user's own disciplines into a run directory; returns what its manifest says."""
    return {each.name: _kept_discipline(folder, each) for each in own}


def _kept_discipline(folder: Path, own: CFile) -> DisciplineFacts:
    made = shared_object(own)
    return DisciplineFacts(
        source=_copied(folder, DISCIPLINE, own),
        digest=own.digest,
        object_digest=made.digest,
        object_from=made.made_by,
    )


def _copied(folder: Path, kind: Kind, file: CFile) -> str:
    """Copy a user's C files with what they include; where they are in the run directory."""
    place = Path(kind.folder) / file.name
    with disk_errors(folder):
        for name, source in kind.own_sources(file).items():
            copy = folder / place / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, copy)
    return str(place if file.source.is_dir() else place / file.source.name)


def kept_ccas(folder: Path, manifest: Manifest) -> tuple[CFile, ...]:
    """The CCAs that a run began with, by its directory and manifest.

    Raises:
        ConfigError: One of them is not as it was: results depend on it.
    """
    return tuple(
        _as_it_was(CCA, (ROOT if facts.shipped else folder), facts)
        for facts in manifest.controls.values()
    )


def kept_disciplines(folder: Path, manifest: Manifest) -> tuple[CFile, ...]:
    """The user's own disciplines that a run began with, by its directory and manifest.

    Raises:
        ConfigError: One of them is not as it was: results depend on it.
        HostError: What is made of it here is not what the run began with.
    """
    kept = []
    for facts in manifest.disciplines.values():
        own = _as_it_was(DISCIPLINE, folder, facts)
        made = shared_object(own)
        _require_same(own, facts, made.digest, made.made_by, "object")
        kept.append(own)
    return tuple(kept)


def _as_it_was(kind: Kind, folder: Path, facts: CcaFacts | DisciplineFacts) -> CFile:
    file = kind.read(folder / facts.source)
    if file.digest != facts.digest:
        raise ConfigError(
            f"{file.source}: {file.name} or a header of it was changed after the run started; "
            "restore it, or start a new run"
        )
    return file


def _require_same(
    file: CFile, facts: CcaFacts | DisciplineFacts, digest: str, made_by: str, what: str
) -> None:
    """Raise HostError where the object that a run began with is another, if it has begun."""
    if facts.object_digest not in ("", digest):
        raise HostError(
            f"{file.name}: the run began with another {what} ({facts.object_from}) than there is "
            f"now ({made_by}): {ANEW}"
        )


def with_objects(manifest: Manifest, testbed: Testbed, ccas: Sequence[CFile]) -> Manifest:
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


def _with_modules(kernels: Sequence[GuestKernel], facts: CcaFacts, cca: CFile) -> CcaFacts:
    made = {kernel.release: file_digest(module_of(kernel, cca)) for kernel in kernels}
    changed = [release for release, digest in facts.modules.items() if made.get(release) != digest]
    if changed:
        raise HostError(
            f"{cca.name}: the run began with another module for kernel {changed[0]} than there "
            f"is now: {ANEW}"
        )
    return facts.model_copy(update={"modules": made})


def _with_object(facts: CcaFacts, cca: CFile) -> CcaFacts:
    made = ebpf_object(cca)
    _require_same(cca, facts, made.digest, made.made_by, "eBPF object")
    return facts.model_copy(update={"object_digest": made.digest, "object_from": made.made_by})
