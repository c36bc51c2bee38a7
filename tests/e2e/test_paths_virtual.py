"""A path that changes and has a slow way back, in virtual time: exact, and equal when repeated."""

import pytest
from tests.e2e.conftest import Nashbed, records, table

pytestmark = [pytest.mark.virtual, pytest.mark.slow, pytest.mark.usefixtures("guests_place")]

MS = 10**6
BACK = "return: {rate: 200kbit, buffer: 20pkt}"
PATH = "changes: [{at: 3s, base_rtt: 80ms}], reorder: {share: 1%, by: 4ms}"


def test_a_path_that_changes(nashbed: Nashbed) -> None:
    path = nashbed.scenario("", duration="6s", buffer="2bdp, " + BACK, rtt="20ms, " + PATH)
    run_dir = nashbed.run(path, "virtual")
    [record] = records(run_dir).values()
    assert record["valid"], record["invalid_reasons"]

    samples = table(run_dir, record["id"], "flow_samples")
    at_ns, rtt_ns = samples["t_ns"], samples["srtt_us"].astype(int) * 1000
    # Before the change round trips take at least 20 ms, and some take less than 80. Each sample
    # after it is at least 80 ms; what is left of those before is below 1 % after 40 samples.
    assert rtt_ns[at_ns < 3000 * MS].min() >= 20 * MS
    assert rtt_ns[at_ns < 3000 * MS].min() < 80 * MS
    assert rtt_ns[at_ns > 4500 * MS].min() >= 79 * MS

    back = table(run_dir, record["id"], "return_queue")
    came, dropped, left = (
        back[f"{what}_packets"].sum() for what in ("arrived", "dropped", "departed")
    )
    assert came == dropped + left
    assert dropped == record["return_queue"]["dropped_packets"] > 0
    # 20 packets of at most 134 bytes at 200 kbit/s, and no more than the rate in any 10 ms but for
    # the packet that began before.
    assert back["qdelay_max_ns"].max() <= 20 * 134 * 8 * 5000
    assert back["departed_bytes"].max() <= 200_000 * 0.01 / 8 + 134
    nashbed.call("verify", str(run_dir), "--trial", record["id"])


UP = "{name: up, count: 1, base_rtt: 20ms, strategy: reno, direction: reverse}"


def test_data_on_the_way_back(nashbed: Nashbed) -> None:
    """What the flow up sent is what its sink read, and went through the queue of the way back."""
    back = "2bdp, return: {rate: 2mbit, buffer: 20pkt}"
    path = nashbed.scenario("", duration="4s", buffer=back)
    text = path.read_text()
    path.write_text(text.replace("strategies:", f"  - {UP}\nstrategies:"))
    run_dir = nashbed.run(path, "virtual")
    [record] = records(run_dir).values()
    assert record["valid"], record["invalid_reasons"]
    assert not (run_dir / "trials" / record["id"] / "reverse").exists()

    flows = table(run_dir, record["id"], "flows")
    up = flows["group_name"] == "up"
    assert (flows["cc_applied"][up] == "reno").all()
    read, sent_once = (
        flows["sink_bytes"][up][0],
        (flows["bytes_sent"] - flows["bytes_retrans"])[up][0],
    )
    assert 0 < read <= sent_once
    queue = table(run_dir, record["id"], "return_queue")
    # Its payload went through that queue, whose line it fills at most.
    assert read < queue["departed_bytes"].sum() <= 2e6 * (4 + 1) / 8
    # What the queue of the way there has of it is acknowledgements: no payload.
    cards = table(run_dir, record["id"], "postcards")
    own = cards["flow"] == flows["flow"][up][0]
    assert own.any()
    assert (cards["payload_bytes"][own] == 0).all()
    samples = table(run_dir, record["id"], "flow_samples")
    assert (samples["t_ns"][1:] >= samples["t_ns"][:-1]).all()
    assert set(samples["flow"].tolist()) == set(flows["flow"].tolist())
