"""Queueing delay by captures on both sides of the bottleneck, independent of the postcards."""

import numpy as np
import pytest
from nashbed.analysis.captures import TimestampSource
from nashbed.analysis.clock.match import read_seen
from nashbed.analysis.clock.queueing import compare
from nashbed.analysis.clock.taps import taps_of
from nashbed.controlplane.store.finished_run import open_run
from nashbed.controlplane.store.sealed_trial import SealedTrial
from tests.e2e.conftest import WIDE_GATES, Nashbed
from tests.rtl.loop.through import Plan, delays_ps, through_ports
from tests.rtl.simulate import need_icarus

pytestmark = pytest.mark.slow

PERIOD_NS = 200
"""A slow clock for the simulated FPGA: its stamps are as exact as it is fast."""
APART_NS = 10_000
"""A captured frame of 128 bytes and its trailer take 18 cycles."""


def real_packets(trial: SealedTrial, count: int) -> tuple[Plan, Plan, dict[int, int]]:
    """Some data packets of a trial, with the bytes that were captured of them.

    Returns:
        When each arrived at the bottleneck, when it left, and its sojourn time, by its TCP
        sequence number.
    """
    names = ["kind", "flow", "payload_bytes", "tcp_seq", "enqueue_ns", "dequeue_ns"]
    cards = trial.arrays("postcards", names)
    seen = read_seen(TimestampSource(trial.path / "capture.pcap", "file"))
    (frames, _), *_ = TimestampSource(trial.path / "capture.pcap", "file").chunks()
    data = (trial.path / "capture.pcap").read_bytes()
    number = dict(zip(seen.seq.tolist(), seen.number.tolist(), strict=True))
    before, behind, sojourns, free_ns = [], [], {}, 0
    for n in np.flatnonzero((cards["kind"] == 0) & (cards["payload_bytes"] > 0))[200:]:
        seq, came, went = (int(cards[k][n]) for k in ("tcp_seq", "enqueue_ns", "dequeue_ns"))
        if len(sojourns) == count:
            break
        if came < free_ns or seq in sojourns or number.get(seq, len(frames)) >= len(frames):
            continue
        at = number[seq]
        frame = data[frames.start[at] : frames.start[at] + frames.captured[at]]
        before.append((came, frame))
        behind.append((went, frame))
        sojourns[seq], free_ns = went - came, came + APART_NS
    first = before[0][0]
    return [(t - first, f) for t, f in before], [(t - first, f) for t, f in behind], sojourns


@pytest.mark.live
@pytest.mark.root
@pytest.mark.dataplane
def test_captures_tell_what_the_postcards_tell(nashbed: Nashbed) -> None:
    run_dir = nashbed.run(nashbed.scenario("telemetry: {capture: both}\n" + WIDE_GATES))
    run = open_run(run_dir)
    trial = run.trials[-1]
    taps = taps_of(run, trial)
    assert taps is not None and taps.software
    found = compare(trial, taps)
    # 20 Mbit/s for 3 s are 4954 frames of 1514 bytes; a tenth of it for slow start.
    assert len(found.sojourn_ns) > 4400
    # Every data packet is in both captures and in the postcards: tcpdump keeps up at this rate.
    assert [m for m in found.mismatches if m.capture_ns is None] == []
    # Frames are sent when their time has come, never before it: no packet is seen early. The
    # hosts' own path takes some tens of microseconds, and milliseconds on a busy machine.
    assert found.difference_ns.min() > 0
    assert found.bias_ns < 5_000_000
    # The delays themselves span a queue of 2 BDP = 40 ms; the two agree far better than that.
    assert np.ptp(found.sojourn_ns) > 10_000_000
    low, high = np.percentile(found.difference_ns, (10, 90))
    assert high - low < 10_000_000
    (alignment,) = found.alignments
    # Both clocks of this machine are disciplined together: CLOCK_MONOTONIC and CLOCK_REALTIME
    # differ by a step of the latter, if by anything.
    assert abs(alignment.drift) < 50e-6


@pytest.mark.long
@pytest.mark.virtual
@pytest.mark.usefixtures("guests_place")
def test_an_fpga_tells_what_the_postcards_tell(nashbed: Nashbed) -> None:
    """A run's packets through the simulated FPGA: its trailers tell each packet's stay."""
    need_icarus()
    run_dir = nashbed.run(nashbed.scenario("telemetry: {capture: both}\n"), "virtual")
    before, behind, sojourn_ns = real_packets(open_run(run_dir).trials[-1], 8)
    found = delays_ps(*through_ports(nashbed.folder, before, behind, PERIOD_NS))
    assert found.keys() == sojourn_ns.keys()
    away_ps = [found[seq] - sojourn_ns[seq] * 1000 for seq in sojourn_ns]
    assert max(abs(away) for away in away_ps) < PERIOD_NS * 1000 + 2
