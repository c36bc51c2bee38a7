"""What testbeds can do: the targets, what each has been verified on, and calibration.

>>> import nashbed as nb
>>> nb.testbeds.calibrate("embedded", rates=["50mbit"]).certificate.passed
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nashbed.controlplane.calibrate.calibration import make_settings
from nashbed.controlplane.calibrate.capacity import PANEL_LANES, Capacities
from nashbed.controlplane.calibrate.dpdk_loads import PKTGEN_IS_OPEN, choose_load
from nashbed.controlplane.calibrate.level import why_not
from nashbed.controlplane.calibrate.runner import Calibration, check, execute
from nashbed.controlplane.config import load_testbed
from nashbed.controlplane.contract.certificate import Certificate
from nashbed.controlplane.contract.errors import ConfigError
from nashbed.controlplane.contract.target import Capabilities
from nashbed.controlplane.contract.testbed import Capacity, Testbed
from nashbed.controlplane.contract.units import Duration, Rate
from nashbed.controlplane.machine.paths import CONFIGS
from nashbed.controlplane.run.standing import certificate_path
from nashbed.controlplane.targets.evidence import EVIDENCE, Evidence
from nashbed.controlplane.targets.registry import TARGETS, capabilities_of

from .files import TestbedLike, quantity, read_testbed, work_folder
from .place import LOG, OnWait, Say, machine_for
from .steps import ShowStep, show_nothing

__all__ = [
    "EVIDENCE",
    "Calibrated",
    "Capabilities",
    "Certificate",
    "Evidence",
    "calibrate",
    "targets",
]

MAX_BASE_RTTS = 16


@dataclass(frozen=True)
class Calibrated:
    """A calibrated testbed.

    Attributes:
        certificate: What was measured, and whether every bound was met (`passed`).
        path: Its file.
    """

    certificate: Certificate
    path: Path


def calibrate(  # noqa: PLR0913 - each is a part of the question
    testbed: TestbedLike,
    *,
    rates: Sequence[str | Rate] = (),
    base_rtts: Sequence[str | Duration] = (),
    load: str = "auto",
    out: str | Path | None = None,
    keep: str | Path | None = None,
    capacity: bool = True,
    on_wait: OnWait | None = None,
    on_step: ShowStep = show_nothing,
    say: Say | None = None,
) -> Calibrated:
    """Measure whether a testbed does what it is asked to, and write its certificate.

    Rate, drop point, base RTT, queues and telemetry are checked; then its capacity is measured,
    for runs whose testbed file states none.

    Args:
        testbed: See `read_testbed`.
        rates: Bottleneck rate to check; empty: the testbed's capacity and a tenth of it.
        base_rtts: Base RTT to check; empty: 5, 20, 40 and 100 ms.
        load: own, testpmd, pktgen[:HOST[:PORT]] (a running Pktgen-DPDK's Lua socket), or auto:
            chosen by the rate.
        out: The certificate; None: TESTBED.certificate.json.
        keep: Keep the log and raw measurements in this new folder; None: they are not kept.
        capacity: Measure the total rate at which every gate passes and shares are those of two
            lanes (15 min more).
        on_wait: As `start` has it.
        on_step: Called before each measurement: what, measurements done, measurements in all.
        say: Tells a person something in one line, which is logged anyway; None: nobody follows.

    Raises:
        NashbedError: The machine or the target failed. No certificate is written.
    """
    bed = read_testbed(testbed)
    if len(base_rtts) > MAX_BASE_RTTS:
        raise ConfigError(
            f"{len(base_rtts)} base RTTs: a lane has at most {MAX_BASE_RTTS} flow groups"
        )
    settings = make_settings(
        bed.model,
        capabilities_of(bed.model),
        tuple(quantity(Rate, "rates", each) for each in rates),
        tuple(quantity(Duration, "base_rtts", each) for each in base_rtts),
    )
    make_load = choose_load(load, bed.model)

    def tell(line: str) -> None:
        LOG.info("%s", line)
        if say is not None:
            say(line)

    if load.startswith("pktgen"):
        tell(PKTGEN_IS_OPEN)
    capacities = _capacities(bed.model, tell) if capacity else None
    place = certificate_path(bed) if out is None else Path(out)
    with machine_for(bed.model, place, on_wait), work_folder(keep) as work:
        what = Calibration(bed, settings, place, work, make_load, capacities)
        check(what)
        return Calibrated(execute(what, on_step, tell), place)


def _capacities(testbed: Testbed, say: Say) -> Capacities | None:
    """What capacity to look for; None, and the reason is said, where there is none."""
    reason = why_not(testbed, capabilities_of(testbed), PANEL_LANES.rate)
    if reason:
        say(f"capacity is not measured: {reason}")
        return None
    return Capacities()


def targets() -> list[Capabilities]:
    """What each target can do for one bottleneck on the first shipped testbed that has it.

    Whether arrivals are stamped is a matter of the ports: it says so where any testbed does it.
    """
    beds = [load_testbed(path).model for path in sorted((CONFIGS / "testbeds").glob("*.yaml"))]
    found = [capabilities_of(_alone(bed)) for bed in beds if bed.target in TARGETS]
    first = {each.target: each for each in reversed(found)}
    stamping = {each.target for each in found if each.arrival_stamps}
    return [
        first[name].model_copy(update={"arrival_stamps": name in stamping})
        for name in TARGETS
        if name in first
    ]


def _alone(bed: Testbed) -> Testbed:
    """A testbed with one lane: some targets share what they have between lanes."""
    return bed.model_copy(update={"capacity": Capacity(rate=bed.capacity.rate, lanes=1)})
