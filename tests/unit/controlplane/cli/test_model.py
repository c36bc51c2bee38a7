"""`nashbed model`: its answers, its refusals, and what it says to a wrong option."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from nashbed.controlplane.cli.main import run

SETTING = ["--rate", "100mbit", "--rtt", "40ms", "--buffer", "3bdp", "--flows", "10"]
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
    assert run(["model", *SETTING, "--bbr", "3"]) == 0
    text = capsys.readouterr().out
    assert "7 CUBIC + 3 BBR, 100 Mbit/s, 40 ms, 3 BDP, fair share 10 Mbit/s" in text
    row = next(line for line in text.splitlines() if "Mishra, synchronised" in line)
    # Half of the link (tests/unit/analysis/models/test_mishra2022.py): 50/3 and 50/7 Mbit/s.
    assert all(said in row for said in ("50.0 %", "50.00", "16.67", "7.14", "valid"))
    assert "Mishra 1 v 1 refused: 7 CUBIC and 3 BBR flows: this form is for one of each" in text
    assert "equilibrium band: 5.0 to 6.3 of 10 flows run BBR" in text


def test_one_mix_in_json(capsys: Capture) -> None:
    assert run(["model", *SETTING, "--bbr", "3", "--k", "0.85", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    (mix,) = answer["mixes"]
    said = {each["model"]: each for each in mix["predictions"]}
    assert said["mishra-synchronised"]["bbr_share"] == pytest.approx(0.5)
    assert said["mishra-two-flow"]["status"] == "refused"
    assert said["mishra-two-flow"]["bbr_share"] is None
    assert said["mishra-given-k"]["inner"]["k"] == 0.85
    assert answer["equilibrium"]["equilibrium_mixes_bbr"] == [5, 6]
    assert answer["question"]["buffer_bdp"] == 3


def test_every_mix(capsys: Capture) -> None:
    assert run(["model", *SETTING, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [mix["bbr"] for mix in answer["mixes"]] == list(range(11))
    assert run(["model", *SETTING]) == 0
    text = capsys.readouterr().out
    assert "Mbit/s per flow" in text
    assert "1 v 1" not in text.split("Mishra 1 v 1 refused (9 of 11 mixes)")[0]


def test_outside_every_model(capsys: Capture) -> None:
    setting = [word.replace("3bdp", "0.5bdp") for word in SETTING]
    for extra in ([], ["--bbr", "3"]):
        assert run(["model", *setting, *extra]) == 0
        text = capsys.readouterr().out
        assert "below 1 BDP" in text
        assert "equilibrium band: none" in text


def test_against_a_file(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "mixes.csv"
    file.write_text(CSV)
    assert run(["model", "--against", str(file)]) == 0
    text = capsys.readouterr().out
    # Shares 0.4 and 0.6 against 0.5: both off by 0.1, once over and once under.
    row = next(line for line in text.splitlines() if "3 BDP" in line)
    assert "10.0 (+0.0)" in row
    assert "refused 1 of 3 mixes: the buffer is 0.5 BDP" in text
    assert "1 mixes left out: invalid" in text
    assert run(["model", "--against", str(file), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [row["buffer_bdp"] for row in answer["buffers"]] == [0.5, 3, None]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ([], "--rate, --rtt, --buffer, --flows: missing"),
        (SETTING[:-2], "--flows: missing"),
        ([*SETTING, "--bbr", "11"], "--bbr: 11 of 10 flows; write 0 to 10"),
        (["--rate", "100", *SETTING[2:]], "--rate: '100' has no unit"),
        ([*SETTING[:-1], "0"], "give at least one"),
        (["--against", "x.csv", "--bbr", "3"], "--bbr: --against takes"),
        (["--against", "/nonexistent.csv"], "/nonexistent.csv: cannot be read"),
    ],
)
def test_wrong_options(args: list[str], said: str, capsys: Capture) -> None:
    assert run(["model", *args]) == 2
    out, err = capsys.readouterr()
    assert said in err
    assert len(err.splitlines()) == 1
    assert not out


def test_help_has_an_example(capsys: Capture) -> None:
    assert run(["model", "--help"]) == 0
    assert "nashbed model --rate 100mbit --rtt 40ms --buffer 5bdp" in capsys.readouterr().out
