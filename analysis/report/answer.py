"""`summary.json`: what a report says, in JSON."""

from nashbed.controlplane.contract.model import ContractModel, JsonAnswer
from nashbed.controlplane.contract.trial import FailedAttempt

from ..clock.alignment import Alignment, ClockOffset
from ..clock.queueing import TapComparison
from ..correlation import correlation_answer
from ..correlation.answer import CorrelationAnswer
from ..models.accuracy import ModelErrors
from ..nash.answer import EquilibriaAnswer, equilibria_answer
from ..results.acceptance import AcceptanceResult
from ..results.summary import SummaryRow
from ..testbeds import TestbedsAnswer
from .context import Findings

NS_PER_S = 1e9


class NamedAlignment(ClockOffset):
    """Two clocks by their names, and how the one stands to the other."""

    reference: str
    other: str


class TapAnswer(ContractModel):
    """What two captures say of a trial.

    Attributes:
        software: Whether the hosts captured.
        packets: How many both captures and postcards have.
        bias_s: Median of the captures' delays less the postcards'.
        spread_s: 5th and 95th percentile of these differences.
        mismatches: Packets that do not fit.
        clocks: How the clocks stand to each other, one line each.
        alignments: The same as numbers.
    """

    trial: str
    software: bool
    packets: int
    bias_s: float
    spread_s: tuple[float, float]
    mismatches: int
    clocks: tuple[str, ...]
    alignments: tuple[NamedAlignment, ...]


class DamagedAnswer(ContractModel):
    """A trial that could not be read."""

    trial: str
    problem: str


class ReportSummary(JsonAnswer):
    """The content of summary.json.

    Attributes:
        rows: One for each setting and mix.
        correlation: What CUBIC and BBR really did, and the ledgers of Mishra's model.
        taps: What captures before and behind the bottleneck say.
        models: How far models are from what was measured.
        testbeds: The run's testbeds against each other; null: all trials ran on one.
        failed_attempts: Attempts that their host or guest ended.
        damaged: Trials that are left out.
    """

    run: str
    scenario: str
    rows: tuple[SummaryRow, ...]
    equilibria: tuple[EquilibriaAnswer, ...]
    acceptance: tuple[AcceptanceResult, ...]
    correlation: CorrelationAnswer
    taps: tuple[TapAnswer, ...]
    models: ModelErrors
    testbeds: TestbedsAnswer | None
    failed_attempts: tuple[FailedAttempt, ...]
    damaged: tuple[DamagedAnswer, ...]


def report_summary(findings: Findings) -> ReportSummary:
    """What a report says, for a script; it holds no NaN."""
    summary = findings.summary
    run = summary.measures.run
    return ReportSummary(
        run=run.manifest.run,
        scenario=run.scenario.name,
        rows=tuple(summary.rows),
        equilibria=tuple(equilibria_answer(each) for each in summary.equilibria),
        acceptance=tuple(summary.acceptance),
        correlation=correlation_answer(findings.correlation),
        taps=tuple(_tap(each) for each in findings.taps.compared),
        models=findings.models,
        testbeds=None if summary.testbeds is None else summary.testbeds.answer(),
        failed_attempts=run.failures,
        damaged=tuple(
            DamagedAnswer(trial=each.id, problem=each.problem) for each in summary.measures.damaged
        ),
    )


def _tap(compared: TapComparison) -> TapAnswer:
    low, high = compared.spread_ns
    return TapAnswer(
        trial=compared.trial,
        software=compared.software,
        packets=len(compared.sojourn_ns),
        bias_s=compared.bias_ns / NS_PER_S,
        spread_s=(low / NS_PER_S, high / NS_PER_S),
        mismatches=len(compared.mismatches),
        clocks=compared.clocks,
        alignments=tuple(_named(each) for each in compared.alignments),
    )


def _named(alignment: Alignment) -> NamedAlignment:
    names = {"reference": alignment.reference.name, "other": alignment.other.name}
    return NamedAlignment(**vars(alignment) | names)
