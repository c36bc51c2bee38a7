"""What a scenario can ask of bottleneck, flows and telemetry, in virtual time: exact everywhere."""

import json
import shutil

import numpy as np
import pytest
from tests.e2e.conftest import Nashbed, digests, only_valid, records, table
from tests.e2e.test_virtual import run

pytestmark = [pytest.mark.virtual, pytest.mark.slow, pytest.mark.usefixtures("guests_place")]

CLOCK_US = 40
"""A small segment's serialisation, and some readings of the clock."""


def test_bins_add_up_to_the_counters(nashbed: Nashbed) -> None:
    run_dir = run(nashbed, "telemetry: {postcards: {bins: 10ms}}\n")
    record = only_valid(run_dir)
    counters = table(run_dir, record["id"], "counters")
    bins = table(run_dir, record["id"], "bins")
    for name in ("departed_bytes", "departed_packets", "dropped_packets"):
        assert bins[name].sum() == counters[name].sum() > 0
    # Occupancy is an average of a queue that never holds more than its limit.
    per_bin = np.bincount(np.unique(bins["bin_start_ns"], return_inverse=True)[1],
                          bins["occupancy_bytes_mean"])  # fmt: skip
    assert 0 < per_bin.max() <= 100_000


def test_groups_have_their_own_base_rtt(nashbed: Nashbed) -> None:
    path = nashbed.scenario("", mixes="[[1, 0]]")
    far = "  - {name: far, count: 1, base_rtt: 60ms}\n"
    path.write_text(path.read_text().replace("strategies:", far + "strategies:"))
    run_dir = nashbed.run(path, "virtual")
    record = only_valid(run_dir)
    samples = table(run_dir, record["id"], "flow_samples")
    known = samples["min_rtt_us"] < 2**32 - 1
    least = [samples["min_rtt_us"][known & (samples["flow"] == f)].min() for f in range(3)]
    # Two flows share the near path, and one of them may have found the queue never empty.
    assert min(least[:2]) in range(20_000, 20_000 + CLOCK_US)
    assert 60_000 <= least[2] <= 60_000 + 40_000  # the queue's 2 BDP


def test_limits_in_packets(nashbed: Nashbed) -> None:
    record = only_valid(run(nashbed, buffer="64pkt"))
    assert record["applied"]["limit"] == {"unit": "packets", "value": 64, "cell_bytes": 0}


def test_numbers_of_flows_and_lengths_are_swept(nashbed: Nashbed) -> None:
    """Each setting has its own mixes, length and verdict; resumed after a loss, the same trials."""
    swept = "all, flows: {count: [1, 2]}, duration: [2s, 3s]"
    run_dir = nashbed.run(nashbed.scenario("", mixes=swept), "virtual")
    kept = digests(run_dir)
    found = {
        name: (record["duration_ns"] // 10**9, len(table(run_dir, name, "flows")["flow"]))
        for name, record in records(run_dir).items()
    }
    assert found == {
        f"d{seconds}s-count{count}-b2bdp-k{second:02d}-r0-a0": (seconds, count)
        for seconds in (2, 3)
        for count in (1, 2)
        for second in range(count + 1)
    }
    (told,) = json.loads(nashbed.call("equilibria", str(run_dir), "--json"))["runs"].values()
    assert {each["setting"]: each["fair_share_bps"] for each in told} == {
        f"d{seconds}s-count{count}-b2bdp": 2e7 / count for seconds in (2, 3) for count in (1, 2)
    }
    shutil.rmtree(run_dir / "trials" / "d3s-count2-b2bdp-k01-r0-a0")
    nashbed.call("resume", str(run_dir))
    assert digests(run_dir) == kept
