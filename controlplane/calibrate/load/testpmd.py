"""dpdk-testpmd as a generator: exact in size and number, as fast as it can.

`start tx_first N` sends exactly N bursts before it begins to forward, so with a burst of one
packet the number of frames is exact; forwarding is `rxonly`, which sends nothing.
"""

from __future__ import annotations

import re

from ...contract.errors import HostError
from ...machine.host.programs import TESTPMD
from ...machine.host.session import Session
from .base import Burst, BurstStep, Load

START_S = 30.0
STEP_S = 0.1
"""More than testpmd needs to stop and to start again."""
_SENT = re.compile(r"NIC statistics for port 0 .*?TX-packets: (\d+)", re.S)
_FAILED = re.compile(r"(?im)^.*(?:error|bad arguments|invalid|not compatible|cannot).*$")


class TestpmdLoad(Load):
    """testpmd on the senders' interface, once for each burst.

    Args:
        session: Runs it beside the senders.
    """

    __test__ = False  # not a test class, whatever pytest thinks of its name

    def __init__(self, session: Session) -> None:
        self._session = session

    def describe(self) -> dict[str, str]:
        """Its name; DPDK's version is the machine's."""
        return {"generator": TESTPMD}

    def send(self, burst: Burst) -> int:
        """Send a burst; the pace is testpmd's own."""
        ends = self._session.path_ends
        args = arguments(burst, ends.interface, ends.destination_mac)
        takes_s = START_S + burst.seconds + STEP_S * len(burst.steps)
        done = self._session.run_beside_senders(args, commands(burst), takes_s)
        if done.code != 0:
            words = _FAILED.findall(done.err + done.out) or [f"exit code {done.code}"]
            raise HostError(f"{TESTPMD}: {words[0].strip()}")
        return frames_sent(done.out)

    def close(self) -> None:
        """Nothing is held between bursts."""


def arguments(burst: Burst, interface: str, destination_mac: str) -> list[str]:
    """The command line: AF_PACKET on the kernel's interface, no huge pages."""
    return [
        *(TESTPMD, "--lcores=0@0,1@0", "--no-huge", "-m", "256", "--no-pci", "--no-shconf"),
        f"--vdev=net_af_packet0,iface={interface},qdisc_bypass=1",
        *("--", "--interactive", "--nb-cores=1", "--forward-mode=rxonly", "--no-flush-rx"),
        *("--total-num-mbufs=8192", "--burst=1"),
        f"--eth-peer=0,{destination_mac}",
        f"--tx-ip={burst.src},{burst.dst}",
        f"--tx-udp={burst.sport},{burst.dport}",
    ]


def commands(burst: Burst) -> str:
    """What is typed: for each step its size and number; at last what was sent in all.

    What each stop tells is not asked for: testpmd loses output that is not read at once.
    """
    return "".join(_step(step) for step in burst.steps) + "show port stats 0\nquit\n"


def _step(step: BurstStep) -> str:
    return f"set txpkts {step.frame_bytes}\nstart tx_first {step.count}\nstop\n"


def frames_sent(out: str) -> int:
    """The port's own count; raises HostError when testpmd does not report it."""
    found = _SENT.search(out)
    if found is None:
        raise HostError(f"{TESTPMD}: does not report how many packets it sent")
    return int(found[1])
