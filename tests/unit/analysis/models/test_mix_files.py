"""Files of measured mixes: the published one, and tables made of runs."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from nashbed.analysis.measures import measure_run
from nashbed.analysis.models.measured import measured_mixes
from nashbed.analysis.models.mix_files import COLUMNS, PanelKey, mix_table, read_rows
from nashbed.analysis.models.mix_files import PUBLISHED_MIXES as MIXES
from nashbed.analysis.nash.equilibria import judge_all
from nashbed.controlplane.cli.main import run as cli
from nashbed.controlplane.contract.trial import Setting
from nashbed.controlplane.store.errors import RunError
from tests.support.published_panels import (
    PublishedMixes,
    first_crossing,
    payoff_table,
    published_equilibria,
    read_mixes,
)
from tests.unit.analysis.made_measures import made


@pytest.fixture(scope="module")
def panels() -> dict[PanelKey, PublishedMixes]:
    return read_mixes(MIXES)


def cubic_at_equilibrium(panel: PublishedMixes, skip_invalid: bool = False) -> set[int]:
    verdicts = judge_all(payoff_table(panel, skip_invalid))
    return {v.state[0][0] for v in verdicts if v.equilibrium == "yes"}


def test_every_published_equilibrium(panels) -> None:
    expected = published_equilibria()
    assert len(expected) == 49
    found = {key: cubic_at_equilibrium(panel) for key, panel in panels.items()}
    assert found == {key: states for key, (states, _) in expected.items()}


def test_every_published_crossing(panels) -> None:
    expected = {key: crossing for key, (_, crossing) in published_equilibria().items()}
    assert {key: first_crossing(panel) for key, panel in panels.items()} == expected


def test_without_the_invalid_cells_their_neighbours_are_undecided(panels) -> None:
    cells = sum(len(panel.invalid) for panel in panels.values())
    assert cells == 7
    for key, panel in panels.items():
        strict = judge_all(payoff_table(panel, skip_invalid=True))
        decided = {v.state[0][0] for v in strict if v.equilibrium == "yes"}
        open_ = {v.state[0][0] for v in strict if v.equilibrium == "undecided"}
        assert decided <= cubic_at_equilibrium(panel), key
        assert cubic_at_equilibrium(panel) <= decided | open_, key
        assert {key.flows - k for k in panel.invalid} <= open_


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,b\n1,2\n", "has no column"),
        ("", "has no column"),
        (
            "bandwidth_mbps,base_rtt_ms,buffer_bdp,n_flows,n_bbr,n_cubic,bbr_agg_mbps,"
            "cubic_agg_mbps,valid\n50,20,1,2,x,1,1,1,ok\n",
            "line 2",
        ),
    ],
)
def test_bad_files_say_what_is_wrong(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "mixes.csv"
    file.write_text(text)
    with pytest.raises(RunError, match=said):
        read_mixes(file)
    with pytest.raises(RunError, match="cannot be read"):
        read_mixes(tmp_path / "missing.csv")


Capture = pytest.CaptureFixture[str]

RATE = {"cubic": 6e6, "bbr": 20e6, "copa": 3e6}
THREE = {
    "name": "three", "strategies": ["cubic", "bbr", "copa"],
    "flows": [{"name": "main", "count": 3, "base_rtt": "40ms"}],
    "start": {"order": ["bbr", "copa", "cubic"], "gap": "4s"},
    "sweep": {"mixes": [{"cubic": 3}, {"cubic": 2, "bbr": 1}, {"cubic": 1, "copa": 2},
                        {"cubic": 1, "bbr": 1, "copa": 1}]},
}  # fmt: skip


def _rate(setting: Setting, strategy: str, second: int) -> float:
    del setting, second
    return RATE[strategy]


def test_a_mix_of_cubic_and_one_other_is_a_row() -> None:
    table = mix_table([made(THREE, _rate, {"mean_queueing_delay": 0.05}, factors=(0.9, 1.1))])
    lines = [(r["control"], r["n_cubic"], r["n_bbr"]) for r in table.rows]
    # CUBIC alone is an end of both lines; bbr and copa together are on none.
    assert sorted(lines) == [("bbr", 2, 1), ("bbr", 3, 0), ("copa", 1, 2), ("copa", 3, 0)]
    assert table.left_out == {"it has flows of two congestion controls beside cubic": 1}
    row = next(r for r in table.rows if (r["control"], r["n_bbr"]) == ("copa", 2))
    # Means of two trials: 2 x 3 and 1 x 6 Mbit/s.
    assert (row["bbr_agg_mbps"], row["cubic_agg_mbps"]) == pytest.approx((6, 6))
    assert row["total_mbps"] == pytest.approx(12)
    assert (row["bandwidth_mbps"], row["base_rtt_ms"], row["buffer_bdp"]) == (100, 40, 2)
    # copa starts second of three CCAs that are 4 s apart, cubic third.
    assert (row["bbr_start_s"], row["cubic_start_s"]) == (4, 8)
    assert (row["trials"], row["source"], row["valid"]) == (2, "three", "ok")
    assert (row["queueing_delay_s"], row["loss_bbr"]) == (0.05, None)


def test_a_mix_of_valid_trials_is_ok_as_its_run_says() -> None:
    """Over spans of their own (`window: whole`), two valid flows may have more than the link."""
    raw = {"window": "whole", "sweep": {"mixes": [1]}}
    (row,) = mix_table([made(raw, lambda *_: 53e6)]).rows
    assert (row["total_mbps"], row["valid"]) == (pytest.approx(106), "ok")


def test_what_models_do_not_speak_of_is_left_out() -> None:
    lossy = {"sweep": {"mixes": [1]}, "flows": [
        {"name": "main", "count": 2, "base_rtt": "40ms", "random_loss": "1%"}]}  # fmt: skip
    assert mix_table([made(lossy, lambda *_: 1e6)]).left_out == {
        "its packets are lost at random": 1
    }
    without = {"strategies": ["bbr", "copa"], "sweep": {"mixes": [1]}}
    table = mix_table([made(without, lambda *_: 1e6)])
    assert (table.rows, table.left_out) == ((), {"its run has no cubic flows": 1})


def numbers(asked: Any) -> dict[str, float]:
    return {name: v for name, v in vars(asked).items() if isinstance(v, int | float)}


def test_the_table_asks_what_the_run_asks(whole_run: Path, tmp_path: Path, capsys: Capture) -> None:
    """A model is asked the same about a row as about the run that it is from."""
    out = tmp_path / "mixes.csv"
    assert cli(["equilibria", str(whole_run), "--mixes", str(out), "--json"]) == 0
    said = {"ok": True, "out": str(out), "rows": 5, "left_out": {}}
    assert json.loads(capsys.readouterr().out)["mixes"] == said
    of_run, of_file = measured_mixes(whole_run), measured_mixes(out)
    assert len(of_file.mixes) == len(of_run.mixes) == 3
    for mine, theirs in zip(of_file.mixes, of_run.mixes, strict=True):
        assert mine.share == pytest.approx(theirs.share, rel=1e-6)
        assert numbers(mine.question) == pytest.approx(numbers(theirs.question), rel=1e-6)
        for kind, other in zip(mine.question.kinds, theirs.question.kinds, strict=True):
            assert kind.cca == other.cca
            assert numbers(kind) == pytest.approx(numbers(other), rel=1e-6)
    assert [g.cubic for g in of_file.games] == [g.cubic for g in of_run.games]
    measured = mix_table([measure_run(whole_run)])
    read = list(csv.DictReader(io.StringIO(measured.text())))
    assert tuple(read[0]) == COLUMNS
    assert all(float(row["queueing_delay_s"]) > 0 for row in read)


def test_settings_of_a_source_are_games_of_their_own(tmp_path: Path) -> None:
    """The same key with the other CCA first, each mix with its own duration."""
    raw = {
        "flows": [{"name": "main", "count": 2, "base_rtt": "40ms"}],
        "sweep": {"start": [{"order": ["bbr", "cubic"], "gap": "5s"},
                            {"order": ["cubic", "bbr"], "gap": "5s"}]},
    }  # fmt: skip
    file = tmp_path / "mixes.csv"
    file.write_text(mix_table([made(raw, lambda *_: 40e6)]).text())
    rows = read_rows(file)
    assert {row.setting for row in rows} == {"bbr-cubic-5s-b2bdp", "cubic-bbr-5s-b2bdp"}
    assert len(measured_mixes(file).games) == 2


def test_errors_are_one_line(tmp_path: Path, whole_run: Path, capsys: Capture) -> None:
    assert cli(["equilibria", str(tmp_path / "none"), "--mixes", "x"]) == 2
    assert "none" in capsys.readouterr().err
    assert cli(["equilibria", str(whole_run), "--mixes", str(tmp_path / "no" / "x.csv")]) == 2
    line = capsys.readouterr().err
    assert "cannot be written" in line
    assert line.count("\n") == 1
