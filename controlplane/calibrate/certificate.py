"""Certificates on disk: made, written, found again, and judged for a run."""

from __future__ import annotations

import hashlib
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ..config import Loaded
from ..contract.certificate import Certificate, Check, Standing
from ..contract.errors import ConfigError
from ..contract.testbed import Testbed
from ..run.lab import Lab
from ..run.rundir import read_model, write_atomic
from ..run.trial import utc_now
from ..session import facts
from ..session.locate import artefact
from ..targets import artefact_of

SUFFIX = ".certificate.json"
_STAMP = re.compile(r"sources sha256:([0-9a-f]{64})")


def certificate_path(testbed: Loaded[Testbed]) -> Path:
    """Where a testbed's certificate is: beside its file."""
    return Path(testbed.name).with_suffix(SUFFIX)


def make_certificate(
    testbed: Loaded[Testbed], lab: Lab, load: dict[str, str], checks: tuple[Check, ...]
) -> Certificate:
    """Everything that a certificate says."""
    return Certificate(
        testbed=testbed.model.name,
        testbed_digest=testbed.digest,
        target=testbed.model.target,
        artefact_digest=str(lab.hello.get("spec_digest", "")),
        dataplane_version=str(lab.hello.get("version", "")),
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
    write_atomic(path, certificate.model_dump_json(indent=1) + "\n")


def refuse_foreign(path: Path, testbed: Testbed) -> None:
    """Raise ConfigError where another testbed's certificate would be overwritten."""
    if path.exists():
        _own(path, testbed)


def standing(testbed: Loaded[Testbed], path: Path | None = None) -> Standing:
    """What a testbed's certificate is worth now; touches nothing.

    Args:
        testbed: The testbed.
        path: The certificate; None: beside the testbed file.

    Raises:
        ConfigError: The file is damaged, or another testbed's certificate.
    """
    path = certificate_path(testbed) if path is None else path
    remedy = f"`nashbed calibrate {testbed.name}`"
    if not path.exists():
        detail = f"testbed {testbed.model.name} is not calibrated: {remedy} proves it"
        return Standing(state="none", detail=detail)
    found = _own(path, testbed.model)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    age_s = (datetime.now(UTC) - datetime.fromisoformat(found.created_utc)).total_seconds()
    expired = _expired(found, testbed)
    name = f"testbed {testbed.model.name}"
    if expired:
        state, detail = "expired", f"{name}: {expired} since its calibration; repeat {remedy}"
    elif not found.passed:
        missed = ", ".join(f"{c.name} at {c.setting}" for c in found.checks if not c.passed)
        state, detail = "failed", f"{name}: its calibration missed {missed}; see {path}"
    else:
        state, detail = "certified", f"{name}: calibrated {age_text(age_s)} ago, {path}"
    return Standing.model_validate(
        {"state": state, "detail": detail, "digest": digest, "age_s": age_s}
    )


def after_load(known: Standing, hello: dict[str, Any], path: Path) -> Standing:
    """A standing once the data plane has told its version.

    Args:
        known: What was known before.
        hello: What the target says about itself.
        path: The certificate.
    """
    if known.state not in ("certified", "failed"):
        return known
    found = read_model(path, Certificate)
    now = str(hello.get("version", ""))
    if found.dataplane_version == now:
        return known
    detail = f"testbed {found.testbed}: the data plane was {found.dataplane_version} and is {now} "
    return known.model_copy(
        update={"state": "expired", "detail": detail + "since its calibration; repeat it"}
    )


def age_text(seconds: float) -> str:
    """An age in the largest unit that fits."""
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{max(0, seconds):.0f} s"


def artefact_digest(path: Path) -> str:
    """The digest of its sources that an artefact is stamped with; empty where it has none.

    Args:
        path: The artefact's file; its first line holds the stamp.
    """
    if not path.is_file():
        return ""
    with path.open("rb") as stream:
        found = _STAMP.search(stream.readline().decode(errors="replace"))
    return found.group(1) if found else ""


def _own(path: Path, testbed: Testbed) -> Certificate:
    found = read_model(path, Certificate)
    if found.testbed != testbed.name:
        raise ConfigError(
            f"{path}: is the certificate of testbed {found.testbed!r}, not of {testbed.name!r}; "
            f"move it away, then `nashbed calibrate`"
        )
    return found


def _expired(found: Certificate, testbed: Loaded[Testbed]) -> str:
    """What changed since; empty: nothing."""
    if found.testbed_digest != testbed.digest:
        return "the testbed file has changed"
    now = artefact_digest(artefact(artefact_of(testbed.model)))
    if now and found.artefact_digest and now not in found.artefact_digest:
        return "the P4 program has changed"
    return ""
