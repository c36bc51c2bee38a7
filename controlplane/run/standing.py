"""What a testbed's certificate is worth to a run, and the capacity that the run may use."""

import hashlib
import os
import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from ..config import Loaded
from ..contract.certificate import Certificate, Standing
from ..contract.errors import ConfigError
from ..contract.messages.dataplane import Hello
from ..contract.shared import CONSTANTS
from ..contract.testbed import MAX_LANES, Capacity, Testbed
from ..contract.units import Rate
from ..machine.host import facts
from ..machine.paths import artefact
from ..store.documents import read_document
from ..targets import artefact_of, capabilities_of

SUFFIX = ".certificate.json"
STATED = "stated by the testbed file"
MEASURED = "measured by its calibration"
EACH_CORE = "one trial for each core that it may use"
EACH_SEAT = "one trial for each seat of the cluster"
ASSUMED = "assumed; `nashbed calibrate` measures it"
_STAMP = re.compile(r"sources sha256:([0-9a-f]{64})")


def certificate_path(testbed: Loaded[Testbed]) -> Path:
    """Where a testbed's certificate is: beside its file."""
    return Path(testbed.name).with_suffix(SUFFIX)


def read_certificate(path: Path, testbed: Testbed) -> Certificate:
    """Read a testbed's certificate.

    Raises:
        ConfigError: The file is damaged, or another testbed's certificate.
    """
    remedy = "move it away, then `nashbed calibrate`"
    certificate = read_document(path, Certificate, remedy)
    if certificate.testbed != testbed.name:
        raise ConfigError(
            f"{path}: is the certificate of testbed {certificate.testbed!r}, "
            f"not of {testbed.name!r}; {remedy}"
        )
    return certificate


def standing(testbed: Loaded[Testbed]) -> Standing:
    """What a testbed's certificate is worth now; touches nothing.

    Raises:
        ConfigError: The file is damaged, or another testbed's certificate.
    """
    path = certificate_path(testbed)
    name, remedy = f"testbed {testbed.model.name}", f"`nashbed calibrate {testbed.name}`"
    if not path.exists() and testbed.model.is_virtual:
        return Standing(state="exact", detail=f"{name}: in virtual time, where nothing is late")
    if not path.exists():
        return Standing(state="none", detail=f"{name} is not calibrated: {remedy} proves it")
    certificate = read_certificate(path, testbed.model)
    age_s = (datetime.now(UTC) - datetime.fromisoformat(certificate.created_utc)).total_seconds()
    certified = Standing(
        state="certified",
        detail=f"{name}: calibrated {age_text(age_s)} ago, {path}",
        digest=hashlib.sha256(path.read_bytes()).hexdigest(),
        age_s=age_s,
        dataplane_version=certificate.dataplane_version,
        artefact_digest=certificate.artefact_digest,
        capacity=certificate.capacity,
    )
    changed = _changed(certificate, testbed)
    if changed:
        detail = f"{name}: {changed} since its calibration: {remedy}"
        return _with_state(certified, "expired", detail)
    if not certificate.passed:
        missed = ", ".join(f"{c.name} at {c.setting}" for c in certificate.checks if not c.passed)
        return _with_state(
            certified, "failed", f"{name}: its calibration missed {missed}; see {path}"
        )
    return certified


def after_load(known: Standing, hello: Hello) -> Standing:
    """A standing once the target has reported what it runs.

    Args:
        known: What was known before the target was loaded.
    """
    if known.state not in ("certified", "failed"):
        return known
    was, now = known.dataplane_version, hello.version
    if was != now:
        detail = f"the data plane was version {was} when it was calibrated and is {now} now"
        return _with_state(known, "expired", f"{detail}: calibrate again")
    if known.artefact_digest != hello.spec_digest:
        detail = "the target runs another P4 program than was calibrated: calibrate again"
        return _with_state(known, "expired", detail)
    return known


def with_capacity(testbed: Loaded[Testbed], known: Standing) -> tuple[Loaded[Testbed], str]:
    """The testbed with the capacity that a run uses, and where that is from, in words.

    What the file states takes precedence over what was measured: a person may have reasons.
    """
    if testbed.model.states_capacity:
        return testbed, STATED
    if capabilities_of(testbed.model).isolated:
        return _with(testbed, core_capacity()), EACH_CORE
    if known.state != "certified" or known.capacity is None:
        return testbed, ASSUMED
    return _with(testbed, known.capacity), MEASURED


def with_seats(testbed: Loaded[Testbed], seats: int) -> Loaded[Testbed]:
    """The testbed with as many lanes as a cluster has seats, of any rate.

    Args:
        testbed: The testbed as loaded; its lanes are machines of their own.
        seats: Trials that the cluster runs at once.
    """
    return _with(testbed, Capacity(rate=Rate(CONSTANTS.rate_bps_max), lanes=seats))


def core_capacity() -> Capacity:
    """One lane for each core that this process may use, of any rate."""
    lanes = min(MAX_LANES, len(os.sched_getaffinity(0)))
    return Capacity(rate=Rate(CONSTANTS.rate_bps_max), lanes=lanes)


def _with(testbed: Loaded[Testbed], capacity: Capacity) -> Loaded[Testbed]:
    return replace(testbed, model=testbed.model.model_copy(update={"capacity": capacity}))


def age_text(seconds: float) -> str:
    """An age in the largest unit that fits."""
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{max(0.0, seconds):.0f} s"


def _with_state(known: Standing, state: str, detail: str) -> Standing:
    return known.model_copy(update={"state": state, "detail": detail})


def _changed(certificate: Certificate, testbed: Loaded[Testbed]) -> str:
    """What changed since; empty: nothing."""
    if certificate.testbed_digest != testbed.digest:
        return "the testbed file has changed"
    if (certificate.kernel, certificate.cpu) != (facts.kernel(), facts.cpu()):
        return "the machine or its kernel has changed"
    now = _stamp(artefact(artefact_of(testbed.model)))
    if now and now not in certificate.artefact_digest:
        return "the P4 program has changed"
    return ""


def _stamp(path: Path) -> str:
    """The digest of its sources that an artefact is stamped with; empty where it has none."""
    if not path.is_file():
        return ""
    with path.open("rb") as stream:
        stamp = _STAMP.search(stream.readline(4096).decode(errors="replace"))
    return stamp.group(1) if stamp else ""
