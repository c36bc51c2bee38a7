"""One row for each setting and mix: what the command line prints and scripts read."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nashbed.controlplane.contract.metrics import METRIC_UNITS
from nashbed.controlplane.contract.model import ContractModel
from pydantic import Field

from ..measures import Cell, RunMeasures, measure_run
from ..metrics.statistics import Estimate
from ..nash.equilibria import Answer
from ..nash.of_run import SettingEquilibria, equilibria_of_measures
from ..state import mix_state, state_text, strategy_totals
from ..testbeds import Comparisons, compare_testbeds
from .acceptance import AcceptanceResult, check_measures

TRUTH: dict[Answer, bool | None] = {"yes": True, "no": False, "undecided": None}


class GroupRow(ContractModel):
    """A flow group's part of a row.

    Attributes:
        group: Name of the flow group.
        counts: Strategy -> flows of the group.
        per_flow_throughput: Strategy -> mean throughput of a flow in bit/s; None: not measured.
    """

    group: str
    counts: dict[str, int]
    per_flow_throughput: dict[str, Estimate | None]


class SummaryRow(ContractModel):
    """What was measured at one setting and mix, in base units (bit/s, s, bytes).

    An estimate is None where nothing was measured.

    Attributes:
        setting: Label of the setting.
        rate_bps: Rate that the target applied, in bit/s.
        buffer: The buffer as the scenario has it.
        buffer_bytes: Buffer that the target applied, in bytes.
        base_rtt_ns: Base RTT of each flow group, in ns.
        discipline: The queue's discipline, with what of it is not as by default.
        kernel: Guest kernel of the setting; empty: the testbed's.
        mix: The mix, for a person.
        counts: Strategy -> flows.
        trials_valid: Valid trials.
        trials_invalid: Trials that are not valid, repeated attempts counted.
        trials_unsettled: Valid trials whose throughput still drifted.
        trials_marked: Valid trials with a mark: what a reader should know, and invalidates nothing.
        per_flow_throughput: Strategy -> mean throughput of a flow in bit/s.
        queue_occupancy: Strategy -> mean bytes in the queue.
        mean_queueing_delay: This and the next six are metrics of the whole trial, in their units.
        p95_queueing_delay: 95th percentile of the delay.
        utilisation: Share of the applied rate that was used.
        jain_index: Fairness of the flows.
        loss_rate: Share of the packets that were dropped.
        mark_rate: Share of the packets in which the queue set CE; left out where none can be.
        retransmit_share: Share of the bytes that were sent again.
        throughput_drift: How far both halves of the second half of the trials differ.
        groups: The flow groups; left out where there is only one.
        equilibrium: Whether the mix is an equilibrium; None where mixes are missing.
        epsilon_equilibrium: The same for an epsilon-equilibrium.
        gain_of_fair_share: The largest gain of a switch, as a share of the fair share.
        probability: How probably the mix is the equilibrium (one group, two strategies), by where
            the lead ends; None: not known.
    """

    setting: str
    rate_bps: int
    buffer: str
    buffer_bytes: int
    base_rtt_ns: tuple[int, ...]
    discipline: str
    kernel: str
    mix: str
    counts: dict[str, int]
    trials_valid: int
    trials_invalid: int
    trials_unsettled: int
    trials_marked: int
    per_flow_throughput: dict[str, Estimate | None]
    queue_occupancy: dict[str, Estimate | None]
    mean_queueing_delay: Estimate | None
    p95_queueing_delay: Estimate | None
    utilisation: Estimate | None
    jain_index: Estimate | None
    loss_rate: Estimate | None
    mark_rate: Estimate | None = Field(None, exclude_if=lambda rate: rate is None)
    retransmit_share: Estimate | None
    throughput_drift: Estimate | None
    groups: tuple[GroupRow, ...] = Field((), exclude_if=lambda groups: not groups)
    equilibrium: bool | None
    epsilon_equilibrium: bool | None
    gain_of_fair_share: float | None
    probability: float | None


OF_TRIALS = tuple(
    name for name in SummaryRow.model_fields if METRIC_UNITS.get(name, ("flow",))[0] == "trial"
)
"""Its means that are not of single flows."""


@dataclass(frozen=True)
class RunSummary:
    """What the command line prints of a run, and what its report begins with.

    Attributes:
        rows: One row for each setting and mix.
        testbeds: Its testbeds against each other; None: all trials ran on one.
    """

    measures: RunMeasures
    equilibria: list[SettingEquilibria]
    rows: list[SummaryRow]
    acceptance: list[AcceptanceResult]
    testbeds: Comparisons | None = None

    @property
    def seeks_equilibria(self) -> bool:
        """Whether the run can say anything about equilibria."""
        decided = any(setting.decided for setting in self.equilibria)
        scenarios = map(self.measures.scenario_at, self.measures.run.settings)
        return any(scenario.seeks_equilibria(decided) for scenario in scenarios)


def summarise(run_dir: Path) -> RunSummary:
    """Measure a run.

    Raises:
        RunError: The directory is not a readable run.
    """
    measures = measure_run(run_dir)
    equilibria = equilibria_of_measures(measures)
    rows = summary_rows(measures, equilibria)
    acceptance = check_measures(measures, equilibria)
    return RunSummary(measures, equilibria, rows, acceptance, compare_testbeds(measures))


def summary_rows(
    measures: RunMeasures, equilibria: Sequence[SettingEquilibria]
) -> list[SummaryRow]:
    """The rows of measured trials; settings in the plan's order, mixes by their flows."""
    return [
        _row(measures, setting, cell)
        for setting in equilibria
        for cell in measures.cells(setting.setting)
    ]


def _row(measures: RunMeasures, equilibria: SettingEquilibria, cell: Cell) -> SummaryRow:
    setting, names = equilibria.setting, measures.strategies
    verdict = equilibria.verdict(cell.state)
    groups = range(len(measures.group_names)) if len(measures.group_names) > 1 else ()
    means: dict[str, Any] = {name: cell.estimate(name) for name in OF_TRIALS}
    return SummaryRow(
        setting=setting.label,
        rate_bps=measures.applied_rate(setting),
        buffer=setting.buffer_label,
        buffer_bytes=measures.applied_buffer(setting),
        base_rtt_ns=tuple(setting.base_rtt_ns),
        discipline=setting.queue_label,
        kernel=setting.kernel,
        mix=state_text(cell.state, names, measures.group_names),
        counts=dict(zip(names, strategy_totals(cell.state), strict=True)),
        trials_valid=len(cell.trials),
        trials_invalid=_invalid(measures, cell),
        trials_unsettled=cell.unsettled,
        trials_marked=cell.marked,
        per_flow_throughput={s: cell.estimate("per_flow_throughput", s) for s in names},
        queue_occupancy={s: cell.estimate("queue_occupancy", s) for s in names},
        **means,
        groups=tuple(_group(measures, cell, group) for group in groups),
        equilibrium=TRUTH[verdict.equilibrium],
        epsilon_equilibrium=TRUTH[verdict.epsilon_equilibrium],
        gain_of_fair_share=None if verdict.gain is None else verdict.gain / equilibria.fair_share,
        probability=equilibria.probability(cell.state),
    )


def _group(measures: RunMeasures, cell: Cell, group: int) -> GroupRow:
    names = measures.strategies
    return GroupRow(
        group=measures.group_names[group],
        counts=dict(zip(names, cell.state[group], strict=True)),
        per_flow_throughput={s: cell.estimate("per_flow_throughput", s, group) for s in names},
    )


def _invalid(measures: RunMeasures, cell: Cell) -> int:
    """Trials of the cell that are not valid, repeated attempts counted."""
    bad = (t for t in measures.run.trials if not t.record.valid)
    here = (t for t in bad if t.setting.label == cell.setting.label)
    return sum(mix_state(t.record.mix, measures.strategies) == cell.state for t in here)
