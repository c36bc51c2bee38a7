"""Settings along what was swept, the models that answer for them, and the decision tree."""

import numpy as np
import pytest
from nashbed.analysis.metrics.mixes import goodput_gain
from nashbed.analysis.results.decision_tree import FEATURES, NEITHER, decide, fit
from nashbed.analysis.results.sweep import (
    lines,
    lines_by_kernel,
    place_of,
    settings_by_kernel,
)
from nashbed.controlplane.contract.trial import Setting
from tests.unit.analysis.made_measures import made

QUEUES = {"sweep": {"discipline": ["droptail", {"codel": {"target": "1ms"}}],
                    "buffer": ["1bdp", "2bdp", "4bdp"], "mixes": [1]}}  # fmt: skip
BUFFERS = {"sweep": {"buffer": ["1bdp", "2bdp", "10bdp", "30bdp"], "mixes": [1]}}


def by_buffer(setting: Setting, strategy: str, second: int) -> float:
    share = 1 / (1 + setting.buffer_bdp / 4)
    return setting.rate_bps * 0.95 * (share if strategy == "bbr" else 1 - share)


def by_path(setting: Setting, strategy: str, second: int) -> float:
    """BBR wins from 100 Mbit/s on if the buffer is shallow."""
    wins = setting.rate_bps >= 10**8 and setting.buffer_bytes < 10**6
    return setting.rate_bps * (0.9 if (strategy == "bbr") == wins else 0.5)


GRID = {
    "flows": [{"name": "main", "count": 1, "base_rtt": "40ms"}],
    "sweep": {"rate": ["10mbit", "50mbit", "100mbit", "200mbit"], "base_rtt": ["10ms", "100ms"],
              "buffer": ["100kB", "10MB"]},
}  # fmt: skip


def test_lines() -> None:
    found = lines(made(BUFFERS, by_buffer).run.settings)
    assert [(line.axis, len(line.settings)) for line in found] == [("buffer", 4)]
    assert found[0].label == "100mbit-40ms"
    losses = {"sweep": {"random_loss": ["0%", "1%", "10%"], "mixes": [1]}}
    (line,) = lines(made(losses, by_buffer).run.settings)
    assert line.axis == "random_loss"
    assert [place_of(s, "random_loss") for s in line.settings] == [0, 1, 10]
    kernels = {"sweep": {**BUFFERS["sweep"], "kernel": ["6.1", "6.12"]}}
    old, new = lines(made(kernels, by_buffer).run.settings)
    assert (old.label, len(old.settings)) == ("100mbit-40ms-v6.1", 4)
    assert (new.title, len(new.settings)) == ("100 Mbit/s, 40 ms, kernel 6.12", 4)
    two = made({"sweep": {"buffer": ["1bdp", "2bdp"], "mixes": [1]}}, by_buffer)
    assert lines(two.run.settings) == []


def test_lines_of_numbers_and_lengths() -> None:
    """What they share names a line, not what it is against."""
    sweep = {"flows": {"count": [1, 2, 3]}, "duration": ["30s", "60s", "90s"], "mixes": [1]}
    found = lines(made({"sweep": sweep}, by_buffer).run.settings)
    assert [(line.axis, line.label) for line in found] == [
        *(("duration", f"100mbit-40ms-n{count}") for count in (1, 2, 3)),
        *(("flows", f"100mbit-40ms-d{seconds}s") for seconds in (30, 60, 90)),
    ]
    assert (found[0].title, found[3].title) == (
        "100 Mbit/s, 40 ms, 1 flow", "100 Mbit/s, 40 ms, trials of 30 s",
    )  # fmt: skip
    assert [place_of(s, "flows") for s in found[3].settings] == [1, 2, 3]
    assert [place_of(s, "duration") for s in found[0].settings] == [30, 60, 90]


def test_kernels_beside_each_other() -> None:
    sweep = {"buffer": ["1bdp", "2bdp", "10bdp"], "rate": ["50mbit", "100mbit"], "mixes": [1]}
    kernels = made({"sweep": {**sweep, "kernel": ["5.10", "6.1", "7.3"]}}, by_buffer).run.settings
    groups = lines_by_kernel(kernels)
    assert [[line.settings[0].kernel for line in group] for group in groups] == [
        ["5.10", "6.1", "7.3"]
    ] * 2
    assert [{s.rate_bps for line in group for s in line.settings} for group in groups] == [
        {50_000_000}, {100_000_000},
    ]  # fmt: skip
    found = settings_by_kernel(kernels)
    assert len(found) == 6
    assert {tuple(s.kernel for s in group) for group in found} == {("5.10", "6.1", "7.3")}
    assert all(len({(s.rate_bps, s.buffer_bytes) for s in group}) == 1 for group in found)
    alone = made({"sweep": {**sweep, "kernel": ["6.1"]}}, by_buffer).run.settings
    assert lines_by_kernel(alone) == []
    assert settings_by_kernel(alone) == []


def test_goodput_gain() -> None:
    assert goodput_gain(20.0, 43.0) == pytest.approx(1.15)
    assert goodput_gain(20.0, 10.0) == -0.5
    assert np.isnan(goodput_gain(0.0, 1.0))
    assert np.isnan(goodput_gain(float("nan"), 1.0))


def test_decision_tree() -> None:
    measures = made(GRID, by_path, factors=(1.0, 1.001))
    found = decide(measures)
    assert found is not None
    assert (found.settings, found.accuracy, found.classes) == (16, 1.0, ("bbr", "cubic"))


def test_a_winner_only_beyond_the_spread() -> None:
    def near(setting: Setting, strategy: str, second: int) -> float:
        """1 % apart at 10 Mbit/s, far apart elsewhere."""
        if setting.rate_bps == 10**7:
            return 1e6 if strategy == "bbr" else 1.01e6
        return by_path(setting, strategy, second)

    found = decide(made(GRID, near, factors=(1.0, 1.05)))
    assert found is not None
    assert NEITHER in found.classes
    assert decide(made(GRID, by_path)) is None  # one trial each: nobody knows the spread


def test_a_tree_by_hand() -> None:
    # One cut in the rate between 50 and 100 Mbit/s tells everything.
    rows = np.array([[rate, 10, 1, 1] for rate in (10, 20, 50, 100, 200, 500)], dtype=float)
    found = fit(rows, ["cubic"] * 3 + ["bbr"] * 3)
    assert found is not None
    assert FEATURES[found.tree.tree_.feature[0]] == "rate (Mbit/s)"
    assert found.tree.tree_.threshold[0] == 75
    assert fit(rows, ["bbr"] * 6) is None


def test_no_tree_from_few_settings() -> None:
    assert decide(made(BUFFERS, by_buffer)) is None


def test_disciplines_make_lines_of_their_own() -> None:
    found = lines(made(QUEUES, by_buffer).run.settings)
    assert [line.label for line in found] == [
        "100mbit-40ms-droptail", "100mbit-40ms-codel-target1ms"
    ]  # fmt: skip
    assert [line.title for line in found] == [
        "100 Mbit/s, 40 ms, drop-tail", "100 Mbit/s, 40 ms, CoDel (target 1ms)"
    ]  # fmt: skip
    (plain, *_) = lines(made(BUFFERS, by_buffer).run.settings)
    assert (plain.label, plain.title) == ("100mbit-40ms", "100 Mbit/s, 40 ms")
