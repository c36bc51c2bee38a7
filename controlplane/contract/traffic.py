"""Flows that are no part of the mix: background flows, and transfers that end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from .scenario import FlowGroup, Scenario

OF_MIX: Final = "of_mix"
"""Strategy of a group whose flows run what the mix says."""


def check_order(scenario: Scenario) -> None:
    """A mix has a number for each of its groups in their order: background comes after them.

    Raises:
        ValueError: A group of the mix stands behind one that is not, or there is none.
    """
    if not scenario.mixed:
        raise ValueError(
            "flows: no group is part of the mix; leave out `strategy` in the first one"
        )
    for i, group in enumerate(scenario.flows[: len(scenario.mixed)]):
        if not group.mixed:
            raise ValueError(
                f"flows.{i}: {group.name!r} is background; write it behind the groups of the mix"
            )


def check_background_start(scenario: Scenario, index: int, group: FlowGroup) -> None:
    """Background may begin late, but not after the end.

    Raises:
        ValueError: It does.
    """
    latest = group.start_offset.ns + scenario.start_jitter.ns
    if latest >= scenario.shortest.ns:
        raise ValueError(
            f"flows.{index}.start_offset: {group.start_offset} and start_jitter "
            f"{scenario.start_jitter} are together beyond the duration ({scenario.shortest})"
        )
