"""Flow control of a NIC: off on the link, whatever the driver thinks when that comes up."""

from collections.abc import Sequence
from types import SimpleNamespace

import pytest
from nashbed.controlplane.contract.errors import HostError
from nashbed.controlplane.machine.host import nics


class E1000e:
    """What Linux's e1000e does (QEMU 7.2, Linux 6.1): a new link takes what both ends once offered.

    Args:
        downs: How often the link is down when it is looked at, before it comes up.
        stubborn: It never does what it is told.
        relapses: Every link of it comes up with flow control, and being told costs the link.
    """

    def __init__(self, downs: int = 0, stubborn: bool = False, relapses: bool = False) -> None:
        self.rx = True
        self.told: list[Sequence[str]] = []
        self._downs = downs
        self._stubborn = stubborn
        self._relapses = relapses

    def run(self, args: Sequence[str]) -> SimpleNamespace:
        command = list(args[args.index("exec") + 2 :]) if "exec" in args else list(args)
        if command[0] == "cat":
            return SimpleNamespace(code=0, out=f"{self._carrier()}\n")
        if command[:2] == ["ethtool", "-a"]:
            on = "on" if self.rx else "off"
            shown = f"Pause parameters for eth1:\nAutonegotiate:\t{on}\nRX:\t\t{on}\nTX:\t\toff\n\n"
            return SimpleNamespace(code=0, out=shown)
        assert command[:2] == ["ethtool", "-A"]
        self.told.append(command[3:])
        self.rx &= self._stubborn
        self._downs += self._relapses
        return SimpleNamespace(code=0, out="")

    def _carrier(self) -> int:
        if self._downs:
            self._downs -= 1
            self.rx |= self._downs == 0
            return 0
        return 1


def plug(nic: E1000e, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nics.command, "run", nic.run)
    monkeypatch.setattr(nics.command, "attempt", nic.run)


def test_it_is_off_before_the_link_and_on_it(monkeypatch: pytest.MonkeyPatch) -> None:
    nic = E1000e(downs=2)
    plug(nic, monkeypatch)
    nics.stop_pausing("ns", "eth1")
    assert (nic.rx, len(nic.told)) == (False, 1)
    nics.await_link_without_pauses("ns", "eth1")
    assert (nic.rx, len(nic.told)) == (False, 2)


def test_a_link_without_pauses_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    nic = E1000e()
    nic.rx = False
    plug(nic, monkeypatch)
    nics.await_link_without_pauses("ns", "eth1")
    assert nic.told == []


@pytest.mark.parametrize("nic", [E1000e(stubborn=True), E1000e(relapses=True)])
def test_a_nic_that_goes_on_pausing_is_refused(
    nic: E1000e, monkeypatch: pytest.MonkeyPatch
) -> None:
    plug(nic, monkeypatch)
    with pytest.raises(HostError, match=r"flow control .* stays on"):
        nics.await_link_without_pauses("ns", "eth1")
