"""A testbed's certificate as a run sees it: found, and judged; see calibrate/ for its making."""

from __future__ import annotations

import hashlib
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ..config import Loaded
from ..contract.certificate import Certificate, Standing
from ..contract.errors import ConfigError
from ..contract.testbed import Testbed
from ..machine import facts
from ..machine.paths import artefact
from ..store.run_directory import read_model
from ..targets import artefact_of

SUFFIX = ".certificate.json"
_STAMP = re.compile(r"sources sha256:([0-9a-f]{64})")


def certificate_path(testbed: Loaded[Testbed]) -> Path:
    """Where a testbed's certificate is: beside its file."""
    return Path(testbed.name).with_suffix(SUFFIX)


def read_own(path: Path, testbed: Testbed) -> Certificate:
    """Read a certificate; raises ConfigError when it is damaged or another testbed's."""
    found = read_model(path, Certificate)
    if found.testbed != testbed.name:
        raise ConfigError(
            f"{path}: is the certificate of testbed {found.testbed!r}, not of {testbed.name!r}; "
            "move it away, then `nashbed calibrate`"
        )
    return found


def standing(testbed: Loaded[Testbed]) -> Standing:
    """What a testbed's certificate is worth now; touches nothing.

    Raises:
        ConfigError: The file is damaged, or another testbed's certificate.
    """
    path = certificate_path(testbed)
    name, remedy = f"testbed {testbed.model.name}", f"`nashbed calibrate {testbed.name}`"
    if not path.exists():
        return Standing(state="none", detail=f"{name} is not calibrated: {remedy} proves it")
    found = read_own(path, testbed.model)
    age_s = (datetime.now(UTC) - datetime.fromisoformat(found.created_utc)).total_seconds()
    known = Standing(
        state="certified",
        detail=f"{name}: calibrated {age_text(age_s)} ago, {path}",
        digest=hashlib.sha256(path.read_bytes()).hexdigest(),
        age_s=age_s,
        dataplane_version=found.dataplane_version,
        artefact_digest=found.artefact_digest,
        capacity=found.capacity,
    )
    changed = _changed(found, testbed)
    if changed:
        return _worth_less(known, "expired", f"{name}: {changed} since its calibration: {remedy}")
    if not found.passed:
        missed = ", ".join(f"{c.name} at {c.setting}" for c in found.checks if not c.passed)
        return _worth_less(known, "failed", f"{name}: its calibration missed {missed}; see {path}")
    return known


def after_load(known: Standing, hello: dict[str, Any]) -> Standing:
    """A standing once the target has told what it runs.

    Args:
        known: What was known before.
        hello: What the target says about itself.
    """
    if known.state not in ("certified", "failed"):
        return known
    was, now = known.dataplane_version, str(hello.get("version", ""))
    if was != now:
        detail = f"the data plane was version {was} when it was calibrated and is {now} now"
        return _worth_less(known, "expired", f"{detail}: calibrate again")
    if known.artefact_digest != str(hello.get("spec_digest", "")):
        detail = "the target runs another P4 program than was calibrated: calibrate again"
        return _worth_less(known, "expired", detail)
    return known


def age_text(seconds: float) -> str:
    """An age in the largest unit that fits."""
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{max(0.0, seconds):.0f} s"


def _worth_less(known: Standing, state: str, detail: str) -> Standing:
    return known.model_copy(update={"state": state, "detail": detail})


def _changed(found: Certificate, testbed: Loaded[Testbed]) -> str:
    """What changed since; empty: nothing."""
    if found.testbed_digest != testbed.digest:
        return "the testbed file has changed"
    if (found.kernel, found.cpu) != (facts.kernel(), facts.cpu()):
        return "the machine or its kernel has changed"
    now = _stamp(artefact(artefact_of(testbed.model)))
    if now and now not in found.artefact_digest:
        return "the P4 program has changed"
    return ""


def _stamp(path: Path) -> str:
    """The digest of its sources that an artefact is stamped with; empty where it has none."""
    if not path.is_file():
        return ""
    with path.open("rb") as stream:
        found = _STAMP.search(stream.readline(4096).decode(errors="replace"))
    return found.group(1) if found else ""
