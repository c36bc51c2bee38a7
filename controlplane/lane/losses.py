"""Which counters of the data plane and of the hosts mean a lost packet."""

from __future__ import annotations

import re

from ..contract.messages import SharedCounters

_PORT_LOSSES = (
    "rx_dropped",
    "tx_dropped",
    "rx_no_mbuf",
    "xdp_rx_dropped",
    "xdp_rx_ring_full",
    "xdp_tx_invalid",
)
_DISCARDED = "discarded"
"""What a reset discards on purpose; every other ring counter is a loss."""
_UNSHAPED_LOSS = re.compile(r"drop|err|no_?mbuf|missed|full|invalid|malformed|fail|discard")
"""Names of the reasons for which a packet that bypassed the queues is lost."""


def loss_counters(shared: SharedCounters, hosts: dict[str, int]) -> dict[str, int]:
    """All loss counters by a name that says where.

    Args:
        shared: The target's counters that all lanes share.
        hosts: The hosts' loss counters.
    """
    losses = dict(hosts)
    for name, port in shared.ports.items():
        losses |= {f"port {name} {loss}": getattr(port, loss) for loss in _PORT_LOSSES}
    losses |= {f"ring {name}": n for name, n in shared.rings.items() if name != _DISCARDED}
    return losses | {
        f"unshaped {name}": n for name, n in shared.unshaped.items() if _UNSHAPED_LOSS.search(name)
    }


def difference(after: dict[str, int], before: dict[str, int]) -> dict[str, int]:
    """Change of each counter; one that was not there before counts from 0."""
    return {name: count - before.get(name, 0) for name, count in after.items()}
