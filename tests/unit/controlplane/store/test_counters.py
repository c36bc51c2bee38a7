"""The table of registers: 64-bit values, exactly."""

from __future__ import annotations

import random
from pathlib import Path

from nashbed.controlplane.contract.messages import FlowRegisters
from nashbed.controlplane.store.tables import TABLES, write_counters
from tests.unit.controlplane.store.random_records import read_back

FLOWS = 50


def test_random_counters_are_written_exactly(tmp_path: Path) -> None:
    rng = random.Random(1)
    names = [name for name in TABLES["counters"].names if name != "flow"]
    registers = {
        name: [2**64 - 1, *(rng.randrange(2**64) for _ in range(1, FLOWS))] for name in names
    }
    assert write_counters(tmp_path, FlowRegisters.model_validate(registers)) == FLOWS
    assert read_back(tmp_path, "counters") == {"flow": list(range(FLOWS)), **registers}
