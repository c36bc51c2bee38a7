"""The certificate of a calibrated testbed: what was measured, and against which bounds."""

from __future__ import annotations

from typing import Any, Final, Literal

from .model import ContractModel
from .ran_on import CertificateState
from .testbed import Capacity
from .trial import Gate

CERTIFICATE_FORMAT: Final = 1


class CalibrationCheck(Gate):
    """One check of a calibration.

    Attributes:
        setting: What it was measured at, such as `100mbit` or `100kB`.
    """

    setting: str


class Certificate(ContractModel):
    """What `nashbed calibrate` measured of a testbed.

    Attributes:
        format: Version of this layout.
        testbed: Name of the testbed.
        testbed_digest: SHA-256 of the testbed file; when it changes, the certificate expires.
        target: Name of the target.
        artefact_digest: Digest of the calibrated P4 artefact; likewise.
        dataplane_version: Version of the calibrated data plane; likewise.
        created_utc: Wall-clock time (ISO 8601).
        load: The load generator, with its version.
        passed: Whether all checks passed.
        checks: The checks.
        software: Component -> version.
        git: Commit and whether the tree was clean; empty outside a git checkout.
        kernel: Kernel release and version.
        cpu: CPU model and number of cores.
        host: More facts about the machine.
        capacity: What the testbed can carry with all gates passing; null: not measured.
    """

    format: Literal[1] = CERTIFICATE_FORMAT
    testbed: str
    testbed_digest: str
    target: str
    artefact_digest: str
    dataplane_version: str
    created_utc: str
    load: dict[str, str]
    passed: bool
    checks: tuple[CalibrationCheck, ...]
    software: dict[str, str]
    git: dict[str, str]
    kernel: str
    cpu: str
    host: dict[str, Any]
    capacity: Capacity | None = None


class Standing(ContractModel):
    """What a testbed's certificate is worth for a run.

    Attributes:
        state: `certified`; `failed`: a check did not pass; `expired`: something has changed
            since; `none`: the testbed was never calibrated.
        detail: One line for a person.
        digest: SHA-256 of the certificate; empty without one.
        age_s: Age of the certificate in s; null without one.
        dataplane_version: Version of the calibrated data plane.
        artefact_digest: Digest of the calibrated P4 artefact, as the target reported it.
        capacity: What the testbed can carry; null: not measured.
    """

    state: CertificateState
    detail: str
    digest: str = ""
    age_s: float | None = None
    dataplane_version: str = ""
    artefact_digest: str = ""
    capacity: Capacity | None = None
