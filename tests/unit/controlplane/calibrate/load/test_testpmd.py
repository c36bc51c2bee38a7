"""dpdk-testpmd as a load: what it is told, and its answer as DPDK 22.11 printed it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from nashbed.controlplane.calibrate import dpdk_loads as choose_module
from nashbed.controlplane.calibrate.dpdk_loads import TestpmdLoad, arguments, choose_load, commands
from nashbed.controlplane.calibrate.load import Burst, BurstStep
from nashbed.controlplane.contract.errors import ConfigError, HostError
from nashbed.controlplane.contract.testbed import Testbed
from nashbed.controlplane.machine.process.command import Completed
from tests.fakes.session import FakeSession

BURST = Burst(
    "10.64.0.1",
    10000,
    "10.65.0.1",
    5001,
    (BurstStep(1514, 7), BurstStep(60), BurstStep(999, 2)),
    20000,
)


def show(sent: int) -> str:
    """What `stop`, then `show port stats 0` print."""
    return f"""\
testpmd> show port stats 0
  ---------------------- Forward statistics for port 0  ----------------------
  RX-packets: 3              RX-dropped: 0             RX-total: 3
  TX-packets: 2              TX-dropped: 0             TX-total: 2
  ----------------------------------------------------------------------------

Done.

  ######################## NIC statistics for port 0  ########################
  RX-packets: 3          RX-missed: 0          RX-bytes:  270
  RX-errors: 0
  RX-nombuf:  0         
  TX-packets: {sent}         TX-errors: 0          TX-bytes:  1174610

  Throughput (since last show)
  Rx-pps:            0          Rx-bps:            0
  Tx-pps:            0          Tx-bps:            0
  ############################################################################
"""  # noqa: W291 - as it prints


class TestpmdSession(FakeSession):
    """Answers as testpmd did."""

    __test__ = False

    def __init__(self, code: int, out: str, err: str = "") -> None:
        super().__init__()
        self._done = (code, out, err)
        self.typed = ""
        self.args: tuple[str, ...] = ()

    def run_beside_senders(
        self, args: Sequence[str], text: str | None, timeout_s: float
    ) -> Completed:
        self.args, self.typed = tuple(args), text or ""
        assert timeout_s > BURST.seconds
        return Completed(self.args, *self._done)


def test_a_burst_is_typed_step_by_step() -> None:
    session = TestpmdSession(0, show(10))
    load = TestpmdLoad(session)
    assert load.send(BURST) == 10
    assert (
        session.typed
        == commands(BURST)
        == (
            "set txpkts 1514\nstart tx_first 7\nstop\n"
            "set txpkts 60\nstart tx_first 1\nstop\n"
            "set txpkts 999\nstart tx_first 2\nstop\n"
            "show port stats 0\nquit\n"
        )
    )
    assert list(session.args) == arguments(BURST, "nbs0", "02:6e:62:00:00:02")
    load.close()


def test_the_flow_is_on_the_command_line() -> None:
    args = arguments(BURST, "nbs0", "02:6e:62:00:00:02")
    assert "--tx-ip=10.64.0.1,10.65.0.1" in args
    assert "--tx-udp=10000,5001" in args
    assert "--eth-peer=0,02:6e:62:00:00:02" in args
    assert "--burst=1" in args


def test_what_it_could_not_send_is_not_counted() -> None:
    assert TestpmdLoad(TestpmdSession(0, show(6))).send(BURST) == 6


def test_no_count_is_a_failure() -> None:
    with pytest.raises(HostError, match="does not report how many packets it sent"):
        TestpmdLoad(TestpmdSession(0, "testpmd> quit\n")).send(BURST)


def test_its_failure_is_one_line() -> None:
    err = "EAL: Detected CPU lcores: 2\nEAL: Option --legacy-mem is not compatible with x\nmore\n"
    with pytest.raises(HostError, match="dpdk-testpmd: EAL: Option --legacy-mem is not compatible"):
        TestpmdLoad(TestpmdSession(1, "", err)).send(BURST)


def test_it_is_asked_for_only_where_it_is(
    testbed: Testbed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choose_module.shutil, "which", lambda name: None)
    with pytest.raises(HostError, match="not installed; run `apt install dpdk-dev`"):
        choose_load("testpmd", testbed)


@pytest.mark.parametrize("asked", ["testpmd", "pktgen", "pktgen:loadhost"])
def test_no_generator_but_our_own_reaches_a_guest(
    monkeypatch: pytest.MonkeyPatch, asked: str
) -> None:
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    virtual = Testbed(name="virtual", target="virtual")
    with pytest.raises(ConfigError, match="cannot send into the machines of target virtual"):
        choose_load(asked, virtual)
    assert choose_load("auto", virtual) is choose_load("own", virtual)
