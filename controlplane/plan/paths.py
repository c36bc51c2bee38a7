"""The delay lines of a trial: what each way of each flow group's path does to its packets."""

from collections.abc import Iterable, Sequence

from ..contract.flow_group import FlowGroup
from ..contract.path_changes import (
    GilbertSettings,
    Impairment,
    PathChange,
    PathState,
    ReturnPath,
    Way,
    retry_ppb,
    split_at,
)
from ..contract.scenario import Scenario
from ..contract.target import GroupDelay
from ..contract.trial import Setting
from ..contract.units import Duration
from .seeds import derive

Losses = Sequence[tuple[int, int]]
"""The forward path's random loss from times on: (ns after t0, parts per billion)."""


def group_delays(
    scenario: Scenario, setting: Setting, seed: int, losses: Losses = ()
) -> tuple[GroupDelay, ...]:
    """The delay line of each group.

    Args:
        setting: Says base RTTs and random loss where they are swept.
        losses: The random loss of all groups from times on.
    """
    return tuple(
        _group_delay(scenario, setting, index, derive(seed, "loss", index), losses)
        for index in range(len(scenario.flows))
    )


def _group_delay(
    scenario: Scenario, setting: Setting, index: int, seed: int, losses: Losses
) -> GroupDelay:
    group, rtt_ns = scenario.flows[index], setting.base_rtt_ns[index]
    swept = setting.random_loss_ppb
    loss_ppb = group.random_loss.ppb if swept is None else swept
    forward_ns, reverse_ns = split_at(group, rtt_ns, None)
    changes = _changes(group, rtt_ns, loss_ppb, losses)
    there = (
        PathState(at_ns=at, delay_ns=ns[0], loss_ppb=ppb, retry_ppb=_retries(group, wifi))
        for at, ns, ppb, wifi in changes
    )
    back = (
        PathState(at_ns=at, delay_ns=ns[1], loss_ppb=0, retry_ppb=_retries(group.back, wifi))
        for at, ns, _, wifi in changes
    )
    return GroupDelay(
        forward_ns=forward_ns,
        reverse_ns=reverse_ns,
        loss_ppb=loss_ppb,
        seed=seed,
        jitter_ns=scenario.hosts.processing_jitter.ns,
        receivers_wait=scenario.hosts.read_interval.ns > 0,
        forward=_impairment(group, there, derive(seed, "forward")),
        back=_return(group.back, back if group.changes else (), derive(seed, "return")),
    )


def _changes(
    group: FlowGroup, rtt_ns: int, loss_ppb: int, losses: Losses
) -> list[tuple[int, tuple[int, int], int, Duration | None]]:
    """Time, both delays, loss and the mean of Wi-Fi's jitter after each change, by time."""
    moments = sorted({change.at.ns for change in group.changes} | {at for at, _ in losses})
    found = []
    for moment in moments:
        past = [change for change in group.changes if change.at.ns <= moment]
        change: PathChange | None = past[-1] if past else None
        lost = [ppb for at, ppb in losses if at <= moment]
        wifi = [each.wifi for each in past if each.wifi is not None]
        found.append(
            (
                moment,
                split_at(group, rtt_ns, change),
                lost[-1] if lost else loss_ppb,
                wifi[-1] if wifi else None,
            )
        )
    return found


def _retries(way: Way, changed: Duration | None) -> int | None:
    """The share that Wi-Fi sends again after a change; None: as before."""
    before = way.jitter and way.jitter.wifi
    return retry_ppb(changed or before) if before else None


def _impairment(way: Way, changes: Iterable[PathState], seed: int) -> Impairment:
    parts = {
        "jitter": way.jitter and way.jitter.told,
        "reorder": way.reorder and way.reorder.model_dump(),
        "gilbert": way.loss and way.loss.gilbert.told,
    }
    told = {name: {**part, "seed": derive(seed, name)} for name, part in parts.items() if part}
    return Impairment.model_validate({**told, "changes": tuple(changes) or None})


def _return(way: ReturnPath, changes: Iterable[PathState], seed: int) -> Impairment:
    """Independent loss on the way back is a state that never becomes bad."""
    made, ppb = _impairment(way, changes, seed), way.random_loss.ppb
    never_bad = GilbertSettings(loss_good_ppb=ppb, seed=derive(seed, "loss"))
    return made.model_copy(update={"gilbert": never_bad}) if ppb else made
