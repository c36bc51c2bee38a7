"""How flows are distinguished in captures: the ports and addresses of hosts/README.md."""

from __future__ import annotations

from ipaddress import IPv4Network
from typing import Final

from .shared import CONSTANTS

SINK_PORT: Final = CONSTANTS.sink_port
FIRST_SENDER_PORT: Final = CONSTANTS.first_sender_port
"""Of flow 0 of every lane; flow n sends from this port + n."""
CONTROL_PORT: Final = 5201
"""Of the control connections of iperf3 processes: iperf3's own."""
FIRST_CONTROL_SENDER_PORT: Final = 9000
"""Of process 0; process n dials from this port + n."""
SENDERS_NETWORK: Final = IPv4Network(CONSTANTS.senders_network)
RECEIVERS_NETWORK: Final = IPv4Network(CONSTANTS.receivers_network)


def lane_network(network: IPv4Network, lane: int) -> IPv4Network:
    """The /24 of either network that is a lane's."""
    return IPv4Network((int(network.network_address) | lane << 8, 24))


def sender_address(lane: int, group: int) -> str:
    """Address of a lane's flow group at the senders."""
    return _address(SENDERS_NETWORK, lane, group)


def receiver_address(lane: int, group: int) -> str:
    """Address of a lane's flow group at the receivers."""
    return _address(RECEIVERS_NETWORK, lane, group)


def _address(network: IPv4Network, lane: int, group: int) -> str:
    return str(network.network_address + (lane << 8 | group + 1))
