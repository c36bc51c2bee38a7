"""The capacity that a calibration writes down: one lane less than what passed."""

from nashbed.controlplane.calibrate.capacity import LaneCount
from nashbed.controlplane.calibrate.runner import with_margin
from nashbed.controlplane.config import parse_testbed
from nashbed.controlplane.contract.testbed import Capacity
from nashbed.controlplane.contract.units import Rate

TESTBED = """\
name: bed
ports:
  senders: {driver: af_xdp}
  receivers: {driver: af_xdp}
"""


def test_one_lane_is_the_margin() -> None:
    bed = parse_testbed(TESTBED, "bed.yaml").model
    found = with_margin(LaneCount(23, 23 * 50_000_000, ()), bed)
    assert found == Capacity(rate=Rate(22 * 50_000_000), lanes=23)
    assert with_margin(LaneCount(1, 50_000_000, ()), bed) == Capacity(
        rate=Rate(50_000_000), lanes=16
    )
    assert with_margin(LaneCount(0, 0, ()), bed) is None
