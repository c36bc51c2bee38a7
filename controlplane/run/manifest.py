"""The manifest of a run: everything needed to judge or repeat it."""

from typing import Literal

from ..config import Loaded
from ..contract.certificate import Standing
from ..contract.errors import ConfigError, HostError
from ..contract.manifest import (
    CcaFacts,
    DisciplineFacts,
    FileFacts,
    GuestKernelFacts,
    LabFacts,
    Manifest,
    TestbedFacts,
)
from ..contract.model import JsonObject
from ..contract.plan import Plan
from ..contract.scenario import Scenario
from ..contract.testbed import Testbed
from ..contract.trial import TrialRecord
from ..machine.guest.programs import changed_programs, guest_programs
from ..machine.host import facts
from ..machine.kernels.cache import GuestKernel, find_kernel
from ..machine.process.clock import utc_now
from ..machine.process.flow_programs import strategy_programs, versions
from ..store.run_directory import RunDirectory
from ..targets.registry import capabilities_of
from .standing import after_load

Status = Literal["running", "interrupted", "failed", "complete"]


def new_manifest(
    directory: RunDirectory,
    scenario: Loaded[Scenario],
    testbed: Loaded[Testbed],
    certificate: Standing,
    ccas: dict[str, CcaFacts],
    disciplines: dict[str, DisciplineFacts],
    files: dict[str, FileFacts],
) -> Manifest:
    """The manifest before anything ran.

    Args:
        ccas: The CCAs that the hosts' kernel does not have, by name.
        files: The files that the scenario names for their content, by their paths as written.
    """
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
        host={**facts.host(), "ptp": facts.ptp_state()},
        certificate=certificate,
        controls=ccas,
        disciplines=disciplines,
        files=files,
        repeatable=capabilities_of(testbed.model).repeatable,
        status="running",
    )


def with_guest_kernels(manifest: Manifest, testbed: Testbed, plan: Plan) -> Manifest:
    """Add the kernels that the trials of a plan run on in virtual time.

    Raises:
        HostError: One is not built, or is not the one that the run began with.
    """
    names = sorted({trial.setting.kernel for trial in plan.trials})
    kernels = {name: _facts(find_kernel(name or testbed.virtual.kernel)) for name in names}
    for name, before in manifest.guest_kernels.items():
        if name in kernels and kernels[name] != before:
            raise HostError(
                f"{manifest.run}: began with kernel {before.release} "
                f"({before.binary_digest[:12]}), and now there is {kernels[name].release} "
                f"({kernels[name].binary_digest[:12]}): results depend on it; start a new run"
            )
    return manifest.model_copy(update={"guest_kernels": kernels})


def with_programs(manifest: Manifest, scenario: Scenario, *, is_virtual: bool) -> Manifest:
    """Add the programs that are strategies, and what guests run besides their kernels.

    Raises:
        HostError: One is not the one that the run began with.
    """
    programs = (guest_programs() if is_virtual else {}) | strategy_programs(scenario)
    before = manifest.guest_programs
    if before and (changed := changed_programs(before, programs)):
        raise HostError(
            f"{manifest.run}: began with another {changed}: results may depend on it; "
            "start a new run, or build and install what it began with"
        )
    software = manifest.software | versions(scenario)
    return manifest.model_copy(update={"guest_programs": programs, "software": software})


def _facts(kernel: GuestKernel) -> GuestKernelFacts:
    return GuestKernelFacts(
        release=kernel.release,
        package=kernel.package,
        digest=kernel.digest,
        binary_digest=kernel.binary_digest,
    )


def with_lab(manifest: Manifest, lab: LabFacts) -> Manifest:
    """Add what the loaded target and the session say about themselves."""
    software = manifest.software | {"dataplane": lab.hello.version}
    known = manifest.certificate
    return manifest.model_copy(
        update={
            "certificate": known and after_load(known, lab.hello),
            "artefact_digest": lab.hello.spec_digest,
            "software": software,
            "sysctls": lab.sysctls,
            "ports": _ports(lab),
            "host": manifest.host | {"dataplane": lab.hello.model_dump()},
            "status": "running",
        }
    )


def testbed_facts(
    testbed: Loaded[Testbed], certificate: Standing, lab: LabFacts, host: str
) -> TestbedFacts:
    """What is said of this machine as one of the testbeds of a run.

    Args:
        certificate: What its certificate is worth, now that the target is loaded.
    """
    return TestbedFacts(
        target=testbed.model.target,
        testbed_digest=testbed.digest,
        certificate=certificate,
        artefact_digest=lab.hello.spec_digest,
        dataplane=lab.hello.model_dump(),
        hosts=(host,),
        kernel=facts.kernel(),
        cpu=facts.cpu(),
        ports=_ports(lab),
        sysctls=lab.sysctls,
    )


testbed_facts.__test__ = False  # type: ignore[attr-defined]


def with_testbed(manifest: Manifest, name: str, testbed: TestbedFacts) -> Manifest:
    """Add a testbed that trials may be given to, or one more machine that offers it.

    Raises:
        ConfigError: The run has another testbed of this name.
    """
    known = manifest.testbeds.get(name, testbed)
    if known.testbed_digest != testbed.testbed_digest:
        raise ConfigError(
            f"testbed {name} is another one here ({testbed.testbed_digest[:12]}) than on "
            f"{', '.join(known.hosts)} ({known.testbed_digest[:12]}): give each testbed file a "
            "name of its own"
        )
    hosts = tuple(dict.fromkeys((*known.hosts, *testbed.hosts)))
    added = {name: known.model_copy(update={"hosts": hosts})}
    return manifest.model_copy(update={"testbeds": manifest.testbeds | added})


def with_status(manifest: Manifest, status: Status, records: list[TrialRecord]) -> Manifest:
    """Say where the run stands, and what was applied at each setting so far."""
    applied = {record.setting.label: record.applied.model_dump() for record in records}
    return manifest.model_copy(update={"status": status, "applied": applied})


def _ports(lab: LabFacts) -> dict[str, JsonObject]:
    opened = {name: port.model_dump() for name, port in lab.hello.ports.items()}
    ports = {name: config | opened.get(name, {}) for name, config in lab.ports.items()}
    for name, nic in lab.nics.items():
        ports[name] = ports.get(name, {}) | {"host_nic": nic.model_dump()}
    for name, qdisc in lab.qdiscs.items():
        ports[name] = ports.get(name, {}) | {"host_qdisc": qdisc}
    return ports
