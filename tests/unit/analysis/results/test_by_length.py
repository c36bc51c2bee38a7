"""A long trial holds every shorter one: the equilibrium moves as the shares do."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from nashbed.analysis.figures.equilibria import equilibrium_by_length_plot
from nashbed.analysis.measures import RunMeasures, TrialMeasures
from nashbed.analysis.results.by_length import equilibria_by_length
from nashbed.analysis.results.sweep import lines
from nashbed.controlplane.contract.trial import Setting
from nashbed.controlplane.store.sealed_trial import SealedTrial
from tests.support.drawn import panels, points
from tests.unit.analysis.made_measures import made

S = 10**9
FLOWS, STEP_S = 20, 10
EARLY, LATE, TURN_S = 8.0, 12.0, 110
"""BBR flows at which its lead ends before and after the turn."""
BIAS = 0.1
"""Flows by which local parabolas miss the end of a lead that is a cubic."""
STARTS = [{"order": ["bbr", "cubic"], "gap": "5s"}, {"order": ["cubic", "bbr"], "gap": "5s"}]
RAW: dict[str, Any] = {
    "flows": [{"name": "main", "count": FLOWS, "base_rtt": "40ms"}],
    "duration": "480s",
    "sweep": {"buffer": ["1bdp", "5bdp", "10bdp"], "start": STARTS},
    "reference": [
        {"label": "published", "strategy": "cubic", "axis": "buffer_bdp",
         "quantity": "equilibrium", "x": [1, 5], "y": [14, 13]},
    ],
}  # fmt: skip


def with_goodput(trial: TrialMeasures, folder: Path) -> TrialMeasures:
    """A trial whose sinks read what BBR's lead says, in intervals of ten seconds."""
    record = trial.trial.record
    path = folder / record.id
    path.mkdir()
    t_s = np.arange(STEP_S, record.duration_ns // S + STEP_S, STEP_S)
    bbr = np.array([name == "bbr" for name in trial.strategy])
    end = np.where(t_s <= TURN_S, EARLY, LATE)
    rate = 1e6 + 1e5 * (end[:, None] - bbr.sum()) * bbr[None, :]
    rows = {
        "t_ns": np.repeat(t_s * S, FLOWS),
        "flow": np.tile(np.arange(FLOWS, dtype=np.uint32), len(t_s)),
        "bytes": (rate * STEP_S / 8).astype(np.uint64).ravel(),
    }
    pq.write_table(pa.table(rows), path / "goodput.parquet")
    return replace(trial, trial=SealedTrial(path, record))


def measures(folder: Path, **more: Any) -> RunMeasures:
    found = made({**RAW, **more}, lambda *_: 1e6)
    return replace(found, trials=tuple(with_goodput(trial, folder) for trial in found.trials))


def first_setting(found: RunMeasures) -> Setting:
    return found.run.settings[0]


def test_the_lead_is_averaged_from_the_warm_up_to_the_length(tmp_path: Path) -> None:
    found = measures(tmp_path)
    by_length = equilibria_by_length(found, first_setting(found)).points
    # 900 s and more are beyond the trials.
    assert list(by_length) == [60, 120, 240, 480]
    ends = [point.ends.intervals[0].at for point in by_length.values()]
    # The warm-up is 10 s: of T - 10 s, 100 s have the early lead, and all the rest the late one.
    expected = [EARLY, *((100 * EARLY + (t - 110) * LATE) / (t - 10) for t in (120, 240, 480))]
    assert ends == pytest.approx(expected, abs=BIAS)


def test_the_second_half_has_forgotten_the_first(tmp_path: Path) -> None:
    found = measures(tmp_path)
    end = equilibria_by_length(found, first_setting(found)).at_the_end
    assert end.at == pytest.approx(LATE, abs=1e-3)
    (interval,) = end.ends.intervals
    assert interval.low <= LATE + BIAS and interval.high >= LATE - BIAS
    assert interval.at == pytest.approx(LATE, abs=BIAS)


def test_a_settled_trial_counts_as_if_it_had_gone_on(tmp_path: Path) -> None:
    found = measures(tmp_path)
    short = tuple(
        replace(
            trial,
            trial=SealedTrial(
                trial.trial.path,
                trial.trial.record.model_copy(
                    update={"duration_ns": 240 * S, "window_ns": (200 * S, 240 * S)}
                ),
            ),
        )
        if i % 2
        else trial
        for i, trial in enumerate(found.trials)
    )
    whole = equilibria_by_length(found, first_setting(found)).points
    cut = equilibria_by_length(replace(found, trials=short), first_setting(found)).points
    assert [p.ends.intervals[0].at for p in cut.values()] == pytest.approx(
        [p.ends.intervals[0].at for p in whole.values()], abs=BIAS
    )


@pytest.mark.slow
def test_a_small_axes_for_each_buffer_and_a_line_for_each_start(tmp_path: Path) -> None:
    found = measures(tmp_path)
    drawn = panels(equilibrium_by_length_plot(found, lines(found.run.settings)))
    assert [panel.title for panel in drawn] == ["1 BDP", "5 BDP", "10 BDP"]
    for panel, published in zip(drawn, (14, 13, None), strict=True):
        for label in ("bbr, then cubic 5s later", "cubic, then bbr 5s later"):
            x, y = points(panel[label])
            assert x == [60, 120, 240, 480]
            assert y[0] == pytest.approx(FLOWS - EARLY, abs=BIAS)
            assert y == sorted(y, reverse=True)
        assert ("published" in panel.labels) is (published is not None)
        if published is not None:
            assert points(panel["published"]) == ([120], [published])


def test_what_has_no_such_figure(tmp_path: Path) -> None:
    # Throughput over each strategy's own span is not that of a window that could be shorter.
    whole = measures(tmp_path, window="whole")
    assert equilibrium_by_length_plot(whole, lines(whole.run.settings)) is None
    # Without the sinks' counts nothing is known of shorter trials.
    bare = made(RAW, lambda *_: 1e6)
    assert equilibrium_by_length_plot(bare, lines(bare.run.settings)) is None
