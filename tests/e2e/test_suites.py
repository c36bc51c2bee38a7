"""A suite of test cases in whole trials: Wi-Fi as C4 models it, flows that end, and bounds."""

import json
from pathlib import Path

import numpy as np
import pytest
from ruamel.yaml import YAML
from tests.e2e.conftest import Nashbed, records, table

pytestmark = [pytest.mark.virtual, pytest.mark.slow, pytest.mark.usefixtures("guests_place")]

ROOT = Path(__file__).resolve().parents[2]
C4 = ROOT / "configs" / "evaluations" / "c4"
MINE = (ROOT / "hosts" / "cc" / "mine.c").read_text()
SLOW = MINE.replace("cc_set_cwnd(sk, next_cwnd(mine, tp, rs));", "cc_set_cwnd(sk, 20);")
S, MS = 10**9, 10**6
WIFI = """\
name: wifi
title: Wi-Fi that becomes worse, and two flows that end
bottleneck: {rate: 20mbit, buffer: 100kB}
flows:
  - name: main
    count: 1
    base_rtt: 10ms
    app: {rate: 500kbit}
    jitter: {wifi: 1ms}
    return: {jitter: {wifi: 1ms}}
    changes: [{at: 2s, base_rtt: 10ms, wifi: 91ms}]
  - {name: ends, count: 1, base_rtt: 10ms, size: 1MB, strategy: cubic}
  - {name: late, count: 1, base_rtt: 10ms, size: 1MB, strategy: cubic, start_offset: 2500ms}
strategies: [cubic, bbr]
start_jitter: 0s
duration: 5s
warmup: 1s
trials: 1
sweep: {mixes: [0]}
"""


def test_wifi_delays_packets_as_its_mean_says_and_flows_end(nashbed: Nashbed) -> None:
    path = nashbed.folder / "wifi.yaml"
    path.write_text(WIFI)
    run_dir = nashbed.run(path, "virtual")
    [record] = records(run_dir).values()
    assert record["valid"], record["invalid_reasons"]

    # Until 2 s each way takes a few ms more, and an ACK waits up to 40 ms. From then on every
    # packet is sent again, 12 times 7.5 ms on average, and nothing overtakes: at least a third of
    # that each way.
    samples = table(run_dir, record["id"], "flow_samples")
    main = samples["flow"] == 0
    srtt_us = samples["srtt_us"][main & (samples["t_ns"] > S) & (samples["t_ns"] < 2 * S)]
    assert 10_000 < np.median(srtt_us) < 60_000
    srtt_us = samples["srtt_us"][main & (samples["t_ns"] > 4 * S)]
    assert np.median(srtt_us) > 10_000 + 2 * 30_000

    # 691 frames take 0.42 s at 20 Mbit/s; each begins at its time, with a handshake.
    ended = table(run_dir, record["id"], "transfers")
    assert ended["arrival_ns"].tolist() == [0, 5 * S // 2]
    took_ns = ended["completed_ns"] - ended["arrival_ns"]
    assert (took_ns > 420 * MS).all()
    assert (took_ns < 700 * MS).all()
    flows = table(run_dir, record["id"], "flows")
    assert flows["sink_bytes"].tolist()[1:] == [10**6, 10**6]


def test_a_control_is_held_to_the_bound_of_a_case(nashbed: Nashbed) -> None:
    """10 MB in 5 s are 16 Mbit/s; 20 segments in each 80 ms are 2.9."""
    folder = nashbed.folder / "suite"
    folder.mkdir()
    manifest = YAML(typ="safe").load((C4 / "battery.yaml").read_text())
    manifest |= {
        "criteria": [each for each in manifest["criteria"] if each.get("scenario") == "alone-20"],
        "sizes": {"tiny": {"trials": 1}},
    }
    with (folder / "battery.yaml").open("w") as file:
        YAML(typ="safe").dump(manifest, file)
    (folder / "alone-20.yaml").write_text((C4 / "alone-20.yaml").read_text())
    (nashbed.folder / "slow.c").write_text(SLOW)
    for control, code in (("cubic", 0), (str(nashbed.folder / "slow.c"), 20)):
        out = nashbed.folder / f"held-{code}"
        nashbed.call("cc", "conform", control, "--suite", str(folder), "--size", "tiny",
                     "--out", str(out), code=code)  # fmt: skip
        [row] = json.loads((out / "criteria.json").read_text())["criteria"]
        assert row["verdict"] == ("missed" if code else "met")
        assert row["most"] is not None
        assert (row["most"] > row["high"] == 5) == bool(code)
