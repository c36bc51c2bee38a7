"""`nashbed calibrate`: measure a testbed, write its certificate, show what was measured."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from nashbed.files import find_testbed, quantity
from rich.table import Table

from ..calibrate.calibration import make_settings
from ..calibrate.capacity import PANEL_LANES, Capacities
from ..calibrate.dpdk_loads import PKTGEN_IS_OPEN, choose_load
from ..calibrate.level import why_not
from ..calibrate.lone_share import in_percent
from ..calibrate.runner import Calibration, check, execute
from ..config import load_testbed
from ..contract.certificate import Certificate, ProbedShares
from ..contract.errors import EXIT_ACCEPTANCE, EXIT_OK, ConfigError
from ..contract.model import ContractModel
from ..contract.testbed import Testbed
from ..contract.units import Duration, Rate
from ..run.standing import certificate_path
from ..targets.registry import capabilities_of
from .console import as_text, step_display
from .options import AsJson, answer, new_app, work_folder
from .where import Wait, machine_for

MAX_BASE_RTTS = 16
EPILOG = """Examples: nashbed calibrate embedded --json; nashbed calibrate mine.yaml --rate 50mbit
--rtt 40ms; nashbed calibrate lab.yaml --load pktgen:loadhost:22022"""
app = new_app()


class _WrittenCertificate(ContractModel):
    """The beginning of what `nashbed calibrate` answers.

    Attributes:
        ok: Whether all checks passed.
        certificate: The file.
    """

    ok: bool
    certificate: str


class CalibrateAnswer(Certificate, _WrittenCertificate):
    """What `nashbed calibrate` answers: the certificate, and where it is."""


@app.command(epilog=EPILOG)
def calibrate(  # noqa: PLR0913, PLR0917 - one argument for each option
    testbed: Annotated[
        str, typer.Argument(help="Testbed file, or the name of one in configs/testbeds/.")
    ],
    rate: Annotated[
        list[str] | None,
        typer.Option("--rate", help="Bottleneck rate to check; repeatable. Default: the testbed's "
                     "capacity and a tenth of it."),
    ] = None,
    rtt: Annotated[
        list[str] | None,
        typer.Option("--rtt", help="Base RTT to check; repeatable. Default: 5, 20, 40, 100 ms."),
    ] = None,
    load: Annotated[
        str,
        typer.Option(
            metavar="GENERATOR",
            help="own, testpmd, pktgen[:HOST[:PORT]] (a running Pktgen-DPDK's Lua socket), or "
            "auto: chosen by the rate.",
        ),
    ] = "auto",
    out: Annotated[
        Path | None,
        typer.Option("--out", help="The certificate. Default: TESTBED.certificate.json."),
    ] = None,
    keep: Annotated[
        Path | None, typer.Option("--keep", help="Keep the log and raw measurements here.")
    ] = None,
    capacity: Annotated[
        bool,
        typer.Option(help="Measure the total rate at which every gate passes "
            "and shares are those of two lanes (15 min more)."),
    ] = True,
    wait: Wait = False,
    as_json: AsJson = False,
) -> int:  # fmt: skip
    """Measure whether a testbed does what it is asked to.

    Rate, drop point, base RTT, queues and telemetry are checked, and written to a certificate.
    Then its capacity is measured, for runs whose testbed file states none. The exit code is 20
    when a bound was missed; the certificate says which.
    """
    bed = load_testbed(find_testbed(testbed))
    settings = make_settings(
        bed.model,
        capabilities_of(bed.model),
        tuple(quantity(Rate, "--rate", text) for text in rate or ()),
        _base_rtts(rtt or []),
    )
    make_load = choose_load(load, bed.model)
    if load.startswith("pktgen"):
        sys.stderr.write(PKTGEN_IS_OPEN + "\n")
    capacities = _capacities(bed.model) if capacity else None
    place = certificate_path(bed) if out is None else out
    held = machine_for(bed.model, place, wait)
    with held, work_folder(keep) as work, step_display() as show_step:
        what = Calibration(bed, settings, place, work, make_load, capacities)
        check(what)
        certificate = execute(what, show_step)
    said = CalibrateAnswer(ok=certificate.passed, certificate=str(place), **dict(certificate))
    answer(said, as_json, certificate_text(certificate, place))
    return EXIT_OK if certificate.passed else EXIT_ACCEPTANCE


def _capacities(testbed: Testbed) -> Capacities | None:
    """What capacity to look for; None, and the reason on standard error, where there is none."""
    reason = why_not(testbed, capabilities_of(testbed), PANEL_LANES.rate)
    if reason:
        sys.stderr.write(f"capacity is not measured: {reason}\n")
        return None
    return Capacities()


def certificate_text(certificate: Certificate, place: Path) -> str:
    """The verdicts as a table."""
    table = Table(title=f"{certificate.testbed}: {certificate.created_utc}")
    for name in ("", "check", "at", "error", "allowed", "measured"):
        table.add_column(name, justify="right" if name in ("error", "allowed") else "left")
    for each in certificate.checks:
        table.add_row(
            "met" if each.passed else "MISSED",
            each.name,
            each.setting,
            "-" if each.value is None else f"{each.value:.4g} {each.unit}",
            f"{each.limit:g} {each.unit}",
            each.detail,
        )
    verdict = "calibrated" if certificate.passed else "NOT calibrated: a bound was missed"
    text = as_text(table, width=150)
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
        f"{in_percent(share)} ({where})" for where, share in measured.items() if share is not None
    )
    text = f"a lone CUBIC flow among BBR flows gets {told}\n"
    if shares.virtual and abs(shares.few.mean - shares.virtual.mean) > shares.margin:
        text += "without load it does not get what virtual time says: "
        text += "see docs/results/real-and-virtual.md\n"
    return text


def _base_rtts(texts: list[str]) -> tuple[Duration, ...]:
    if len(texts) > MAX_BASE_RTTS:
        raise ConfigError(f"--rtt: a lane has at most {MAX_BASE_RTTS} flow groups")
    return tuple(quantity(Duration, "--rtt", text) for text in texts)
