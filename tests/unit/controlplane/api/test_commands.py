"""What commands do, from Python: with objects as well as files, and quiet unless asked."""

from pathlib import Path
from typing import Any

import nashbed as nb
import pytest
from tests.unit.controlplane.api.test_files import MINE

Capture = pytest.CaptureFixture[str]


def test_a_run_that_is_open_is_a_source_of_tables(whole_run: Path, tmp_path: Path) -> None:
    run, out = nb.open_run(whole_run), tmp_path / "mixes.csv"
    table = nb.tables.mixes([run], out)
    assert table == nb.tables.mixes([whole_run])
    assert out.read_text() == table.text()
    found = nb.tables.equilibria([run], out=tmp_path / "equilibria.csv")
    assert found.files == (tmp_path / "equilibria.csv",)
    assert nb.tables.equilibria([*found.files, run]).rows == found.rows
    with pytest.raises(nb.RunError, match="cannot be written"):
        nb.tables.mixes([run], tmp_path / "none" / "mixes.csv")


def test_a_plan_says_what_follows(tmp_path: Path, capsys: Capture) -> None:
    steps: list[str] = []
    found = nb.preview(MINE, "virtual", on_step=lambda title, done, total: steps.append(title))
    assert found.plan == nb.plan(MINE, "virtual")
    assert (found.cluster, found.target, found.ccas) == (None, {}, {})
    assert found.lengths is not None
    assert nb.preview(MINE, "virtual", lengths=False).lengths is None
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("kind", [nb.cc, nb.aqm])
def test_a_file_of_ones_own_is_written_where_it_is_wanted(kind: Any, tmp_path: Path) -> None:
    made = kind.new("mine", tmp_path)
    assert made == tmp_path / "mine.c"
    assert made.read_text() == kind.TEMPLATE.read_text()
    with pytest.raises(nb.ConfigError, match="exists already"):
        kind.new("mine.c", tmp_path)
    with pytest.raises(nb.ConfigError, match="cannot be written"):
        kind.new("mine", tmp_path / "none")


def test_models_are_asked_together_and_held_against_a_run(whole_run: Path) -> None:
    question = {"rate": "50mbit", "base_rtt": "40ms", "buffer": "5bdp", "flows": 4}
    told = nb.models.predictions(names=["ware"], every_mix=True, **question)
    assert [mix.bbr for mix in told.mixes] == [0, 1, 2, 3, 4]
    (alone,) = nb.models.predictions(names=["ware"], second_flows=2, **question).mixes
    assert alone.predictions[0].bbr_share == nb.models.ware.share(**question, second_flows=2)
    assert nb.models.errors(whole_run, ["closed-form"]).mixes > 0
    with pytest.raises(nb.ConfigError, match="cardwell"):
        nb.models.predictions(names=["cardwell"], every_mix=True, **question)


def test_testbeds_say_what_they_are_asked_wrongly(tmp_path: Path) -> None:
    with pytest.raises(nb.ConfigError, match="rates: 'fast'"):
        nb.testbeds.calibrate("embedded", rates=["fast"])
    with pytest.raises(nb.ConfigError, match="17 base RTTs: a lane has at most 16"):
        nb.testbeds.calibrate("embedded", base_rtts=["1ms"] * 17)
