"""Synthetic trials to export: with postcards, or with bins.

Of those with postcards packets are marked in the valid one; in the other nothing can be.
"""

from pathlib import Path

import numpy as np
import pytest
from nashbed.analysis.traces import Selection
from nashbed.controlplane.contract.records import KIND_DROPPED, MARK_CAPABLE, MARK_CE
from nashbed.controlplane.store.finished_run import open_run
from nashbed.controlplane.store.sealed_trial import open_trial
from tests.support.synthetic_run import SCENARIO, RunWriter, edit_json, write_table


@pytest.fixture(scope="session")
def run_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of four flows whose queue overflows: one valid trial, and one that is not."""
    raw = {**SCENARIO, "bottleneck": {"rate": "10mbit", "buffer": "1bdp"}, "duration": "1500ms"}
    writer = RunWriter(tmp_path_factory.mktemp("traces") / "run", raw)
    (setting,) = writer.settings()
    mark(writer.add(setting, (2,)))
    writer.add(setting, (1,), valid=False)
    return writer.finish()


def mark(trial: Path) -> None:
    """Flows 2 and 3 are ECN-capable and some packets of theirs get CE; drops have five reasons."""
    cards = open_trial(trial).arrays("postcards")
    dropped, capable = cards["kind"] == KIND_DROPPED, cards["flow"] >= 2
    marked = capable & ~dropped & (cards["seq"] % 5 == 0) & (cards["queue_bytes"] > 20_000)
    marks = capable * MARK_CAPABLE + marked * MARK_CE + dropped * (np.cumsum(dropped) % 6)
    write_table(trial, "postcards", cards | {"marks": marks})


@pytest.fixture(scope="session")
def whole(run_path: Path) -> Selection:
    return Selection(open_run(run_path).valid_trials[0])


@pytest.fixture(scope="session")
def unmarked(run_path: Path) -> Selection:
    """A trial in which nothing can be marked: its postcards have no such column."""
    return Selection(next(trial for trial in open_run(run_path).trials if not trial.record.valid))


@pytest.fixture(scope="session")
def bins_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two flows with bins, of which BBR flows tell their gains."""
    flows = [{"name": "main", "count": 2, "base_rtt": "20ms"}]
    raw = {**SCENARIO, "flows": flows, "duration": "1500ms"}
    writer = RunWriter(tmp_path_factory.mktemp("bins") / "run", raw)
    (setting,) = writer.settings()
    for mix in [(0,), (1,)]:
        tables = ("bins", "flow_samples", "goodput", "counters")
        trial = writer.add(setting, mix, tables=tables)
        edit_json(trial / "trial.json", postcards="bins")
        probe(trial, mix[0])
    return writer.finish()


def probe(trial: Path, bbr: int) -> None:
    """The last flows run BBR and are in ProbeBW, up, down and twice cruising."""
    samples = open_trial(trial).arrays("flow_samples")
    is_bbr = samples["flow"] >= 2 - bbr
    turn = samples["t_ns"] // (samples["t_ns"].max() // 12) % 4
    pacing = np.where(is_bbr, np.array([1.25, 0.75, 1.0, 1.0])[turn], np.nan)
    told = {
        "mss": np.full(len(is_bbr), 1448), "has_bbr": is_bbr, "bbr_pacing_gain": pacing,
        "bbr_cwnd_gain": np.where(is_bbr, 2.0, np.nan),
    }  # fmt: skip
    of_all = {name: values for name, values in samples.items() if not name.startswith("bbr_")}
    write_table(trial, "flow_samples", of_all | told)


@pytest.fixture(scope="session")
def with_bins(bins_path: Path) -> Selection:
    return Selection(next(t for t in open_run(bins_path).trials if t.id == "b2bdp-k01-r0-a0"))
