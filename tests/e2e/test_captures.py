"""Queueing delay by captures on both sides of a real run, independent of the postcards."""

from __future__ import annotations

import numpy as np
import pytest
from nashbed.analysis.clock.queueing import compare
from nashbed.analysis.clock.taps import taps_of
from nashbed.analysis.readers import open_run
from tests.e2e.conftest import Nashbed

pytestmark = [pytest.mark.root, pytest.mark.dataplane, pytest.mark.slow]


def test_captures_tell_what_the_postcards_tell(nashbed: Nashbed) -> None:
    run_dir = nashbed.run(
        nashbed.scenario(
            "telemetry: {capture: both}\n"
            "gates: {lateness_p999: 200ms, loop_gap: 1s, sampling_lateness: 200ms}\n"
        )
    )
    run = open_run(run_dir)
    trial = run.trials[-1]
    taps = taps_of(run, trial)
    assert taps is not None and taps.software
    found = compare(trial, taps)
    # 20 Mbit/s for 3 s are 4954 frames of 1514 bytes; a tenth of it for slow start.
    assert len(found.stay_ns) > 4400
    # Every data packet is in both captures and in the postcards: tcpdump keeps up at this rate.
    assert [m for m in found.mismatches if m.capture_ns is None] == []
    # Frames are sent when their time has come, never before it: no packet is seen early. The
    # hosts' own path takes some tens of microseconds; half a millisecond on a busy machine.
    assert found.difference_ns.min() > 0
    assert found.bias_ns < 500_000
    # The delays themselves span a queue of 2 BDP = 40 ms; the two agree far better than that.
    assert np.ptp(found.stay_ns) > 10_000_000
    low, high = np.percentile(found.difference_ns, (10, 90))
    assert high - low < 2_000_000
    (alignment,) = found.alignments
    # Both clocks of this machine are disciplined together: CLOCK_MONOTONIC and CLOCK_REALTIME
    # differ by a step of the latter, if by anything.
    assert abs(alignment.drift) < 50e-6
