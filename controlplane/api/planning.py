"""Plan runs; nothing of what carries them out is imported for it."""

from dataclasses import dataclass

from nashbed.controlplane.contract.certificate import Standing
from nashbed.controlplane.contract.model import ContractModel
from nashbed.controlplane.contract.plan import Plan
from nashbed.controlplane.machine.c_files.finding import find_ccas
from nashbed.controlplane.machine.host.preflight import wanted_free_bytes
from nashbed.controlplane.plan.estimates import speed_ups
from nashbed.controlplane.run.planning import plan_run, preview_run
from nashbed.controlplane.run.standing import standing
from nashbed.controlplane.study import adaptive
from nashbed.controlplane.study.length import LengthAnswer, TrialLengths, trial_lengths

from .files import ScenarioLike, TestbedLike, read_scenario, read_testbed
from .place import LOG, Say, chosen_cluster, reach_cluster
from .steps import ShowStep, show_nothing

__all__ = [
    "ClusterSeats",
    "LengthAnswer",
    "Preview",
    "plan",
    "preview",
    "speed_ups",
    "wanted_free_bytes",
]

FIRST_WORKER_S = 30.0
"""How long a plan waits for a cluster's first worker: it is a question, and runs nothing."""


class ClusterSeats(ContractModel):
    """A cluster that a plan is for; each seat runs one trial at a time."""

    workers: int
    seats: int


@dataclass(frozen=True)
class Preview:
    """A plan, and what follows from it here.

    Attributes:
        plan: Every trial, and the time, disk and memory that the run takes.
        certificate: What the testbed's certificate is worth.
        cluster: The cluster that it is for; None: this machine.
        target: What the target would be sent, by part; empty: the plan says it all.
        ccas: CCA -> its file; empty: the kernel has all of them.
        lengths: Whether trials are long enough, by the fluid model; None: that was not asked.
    """

    plan: Plan
    certificate: Standing
    cluster: ClusterSeats | None
    target: dict[str, list[str]]
    ccas: dict[str, str]
    lengths: TrialLengths | None

    def __repr__(self) -> str:
        """That of its plan."""
        return repr(self.plan)

    def _repr_html_(self) -> str:
        return self.plan._repr_html_()


def plan(
    scenario: ScenarioLike, testbed: TestbedLike | None = None, *, seats: int | None = None
) -> Plan:
    """Say what a run would do, and what it takes; nothing is touched.

    Args:
        scenario: See `read_scenario`.
        testbed: See `read_testbed`.
        seats: Trials that a cluster runs at once; None: this machine runs them.

    Raises:
        NashbedError: It cannot be run; why.
    """
    return plan_run(read_scenario(scenario), read_testbed(testbed), adaptive.expect, seats)


def preview(
    scenario: ScenarioLike,
    testbed: TestbedLike | None = None,
    *,
    on: str | None = None,
    private_network: bool = False,
    lengths: bool = True,
    say: Say = LOG.info,
    on_step: ShowStep = show_nothing,
) -> Preview:
    """Plan a run, and say what follows: certificate, commands for the target, lengths of trials.

    Args:
        scenario: See `read_scenario`.
        testbed: See `read_testbed`.
        on: A cluster, as `start` has it, which is reached for its seats.
        private_network: As `start` has it.
        lengths: Whether the fluid model is asked if trials are long enough.
        say: Told what a cluster is waited for.
        on_step: Called as the model answers.

    Raises:
        NashbedError: It cannot be run, or the cluster cannot be reached; why.
    """
    loaded, bed = read_scenario(scenario), read_testbed(testbed)
    cluster = chosen_cluster(on, private_network, bed)
    if cluster is None:
        there, planned = None, plan(loaded, bed)
    else:
        with reach_cluster(cluster, say, FIRST_WORKER_S) as reached:
            there = ClusterSeats(workers=reached.workers, seats=reached.seats)
        planned = plan(loaded, bed, seats=there.seats)
    return Preview(
        planned,
        standing(bed),
        there,
        preview_run(planned, bed.model),
        {cca.name: str(cca.source) for cca in find_ccas(loaded, bed)},
        trial_lengths(loaded.model, planned, on_step) if lengths else None,
    )
