"""Files of equilibria: the published one, and tables made of runs."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from nashbed.analysis.measures import RunMeasures
from nashbed.analysis.models.equilibrium_files import (
    COLUMNS,
    EquilibriumRow,
    equilibria_csv,
    equilibrium_table,
    merge_rows,
    read_equilibria,
    read_published,
)
from nashbed.analysis.models.mix_files import PanelKey
from nashbed.controlplane.contract.trial import Setting
from nashbed.controlplane.machine.paths import PUBLISHED_EQUILIBRIA as EQUILIBRIA
from nashbed.controlplane.store.errors import RunError
from tests.unit.analysis.made_measures import PerFlow, made

TEN: dict[str, Any] = {
    "name": "ten", "trials": 2, "start": "iperf3", "duration": "120s",
    "flows": [{"name": "main", "count": 10, "base_rtt": "40ms"}],
}  # fmt: skip


def ending(at: float, leads: str = "bbr") -> PerFlow:
    """The lead of a strategy over 1e7 bit/s ends at so many flows of the second strategy."""

    def per_flow(setting: Setting, strategy: str, second: int) -> float:
        del setting
        return 1e7 + (1e5 * (at - second) if strategy == leads else 0.0)

    return per_flow


def with_noise(at: float, by: float) -> RunMeasures:
    """Two trials of each mix, the lead of one ending so many flows before, of one behind."""
    first, second = made(TEN, ending(at - by)), made(TEN, ending(at + by))
    later = [
        replace(t, trial=replace(t.trial, record=t.trial.record.model_copy(
            update={"repetition": 1, "id": t.trial.record.id.replace("-r0-", "-r1-")})))
        for t in second.trials
    ]  # fmt: skip
    return RunMeasures(first.run, (*first.trials, *later), ())


def only(measures: RunMeasures) -> EquilibriumRow:
    (row,) = equilibrium_table(measures).rows
    return row


def test_every_published_equilibrium() -> None:
    found = {each.key: each for each in read_published(EQUILIBRIA)}
    assert len(found) == 49
    two = found[PanelKey(500, 20, 5, 50)]
    assert (two.cubic, two.first_crossing) == ((21, 25), 24)
    assert found[PanelKey(100, 5, 5, 50)].first_crossing is None
    # The nearest of both counts: 22 is one off 21, 26 one off 25, and 23 two off either.
    assert [two.off(cubic) for cubic in (22, 26, 23)] == [1, 1, 2]


def test_a_setting_is_a_row() -> None:
    row = only(with_noise(6.3, 0.1))
    assert (row.kind, row.source, row.setting) == ("measured", "ten", "b2bdp")
    assert (row.bandwidth_mbps, row.base_rtt_ms, row.buffer_bdp) == (100, 40, 2)
    assert (row.n_flows, row.strategies, row.start) == (10, "cubic bbr", "iperf3")
    # CUBIC flows: 10 less 6.3.
    assert row.n_cubic == pytest.approx(3.7, abs=0.1)
    low, high = row.interval or (0, 0)
    assert 3 < low < 3.7 < high < 4.4
    assert (row.by, row.places, row.closed, row.settled) == ("lead", 1, True, True)
    # Nine mixes have flows of both, each twice.
    assert (row.trials, row.mixes) == (18, 9)
    assert (row.shortest_s, row.longest_s) == (120, 120)


def test_trials_that_are_to_settle_start_with_either_first() -> None:
    raw = {
        **TEN,
        "start": {"order": ["bbr", "cubic"], "gap": "5s"},
        "duration": {"until": "settled"},
    }
    assert only(made(raw, ending(6.3))).start == "either first"
    assert only(made({**raw, "trials": 1}, ending(6.3))).start == "bbr-cubic-5s"


def test_an_interval_that_reaches_an_end_is_open() -> None:
    """The lead of a trial ends anywhere from before the first mix to mid-line."""
    row = only(with_noise(2.5, 9))
    assert row.interval is not None
    assert row.interval[1] == 10
    assert row.closed is False


def test_trials_too_short_to_tell_are_not_settled() -> None:
    measures = made(TEN, ending(6.3), {"throughput_drift": 0.0})
    assert only(measures).settled is False


def test_cubic_is_counted_whatever_its_place() -> None:
    row = only(made({**TEN, "strategies": ["bbr", "cubic"]}, ending(6.3, "cubic")))
    assert row.n_cubic == pytest.approx(6.3, abs=0.05)
    assert row.strategies == "bbr cubic"


def test_without_an_interval_the_means_say_it() -> None:
    """Three flows: two mixes with both, too few for an interval of single trials."""
    three = {**TEN, "trials": 1, "flows": [{"name": "main", "count": 3, "base_rtt": "40ms"}]}
    row = only(made(three, ending(10)))
    assert (row.n_cubic, row.interval, row.closed) == (0, None, None)
    assert (row.by, row.places) == ("means", 1)


def test_what_is_not_decided_has_no_number() -> None:
    """One mix of ten says nothing of its neighbours."""
    row = only(made({**TEN, "sweep": {"mixes": [5]}}, ending(6.3)))
    assert (row.n_cubic, row.by, row.places, row.settled) == (None, None, 0, None)
    assert (row.trials, row.mixes) == (1, 1)


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (
            {"flows": [{"name": n, "count": 2, "base_rtt": "40ms"} for n in ("near", "far")]},
            "it has several flow groups",
        ),
        (
            {"strategies": ["bbr", "copa"]},
            "it is not a game of cubic and one other congestion control",
        ),
        (
            {"flows": [{"name": "m", "count": 2, "base_rtt": "40ms", "random_loss": "1%"}]},
            "its packets are lost at random",
        ),
        ({"sweep": {"mixes": [0, 2]}}, "no mix of both is measured yet"),
    ],
)
def test_what_is_left_out(raw: dict[str, Any], why: str) -> None:
    table = equilibrium_table(made(raw, lambda *_: 1e6))
    assert (table.rows, table.left_out) == ((), {why: 1})


def test_a_table_is_read_as_it_was_written(tmp_path: Path) -> None:
    raw = {**TEN, "sweep": {"buffer": ["0.5bdp", "2bdp"], "mixes": [5, 6]}}
    rows = (only(with_noise(6.3, 0.1)), *equilibrium_table(made(raw, ending(6.3))).rows)
    file = tmp_path / "equilibria.csv"
    file.write_text(equilibria_csv(rows))
    assert read_equilibria(file) == rows
    assert file.read_text().splitlines()[0] == ",".join(COLUMNS)


def test_the_later_row_of_a_setting_counts() -> None:
    early, late = only(made(TEN, ending(3.5))), only(made(TEN, ending(6.5)))
    other = early.model_copy(update={"source": "other"})
    model = early.model_copy(update={"kind": "model"})
    assert merge_rows([[early, other], [late, model]]) == (late, other, model)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,b\n1,2\n", "has no column"),
        (f"{','.join(COLUMNS)}\n{'x,' * (len(COLUMNS) - 1)}x\n", "line 2: kind"),
    ],
)
def test_bad_files_say_what_is_wrong(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "equilibria.csv"
    file.write_text(text)
    with pytest.raises(RunError, match=said):
        read_equilibria(file)
    with pytest.raises(RunError, match="cannot be read"):
        read_equilibria(tmp_path / "none.csv")
