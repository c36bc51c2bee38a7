"""`nashbed equilibria`: its table, its plate, its answer, and what it says to a wrong file."""

import csv
import json
from pathlib import Path

import nashbed as nb
import pytest
from nashbed.analysis.models.equilibrium_files import equilibria_csv
from nashbed.analysis.nash.answer import equilibria_answer as answer_of
from nashbed.controlplane.cli.main import run
from nashbed.controlplane.cli.results import equilibria_text
from tests.unit.analysis.models.made_equilibria import row

Capture = pytest.CaptureFixture[str]


def test_a_run_is_a_table(whole_run: Path, tmp_path: Path, capsys: Capture) -> None:
    out = tmp_path / "equilibria.csv"
    assert run(["equilibria", str(whole_run), "--out", str(out), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["ok"], answer["format"], answer["rows"]) == (True, 1, 1)
    assert (answer["left_out"], answer["files"]) == ({}, [str(out)])
    (found,) = answer["agreement"]
    assert (found["kind"], found["settings"], found["compared"]) == ("measured", 1, 0)
    with out.open() as file:
        (written,) = csv.DictReader(file)
    assert (written["kind"], written["source"]) == ("measured", found["source"])


def test_a_run_is_shown(whole_run: Path, tmp_path: Path, capsys: Capture) -> None:
    """By itself as `nash.answer` has it; the mixes of all runs are a table of their own."""
    name, out = str(whole_run), tmp_path / "mixes.csv"
    settings = nb.open_run(whole_run).equilibria
    assert run(["equilibria", name, "--mixes", str(out), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert set(told) == {"format", "ok", "runs", "mixes"}
    assert told["runs"] == {name: [e.model_dump(mode="json") for e in map(answer_of, settings)]}
    assert told["mixes"]["rows"] == len(out.read_text().splitlines()) - 1
    assert run(["equilibria", name, name]) == 0
    shown = "\n".join(equilibria_text(each) for each in settings)
    assert capsys.readouterr().out == f"{name}:\n{shown}\n" * 2


def test_tables_and_runs_together(whole_run: Path, tmp_path: Path, capsys: Capture) -> None:
    """The table is held against the published equilibria, drawn, and not written again."""
    file = tmp_path / "mine.csv"
    # 50 Mbit/s, 40 ms: 9 and 20 published at 5 and 10 BDP.
    rows = [row(5, 9, low=8, high=11, closed=True), row(10, 24, low=21, high=50, closed=False)]
    file.write_text(equilibria_csv(rows))
    before = file.read_text()
    plate = tmp_path / "plate.png"
    assert run(["equilibria", str(file), "--plate", str(plate)]) == 0
    text = capsys.readouterr().out
    assert "2 (0, 0)" in text
    assert "2.0, 2.0" in text
    assert "1, 2" in text
    assert "1/1" in text
    assert "0/1" in text
    assert text.splitlines()[-1] == str(plate)
    assert plate.read_bytes()[:4] == b"\x89PNG"
    assert file.read_text() == before
    both = tmp_path / "both.csv"
    assert run(["equilibria", str(file), str(whole_run), "--out", str(both)]) == 0
    assert len(both.read_text().splitlines()) == 4


def test_errors_are_one_line(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "mine.csv"
    file.write_text(equilibria_csv([row(5, 9)]))
    nowhere = tmp_path / "no" / "x"
    for args, said in (
        ([str(tmp_path / "none")], "none"),
        ([str(tmp_path / "none.csv")], "cannot be read"),
        ([str(file), "--out", f"{nowhere}.csv"], "cannot be written"),
        ([str(file), "--plate", f"{nowhere}.png"], "cannot be written"),
        ([str(file), "--plate", f"{nowhere}.jpg"], "write a name that ends in .png, .pdf, .svg"),
    ):
        assert run(["equilibria", *args]) == 2, args
        line = capsys.readouterr().err
        assert said in line
        assert line.count("\n") == 1
