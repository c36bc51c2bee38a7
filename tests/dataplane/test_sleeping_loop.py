"""A sleeping loop waits for frames at each of its ports, not only for the next event."""

import os
import time
from pathlib import Path

import pytest
from tests.support.live import Bed, bed

pytestmark = [pytest.mark.live, pytest.mark.root, pytest.mark.dataplane]

PPOLL = 271
"""Number of the system call on x86-64."""
TRIES = 2000


def waited_for(made: Bed) -> int:
    """How many descriptors the loop waits for while it sleeps, as the kernel tells."""
    assert made.process is not None
    thread = Path(f"/proc/{made.process.pid}/task/{made.process.pid}/syscall")
    for _ in range(TRIES):
        words = thread.read_text().split()
        if words[0] == str(PPOLL):
            return int(words[2], 16)
        time.sleep(0.001)
    raise AssertionError("the loop does not sleep")


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the system call's number is x86-64's")
@pytest.mark.parametrize("driver", ["af_packet", "af_xdp"])  # a TAP port has several descriptors
def test_it_waits_for_its_mailbox_and_for_frames_of_both_ports(tmp_path: Path, driver: str) -> None:
    with bed(tmp_path, driver) as made:
        assert waited_for(made) == 3
        made.ping(count=2)
