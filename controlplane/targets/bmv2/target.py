"""The bmv2 target of a testbed: simple_switch, and the hosts' data plane beside it."""

from __future__ import annotations

from ...contract.errors import InternalError
from ...contract.switch_bmv2 import SwitchBmv2
from ...contract.testbed import Testbed
from ..base import Target
from ..host import TargetHost
from ..with_hosts import SwitchWithHosts
from .switch import Bmv2Switch


def bmv2_target(host: TargetHost, testbed: Testbed) -> Target:
    """The target on a machine; it comes up with `load`."""
    if not isinstance(testbed.switch, SwitchBmv2):
        raise InternalError(f"testbed {testbed.name!r}: its switch is not a bmv2")
    switch = Bmv2Switch(host, testbed.switch.program)
    return SwitchWithHosts(switch, host, testbed.dataplane, testbed.stamps_arrivals)
