"""CUBIC and BBR in every valid trial of a run, by setting and mix: readings, ledgers, k."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from nashbed.controlplane.contract.trial import Setting
from nashbed.controlplane.store.errors import RunError
from nashbed.controlplane.store.finished_run import once

from ..measures import OnStep, RunMeasures, each_step, silent
from ..metrics.statistics import Estimate, estimate
from ..models.mishra2022 import k_desynchronised, k_synchronised, outside, share_of_bbr
from ..models.starts import BBR
from ..state import State, state_text
from .competition import bbr_of, bbr_share, question_of
from .cubic_losses import CubicLosses
from .k_verdict import KPrediction, KVerdict, judge_k
from .ledger import Ledger, ledger_of
from .trial import TrialCorrelation, correlate_trial

Reading = Callable[[TrialCorrelation], float]


@dataclass(frozen=True)
class RunCorrelation:
    """The correlations of a run.

    Attributes:
        trials: One for each valid trial that could be read over time.
        k: Whether the measured k predicts better (None: no trial of CUBIC against BBR that the
            model holds for).
    """

    measures: RunMeasures
    trials: tuple[TrialCorrelation, ...]
    k: KVerdict | None

    def of_setting(self, setting: Setting) -> list[TrialCorrelation]:
        """The trials of one setting."""
        return [t for t in self.trials if t.measures.trial.setting.label == setting.label]

    def of_mix(self, setting: Setting, state: State) -> list[TrialCorrelation]:
        """The repetitions of one mix at one setting."""
        return [t for t in self.of_setting(setting) if t.measures.state == state]

    def ledgers(self, setting: Setting) -> list[Ledger]:
        """The model's ledger of every mix of a setting that has one."""
        cells = self.measures.cells(setting)
        found = (ledger_of(self.of_mix(setting, cell.state)) for cell in cells)
        return [ledger for ledger in found if ledger is not None]


@dataclass(frozen=True)
class MixReadings:
    """What one mix showed, means over its repetitions; None where not measured.

    Attributes:
        readings: Name -> estimate; the names are those of READINGS.
    """

    state: State
    readings: dict[str, Estimate | None]


def _of_cubic(value: Callable[[CubicLosses], float]) -> Reading:
    return lambda t: float("nan") if t.cubic is None else value(t.cubic)


def _mean(values: Any) -> float:
    return float(np.nanmean(values)) if len(values) else float("nan")


READINGS: dict[str, tuple[str, str, Reading]] = {
    "events": ("CUBIC loss events", "1", _of_cubic(lambda c: float(len(c.events_ns)))),
    "losing_share": (
        "share of CUBIC flows that lose in one",
        "1",
        _of_cubic(lambda c: _mean(c.shares)),
    ),
    "k": ("k", "1", _of_cubic(lambda c: c.k)),
    "b_max": ("CUBIC in the queue at a loss", "B", _of_cubic(lambda c: _mean(c.b_max))),
    "b_min": ("CUBIC's least in the queue", "B", _of_cubic(lambda c: _mean(c.b_min))),
    "window": ("CUBIC in flight at a loss", "B", _of_cubic(lambda c: _mean(c.window))),
    "window_tcp": ("CUBIC's windows at a loss", "B", _of_cubic(lambda c: _mean(c.window_tcp))),
    "rtt_plus": (
        "BBR's RTT estimate",
        "s",
        lambda t: float("nan") if t.bbr is None else t.bbr.min_rtt_s,
    ),
    "flight_own": (
        "BBR in flight, own BDP",
        "1",
        lambda t: float("nan") if t.bbr is None else t.bbr.flight_own,
    ),
    "flight_real": (
        "BBR in flight, throughput x RTT estimate",
        "1",
        lambda t: float("nan") if t.bbr is None else t.bbr.flight_real,
    ),
}
"""Name -> what it is, its unit, and how it is read from a trial."""


@once
def correlate_run(measures: RunMeasures, on_step: OnStep = silent) -> RunCorrelation:
    """Correlate every valid trial of a run; a trial that is damaged is left out."""
    trials = []
    for trial in each_step("trials explained", measures.trials, on_step):
        try:
            trials.append(correlate_trial(trial, measures.run.scenario))
        except RunError:
            continue
    rows = [row for row in map(predictions, trials) if row is not None]
    return RunCorrelation(measures, tuple(trials), judge_k(rows))


def predictions(trial: TrialCorrelation) -> KPrediction | None:
    """The model's share of BBR with the measured k and with both bounds.

    Returns:
        None where the model does not hold (several base RTTs, no CUBIC or BBR flow, another
        CCA or version of BBR, a buffer outside 1 to 100 BDP) or a value was not
        measured.
    """
    measures, cubic = trial.measures, trial.cubic
    measured = bbr_share(measures) if bbr_of(measures) == BBR else None
    if cubic is None or measured is None or not len(cubic.shares):
        return None
    question = question_of(measures)
    if outside(question):
        return None
    k = {
        "measured": cubic.k,
        "synchronised": k_synchronised(),
        "desynchronised": k_desynchronised(cubic.flows),
    }
    asked = question.buffer_bytes, question.bdp_bytes
    predicted = {name: share_of_bbr(*asked, value) for name, value in k.items()}
    record = measures.trial
    return KPrediction(
        trial=record.id,
        setting=record.setting.label,
        bbr_share=measured,
        k=k,
        predicted=predicted,
    )


def mix_readings(run: RunCorrelation, setting: Setting) -> list[MixReadings]:
    """Every mix of a setting that was correlated, beside what the model assumes."""
    rows = []
    for cell in run.measures.cells(setting):
        trials = run.of_mix(setting, cell.state)
        if not trials:
            continue
        values = {
            name: estimate([read(t) for t in trials]) for name, (_, _, read) in READINGS.items()
        }
        rows.append(MixReadings(cell.state, values))
    return rows


def mix_text(run: RunCorrelation, state: State) -> str:
    """A mix in words."""
    return state_text(state, run.measures.strategies, run.measures.group_names)
