"""The correlations of a run: every valid trial, by setting and mix, and the verdict on k."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from nashbed.controlplane.contract.trial import Setting
from nashbed.controlplane.contract.units import NS_PER_S
from nashbed.controlplane.store.errors import RunError

from ..measures import RunMeasures, TrialMeasures
from ..metrics.interval import Estimate, estimate
from ..metrics.occupancy_share import ShareLine, share_line
from ..models.mishra2022 import (
    Occupancy,
    k_desynchronised,
    k_synchronised,
    outside,
    share_of_bbr,
    solve_occupancy,
)
from ..models.question import Question
from ..state import State, state_text
from .bbr_path import MODEL_GAIN, rtt_plus
from .equation5 import LineFit, fit_line
from .k_verdict import KPrediction, KVerdict, judge_k
from .trial import BBR, CUBIC, CubicLosses, TrialCorrelation, correlate_trial

Reading = Callable[[TrialCorrelation], float]


@dataclass(frozen=True)
class RunCorrelation:
    """The correlations of a run.

    Attributes:
        measures: The run's measures.
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

    def fit(self, setting: Setting, strategy: str | None = None) -> LineFit | None:
        """Equation (5) against measurement over all flows of a setting, in bit/s."""
        pairs = [(t, t.predicted) for t in self.of_setting(setting)]
        known = [(t.measures, p) for t, p in pairs if p is not None]
        if not known:
            return None
        masks = [m.flow_mask(strategy) for m, _ in known]
        x = np.concatenate([p[mask] for (_, p), mask in zip(known, masks, strict=True)])
        y = [m.per_flow["per_flow_throughput"][k] for (m, _), k in zip(known, masks, strict=True)]
        return fit_line(x, np.concatenate(y))

    def shares(self, setting: Setting, strategy: str | None = None) -> ShareLine | None:
        """Line of throughput share on queue share over all flows of a setting."""
        measures = [t.measures for t in self.of_setting(setting)]
        columns = [np.empty(0)], [np.empty(0)]
        for one in measures:
            for column, name in zip(columns, ("occupancy_share", "throughput_share"), strict=True):
                if {"occupancy_share", "throughput_share"} <= set(one.per_flow):
                    column.append(one.per_flow[name][one.flow_mask(strategy)])
        return share_line(*(np.concatenate(column) for column in columns))


@dataclass(frozen=True)
class MixReadings:
    """What one mix showed, means over its repetitions; None where not measured.

    Attributes:
        state: The mix.
        readings: Name -> estimate; the names are those of READINGS.
        model: Name -> what the model says of the same, where it says something.
    """

    state: State
    readings: dict[str, Estimate | None]
    model: dict[str, float]


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


def correlate_run(measures: RunMeasures) -> RunCorrelation:
    """Correlate every valid trial of a run; a trial that is damaged is left out.

    Args:
        measures: The run's measures.
    """
    trials = []
    for trial in measures.trials:
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
        congestion control, a buffer outside 1 to 100 BDP) or a value was not measured.
    """
    measures, cubic = trial.measures, trial.cubic
    measured = bbr_share(measures)
    if cubic is None or measured is None or not len(cubic.shares):
        return None
    question = _question(measures)
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
    return KPrediction(record.id, record.setting.label, measured, k, predicted)


def bbr_share(measures: TrialMeasures) -> float | None:
    """BBR's aggregate share of the throughput, if it competes with CUBIC alone at one RTT."""
    if set(measures.strategy) != {CUBIC, BBR} or len(set(measures.trial.setting.base_rtt_ns)) > 1:
        return None
    if "throughput_share" not in measures.per_flow:
        return None
    share = float(measures.per_flow["throughput_share"][measures.flow_mask(BBR)].sum())
    return share if np.isfinite(share) else None


def _question(measures: TrialMeasures) -> Question:
    """The trial as a model is asked about it."""
    return Question(
        rate_bps=measures.rate_bps,
        base_rtt_s=measures.trial.setting.base_rtt_ns[0] / NS_PER_S,
        buffer_bytes=measures.buffer_bytes,
        cubic=int(measures.flow_mask(CUBIC).sum()),
        bbr=int(measures.flow_mask(BBR).sum()),
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
        rows.append(MixReadings(cell.state, values, _model(trials)))
    return rows


def _model(trials: Sequence[TrialCorrelation]) -> dict[str, float]:
    """The model's own values, with the measured k where there is one."""
    measures, cubic = trials[0].measures, trials[0].cubic
    if cubic is None or bbr_share(measures) is None or not len(cubic.shares):
        return {}
    k = float(np.mean([t.cubic.k for t in trials if t.cubic is not None and len(t.cubic.shares)]))
    question = _question(measures)
    if outside(question):
        return {}
    held = solve_occupancy(question.buffer_bytes, question.bdp_bytes, k)
    return _assumed(question, held)


def _assumed(question: Question, held: Occupancy) -> dict[str, float]:
    return {
        "b_max": held.cubic_max,
        "b_min": held.cubic_min,
        "window": held.cubic_window,
        "window_tcp": held.cubic_window,
        "rtt_plus": rtt_plus(question.base_rtt_s, held.cubic_min, question.rate_bps),
        "flight_real": MODEL_GAIN,
        "flight_own": MODEL_GAIN,
    }


def correlation_dict(run: RunCorrelation) -> dict[str, Any]:
    """Plain data for JSON."""
    names = (None, *run.measures.strategies)
    settings = []
    for setting in run.measures.run.settings:
        fits = {name or "all": run.fit(setting, name) for name in names}
        lines = {name or "all": run.shares(setting, name) for name in names}
        settings.append(
            {
                "setting": setting.label,
                "equation5": {name: f and vars(f) for name, f in fits.items()},
                "shares": {name: f and vars(f) for name, f in lines.items()},
                "mixes": [_mix_dict(run, mix) for mix in mix_readings(run, setting)],
            }
        )
    return {"settings": settings, "k": run.k and run.k.to_dict()}


def _mix_dict(run: RunCorrelation, mix: MixReadings) -> dict[str, Any]:
    measured = {
        name: e and {"mean": e.mean, "n": e.n, "ci95": e.half_width}
        for name, e in mix.readings.items()
    }
    text = state_text(mix.state, run.measures.strategies, run.measures.group_names)
    return {"mix": text, "measured": measured, "model": mix.model}
