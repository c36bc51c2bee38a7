"""Short real runs: what physics allows, on every kind of port, with many flows."""

import json
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from nashbed.controlplane.contract.errors import PrerequisiteError
from nashbed.controlplane.contract.scenario_keys import Qdisc
from nashbed.controlplane.machine.host.preflight import require_qdisc
from tests.e2e.conftest import WIDE_GATES, Nashbed, only_valid, records, table

pytestmark = [pytest.mark.root, pytest.mark.dataplane, pytest.mark.slow]

MSS, FRAME = 1448, 1514
S = 10**9


@pytest.mark.live
def test_throughput_delay_and_rtt_are_physical(nashbed: Nashbed) -> None:
    run_dir = nashbed.run(nashbed.scenario(duration="6s", warmup="2s"))
    record = only_valid(run_dir)
    begin, end = record["window_ns"]
    goodput = table(run_dir, record["id"], "goodput")
    inside = (goodput["t_ns"] > begin) & (goodput["t_ns"] <= end)
    rate = goodput["bytes"][inside].sum() * 8 * S / (end - begin)
    # At most what the link carries of payload. With 2 BDP of buffer it is never idle once both
    # flows are up (which is checked in virtual time), unless this machine stops the senders.
    assert 0.5 * 20e6 * MSS / FRAME < rate <= 1.01 * 20e6 * MSS / FRAME

    cards = table(run_dir, record["id"], "postcards")
    out = cards["kind"] == 0
    delay = (cards["dequeue_ns"] - cards["enqueue_ns"])[out]
    # A packet waits for at most a full buffer: 100 kB at 20 Mbit/s is 40 ms.
    assert delay.min() > 0
    assert delay.max() <= 40_000_000 + 1
    assert cards["queue_bytes"].max() <= 100_000

    samples = table(run_dir, record["id"], "flow_samples")
    known = samples["min_rtt_us"] < 2**32 - 1
    # No round trip is shorter than the base RTT, nor longer by more than the full buffer
    # (and 0.2 s for a busy machine).
    assert samples["min_rtt_us"][known].min() >= 20_000
    assert samples["srtt_us"][samples["srtt_us"] > 0].max() < 60_000 + 200_000


@pytest.mark.parametrize("testbed", ["embedded", "tap"])
@pytest.mark.parametrize("qdisc", get_args(Qdisc))
def test_the_hosts_have_the_qdisc_that_the_scenario_asks_for(
    nashbed: Nashbed, qdisc: Qdisc, testbed: str
) -> None:
    try:
        require_qdisc(qdisc)
    except PrerequisiteError as error:
        pytest.skip(error.message)
    more = WIDE_GATES + f"hosts: {{qdisc: {qdisc}}}\n"
    run_dir = nashbed.run(nashbed.scenario(more, attempts=1), testbed)
    ports = json.loads((run_dir / "manifest.json").read_text())["ports"]
    assert [ports[name]["host_qdisc"] for name in ("senders", "receivers")] == [qdisc, qdisc]
    [record] = records(run_dir).values()
    assert table(run_dir, record["id"], "flows")["sink_bytes"].min() > 0


@pytest.mark.parametrize("testbed", ["af_packet", "tap"])
def test_other_ports(nashbed: Nashbed, testbed: str) -> None:
    only_valid(nashbed.run(nashbed.scenario(), testbed))


@pytest.mark.parametrize("count", [500, pytest.param(5000, marks=pytest.mark.long)])
def test_very_many_flows_are_accounted_for(nashbed: Nashbed, count: int) -> None:
    """Exact whatever the machine does: registers and postcards agree packet by packet.

    Whether every flow competed is no matter here: 10 kbit/s each leaves most of 5,000 in a timeout.
    """
    scenario = nashbed.scenario(
        WIDE_GATES + "telemetry: {postcards: all, tcp_info: 2s}\n",
        rate="50mbit", buffer="10MB", count=count, duration="10s", warmup="4s",
        mixes=f"[{count // 2}]",
    )  # fmt: skip
    scenario.write_text(scenario.read_text().replace("jitter: 50ms", "jitter: 3s"))
    scenario.write_text(scenario.read_text().replace("attempts: 2", "attempts: 1"))
    run_dir = nashbed.run(scenario)
    [record] = records(run_dir).values()
    passed = {gate["name"] for gate in record["gates"] if gate["passed"]}
    assert {"conservation", "postcards_complete", "congestion_control", "link_busy"} <= passed
    counters = table(run_dir, record["id"], "counters")
    cards = table(run_dir, record["id"], "postcards")
    assert (counters["arrived_packets"] > 0).sum() == count
    assert len(cards["seq"]) == counters["arrived_packets"].sum()
    assert np.array_equal(np.unique(cards["flow"]), np.arange(count))


@pytest.mark.live
@pytest.mark.long
@pytest.mark.virtual
@pytest.mark.usefixtures("guests_place")
def test_flows_acknowledge_alike_in_real_and_in_virtual_time(nashbed: Nashbed) -> None:
    """The process reads in real time, the guest's kernel in virtual time, by the same rules."""
    scenario = nashbed.scenario(duration="6s", warmup="2s")
    real, virtual = (_acks_per_segment(nashbed, scenario, bed) for bed in ("embedded", "virtual"))
    # Every second segment is acknowledged, and each one while segments are missing.
    assert 0.5 <= virtual < 0.75
    # A busy machine has segments wait, and acknowledges them together.
    assert real == pytest.approx(virtual, abs=0.1)


def _acks_per_segment(nashbed: Nashbed, scenario: Path, testbed: str) -> float:
    sink = only_valid(nashbed.run(scenario, testbed))["flow_generator"]["sink"]
    return float(sink["acks"] / sink["segments"])
