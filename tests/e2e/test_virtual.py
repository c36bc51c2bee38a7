"""Real trials in virtual time: exact where real time has tolerances, and equal to the bit."""

import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import nashbed as nb
import numpy as np
import pyarrow.parquet as pq
import pytest
from nashbed.analysis.measures import measure_run
from nashbed.controlplane.contract.errors import EXIT_ACCEPTANCE, EXIT_INTERRUPTED
from nashbed.controlplane.contract.messages.guest import QdiscState
from nashbed.controlplane.contract.records import MARK_CAPABLE, MARK_CE, MARK_REASON
from nashbed.controlplane.machine.guest.session import GuestSession
from nashbed.controlplane.machine.kernels.cache import find_kernel
from nashbed.controlplane.machine.paths import CCA_FOLDER
from tests.e2e.conftest import Nashbed, digests, only_valid, records, table
from tests.support import warm
from tests.support.container import KEPT, ProfileError, profile_text

GOLDEN = Path(__file__).parents[1] / "golden" / "virtual.json"
S = 10**9

pytestmark = [pytest.mark.virtual, pytest.mark.slow, pytest.mark.usefixtures("guests_place")]


def run(tool: Nashbed, more: str = "", **changes: Any) -> Path:
    """A run with the gates as they come."""
    return tool.run(tool.scenario(more, **changes), "virtual")


def test_times_are_exact(nashbed: Nashbed) -> None:
    """And they are the same again; captures hold every segment; a changed table is found."""
    run_dir = run(nashbed, "telemetry: {capture: both}\n", duration="4s", warmup="2s")
    record = only_valid(run_dir)
    gates = {gate["name"]: gate for gate in record["gates"]}
    assert record["lateness"]["max_ns"] == 0
    assert (gates["lateness"]["limit"], gates["loop_gap"]["limit"]) == (0.0, 0.0)
    assert record["disturbance"]["error_max_ns"] == record["disturbance"]["pauses"] == 0
    assert set(record["ports_delta"].values()) == {0}

    cards = table(run_dir, record["id"], "postcards")
    out = cards["kind"] == 0
    # A packet leaves when its last bit is serialised: the shortest, resets, have 54 bytes.
    assert (cards["dequeue_ns"] - cards["enqueue_ns"])[out].min() == 54 * 8 * S // 20_000_000
    assert np.all(np.diff(cards["dequeue_ns"][out]) > 0)
    samples = table(run_dir, record["id"], "flow_samples")
    known = samples["min_rtt_us"] < 2**32 - 1
    # The base RTT, the serialisation of a small segment, and some readings of the clock.
    assert samples["min_rtt_us"][known].min() in range(20_000, 20_000 + 40)

    folder = run_dir / "trials" / record["id"]
    assert (folder / "capture.pcap").stat().st_size > (folder / "behind.pcap").stat().st_size > 0
    figure = nashbed.folder / "rtt.png"
    nashbed.call("rtt", str(folder / "capture.pcap"), "--out", str(figure))
    assert figure.stat().st_size > 0

    assert json.loads(nashbed.call("verify", str(run_dir), "--all", "--json"))["ok"] is True
    path = folder / "goodput.parquet"
    pq.write_table(pq.read_table(path).slice(1), path)
    found = warm.nashbed(["verify", str(run_dir)])
    assert found.returncode == EXIT_ACCEPTANCE
    assert "goodput" in found.stdout


def test_ecn_is_each_flows_own(nashbed: Nashbed) -> None:
    """Three controls in one trial: the kernel's DCTCP and BBR ask for it, CUBIC does not."""
    scenario = nashbed.scenario(
        "hosts: {ecn: [dctcp, bbr]}\n", duration="4s", warmup="1s", count=3,
        mixes="[{cubic: 1, dctcp: 1, bbr: 1}]",
    )  # fmt: skip
    text = scenario.read_text()
    scenario.write_text(text.replace("[cubic, bbr]", "[cubic, dctcp, bbr]"))
    run_dir = nashbed.run(scenario, "virtual")
    record = only_valid(run_dir)
    gates = {gate["name"]: gate["passed"] for gate in record["gates"]}
    assert gates["ecn"]
    # DCTCP without ECN would be another control, and say so.
    flows = table(run_dir, record["id"], "flows")
    assert list(flows["cc_applied"]) == ["cubic", "dctcp", "bbr"]


def test_reads_that_wait_thin_acks(nashbed: Nashbed) -> None:
    thinned = run(nashbed, "hosts: {read_interval: 10ms}\n")
    prompt = run(nashbed)
    few, usual = (only_valid(run_dir)["flow_generator"]["sink"] for run_dir in (thinned, prompt))
    # Every second segment, and each one while segments are missing.
    assert 0.5 <= usual["acks"] / usual["segments"] <= 1
    # 20 Mbit/s are 16 segments in 10 ms.
    assert few["acks"] / few["segments"] < 0.9 * usual["acks"] / usual["segments"]


def test_hosts_take_time_at_random_and_the_same_again(nashbed: Nashbed) -> None:
    run_dir = run(nashbed, "hosts: {processing_jitter: 2ms}\n")
    samples = table(run_dir, only_valid(run_dir)["id"], "flow_samples")
    min_rtt_us = samples["min_rtt_us"][samples["min_rtt_us"] < 2**32 - 1]
    # Either host takes up to 2 ms: no round trip is without it, and the shortest has little of it.
    assert 20_000 < min_rtt_us.min() < 22_000
    assert min_rtt_us.max() < 24_000 + 40
    answer = json.loads(nashbed.call("verify", str(run_dir), "--all", "--json"))
    assert answer["ok"] is True


@pytest.mark.parametrize("qdisc", ["fq", "fq_codel"])
def test_a_qdisc_is_before_the_hosts_interfaces_and_fq_paces(
    nashbed: Nashbed, qdisc: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every skb of a BBR flow, of two segments at this rate, waits in fq for its time: TCP's own
    timer does not pace beside it. fq_codel holds nothing back."""
    seen: list[QdiscState] = []
    host_losses = GuestSession.host_losses

    def noted(session: GuestSession) -> dict[str, int]:
        seen.append(session._guest.qdisc("snd"))
        return host_losses(session)

    monkeypatch.setattr(GuestSession, "host_losses", noted)
    scenario = nashbed.scenario(f"hosts: {{qdisc: {qdisc}}}\n", count=1, mixes="[1]")
    done = nb.run(scenario, "virtual", nashbed.results)
    record = only_valid(done.path)
    manifest = json.loads((done.path / "manifest.json").read_text())
    assert {port["host_qdisc"] for port in manifest["ports"].values()} == {qdisc}
    assert seen[-1].dropped == 0
    cards = table(done.path, record["id"], "postcards")
    assert {state.kind for state in seen} == {qdisc}
    assert len(cards["kind"]) > 3000
    paced = seen[-1].throttled / len(cards["kind"])
    assert 0.4 < paced < 0.6 if qdisc == "fq" else paced == 0


def test_another_run_is_equal_and_another_seed_is_not(nashbed: Nashbed) -> None:
    first, again, other = (run(nashbed, f"seed: {seed}\n", mixes="[0, 1]") for seed in (1, 1, 7))
    same, different = digests(first), digests(other)
    assert digests(again) == same
    assert same.keys() == different.keys()
    assert not set(same.values()) & set(different.values())


@pytest.mark.long
def test_an_adaptive_search_runs_on_it(nashbed: Nashbed) -> None:
    run_dir = run(nashbed, "equilibrium: {search: adaptive}\n", count=6, mixes="all")
    assert 2 <= len(records(run_dir)) <= 7
    assert all(record["valid"] for record in records(run_dir).values())


@pytest.mark.long
def test_a_stopped_run_goes_on_and_is_the_same(nashbed: Nashbed) -> None:
    scenario = nashbed.scenario("", mixes="[0, 1, 2]", duration="8s", rate="50mbit")
    whole = nashbed.run(scenario, "virtual")
    bed = str(Path(__file__).parents[2] / "configs" / "testbeds" / "virtual.yaml")
    stopped = nashbed.start(
        "run", str(scenario), "--testbed", bed, "--out", str(nashbed.results / "second"),
        "--no-report", "--json",
    )  # fmt: skip
    deadline = time.monotonic() + 120
    folder = nashbed.results / "second"
    while not list(folder.glob("*/trials/.*")) and time.monotonic() < deadline:
        time.sleep(0.05)
    stopped.send_signal(signal.SIGTERM)
    stopped.communicate(timeout=60)
    assert stopped.returncode == EXIT_INTERRUPTED
    (run_dir,) = folder.iterdir()
    nashbed.call("resume", str(run_dir), "--no-report", "--json")
    assert digests(run_dir) == digests(whole)


@pytest.mark.long
def test_two_runs_at_once_do_not_meet(nashbed: Nashbed) -> None:
    scenario = nashbed.scenario("")
    bed = str(Path(__file__).parents[2] / "configs" / "testbeds" / "virtual.yaml")
    both = [
        nashbed.start("run", str(scenario), "--testbed", bed, "--out",
                      str(nashbed.results / name), "--no-report", "--json")
        for name in ("first", "second")
    ]  # fmt: skip
    answers = [process.communicate(timeout=300) for process in both]
    assert [process.returncode for process in both] == [0, 0], answers
    first, second = (Path(json.loads(out)["run_dir"]) for out, _ in answers)
    assert digests(first) == digests(second)


@pytest.fixture(scope="module")
def container(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    """What runs a command as a default container does, with the profile at hand."""
    try:
        text = profile_text()
    except ProfileError as error:
        pytest.skip(str(error))
    folder = tmp_path_factory.mktemp("container")
    (folder / KEPT).write_text(text)
    script = shutil.copy(Path(__file__).parents[1] / "support" / "container.py", folder)
    return sys.executable, str(script)


@pytest.mark.parametrize("where", ["free", pytest.param("container", marks=pytest.mark.long)])
def test_the_golden_trial(nashbed: Nashbed, where: str, request: pytest.FixtureRequest) -> None:
    """Digests that were seen on other machines; each kernel has its own.

    A default container may not switch random addresses off: what is random there is another place
    for the heap, the stack and the libraries at each start.
    """
    if where == "container":
        nashbed.within = request.getfixturevalue("container")
    golden = json.loads(GOLDEN.read_text())
    kernel = find_kernel()
    if kernel.digest not in golden["kernels"]:
        pytest.skip(f"no golden digests of kernel {kernel.release} ({kernel.digest[:12]})")
    run_dir = run(nashbed, count=4, rtt="30ms", mixes="[1, 2]", duration="10s", rate="30mbit")
    assert digests(run_dir) == golden["kernels"][kernel.digest]["trials"]


def test_a_container_refuses_fixed_addresses(container: tuple[str, ...]) -> None:
    """As Docker's profile does: what this filter lets pass says something."""
    for options, code in (([], 0), (["-R"], 1)):
        command = [*container, "setarch", "x86_64", *options, "true"]
        assert subprocess.run(command, capture_output=True, check=False).returncode == code


def test_a_cca_of_ones_own_competes(nashbed: Nashbed) -> None:
    """Halving and one more packet a round trip, against CUBIC: both fill the link, and it tells."""
    cca = nashbed.folder / "my_own.c"
    shutil.copy(CCA_FOLDER / "mine.c", cca)
    scenario = nashbed.scenario("", duration="5s", warmup="2s", count=4, mixes="[2]")
    text = scenario.read_text().replace("[cubic, bbr]", "[cubic, ./my_own.c]")
    scenario.write_text(text)
    run_dir = nashbed.run(scenario, "virtual")
    assert all(record["valid"] for record in records(run_dir).values())
    (mixed,) = records(run_dir)
    flows = table(run_dir, mixed, "flows")
    assert sorted(flows["cc"]) == ["cubic", "cubic", "my_own", "my_own"]
    samples = table(run_dir, mixed, "flow_samples")
    own = np.isin(samples["flow"], flows["flow"][flows["cc"] == "my_own"])
    assert set(samples["bbr_mode"][own & (samples["t_ns"] > S)]) == {1.0, 2.0}
    assert samples["bbr_bw_bps"][own & (samples["t_ns"] > S)].min() > 0
    assert np.isnan(samples["bbr_mode"][~own]).all()
    answer = json.loads(nashbed.call("verify", str(run_dir), "--all", "--json"))
    assert answer["ok"] is True


def spans(record: dict[str, Any]) -> dict[str, dict[str, int]]:
    return {span["strategy"]: span for span in record["spans"]}


def test_iperf3_processes_start_one_round_trip_a_stream_apart(nashbed: Nashbed) -> None:
    # Ten BDP hold what the first process sends, so that no SYN of the second one is lost.
    more = "start: iperf3\nwindow: whole\n"
    run_dir = run(nashbed, more, count=10, mixes="[2]", duration="10s", buffer="10bdp")
    record = only_valid(run_dir)
    found, rtt_ns = spans(record), 20_000_000
    span_flows = {"bbr": 2, "cubic": 8}
    first, second = found["bbr"], found["cubic"]
    # Two streams: the control connection, its cookie, the parameters, two handshakes, and the order
    # to start that follows the last cookie. The queue is empty, so that each takes the base RTT and
    # what its packets take on the wire.
    assert 6 * rtt_ns <= first["start_ns"] < 6 * rtt_ns + S // 1000
    # Six streams more take six round trips more, and wait in the queue besides.
    queue_ns = record["applied"]["buffer_bytes"] * 8 * S // record["applied"]["rate_bps"]
    assert 12 * rtt_ns <= second["start_ns"] <= 12 * rtt_ns + 7 * queue_ns
    for span in (first, second):
        assert span["end_ns"] == pytest.approx(span["start_ns"] + 10 * S, abs=2000)
        assert span["first_byte_ns"] > span["start_ns"]
        assert span["last_byte_ns"] > span["end_ns"]
    assert record["window_ns"] == [
        first["start_ns"],
        pytest.approx(second["end_ns"], abs=S // 1000),
    ]

    (measured,) = measure_run(run_dir).trials
    goodput = table(run_dir, record["id"], "goodput")
    flows = table(run_dir, record["id"], "flows")
    for strategy, span in found.items():
        mine = np.isin(goodput["flow"], flows["flow"][flows["cc"] == strategy])
        length_ns = span["last_byte_ns"] - span["first_byte_ns"]
        per_flow = goodput["bytes"][mine].sum() * 8 * S / length_ns / span_flows[strategy]
        assert measured.value("per_flow_throughput", strategy) == pytest.approx(per_flow)


def test_a_trial_ends_when_its_shares_are_steady(nashbed: Nashbed) -> None:
    more = "start: {order: [bbr, cubic], gap: 2s}\n"
    settled = "{until: settled, at_least: 60s, at_most: 600s, within: 25%}"
    changes = {"duration": settled, "warmup": "5s", "rate": "5mbit", "count": 4, "mixes": "[2]"}
    run_dir = run(nashbed, more, **changes)
    record = only_valid(run_dir)
    steadiness = record["steadiness"]
    assert steadiness["settled"] is True
    assert record["window_ns"] == steadiness["window_ns"]
    cycle_ns = 10_220_000_000
    begin, end = steadiness["window_ns"]
    assert begin % cycle_ns == end % cycle_ns == 0
    assert end >= 15 * cycle_ns
    # The order to end comes half a second ahead.
    assert record["duration_ns"] == pytest.approx(end + S // 2, abs=20_000_000)
    assert spans(record)["cubic"]["start_ns"] - spans(record)["bbr"]["start_ns"] >= 1_900_000_000
    assert digests(run(nashbed, more, **changes)) == digests(run_dir)


def test_two_flows_behind_two_bdp_never_leave_the_link_idle(nashbed: Nashbed) -> None:
    # A halved window (CUBIC: 0.7) is still more than one BDP: from the end of slow start on the
    # link sends its rate, give or take a packet at each end.
    run_dir = run(nashbed, duration="14s", warmup="3s", mixes="[0]")
    record = only_valid(run_dir)
    cards = table(run_dir, record["id"], "postcards")
    inside = (cards["kind"] == 0) & (cards["dequeue_ns"] > 3 * S) & (cards["dequeue_ns"] <= 13 * S)
    sent = cards["packet_bytes"][inside].astype(np.int64).sum() * 8
    assert sent == pytest.approx(10 * record["applied"]["rate_bps"], abs=2 * 1514 * 8)


def test_the_quickstart_ends_with_its_report(nashbed: Nashbed) -> None:
    """Two of its mixes, once."""
    configs = Path(__file__).parents[2] / "configs"
    text = (configs / "scenarios" / "quickstart.yaml").read_text()
    assert "trials: 5\n" in text
    scenario = nashbed.folder / "quickstart.yaml"
    assert "mixes: all" in text
    scenario.write_text(
        text.replace("trials: 5\n", "trials: 1\n")
        .replace("mixes: all", "mixes: [0, 4]")
        .replace("duration: 30s", "duration: 12s")
    )
    out = nashbed.call(
        "run", str(scenario),
        "--testbed", str(configs / "testbeds" / "virtual.yaml"),
        "--out", str(nashbed.results), "--json",
    )  # fmt: skip
    run_dir = Path(json.loads(out)["run_dir"])
    assert all(record["valid"] for record in records(run_dir).values())
    page = (run_dir / "report" / "index.html").read_text()
    summary = json.loads((run_dir / "report" / "summary.json").read_text())
    assert len(summary["equilibria"]) == 2
    for setting in summary["equilibria"]:
        assert setting["headline"]
    assert "Throughput" in page


@pytest.mark.parametrize("cca", ["dctcp", pytest.param("prague", marks=pytest.mark.long)])
def test_every_ce_mark_reaches_its_sender(nashbed: Nashbed, cca: str) -> None:
    """Over a step: what the queue marks, P4 counts, postcards say, and senders hear of."""
    scenario = nashbed.scenario(
        "hosts: {ecn: true}\n", rate="50mbit", rtt="10ms", duration="4s", warmup="1s", mixes="[2]",
    )  # fmt: skip
    text = scenario.read_text().replace("[cubic, bbr]", f"[cubic, {cca}]")
    threshold = "rate: 50mbit, discipline: {step: {threshold: 15kB}}"
    scenario.write_text(text.replace("rate: 50mbit", threshold))
    run_dir = nashbed.run(scenario, "virtual")
    record = only_valid(run_dir)
    cards, counters = (table(run_dir, record["id"], name) for name in ("postcards", "counters"))
    samples = table(run_dir, record["id"], "flow_samples")
    marked = (cards["marks"] & MARK_CE) != 0
    capable = (cards["marks"] & MARK_CAPABLE) != 0
    out = cards["kind"] == 0
    # What comes to more than the threshold is marked, or dropped if it is not ECN-capable.
    late = cards["queue_bytes"] > 15_000
    assert np.array_equal(marked, late & capable)
    assert np.array_equal(~out, late & ~capable)
    assert set(cards["marks"][~out] & MARK_REASON) <= {1}
    for flow in range(2):
        own = int(np.count_nonzero(marked & (cards["flow"] == flow)))
        assert own == counters["marked_packets"][flow] > 100
        # Their receivers echo each mark (RFC 8257), but those of the last round trip.
        heard = samples["delivered_ce"][samples["flow"] == flow].max()
        assert 0.9 * own <= heard <= own
