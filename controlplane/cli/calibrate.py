"""`nashbed calibrate`: measure a testbed, write its certificate, show what was measured."""

from __future__ import annotations

from pathlib import Path

import typer
from nashbed.testbeds import Certificate

from ..contract.certificate import ProbedShares
from ..contract.errors import EXIT_ACCEPTANCE, EXIT_OK
from .api_command import Call, command
from .console import rows_text
from .options import Answer, app

EPILOG = """Examples: nashbed calibrate embedded --json; nashbed calibrate mine.yaml --rate 50mbit
--base-rtt 40ms; nashbed calibrate lab.yaml --load pktgen:loadhost:22022"""


@command(
    app,
    "testbeds.calibrate",
    examples=EPILOG,
    testbed=typer.Argument(help="Testbed file, or the name of one in configs/testbeds/."),
    rates=typer.Option("--rate"),
    base_rtts=typer.Option("--base-rtt"),
    load=typer.Option(metavar="GENERATOR"),
)
def calibrate(calibrate: Call) -> Answer:
    """Measure whether a testbed does what it is asked to.

    Rate, drop point, base RTT, queues and telemetry are checked, and written to a certificate.
    Then its capacity is measured, for runs whose testbed file states none. The exit code is 20
    when a bound was missed; the certificate says which.
    """
    made = calibrate()
    certificate, place = made.certificate, made.path
    said = {"ok": certificate.passed, "certificate": str(place), **certificate.model_dump()}
    code = EXIT_OK if certificate.passed else EXIT_ACCEPTANCE
    return Answer(said, certificate_text(certificate, place), code)


def certificate_text(certificate: Certificate, place: Path) -> str:
    """The verdicts as a table."""
    rows = [
        {
            "": "met" if each.passed else "MISSED",
            "check": each.name,
            "at": each.setting,
            ">error": "-" if each.value is None else f"{each.value:.4g} {each.unit}",
            ">allowed": f"{each.limit:g} {each.unit}",
            "measured": each.detail,
        }
        for each in certificate.checks
    ]
    verdict = "calibrated" if certificate.passed else "NOT calibrated: a bound was missed"
    text = rows_text(f"{certificate.testbed}: {certificate.created_utc}", rows, 150)
    if certificate.capacity is not None:
        carried = certificate.capacity
        text += f"capacity: {carried.rate} at once, {carried.lanes} lanes, every gate passing\n"
    if certificate.shares is not None:
        text += _shares_text(certificate.shares)
    return text + f"{verdict}; certificate: {place}\n"


def _shares_text(shares: ProbedShares) -> str:
    """What load does to them, and where that is not what virtual time says."""
    measured = {"two lanes": shares.few, "most lanes": shares.most, "virtual time": shares.virtual}
    told = ", ".join(
        f"{share.in_percent()} ({where})" for where, share in measured.items() if share is not None
    )
    text = f"a lone CUBIC flow among BBR flows gets {told}\n"
    if shares.virtual and abs(shares.few.mean - shares.virtual.mean) > shares.margin:
        text += "without load it does not get what virtual time says: "
        text += "see docs/results/real-and-virtual.md\n"
    return text
