"""The manifest of a run: everything needed to judge or repeat it."""

from __future__ import annotations

from typing import Any, Literal

from ..config import Loaded
from ..contract.certificate import Standing
from ..contract.manifest import Manifest
from ..contract.scenario import Scenario
from ..contract.testbed import Testbed
from ..contract.trial import TrialRecord
from ..lane.lab import Lab
from ..machine import facts, ptp
from ..machine.facts import utc_now
from ..store.run_directory import RunDirectory
from .standing import after_load

Status = Literal["running", "interrupted", "failed", "complete"]


def new_manifest(
    directory: RunDirectory,
    scenario: Loaded[Scenario],
    testbed: Loaded[Testbed],
    certificate: Standing,
) -> Manifest:
    """The manifest before anything ran."""
    return Manifest(
        run=directory.path.name,
        scenario=scenario.model.name,
        started_utc=utc_now(),
        seed=scenario.model.seed,
        scenario_digest=scenario.digest,
        testbed_digest=testbed.digest,
        artefact_digest="",
        applied={},
        software=facts.software(),
        git=facts.git(),
        kernel=facts.kernel(),
        cpu=facts.cpu(),
        clocksource=facts.clocksource(),
        sysctls={},
        ports={},
        host={**facts.host(), "ptp": ptp.state()},
        certificate=certificate,
        status="running",
    )


def with_lab(manifest: Manifest, lab: Lab) -> Manifest:
    """Add what the loaded target and the session say about themselves."""
    software = manifest.software | {"dataplane": lab.hello.version}
    known = manifest.certificate
    return manifest.model_copy(
        update={
            "certificate": known and after_load(known, lab.hello),
            "artefact_digest": lab.hello.spec_digest,
            "software": software,
            "sysctls": lab.session.sysctls,
            "ports": _ports(lab),
            "host": manifest.host | {"dataplane": lab.hello.model_dump()},
            "status": "running",
        }
    )


def with_status(manifest: Manifest, status: Status, records: list[TrialRecord]) -> Manifest:
    """Say where the run stands, and what was applied at each setting so far."""
    applied = {record.setting.label: record.applied.model_dump() for record in records}
    return manifest.model_copy(update={"status": status, "applied": applied})


def _ports(lab: Lab) -> dict[str, dict[str, Any]]:
    opened = {name: port.model_dump() for name, port in lab.hello.ports.items()}
    return {name: config | opened.get(name, {}) for name, config in lab.session.ports().items()}
