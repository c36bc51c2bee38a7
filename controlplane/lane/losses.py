"""Which counters of the data plane and of the hosts mean a lost packet."""

from __future__ import annotations

import re
from typing import Any

from ..contract.errors import TargetError

_LOSS = re.compile(r"drop|err|no_?mbuf|missed|full|invalid|malformed|fail|discard")
_RINGS = re.compile(r"^(?!discarded$)")
"""Every ring counter but what a reset discards on purpose."""


def loss_counters(shared: dict[str, Any], hosts: dict[str, int]) -> dict[str, int]:
    """All loss counters by a name that says where.

    Args:
        shared: The target's counters that all lanes share.
        hosts: The hosts' loss counters.
    """
    found = dict(hosts)
    for port, counters in _section(shared, "ports").items():
        found |= _flat(f"port {port}", counters, _LOSS)
    found |= _flat("ring", _section(shared, "rings"), _RINGS)
    found |= _flat("unshaped", _section(shared, "unshaped"), _LOSS)
    return found


def difference(after: dict[str, int], before: dict[str, int]) -> dict[str, int]:
    """Change of each counter; one that was not there before counts from 0."""
    return {name: count - before.get(name, 0) for name, count in after.items()}


def _section(shared: dict[str, Any], name: str) -> dict[str, Any]:
    section = shared.get(name)
    if not isinstance(section, dict):
        raise TargetError(f"data plane: stats: {name} is missing")
    return section


def _flat(place: str, counters: Any, wanted: re.Pattern[str]) -> dict[str, int]:
    if not isinstance(counters, dict):
        raise TargetError(f"data plane: stats: {place} is no object")
    found: dict[str, int] = {}
    for name, value in counters.items():
        if isinstance(value, dict):
            found |= _flat(f"{place} {name}", value, wanted)
        elif isinstance(value, int) and wanted.search(name):
            found[f"{place} {name}"] = value
    return found
