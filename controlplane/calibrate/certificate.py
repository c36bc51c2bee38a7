"""The making of a certificate."""

from __future__ import annotations

from pathlib import Path

from ..config import Loaded
from ..contract.certificate import CalibrationCheck, Certificate
from ..contract.testbed import Testbed
from ..lane.lab import Lab
from ..machine import facts
from ..machine.facts import utc_now
from ..run.standing import read_certificate
from ..store.documents import write_document


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
