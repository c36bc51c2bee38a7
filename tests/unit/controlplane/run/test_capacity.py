"""Which capacity counts: the file's, the measured one, or a guess."""

from __future__ import annotations

from nashbed.controlplane.calibrate.capacity import Found
from nashbed.controlplane.calibrate.runner import careful
from nashbed.controlplane.config import parse_testbed
from nashbed.controlplane.contract.certificate import Standing
from nashbed.controlplane.contract.testbed import GUESSED_CAPACITY, Capacity
from nashbed.controlplane.contract.units import Rate
from nashbed.controlplane.run.capacity import GUESSED, MEASURED, STATED, with_capacity

SILENT = """\
name: bed
ports:
  senders: {driver: af_xdp}
  receivers: {driver: af_xdp}
"""
FOUND = Capacity(rate=Rate(1_100_000_000), lanes=22)
CERTIFIED = Standing(state="certified", detail="", capacity=FOUND)


def believed(text: str, known: Standing) -> tuple[Capacity, str]:
    bed, whence = with_capacity(parse_testbed(text, "bed.yaml"), known)
    return bed.model.capacity, whence


def test_what_the_file_states_counts() -> None:
    capacity, whence = believed(SILENT + "capacity: {rate: 1mbit, lanes: 3}\n", CERTIFIED)
    assert (capacity.rate.bps, capacity.lanes, whence) == (10**6, 3, STATED)


def test_else_what_was_measured() -> None:
    assert believed(SILENT, CERTIFIED) == (FOUND, MEASURED)


def test_else_a_guess() -> None:
    expired = CERTIFIED.model_copy(update={"state": "expired"})
    unmeasured = CERTIFIED.model_copy(update={"capacity": None})
    for known in (expired, unmeasured, Standing(state="none", detail="")):
        assert believed(SILENT, known) == (GUESSED_CAPACITY, GUESSED)


def test_one_lane_is_the_margin() -> None:
    bed = parse_testbed(SILENT, "bed.yaml").model
    found = careful(Found(23, 23 * 50_000_000, ()), bed)
    assert found == Capacity(rate=Rate(22 * 50_000_000), lanes=23)
    assert careful(Found(1, 50_000_000, ()), bed) == Capacity(rate=Rate(50_000_000), lanes=16)
    assert careful(Found(0, 0, ()), bed) is None
