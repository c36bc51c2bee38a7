"""`nashbed model`: its answers, its refusals, and what it says to a wrong option."""

import json
import re
from pathlib import Path

import pytest
from nashbed.analysis.models import MODELS, cubic_against
from nashbed.analysis.models.fluid import native
from nashbed.analysis.models.fluid.model import simulated
from nashbed.analysis.models.starts import Starts
from nashbed.controlplane.cli.main import run

SETTING = ["--rate", "100mbit", "--base-rtt", "40ms", "--buffer", "3bdp", "--flows", "10"]
COLUMNS = (
    "bandwidth_mbps,base_rtt_ms,buffer_bdp,n_flows,n_bbr,n_cubic,bbr_agg_mbps,cubic_agg_mbps,valid"
)
CSV = f"""{COLUMNS}
100,40,3,10,4,6,40,60,ok
100,40,3,10,6,4,60,40,ok
100,40,0.5,10,5,5,90,10,ok
100,40,3,10,5,5,90,90,INVALID_total_gt_1.05C
"""

Capture = pytest.CaptureFixture[str]


def test_one_mix(capsys: Capture) -> None:
    assert run(["model", *SETTING, "--cc-flows", "3"]) == 0
    text = capsys.readouterr().out
    assert "7 CUBIC + 3 BBR, 100 Mbit/s, 40 ms, 3 BDP, 120 s, fair share 10 Mbit/s" in text
    rows = {row[0]: row[1:] for row in table_rows(text) if len(row) > 3}
    # Half of the link (tests/unit/analysis/models/test_mishra2022.py): 50/3 and 50/7 Mbit/s.
    assert rows["Mishra, synchronised"][:3] == ["50.0", "16.67", "7.14"]
    assert set(rows["Mishra 1 v 1"]) == {"-"}
    assert re.fullmatch(r"\d+\.\d \(\d+\.\d to \d+\.\d\)", rows["Fluid"][0])
    queue_ms, loss = rows["Fluid"][3], rows["Fluid"][-1]
    assert 0 < float(queue_ms) < 120
    assert re.fullmatch(r"[\d.]+/[\d.]+", loss)
    assert "Mishra 1 v 1 refused: 7 CUBIC and 3 BBR flows: this form is for one of each" in text
    settles = {row[0]: row[1:] for row in table_rows(text) if len(row) == 3}
    assert settles["Mishra, synchronised"] == ["5.0", "5.0"]
    assert "equilibrium band: 5.0 to 6.3 of 10 flows run BBR" in text


def table_rows(text: str) -> list[list[str]]:
    """The cells of every row of the tables in a text."""
    lines = (line for line in text.splitlines() if line.startswith("\u2502"))
    return [[cell.strip() for cell in line.strip("\u2502").split("\u2502")] for line in lines]


def test_one_mix_in_json(capsys: Capture) -> None:
    assert run(["model", *SETTING, "--cc-flows", "3", "--k", "0.85", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    (mix,) = answer["mixes"]
    said = {each["model"]: each for each in mix["predictions"]}
    assert list(said) == list(MODELS)
    assert said["mishra-synchronised"]["bbr_share"] == pytest.approx(0.5)
    assert said["mishra-two-flow"]["status"] == "refused"
    assert said["mishra-two-flow"]["bbr_share"] is None
    assert said["mishra-given-k"]["inner"]["k"] == 0.85
    low, high = said["fluid"]["share_range"]
    assert low <= said["fluid"]["bbr_share"] <= high
    settles = {each["model"]: each for each in answer["crossings"]}
    assert settles["mishra-synchronised"]["cubic"] == pytest.approx(5, abs=1e-6)
    assert settles["mishra-two-flow"]["bbr"] is None
    assert answer["equilibrium"]["equilibrium_mixes_bbr"] == [5, 6]
    assert answer["question"]["buffer_bdp"] == 3


def test_starts_duration_and_windows(capsys: Capture) -> None:
    course = ["--duration", "60s", "--warmup", "20s", "--cubic-start", "5s", "--window", "2.7MB"]
    assert run(["model", *SETTING, "--cc-flows", "3", *course, "--model", "fluid", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    asked = answer["question"]
    assert (asked["duration_s"], asked["measured_from_s"]) == (60, 20)
    assert (asked["cubic_start_s"], asked["bbr_start_s"]) == (5, 0)
    assert asked["window_bytes"] == 2_700_000
    game = cubic_against(100e6, 0.04, 1_500_000, 7, 3, duration_s=60)
    question = game.started(Starts(5, 0, 0.1), measured_from_s=20).limited(2_700_000)
    ((said,),) = (mix["predictions"] for mix in answer["mixes"])
    assert said["bbr_share"] == MODELS["fluid"].predict(question).share
    assert run(["model", *SETTING, "--cc-flows", "3", *course, "--model", "ware"]) == 0
    text = capsys.readouterr().out
    assert "60 s, fair share 10 Mbit/s, cubic starts at 5 s" in " ".join(text.split())


def test_every_mix(capsys: Capture) -> None:
    assert run(["model", *SETTING, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [mix["bbr"] for mix in answer["mixes"]] == list(range(11))
    assert run(["model", *SETTING]) == 0
    text = capsys.readouterr().out
    assert "Mbit/s per flow" in text
    assert "1 v 1" not in text.split("Mishra 1 v 1 refused (9 of 11 mixes)")[0]


def test_outside_the_published_models(capsys: Capture) -> None:
    setting = [word.replace("3bdp", "0.5bdp") for word in SETTING]
    published = ["--model", "mishra-synchronised", "--model", "mishra-desynchronised"]
    for extra in ([], ["--cc-flows", "3"]):
        assert run(["model", *setting, *published, *extra]) == 0
        text = capsys.readouterr().out
        assert "below 1 BDP" in text
        assert "equilibrium band: none" in text


def test_without_the_library_the_others_answer(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setattr(native, "LIBRARY", Path("/nonexistent.so"))
    native.library.cache_clear()
    simulated.cache_clear()
    try:
        assert run(["model", *SETTING, "--cc-flows", "3"]) == 0
    finally:
        native.library.cache_clear()
        simulated.cache_clear()
    text = capsys.readouterr().out
    assert "Fluid refused: the fluid model has not been built" in text
    assert "make build" in text
    assert "Ware" in text


def test_against_a_file(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "mixes.csv"
    file.write_text(CSV)
    assert run(["model", "--measured", str(file)]) == 0
    text = capsys.readouterr().out
    # Shares 0.4 and 0.6 against 0.5: both off by 0.1, once over and once under.
    (row,) = (row for row in table_rows(text) if row[0] == "3")
    assert row[1] == "2"
    assert "10.0 (+0.0)" in row
    assert "Mishra, synchronised refused 1 of 3 mixes: the buffer is 0.5 BDP" in text
    assert "1 mix left out: invalid" in text
    assert "Fluid" in text
    assert run(["model", "--measured", str(file), "--json", "--model", "ware"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [row["buffer_bdp"] for row in answer["buffers"]] == [0.5, 3, None]
    assert [model["name"] for model in answer["models"]] == ["ware"]
    # The one mix at half a BDP has no measured neighbours, nor have those at 3 BDP next to 5.
    assert all(game["models"][0]["model"] == "ware" for game in answer["games"])


def test_against_equilibria(tmp_path: Path, capsys: Capture) -> None:
    # Of two flows at 3 BDP each settles as it is: a flow of either gains nothing by switching.
    file = tmp_path / "mixes.csv"
    rows = ["0,2,0,96,ok", "1,1,48,48,ok", "2,0,96,0,ok"]
    file.write_text(f"{COLUMNS}\n" + "".join(f"100,40,3,2,{row}\n" for row in rows))
    assert run(["model", "--measured", str(file), "--model", "mishra-synchronised"]) == 0
    text = capsys.readouterr().out
    assert "Equilibria of 1 settings" in text
    assert ["Mishra, synchronised", "1", "0.0", "100 %"] in table_rows(text)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ([], "--rate, --base-rtt, --buffer, --flows: missing"),
        (SETTING[:-2], "--flows: missing"),
        ([*SETTING, "--cc-flows", "11"], "--cc-flows: 11 of 10 flows; write 0 to 10"),
        (["--rate", "100", *SETTING[2:]], "--rate: '100' has no unit"),
        ([*SETTING[:-1], "0"], "give at least one"),
        (["--measured", "x.csv", "--cc-flows", "3"], "--cc-flows: --measured takes"),
        (["--measured", "x.csv", "--duration", "3s"], "--duration: --measured takes"),
        ([*SETTING, "--model", "reno"], "--model: 'reno' is unknown; there are fluid, "),
        ([*SETTING, "--discipline", "codel"], "no model describes codel, only droptail"),
        ([*SETTING, "--duration", "5"], "--duration: '5' has no unit"),
        ([*SETTING, "--warmup", "120s"], "measured_from_s is 120"),
        (["--measured", "/nonexistent.csv"], "/nonexistent.csv: cannot be read"),
    ],
)
def test_wrong_options(args: list[str], said: str, capsys: Capture) -> None:
    assert run(["model", *args]) == 2
    out, err = capsys.readouterr()
    assert said in err
    assert len(err.splitlines()) == 1
    assert not out


def test_another_cca_in_place_of_bbr(capsys: Capture) -> None:
    assert run(["model", *SETTING, "--cc-flows", "3", "--cc", "copa_default"]) == 0
    text = capsys.readouterr().out
    assert "7 CUBIC + 3 copa_default" in text
    rows = {row[0]: row[1:] for row in table_rows(text) if len(row) > 3}
    # Without its competitive mode Copa starves beside CUBIC (Mishra et al. 2022, figure 7).
    assert float(rows["Fluid"][1]) < 3
    assert set(rows["Ware"]) == {"-"}
    assert "Ware refused: it is a model of CUBIC and BBR version 1, not of copa_default" in text
    assert "equilibrium band" not in text


def test_another_cca_in_json(capsys: Capture) -> None:
    options = ["--cc", "bbr3", "--model", "fluid", "--json"]
    assert run(["model", *SETTING, "--cc-flows", "3", *options]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["second"] == "bbr3"
    assert answer["equilibrium"] is None
    assert answer["mixes"][0]["predictions"][0]["status"] == "valid"


def test_a_cca_that_the_model_does_not_know(capsys: Capture) -> None:
    assert run(["model", *SETTING, "--cc-flows", "3", "--cc", "reno"]) == 2
    assert "--cc: reno: the fluid model knows bbr, bbr2, bbr3" in capsys.readouterr().err


def test_another_cca_is_not_asked_against_measurements(capsys: Capture) -> None:
    assert run(["model", "--measured", "mixes.csv", "--cc", "bbr3"]) == 2
    assert "--cc: --measured takes its settings" in capsys.readouterr().err
