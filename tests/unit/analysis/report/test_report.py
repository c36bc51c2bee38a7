"""From a run directory to rows, equilibria, acceptance and the report page."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from nashbed.analysis.measures import measure_run
from nashbed.analysis.nash.answer import equilibria_answer
from nashbed.analysis.nash.of_run import equilibria_of_run
from nashbed.analysis.report import build_report
from nashbed.analysis.results.frames import made_section, made_table
from nashbed.analysis.results.summary import summarise
from nashbed.controlplane.contract.trial import Disturbance
from nashbed.controlplane.store.errors import RunError
from tests.support.shown_text import ShownPage
from tests.support.synthetic_run import SCENARIO, RunWriter, edit_json, write_run

PAYLOAD_PART = 1448 / 1514
PAGE = ("html",)


class Page(HTMLParser):
    """Collects tags, links and text; fails on anything fetched from elsewhere."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.open: list[str] = []
        self.images: list[str] = []
        self.text = ""
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in {"src", "href"} and value is not None:
                assert value.startswith(("data:", "#")), value
                self.images += [value] if tag == "img" else []
        if tag not in {"meta", "img", "br", "link"}:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def rows_of(run: Path) -> list[dict[str, Any]]:
    """The rows as summary.json has them."""
    return [row.model_dump(mode="json") for row in summarise(run).rows]


def text_of(path: Path) -> str:
    return re.sub(r"\s+", " ", Page(path).text)


def test_summary_rows(whole_run: Path) -> None:
    rows = rows_of(whole_run)
    assert [row["counts"]["bbr"] for row in rows] == [0, 1, 2, 3, 4]
    assert json.loads(json.dumps(rows, allow_nan=False)) == rows
    for row in rows:
        assert row["trials_valid"] == 1
        assert row["utilisation"]["mean"] == pytest.approx(1.0, abs=1e-3)
        # All throughputs together are the payload's part of the rate.
        total = sum(
            row["counts"][s] * row["per_flow_throughput"][s]["mean"]
            for s in ("cubic", "bbr")
            if row["counts"][s]
        )
        assert total == pytest.approx(10e6 * PAYLOAD_PART, rel=5e-3)
        # The queue is never longer than the buffer: 2 BDP = 80 ms.
        assert 0.02 < row["mean_queueing_delay"]["mean"] < 0.081
    assert rows[0]["per_flow_throughput"]["bbr"] is None
    assert rows[0]["mix"] == "4 cubic"
    assert rows[2]["mix"] == "2 cubic + 2 bbr"


@pytest.mark.slow
@pytest.mark.usefixtures("no_figures")
def test_a_run_in_virtual_time_says_what_repeats_it(tmp_path: Path) -> None:
    run = one_mix(tmp_path)
    assert "Repeatable" not in text_of(build_report(run, PAGE))
    kernel = {"release": "6.1.176", "package": "linux-source-6.1", "digest": "ab" * 32,
              "binary_digest": "cd" * 32}  # fmt: skip
    edit_json(run / "manifest.json", repeatable=True, guest_kernels={"": kernel})
    text = text_of(build_report(run, PAGE))
    assert "Repeatableseed 1, kernel 6.1.176 (digest abababababababab);" in text
    assert f"nashbed verify {run} runs trials again" in text
    assert "cd" * 32 in text


@pytest.mark.slow
@pytest.mark.usefixtures("no_figures")
def test_a_cca_of_a_file_says_which(run_copy: Path) -> None:
    facts = {"source": "hosts/cc/bbr3.c", "shipped": True, "digest": "cd" * 32}
    edit_json(run_copy / "manifest.json", controls={"bbr": facts})
    text = text_of(build_report(run_copy, PAGE))
    assert "cubic, bbr (hosts/cc/bbr3.c, digest cdcdcdcdcdcdcdcd)" in text


def test_delays_follow_littles_law(whole_run: Path) -> None:
    """Mean bytes in the queue = departure rate x mean stay, for every trial and flow."""
    for trial in measure_run(whole_run).trials:
        bytes_per_s = trial.per_flow["per_flow_throughput"] / PAYLOAD_PART / 8
        expected = bytes_per_s * trial.per_flow["per_flow_queueing_delay"]
        assert trial.per_flow["queue_occupancy"] == pytest.approx(expected, rel=0.05)


def test_equilibria_are_those_of_the_means(whole_run: Path) -> None:
    rows = rows_of(whole_run)
    a = [(r["per_flow_throughput"]["cubic"] or {}).get("mean", -1.0) for r in rows]
    b = [(r["per_flow_throughput"]["bbr"] or {}).get("mean", -1.0) for r in rows]
    expected = [(k == 4 or b[k + 1] <= a[k]) and (k == 0 or a[k - 1] <= b[k]) for k in range(5)]
    assert [row["equilibrium"] for row in rows] == expected
    (found,) = equilibria_of_run(whole_run)
    assert [v.state[0][1] for v in found.equilibria] == [k for k in range(5) if expected[k]]
    plain = equilibria_answer(found).model_dump(mode="json")
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert plain["fair_share_bps"] == 2.5e6
    of_table = made_table(summarise(whole_run), "equilibria").filter(equilibrium="yes")
    assert of_table["mix"].to_list() == [found.text(v.state) for v in found.equilibria]
    assert of_table["gain_bps"].to_list() == [0.0] * len(found.equilibria)


@pytest.mark.slow
@pytest.mark.usefixtures("no_figures")
def test_repetitions_give_intervals(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", trials=3, duration="2s", warmup="500ms")
    row = rows_of(run)[1]
    assert row["per_flow_throughput"]["cubic"]["n"] == 3
    assert row["per_flow_throughput"]["cubic"]["ci95"] > 0
    chances = [r["probability"] for r in rows_of(run)]
    assert all(0 <= chance <= 1 for chance in chances)
    text = text_of(build_report(run, PAGE))
    assert "Probability" in text
    assert "By each repetition alone: " in text


ACCEPTANCE: list[dict[str, Any]] = [
    {"metric": "per_flow_throughput", "strategy": "cubic", "mix": {"bbr": 0},
     "expect": "2.4mbit", "tolerance": "5%"},
    {"metric": "per_flow_throughput", "strategy": "cubic", "mix": {"bbr": 0},
     "expect": "9mbit", "tolerance": "5%"},
    {"metric": "mean_queueing_delay", "min": "20ms", "max": "80ms"},
    {"metric": "mean_queueing_delay", "mix": {"bbr": 2}, "min": "1ms", "max": "2ms"},
    {"metric": "crossing", "expect": 2, "tolerance": 4},
    {"metric": "crossing", "buffer": "9bdp", "expect": 2, "tolerance": 4},
]  # fmt: skip


@pytest.mark.slow
def test_acceptance(tmp_path: Path) -> None:
    results = summarise(write_run(tmp_path / "run", acceptance=ACCEPTANCE)).acceptance
    assert [r.passed for r in results][:4] == [True, False, True, False]
    # All flows cubic: the payload's part of 10 Mbit/s by 4.
    assert results[0].value == pytest.approx(10 * PAYLOAD_PART / 4, rel=5e-3)
    assert (results[0].low, results[0].high) == pytest.approx((2.28, 2.52))
    assert results[2].unit == "ms"
    assert not results[5].passed
    assert "the run has no such setting" in results[5].detail
    assert all(json.dumps(r.model_dump(), allow_nan=False) for r in results)


@pytest.mark.slow
@pytest.mark.usefixtures("no_figures")
def test_report_again_gives_the_same_bytes(whole_run: Path, tmp_path: Path) -> None:
    once, again = (build_report(whole_run, PAGE, tmp_path / name).parent for name in "ab")
    assert set(files_of(once)) == {"index.html", "summary.json"}
    assert files_of(once) == files_of(again)


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.rglob("*.*") if path.is_file()}


@pytest.mark.slow
def test_formats(tmp_path: Path) -> None:
    run = one_mix(tmp_path)
    folder = build_report(run, ("png",))
    assert folder == run / "report"
    assert {p.suffix for p in (folder / "figures").iterdir()} == {".png"}
    assert not (folder / "index.html").exists()
    with pytest.raises(RunError, match="'docx' is unknown; there are html"):
        build_report(run, ("docx",))


def one_mix(folder: Path, **changes: Any) -> Path:
    """A run of one short trial."""
    writer = RunWriter(folder / "run", {**SCENARIO, "duration": "2s", **changes})
    (setting,) = writer.settings()
    writer.add(setting, (2,))
    return writer.finish()


@pytest.mark.slow
@pytest.mark.usefixtures("no_figures")
def test_markup_in_names_is_escaped(run_copy: Path) -> None:
    scenario = run_copy / "scenario.yaml"
    scenario.write_text(scenario.read_text().replace("A synthetic run", "A <b>bold</b> run"))
    assert "A <b>bold</b> run" in text_of(build_report(run_copy, PAGE))


def test_no_valid_trial(tmp_path: Path) -> None:
    writer = RunWriter(tmp_path / "run", {**SCENARIO, "duration": "2s", "acceptance": ACCEPTANCE})
    (setting,) = writer.settings()
    writer.add(setting, (2,), valid=False)
    run = writer.finish()
    (row,) = rows_of(run)
    assert (row["trials_valid"], row["trials_invalid"], row["equilibrium"]) == (0, 1, None)
    assert not any(result.passed for result in summarise(run).acceptance)
    page = build_report(run, PAGE)
    assert "There is no valid trial" in text_of(page)
    assert "9 ms is above 0.5 ms" in text_of(page)
    assert not Page(page).images


def test_no_trial_at_all(tmp_path: Path) -> None:
    writer = RunWriter(tmp_path / "run", SCENARIO)
    run = writer.finish()
    edit_json(run / "manifest.json", status="interrupted")
    assert rows_of(run) == []
    assert equilibria_of_run(run) == []
    text = text_of(build_report(run, PAGE))
    assert "There is no valid trial" in text
    assert "The run is interrupted" in text


@pytest.mark.usefixtures("no_figures")
def test_one_mix_is_undecided_and_said_so(tmp_path: Path) -> None:
    run = one_mix(tmp_path)
    (found,) = equilibria_of_run(run)
    # Two seconds hold no ProbeRTT cycle, and their halves differ.
    unsettled = "1 of 1 trials had not settled (~)"
    assert found.summary() == f"undecided; 4 of 5 mixes not measured; {unsettled}"
    page = build_report(run, PAGE)
    assert "4 of 5 mixes have no valid trial" in text_of(page)
    assert ShownPage(page).of_class("card")[0].lines[1:] == [
        "undecided",
        "4 of 5 mixes not measured.",
        "1 of 1 trials had not settled (~).",
    ]


@pytest.mark.usefixtures("no_figures")
def test_mixes_that_decide_no_equilibrium_say_so(tmp_path: Path) -> None:
    text = text_of(build_report(one_mix(tmp_path, sweep={"mixes": [2]}), PAGE))
    assert "The measured mixes decide no equilibrium" in text


@pytest.mark.slow
@pytest.mark.usefixtures("unsaved_figures")
def test_a_single_flow_alone(tmp_path: Path) -> None:
    flows = [{"name": "main", "count": 1, "base_rtt": "40ms"}]
    run = write_run(tmp_path / "run", flows=flows, duration="2s")
    assert [row["counts"] for row in rows_of(run)] == [
        {"cubic": 1, "bbr": 0},
        {"cubic": 0, "bbr": 1},
    ]
    build_report(run, PAGE)


@pytest.mark.slow
@pytest.mark.usefixtures("unsaved_figures")
def test_several_groups(tmp_path: Path) -> None:
    flows = [
        {"name": "near", "count": 2, "base_rtt": "10ms"},
        {"name": "far", "count": 1, "base_rtt": "50ms"},
    ]
    raw = {**SCENARIO, "flows": flows, "duration": "2s"}
    writer = RunWriter(tmp_path / "run", raw)
    (setting,) = writer.settings()
    planned = [(setting, (a, b), 0) for a in range(3) for b in range(2)]
    for where, counts, _ in planned:
        writer.add(where, counts)
    run = writer.finish(planned)
    rows = rows_of(run)
    assert len(rows) == 6
    assert rows[0]["mix"] == "near: 2 cubic; far: 1 cubic"
    assert [g["group"] for g in rows[0]["groups"]] == ["near", "far"]
    (found,) = equilibria_of_run(run)
    assert found.state_count == 6
    assert not found.undecided
    assert not Page(build_report(run, PAGE)).open
    first = made_section(summarise(run), "mixes")["rows"][0]["values"]
    assert re.fullmatch(r"\(near [\d.]+, far [\d.]+\)", first[2][1])


@pytest.mark.slow
def test_binned_runs_have_a_report(tmp_path: Path) -> None:
    raw = {**SCENARIO, "duration": "2s", "telemetry": {"postcards": {"bins": "10ms"}}}
    writer = RunWriter(tmp_path / "run", raw)
    (setting,) = writer.settings()
    writer.add(setting, (2,), tables=("bins", "goodput", "flow_samples"))
    read = Page(build_report(writer.finish(), PAGE))
    assert "Only sums over 10ms were recorded" in read.text
    assert len(read.images) >= 4


@pytest.mark.slow
def test_many_flows_keep_the_page_small(tmp_path: Path) -> None:
    """A run with figures of twelve trials, and it draws no more, stays below 4 MB."""
    flows = [{"name": "main", "count": 70, "base_rtt": "20ms"}]
    writer = RunWriter(tmp_path / "run", {**SCENARIO, "flows": flows, "duration": "3s"})
    (setting,) = writer.settings()
    writer.add(setting, (35,))
    assert build_report(writer.finish(), PAGE).stat().st_size < 500_000


def test_a_report_that_cannot_be_written(run_copy: Path) -> None:
    (run_copy / "report").write_text("in the way")
    with pytest.raises(RunError, match="cannot write the report"):
        build_report(run_copy)


@pytest.mark.usefixtures("no_figures")
def test_what_held_frames_up_is_shown(run_copy: Path) -> None:
    """A mean error of 0.04 ms of 40 ms is 0.1 %."""
    trial = next((run_copy / "trials").iterdir())
    found = Disturbance(
        round_trip_ns=40e6, departures=9, late_mean_ns=1, late_max_ns=2, returns=8,
        error_mean_ns=40_000, error_max_ns=12_300_000, responses=0, response_mean_ns=0,
        response_max_ns=0, pauses=14, paused_ns=30_000_000, longest_pause_ns=20_100_000,
    )  # fmt: skip
    edit_json(trial / "trial.json", disturbance=found.model_dump(), marks=["samples are missing"])
    page = build_report(run_copy, ("html",)).read_text()
    assert "<td>40.0</td><td>0.040 (0.10 %)</td><td>12.3</td>" in page
    assert "<td>14</td><td>30.0</td><td>20.1</td>" in page
    assert page.count("Disturbances of each trial by the machine") == 1
    assert "Marked: samples are missing" in page
