# SPDX-License-Identifier: Apache-2.0
"""Trials to export: a synthetic one with postcards, and one with bins that version 0.1.0 wrote."""

from __future__ import annotations

from pathlib import Path

import pytest
from nashbed.analysis.traces import Selection
from nashbed.controlplane.store.finished_run import open_run
from tests.support.synthetic_run import SCENARIO, RunWriter

GOLDEN = Path(__file__).parents[3] / "golden" / "run-0.1.0"


@pytest.fixture(scope="session")
def run_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of four flows whose queue overflows: one valid trial, and one that is not."""
    raw = {**SCENARIO, "bottleneck": {"rate": "10mbit", "buffer": "1bdp"}, "duration": "3s"}
    writer = RunWriter(tmp_path_factory.mktemp("traces") / "run", raw)
    (setting,) = writer.settings()
    writer.add(setting, (2,))
    writer.add(setting, (1,), valid=False)
    return writer.finish()


@pytest.fixture(scope="session")
def whole(run_path: Path) -> Selection:
    return Selection(open_run(run_path).valid_trials[0])


@pytest.fixture(scope="session")
def with_bins() -> Selection:
    return Selection(next(t for t in open_run(GOLDEN).trials if t.id == "b2bdp-k01-r0-a0"))
