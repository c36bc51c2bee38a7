"""Run directories of earlier versions: they are read, measured and reported as they were then.

`run-0.1.0` was written by version 0.1.0 in virtual time, from the scenario in it; only its log was
removed. A change that cannot read it needs another number of the format (run directory,
controlplane/README.md) and a reader of this one.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import nashbed as nb
import pytest
from nashbed.controlplane.run.active_run import resumed_run
from nashbed.controlplane.study.adaptive import make_chooser

OLD = Path(__file__).with_name("run-0.1.0")
MEASURED = {
    "2 cubic": (2_392_096.0, 0.0, 0.030559461298939477, 0.008413461538461538),
    "1 cubic + 1 bbr": (2_032_992.0, 2_861_248.0, 0.03207598200082617, 0.020190365521664737),
    "2 bbr": (0.0, 2_351_552.0, 0.03549376346168228, 0.12448810077662037),
}
"""Mix -> bit/s of a CUBIC and of a BBR flow (0: there is none), queueing delay in s, loss rate."""


@pytest.fixture
def run(tmp_path: Path) -> nb.Run:
    return nb.open_run(shutil.copytree(OLD, tmp_path / "run"))


def test_it_measures_what_it_measured(run: nb.Run) -> None:
    for row in run.rows:
        means = [0.0 if each is None else each.mean for each in row.per_flow_throughput.values()]
        assert row.mean_queueing_delay is not None
        assert row.loss_rate is not None
        means += [row.mean_queueing_delay.mean, row.loss_rate.mean]
        assert means == pytest.approx(list(MEASURED[row.mix]), rel=1e-9)
    assert len(run.rows) == len(MEASURED)
    assert run.passed
    assert run.headlines["b2bdp"].startswith("at 3 s, from a common start: 2 bbr")


def test_its_tables_have_what_they_had(run: nb.Run) -> None:
    bins = run.trials[1].table("bins").collect()
    assert bins["departed_bytes"].sum() == 1_872_256
    assert (bins["dropped_packets"].sum(), bins["departed_packets"].sum()) == (67, 1252)
    assert [trial.settled for trial in run.trials] == [True, False, True]


def test_nothing_is_left_to_be_run(run: nb.Run) -> None:
    resumed = resumed_run(run.path, make_chooser)
    assert (resumed.work.finished, resumed.work.total) == (3, 3)
    assert list(resumed.work.start()) == []
