"""Where a trial ran, when it could have been elsewhere."""

from __future__ import annotations

from typing import Literal

from .model import ContractModel

CertificateState = Literal["certified", "failed", "expired", "none"]
"""What a testbed's certificate is worth; see `contract.certificate.Standing`."""


class RanOn(ContractModel):
    """The machine and the testbed that ran a trial.

    Attributes:
        host: Name of the machine whose worker ran it.
        testbed: Name of the testbed; of several testbeds of one run each has its own.
        testbed_digest: SHA-256 of its testbed file.
        certificate: What the testbed's certificate was worth when it ran.
        certificate_digest: SHA-256 of the certificate; empty without one.
    """

    host: str
    testbed: str
    testbed_digest: str
    certificate: CertificateState
    certificate_digest: str = ""
