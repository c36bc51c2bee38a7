"""`nashbed export` of one trial: what is chosen, where it goes, and what is refused in one line."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import nashbed as nb
import numpy as np
import pytest
from nashbed.analysis.traces import FORMATS, Selection, export_trial, parse_flows
from nashbed.analysis.traces.states import changes, control_states
from nashbed.controlplane.cli.main import run as cli
from nashbed.controlplane.contract.errors import EXIT_CONFIG, EXIT_OK
from nashbed.controlplane.store.errors import RunError
from nashbed.controlplane.store.finished_run import open_run

Capture = pytest.CaptureFixture[str]
VALID, INVALID = "b1bdp-k02-r0-a0", "b1bdp-k01-r0-a0"


@pytest.mark.parametrize("form", FORMATS)
def test_a_trial_goes_into_the_run_directory(run_path: Path, form: str, capsys: Capture) -> None:
    out = run_path / "traces" / f"{VALID}.{FORMATS[form][0]}"
    assert cli(["export", str(run_path), "--format", form, "--trial", VALID, "--json"]) == EXIT_OK
    said = json.loads(capsys.readouterr().out)
    assert said == {"format": 1, "ok": True, "trial": VALID, "form": form, "out": str(out),
                    "counts": said["counts"]}  # fmt: skip
    assert out.exists()
    assert min(said["counts"].values()) > 0
    assert [p.name for p in out.parent.iterdir() if p.name.startswith(".")] == []


@pytest.mark.parametrize("form", FORMATS)
def test_the_same_trial_makes_the_same_file(run_path: Path, form: str, tmp_path: Path) -> None:
    """From Python and from the command line; the only valid trial need not be named."""
    made = nb.open_run(run_path).export_trial(
        None, form, tmp_path / "one", flows=[0, 3], begin_s=0.5, end_s=2.25
    )
    assert made.trial == VALID
    words = ["--trial", VALID, "--flows", "0,3", "--from", "500ms", "--to", "2.25s"]
    words += ["--out", str(tmp_path / "other")]
    for _ in range(2):  # the second replaces the first
        assert cli(["export", str(run_path), "--format", form, *words]) == EXIT_OK
        assert content(tmp_path / "one") == content(tmp_path / "other")


def content(path: Path) -> dict[str, bytes]:
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    return {file.name if path.is_dir() else "": file.read_bytes() for file in files}


def test_a_window_has_what_arrived_in_it(run_path: Path, tmp_path: Path) -> None:
    run = nb.open_run(run_path)
    sealed = open_run(run_path).valid_trials[0]
    cards = sealed.arrays("postcards")
    wanted = (cards["enqueue_ns"] >= 10**9) & (cards["enqueue_ns"] < 2 * 10**9)
    wanted &= np.isin(cards["flow"], [1, 2])
    made = run.export_trial(None, "pcapng", tmp_path / "p", flows=[1, 2], begin_s=1, end_s=2)
    assert sum(made.counts.values()) == wanted.sum() > 0


@pytest.mark.parametrize("form", FORMATS)
def test_nothing_behind_the_end_of_a_trial(run_path: Path, form: str, tmp_path: Path) -> None:
    lasts = open_run(run_path).valid_trials[0].record.duration_ns / 1e9
    said = f"{VALID}: what is from 99 s to the end of a trial of {lasts:g} s has nothing to export"
    with pytest.raises(nb.RunError, match=said):
        nb.open_run(run_path).export_trial(None, form, tmp_path / "one", begin_s=99)
    assert list(tmp_path.iterdir()) == []


REFUSED = (
    (["--format", "pcap"], "export format 'pcap' is unknown; there are csv, parquet, perfetto"),
    (["--trial", "b1bdp-k09-r0-a0"], "has no trial 'b1bdp-k09-r0-a0'; there are"),
    (["--trial", INVALID], "is invalid (lateness: 9 ms is above 0.5 ms)"),
    (["--flows", "4"], "has no flow 4; its flows are 0 to 3"),
    (["--flows", "a"], "--flows: 'a' is no choice of flows"),
    (["--flows", "3-1"], "--flows: '3-1' chooses no flow"),
    (["--from", "2s", "--to", "1s"], "--to: 1s is not after --from 2s"),
    (["--from", "2"], "--from: '2' has no unit"),
    (["--table", "goodput"], "--table: is for tables (csv, parquet), not pcapng"),
    (["--format", "csv", "--flows", "1"], "--format csv: has the whole run"),
    (["--format", "csv", "--invalid"], "--format csv: has the whole run"),
)


@pytest.mark.parametrize(("words", "problem"), REFUSED, ids=[" ".join(w) for w, _ in REFUSED])
def test_what_cannot_be_is_one_line(
    run_path: Path, words: list[str], problem: str, capsys: Capture
) -> None:
    form = [] if "--format" in words else ["--format", "pcapng"]
    assert cli(["export", str(run_path), *form, *words]) == EXIT_CONFIG
    said = capsys.readouterr().err
    assert problem in said
    assert said.count("\n") == 1


def test_an_invalid_trial_can_be_looked_at(run_path: Path, tmp_path: Path) -> None:
    words = ["--trial", INVALID, "--invalid", "--out", str(tmp_path / "x")]
    assert cli(["export", str(run_path), "--format", "pcapng", *words]) == EXIT_OK


@pytest.mark.parametrize("form", ["pcapng", "int-xd"])
def test_bins_are_no_packets(bins_path: Path, form: str, tmp_path: Path, capsys: Capture) -> None:
    words = ["--trial", "b2bdp-k01-r0-a0", "--out", str(tmp_path / "x")]
    assert cli(["export", str(bins_path), "--format", form, *words]) == EXIT_CONFIG
    assert "has no postcards (telemetry.postcards was 'bins')" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_several_trials_and_no_name(bins_path: Path, capsys: Capture) -> None:
    assert cli(["export", str(bins_path), "--format", "qlog"]) == EXIT_CONFIG
    assert "name a trial with --trial; there are b2bdp-k00-r0-a0, " in capsys.readouterr().err


def test_a_damaged_trial_says_what_is_wrong(run_path: Path, tmp_path: Path, capsys) -> None:
    shutil.copytree(run_path, tmp_path / "run")
    (tmp_path / "run" / "trials" / VALID / "trial.json").write_text("{")
    words = ["export", str(tmp_path / "run"), "--format", "qlog", "--trial", VALID]
    assert cli(words) == EXIT_CONFIG
    assert f"{VALID}/trial.json: is damaged" in capsys.readouterr().err


def _file(path: Path) -> None:
    path.write_text("mine")


def _folder(path: Path) -> None:
    path.mkdir()
    _file(path / "mine.txt")


@pytest.mark.parametrize(("form", "make", "problem"), [
    ("qlog", _file, "is a file; name a folder with --out"),
    ("qlog", _folder, "holds other files; name an empty folder with --out"),
    ("pcapng", _folder, "is a folder; name a file with --out"),
])  # fmt: skip
def test_nothing_of_others_is_replaced(
    whole: Selection, tmp_path: Path, form: str, make: Callable[[Path], None], problem: str
) -> None:
    make(tmp_path / "x")
    before = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    with pytest.raises(RunError, match=problem):
        export_trial(tmp_path, form, whole, tmp_path / "x")
    assert {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()} == before


def test_progress_ends_at_the_number_of_postcards(run_path: Path, tmp_path: Path) -> None:
    told: list[tuple[str, int, int]] = []
    nb.open_run(run_path).export_trial(
        None, "pcapng", tmp_path / "x", progress=lambda *step: told.append(step)
    )
    total = len(open_run(run_path).valid_trials[0].arrays("postcards", ["kind"])["kind"])
    assert told[0] == ("packets", 0, total)
    assert told[-1] == ("packets", total, total)


def test_flows_are_numbers_and_ranges() -> None:
    assert parse_flows("3-5, 0,4") == (0, 3, 4, 5)


def samples(**columns: list[float]) -> dict[str, np.ndarray]:
    count = len(next(iter(columns.values())))
    given = {name: np.array(values) for name, values in columns.items()}
    nothing = dict.fromkeys(
        ("bbr_mode", "bbr_cwnd_gain", "bbr_pacing_gain"), np.full(count, np.nan)
    )
    tcp = {"ca_state": np.zeros(count, int), "cwnd_pkts": np.full(count, 10),
           "ssthresh_pkts": np.full(count, 2**31 - 1)}  # fmt: skip
    return nothing | tcp | given


def test_the_kernels_bbr_is_known_by_its_gains() -> None:
    """Gains of tcp_bbr.c: 739/256, 88/256, 5/4, 3/4 and 1."""
    pacing = [739 / 256, 88 / 256, 1.25, 0.75, 1.0, 1.0]
    window = [739 / 256, 739 / 256, 2.0, 2.0, 2.0, 1.0]
    names = control_states("bbr", samples(bbr_pacing_gain=pacing, bbr_cwnd_gain=window))
    assert names == ["Startup", "Drain", "ProbeBW up", "ProbeBW down", "ProbeBW cruise", "ProbeRTT"]


def test_what_a_control_tells_comes_first() -> None:
    told = samples(bbr_mode=[1, 7, 9, np.nan])
    assert control_states("bbr3", told) == ["Startup", "ProbeRTT", "mode 9", "slow start"]
    assert control_states("mine", told)[:2] == ["mode 1", "mode 7"]


def test_a_loss_based_control_is_in_tcps_states() -> None:
    of = samples(ca_state=[0, 1, 2, 3, 4, 0], ssthresh_pkts=[99, 99, 99, 99, 99, 10])
    assert control_states("cubic", of) == [
        "slow start", "slow start", "CWR", "recovery", "loss", "congestion avoidance",
    ]  # fmt: skip


def test_stretches_end_where_the_next_is_seen() -> None:
    assert list(changes(np.array([1, 2, 5, 9]), ["a", "a", "b", "a"])) == [
        (1, 5, "a"), (5, 9, "b"), (9, 9, "a"),
    ]  # fmt: skip
    assert list(changes(np.array([], int), [])) == []
