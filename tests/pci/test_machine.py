# SPDX-License-Identifier: Apache-2.0
"""A machine that hangs fails its tests soon and says why; it takes no QEMU to show that."""

from __future__ import annotations

import platform
import socket
import tempfile
from pathlib import Path

import pytest
from tests.pci.conftest import KINDS
from tests.pci.machine import Machine, MachineError, tsc_khz


def test_a_machine_that_does_not_answer_is_given_up_at_once_the_next_time() -> None:
    with tempfile.TemporaryDirectory(prefix="nashbed-pci-") as folder:
        Path(folder, "console").write_text("Kernel panic - not syncing\n")
        with socket.socket(socket.AF_UNIX) as nobody:
            nobody.bind(f"{folder}/inside")
            nobody.listen()
            machine = Machine(KINDS["e1000e"], Path(folder))
            machine.connect_inside()
            with pytest.raises(MachineError, match=r"no answer in 0\.1 s.*\nKernel panic"):
                machine.call("sleep", 0.1, seconds=0)
            with pytest.raises(MachineError, match=r"given up before: no answer in 0\.1 s"):
                machine.call("sleep", 3600, seconds=0)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="reads an x86-64 register")
def test_the_time_stamp_counter_counts_alike() -> None:
    assert tsc_khz(0.1) == pytest.approx(tsc_khz(0.2), rel=1e-3)
