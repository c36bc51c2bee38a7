"""Correlations made up directly: readings of each trial, no tables behind them."""

from dataclasses import replace
from typing import Any

import numpy as np
from nashbed.analysis.correlation.assumptions import ASSUMPTIONS, AssumptionCheck
from nashbed.analysis.correlation.cubic_losses import CubicLosses
from nashbed.analysis.correlation.of_run import RunCorrelation
from nashbed.analysis.correlation.trial import TrialCorrelation
from nashbed.analysis.measures import RunMeasures, TrialMeasures
from tests.unit.analysis.made_measures import made

THREE: dict[str, Any] = {"flows": [{"name": "main", "count": 3, "base_rtt": "40ms"}]}


def measures_of_three() -> RunMeasures:
    """Three flows at 100 Mbit/s and 2 BDP, every mix; a flow of CUBIC 20 Mbit/s, of BBR 30."""
    return made(THREE, lambda setting, strategy, second: 30e6 if strategy == "bbr" else 20e6)


def correlation(trial: TrialMeasures, **parts: Any) -> TrialCorrelation:
    """A trial's correlation; parts that are not given are not known."""
    return TrialCorrelation(trial, **{"cubic": None, "bbr": None, "held": {}, **parts})


def losses(flows: int, shares: list[float], kilobytes: float) -> CubicLosses:
    """Losses with so many kB in the queue at each event, half of it between them."""
    count = len(shares)
    return CubicLosses(
        flows=flows,
        events_ns=np.arange(count, dtype=np.int64),
        shares=np.array(shares),
        null=None,
        b_max=np.full(count, 1e3 * kilobytes),
        window=np.full(count, 2e3 * kilobytes),
        window_tcp=np.full(count, 2e3 * kilobytes),
        b_min=np.full(max(0, count - 1), 5e2 * kilobytes),
        share_min=np.full(max(0, count - 1), 0.5),
        cuts=np.full(count, 0.7),
    )


def held(**ratios: float) -> dict[str, AssumptionCheck]:
    """Assumptions measured at so many times what the model says, which is 1 (of losses: 0.7)."""
    says = {"flight": 2.0, "keeps": 0.7}
    each = {a.key: says.get(a.key, 1.0) for a in ASSUMPTIONS}
    return {
        key: AssumptionCheck(value, value, value * ratios.get(key, 1.0), np.array([value]))
        for key, value in each.items()
    }


def of_trials(measures: RunMeasures, *trials: TrialCorrelation, k: Any = None) -> RunCorrelation:
    """A run's correlations; its measures hold those trials' alone."""
    kept = replace(measures, trials=tuple(t.measures for t in trials))
    return RunCorrelation(kept, trials, k)
