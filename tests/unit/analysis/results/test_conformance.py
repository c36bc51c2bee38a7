"""Performance envelopes: which points there are, which are kept, and what two hulls share."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from nashbed.analysis.measures import measure_run
from nashbed.analysis.results.conformance import (
    LEAST_POINTS,
    conformance_of_run,
    near_centre,
    overlap,
    window_points,
)
from nashbed.controlplane.cli.cc import conformance_text
from nashbed.controlplane.contract.errors import ConfigError

NS = 10**9
SQUARE = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])


def test_a_point_is_mean_rtt_and_goodput_of_a_window() -> None:
    t_ns = np.arange(0, 11) * NS // 10
    srtt_us = np.concatenate([np.full(5, 40_000), np.full(6, 60_000)]).astype(np.uint32)
    acked = np.arange(0, 11).astype(np.uint64) * 125_000
    points = window_points(t_ns, srtt_us, acked, NS // 2)
    assert points == pytest.approx(np.array([[40.0, 10e6], [60.0, 10e6]]))


def test_rare_samples_make_longer_windows() -> None:
    t_ns = np.arange(0, 9) * NS
    points = window_points(t_ns, np.full(9, 1000), np.arange(9) * 1000, NS // 10)
    assert points == pytest.approx(np.array([[1.0, 8000.0], [1.0, 8000.0]]))
    assert len(window_points(t_ns[:3], np.full(3, 1), np.arange(3), NS)) == 0


def test_outliers_are_left_out() -> None:
    spread = np.random.default_rng(1).normal(size=(99, 2))
    kept = near_centre(np.concatenate([[[1000.0, -1000.0]], spread]))
    assert len(kept) == 95
    assert np.abs(kept).max() < 10


def test_overlap_is_the_share_of_points_in_both_hulls() -> None:
    assert overlap(SQUARE, SQUARE) == 1
    assert overlap(SQUARE, SQUARE + 5) == 0
    # Of each square one corner lies in the other.
    assert overlap(SQUARE, SQUARE + 0.5) == pytest.approx(2 / 8)
    inner = np.array([[0.4, 0.4], [0.6, 0.4], [0.5, 0.6]])
    assert overlap(SQUARE, inner) == pytest.approx(3 / 7)


def test_units_do_not_matter() -> None:
    factors = np.array([1e-3, 1e9])
    assert overlap(SQUARE * factors, (SQUARE + 0.5) * factors) == pytest.approx(2 / 8)


def test_a_hull_without_area_has_its_own_points() -> None:
    line = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]])
    assert overlap(line, line) == 1
    assert overlap(line, line + np.array([0, 1])) == 0


def test_a_cca_conforms_to_itself_and_less_to_another(whole_run: Path) -> None:
    measures = measure_run(whole_run)
    (same,) = conformance_of_run(measures, "cubic", "cubic")
    assert same.score == 1
    (other,) = conformance_of_run(measures, "bbr", "cubic")
    assert other.score < same.score
    told = other.model_dump()
    assert (told["setting"], told["cca"], told["reference"]) == ("b2bdp", "bbr", "cubic")
    assert min(told["points"]) >= LEAST_POINTS
    assert all(40 <= rtt <= 125 for rtt in told["median_rtt_ms"])  # the queue is 2 BDP of 40 ms
    lines = conformance_text([other]).splitlines()
    assert "bbr held against cubic" in lines[0]
    assert f"{other.score:.3f}" in lines[-2]


def test_what_cannot_be_compared_is_said(run_copy: Path) -> None:
    measures = measure_run(run_copy)
    with pytest.raises(ConfigError, match=r"copa: not a strategy of the run \(it has cubic, bbr\)"):
        conformance_of_run(measures, "copa", "bbr")
    shutil.rmtree(run_copy / "trials" / "b2bdp-k04-r0-a0")
    with pytest.raises(ConfigError, match="no setting of the run has valid trials of bbr alone"):
        conformance_of_run(measure_run(run_copy), "bbr", "cubic")
