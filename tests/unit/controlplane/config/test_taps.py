"""Hardware taps in a testbed file: read, and refused with their place."""

from __future__ import annotations

import pytest
from nashbed.controlplane.config import parse_testbed
from nashbed.controlplane.contract.errors import ConfigError
from tests.unit.controlplane.conftest import TESTBED

TAPS = """\
capture:
  before: {file: "a-{trial}.pcap", clock: card}
  behind: {file: "b-{trial}.pcap", format: %s}
"""


def test_taps() -> None:
    bed = parse_testbed(TESTBED + TAPS % "exablaze", "lab.yaml").model
    assert bed.capture is not None
    assert (bed.capture.before.format, bed.capture.before.clock) == ("auto", "card")
    assert (bed.capture.behind.format, bed.capture.behind.clock) == ("exablaze", "")
    assert parse_testbed(TESTBED, "lab.yaml").model.capture is None


def test_an_unknown_format_has_its_place() -> None:
    with pytest.raises(ConfigError, match=r"lab\.yaml:8: capture\.behind\.format") as raised:
        parse_testbed(TESTBED + TAPS % "hpt", "lab.yaml")
    assert len(raised.value.message.splitlines()) == 1
