"""Which target a testbed means: the only place that knows targets by name."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType

from ..contract.errors import ConfigError
from ..contract.plugins import WithPlugins
from ..contract.target import Applied, Capabilities, Lane
from ..contract.testbed import Testbed
from .base import Finding, Target, TargetHost


@dataclass(frozen=True)
class TargetKind:
    """One target. All but `make` need no machine.

    Attributes:
        capabilities: What it can do on a testbed.
        resolve: What it would really do.
        make: Makes it; nothing is touched before its `load`.
        artefact: Its compiled program, below p4src: a file, or a folder.
        preview: What it would be set to, as lines: for all lanes, and for one of a setting.
        examine: Asks its switch, which is left as it was found; None: it has none that stands.
    """

    capabilities: Callable[[Testbed], Capabilities]
    resolve: Callable[[Testbed, Lane], Applied]
    make: Callable[[TargetHost, Testbed], Target]
    artefact: Callable[[Testbed], str]
    preview: Callable[[Testbed, Lane | None], Sequence[str]] = lambda *_: ()
    examine: Callable[[Testbed, Path], Sequence[Finding]] | None = None


def _dpdk() -> TargetKind:
    from .dpdk import DpdkTarget, dpdk_capabilities  # noqa: PLC0415

    return TargetKind(
        capabilities=lambda testbed: dpdk_capabilities(testbed.dataplane, testbed.stamps_arrivals),
        resolve=lambda testbed, program: program.applied(),
        make=lambda host, testbed: DpdkTarget(host, testbed.dataplane, testbed.stamps_arrivals),
        artefact=lambda testbed: "dpdk/bottleneck.spec",
    )


def _virtual() -> TargetKind:
    from .virtual import virtual_capabilities, virtual_target  # noqa: PLC0415

    return TargetKind(
        capabilities=lambda testbed: virtual_capabilities(),
        resolve=lambda testbed, program: program.applied(),
        make=lambda host, testbed: virtual_target(host),
        artefact=lambda testbed: "dpdk/bottleneck.spec",
    )


def _bmv2() -> TargetKind:
    from .bmv2 import bmv2_capabilities, bmv2_resolve, bmv2_target  # noqa: PLC0415
    from .with_hosts import beside_hosts  # noqa: PLC0415

    return TargetKind(
        capabilities=lambda testbed: beside_hosts(
            bmv2_capabilities(), testbed.dataplane, testbed.stamps_arrivals
        ),
        resolve=lambda testbed, program: bmv2_resolve(program),
        make=bmv2_target,
        artefact=lambda testbed: "bmv2/bottleneck.json",
    )


def _tofino() -> TargetKind:
    from . import tofino  # noqa: PLC0415
    from .with_hosts import SwitchWithHosts, beside_hosts  # noqa: PLC0415

    return TargetKind(
        capabilities=lambda testbed: beside_hosts(
            tofino.tofino_capabilities(testbed), testbed.dataplane, testbed.stamps_arrivals
        ),
        resolve=tofino.tofino_resolve,
        make=lambda host, testbed: SwitchWithHosts(
            tofino.TofinoSwitch(tofino.tofino_section(testbed), testbed.capacity.lanes),
            host,
            testbed.dataplane,
            testbed.stamps_arrivals,
        ),
        artefact=lambda testbed: f"tofino/{tofino.tofino_section(testbed).chip}/bf-rt.json",
        preview=lambda testbed, program: (
            tofino.preview_setting(testbed, program) if program else tofino.preview_session(testbed)
        ),
        examine=lambda testbed, artefact: tofino.examine_switch(
            tofino.tofino_section(testbed), artefact
        ),
    )


TARGETS: WithPlugins[Callable[[], TargetKind]] = WithPlugins(
    "targets",
    FunctionType,
    {"dpdk": _dpdk, "virtual": _virtual, "bmv2": _bmv2, "tofino": _tofino},
)
"""Name -> target; those of plugins are functions that return a TargetKind. What drives a target
(gRPC, Thrift) is imported when a testbed names it."""


def capabilities_of(testbed: Testbed) -> Capabilities:
    """What a testbed's target can do."""
    return _kind(testbed).capabilities(testbed)


def resolve(testbed: Testbed, program: Lane) -> Applied:
    """What a testbed's target would really do; needs no running target."""
    return _kind(testbed).resolve(testbed, program)


def preview(testbed: Testbed, program: Lane | None = None) -> Sequence[str]:
    """What a testbed's target would be set to, as lines for a person; needs no running target.

    Args:
        program: A setting's intent; None: what all lanes share.
    """
    return _kind(testbed).preview(testbed, program)


def examine(testbed: Testbed, artefact: Path) -> Sequence[Finding]:
    """Ask a testbed's switch whether a run could use it; it is left as it was found.

    Raises:
        ConfigError: The testbed's target has no switch that stands between runs.
    """
    look = _kind(testbed).examine
    if look is None:
        raise ConfigError(
            f"testbed {testbed.name!r}: target {testbed.target} has no switch to ask; `nashbed "
            "doctor` without --testbed looks at this machine"
        )
    return look(testbed, artefact)


def make_target(host: TargetHost, testbed: Testbed) -> Target:
    """A testbed's target on a machine; it comes up with `load`."""
    return _kind(testbed).make(host, testbed)


def artefact_of(testbed: Testbed) -> str:
    """Where a testbed's target has its compiled program, below p4src."""
    return _kind(testbed).artefact(testbed)


def _kind(testbed: Testbed) -> TargetKind:
    kind = TARGETS.get(testbed.target)
    if kind is None:
        raise ConfigError(
            f"testbed {testbed.name!r}: this nashbed has no target {testbed.target!r}; write "
            f"target: {', '.join(TARGETS)}"
        )
    return kind()
