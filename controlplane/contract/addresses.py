"""How flows are told apart in captures: the ports and addresses of hosts/README.md."""

from __future__ import annotations

from typing import Final

SINK_PORT: Final = 5001
FIRST_SENDER_PORT: Final = 10000
"""Of flow 0 of every lane; flow n sends from this port + n."""
SENDERS_NETWORK: Final = (10, 64)
"""Lane L, group G sends from 10.64.L.(G+1)."""
RECEIVERS_NETWORK: Final = (10, 65)


def sender_address(lane: int, group: int) -> str:
    """Address of a lane's flow group at the senders."""
    return f"10.64.{lane}.{group + 1}"


def receiver_address(lane: int, group: int) -> str:
    """Address of a lane's flow group at the receivers."""
    return f"10.65.{lane}.{group + 1}"
