"""Applications and media in a whole trial, in virtual time: exact, and equal to plain models."""

import numpy as np
import pytest
from tests.e2e.conftest import Nashbed, records, table
from tests.model.player import Player

pytestmark = [pytest.mark.virtual, pytest.mark.slow, pytest.mark.usefixtures("guests_place")]

S, MS = 10**9, 10**6
TEXT = """\
name: apps
title: Applications and media
bottleneck: {rate: 20mbit, buffer: 2bdp}
flows:
  - {name: main, count: 1, base_rtt: 40ms}
  - {name: call, count: 1, base_rtt: 40ms, udp: {rate: 1mbit, packet: 200B, every: 20ms}}
  - {name: rate, count: 1, base_rtt: 40ms, strategy: cubic, app: {rate: 2mbit}}
  - name: video
    count: 1
    base_rtt: 40ms
    strategy: cubic
    app: {video: {ladder: [500kbit, 1mbit, 2mbit], segment: 500ms, buffer: 2s}}
  - {name: bursts, count: 1, base_rtt: 40ms, strategy: bbr, app: {on: 500ms, off: 1s}}
strategies: [cubic, bbr]
start_jitter: 0s
duration: 6s
warmup: 1s
trials: 1
sweep: {mixes: [0]}
"""


def test_applications_are_exact_in_virtual_time(nashbed: Nashbed) -> None:
    path = nashbed.folder / "apps.yaml"
    path.write_text(TEXT)
    run_dir = nashbed.run(path, "virtual")
    [record] = records(run_dir).values()
    assert record["valid"], record["invalid_reasons"]

    # 300 frames of 2,500 bytes, 20 ms apart. The first packet takes half a round trip, 242 bytes
    # at 20 Mbit/s, and what is before it of four first windows of ten packets each. Reading the
    # clock takes 256 ns.
    sent = table(run_dir, record["id"], "datagrams")
    assert len(sent["seq"]) == 300 * 13
    assert (sent["sent_ns"] // (20 * MS) == sent["seq"] // 13).all()
    assert (sent["sent_ns"] % (20 * MS) < 20_000).all()
    first = sent["arrived_ns"][0] - sent["sent_ns"][0]
    assert 20 * MS + 96_800 <= first < 20 * MS + 96_800 + 40 * 605_600 + 20_000

    # 2 Mbit/s in writes every 10 ms until the end: nothing more can have been read.
    flows = table(run_dir, record["id"], "flows")
    assert 0.9 * 1_500_000 < flows["sink_bytes"][2] <= 1_500_000

    # Every choice, level and stall is what the plain player makes of the times of arrival.
    segments = table(run_dir, record["id"], "segments")
    player = Player([500_000, 1_000_000, 2_000_000], S // 2, 2 * S)
    assert len(segments["segment"]) > 4
    for place, requested_ns in enumerate(segments["requested_ns"].tolist()):
        row = {name: column[place] for name, column in segments.items()}
        assert row["bitrate_bps"] == player.ask(requested_ns)
        assert row["size_bytes"] == row["bitrate_bps"] // 16
        if np.isfinite(row["completed_ns"]):
            assert row["stalled_ns"] == player.arrive(int(row["completed_ns"]))
            assert row["buffer_ns"] == player.level_ns

    # On for 0.5 s of 1.5: what is read between 1 s and 1.5 s had been written by 0.5 s.
    read = table(run_dir, record["id"], "goodput")
    silent = (read["t_ns"] > S) & (read["t_ns"] <= 3 * S // 2)
    assert read["bytes"][(read["flow"] == 4) & silent].sum() == 0
    assert read["bytes"][read["flow"] == 4].sum() > 100_000
