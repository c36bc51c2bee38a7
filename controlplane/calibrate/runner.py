"""A calibration from a testbed file to a certificate."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from ..config import Loaded
from ..contract.certificate import CalibrationCheck, Certificate, LoneShare
from ..contract.errors import NashbedError
from ..contract.testbed import Capacity, Testbed
from ..contract.units import Rate
from ..lane.lab import Lab, opened_lab, quietly
from ..machine.host import facts
from ..machine.host.runs import id_of
from ..machine.host.session import MakeSession, SessionRequest
from ..machine.log import ShowStep, close_log, log_to
from ..machine.paths import PROBE, artefact, built
from ..machine.process.clock import utc_now
from ..machine.sessions import check_host, local_session
from ..run.standing import read_certificate
from ..store.documents import write_document
from ..targets import artefact_of, capabilities_of, resolve
from .calibration import Settings, calibrate, plan_measurements
from .capacity import Capacities, LaneCount, measure_lanes, virtual_share
from .dpdk_loads import MakeLoad
from .level import Lanes
from .load import Load
from .rig import CalibrationRig, RigLane

LOG = logging.getLogger(__name__)

WORK_BYTES = 200_000_000
CountLanes = Callable[[Loaded[Testbed], Capacities, Callable[[str], None]], LaneCount]


@dataclass(frozen=True)
class Calibration:
    """What is to be calibrated.

    Attributes:
        work: Where the log and raw measurements go.
        make_load: Makes the load generator once the session is open.
        capacities: What capacity is looked for; None: it is not measured.
    """

    testbed: Loaded[Testbed]
    settings: Settings
    out: Path
    work: Path
    make_load: MakeLoad
    capacities: Capacities | None = None

    @property
    def id(self) -> str:
        """Four hexadecimal digits from the certificate's place."""
        return id_of(self.out)


def check(what: Calibration) -> None:
    """Everything that is checked before anything is touched."""
    refuse_foreign(what.out, what.testbed.model)
    check_host(what.testbed.model, what.work, WORK_BYTES)
    built(PROBE)


def _session_request(what: Calibration) -> SessionRequest:
    return SessionRequest(
        what.id,
        what.work,
        what.testbed.model,
        lanes=1,
        groups=len(what.settings.base_rtts_ns),
        window_bytes=1,
    )


def execute(
    what: Calibration,
    show_step: ShowStep,
    say: Callable[[str], None],
    make_session: MakeSession = local_session,
    find_artefact: Callable[[str], Path] = artefact,
    count_lanes: CountLanes = measure_lanes,
    without_load: Callable[[Lanes], LoneShare | None] = virtual_share,
) -> Certificate:
    """Calibrate and write the certificate; the machine is given back whatever happens.

    Args:
        say: Told what the capacity's measurement finds.
        without_load: Says what the lone flow gets in virtual time.

    Raises:
        NashbedError: The machine or the target failed. No certificate is written.
    """
    handler = log_to(what.work / "calibrate.log")
    try:
        place = find_artefact(artefact_of(what.testbed.model))
        with opened_lab(make_session(_session_request(what)), what.testbed.model, place) as lab:
            certificate = _calibrate(what, lab, show_step)
        if what.capacities is not None and certificate.passed:
            count = count_lanes(what.testbed, what.capacities, say)
            capacity = with_margin(count, what.testbed.model)
            shares = count.shares(without_load(what.capacities.lanes))
            certificate = certificate.model_copy(update={"capacity": capacity, "shares": shares})
        write_certificate(what.out, certificate)
        return certificate
    except BaseException as error:
        LOG.error("calibration ended: %s", error, exc_info=not isinstance(error, NashbedError))
        raise
    finally:
        close_log(handler)


def _calibrate(what: Calibration, lab: Lab, show_step: ShowStep) -> Certificate:
    lane = RigLane(what.settings.base_rtts_ns)
    load = what.make_load(lab.session, what.work)
    try:
        return _certify(what, CalibrationRig(lab, lane, load, what.work), lab, load, show_step)
    finally:
        quietly("load generator", load.close)


def _certify(
    what: Calibration, rig: CalibrationRig, lab: Lab, load: Load, show_step: ShowStep
) -> Certificate:
    can = capabilities_of(what.testbed.model)
    measurements = plan_measurements(what.settings, rig, can, partial(resolve, what.testbed.model))
    with np.errstate(all="raise"):
        checks = calibrate(
            rig, measurements, lambda title, done: show_step(title, done, len(measurements))
        )
    return make_certificate(what.testbed, lab, load.describe(), checks)


def make_certificate(
    testbed: Loaded[Testbed], lab: Lab, load: dict[str, str], checks: tuple[CalibrationCheck, ...]
) -> Certificate:
    """Everything that a certificate says."""
    return Certificate(
        testbed=testbed.model.name,
        testbed_digest=testbed.digest,
        target=testbed.model.target,
        artefact_digest=lab.hello.spec_digest,
        dataplane_version=lab.hello.version,
        created_utc=utc_now(),
        load=load,
        passed=all(check.passed for check in checks),
        checks=checks,
        software=facts.software(),
        git=facts.git(),
        kernel=facts.kernel(),
        cpu=facts.cpu(),
        host=facts.host(),
    )


def write_certificate(path: Path, certificate: Certificate) -> None:
    """Write it, replaced as a whole."""
    write_document(path, certificate)


def refuse_foreign(path: Path, testbed: Testbed) -> None:
    """Raise ConfigError where another testbed's certificate would be overwritten."""
    if path.exists():
        read_certificate(path, testbed)


def with_margin(count: LaneCount, testbed: Testbed) -> Capacity | None:
    """The capacity to plan with: one lane less than the largest number that passed.

    At the largest number the gates pass about as often as not; that lane is the margin. The
    number of lanes is no limit of its own: lanes of a lower rate are more.
    """
    if count.lanes == 0:
        return None
    lane_bps = count.rate_bps // count.lanes
    rate = Rate(lane_bps * max(1, count.lanes - 1))
    lanes = min(testbed.dataplane.lanes, max(count.lanes, testbed.capacity.lanes))
    return Capacity(rate=rate, lanes=lanes)
