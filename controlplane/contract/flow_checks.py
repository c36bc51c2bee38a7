"""What must fit together in a scenario of its flow groups and the mixes of their flows."""

from __future__ import annotations

from .course import SettledDuration
from .flow_group import FlowGroup
from .harm import HarmMixes
from .scenario_keys import ScenarioKeys
from .sweep import MixSpec, PairMixes
from .traffic import OF_MIX
from .units import Duration, counted


def check_order(scenario: ScenarioKeys) -> None:
    """A mix has a number for each of its groups in their order: background comes after them.

    Raises:
        ValueError: A group of the mix stands behind one that is not, or there is none.
    """
    if not scenario.mixed:
        raise ValueError(
            "flows: no group is part of the mix; write one with a `count` and no `strategy`"
        )
    for i, group in enumerate(scenario.flows[: len(scenario.mixed)]):
        if not group.mixed:
            raise ValueError(
                f"flows.{i}: {group.name!r} is background; write it behind the groups of the mix"
            )


def check_background_start(scenario: ScenarioKeys, index: int, group: FlowGroup) -> None:
    """Background may begin late, but not after the end.

    Raises:
        ValueError: It does.
    """
    jitter = scenario.start_jitter if group.arrivals is None else Duration(0)
    if group.start_offset.ns + jitter.ns >= scenario.shortest.ns:
        also = f" and start_jitter {jitter} are together" if jitter.ns else " is"
        raise ValueError(
            f"flows.{index}.start_offset: {group.start_offset}{also} beyond the duration "
            f"({scenario.shortest})"
        )


def check_directions(scenario: ScenarioKeys) -> None:
    """Data that takes the way back needs a bottleneck there, and a start that can be ordered.

    Raises:
        ValueError: There is none.
    """
    for i, group in enumerate(scenario.flows):
        if not group.reverse:
            continue
        if scenario.bottleneck.return_ is None:
            raise ValueError(
                f"flows.{i}.direction: reverse needs a bottleneck on the way back; write "
                "`bottleneck: {return: {rate: 10mbit, buffer: 50pkt}}`"
            )
        if scenario.start == "iperf3":
            raise ValueError(
                f"flows.{i}.direction: iperf3 starts flows of one direction; write another start"
            )


def check_applications(scenario: ScenarioKeys) -> None:
    """What a scenario cannot do with its applications.

    Raises:
        ValueError: It has one that does not go with its start or duration.
    """
    for i, group in enumerate(scenario.flows):
        applied = ("app", "udp") + (("size",) if group.ends else ())
        key = next((name for name in applied if getattr(group, name) is not None), None)
        if key is None:
            continue
        if scenario.start == "iperf3":
            raise ValueError(
                f"flows.{i}.{key}: iperf3 sends bulk data; remove `{key}`, or write another start"
            )
        if group.mixed and isinstance(scenario.duration, SettledDuration):
            raise ValueError(
                f"flows.{i}.{key}: a trial lasts until the shares of bulk flows are settled; write "
                "a fixed duration, or a `strategy` that makes the group background"
            )


def check_mixes(scenario: ScenarioKeys) -> None:
    """The mixes that are listed are of the scenario's strategies and flows.

    Raises:
        ValueError: One is not.
    """
    if scenario.sweep.mixes == "all":
        return
    if isinstance(scenario.sweep.mixes, PairMixes):
        _check_pairs(scenario, scenario.sweep.mixes)
        return
    if isinstance(scenario.sweep.mixes, HarmMixes):
        _check_harm(scenario, scenario.sweep.mixes)
        return
    for i, mix in enumerate(scenario.sweep.mixes):
        problem = _mix_problem(scenario, mix)
        if problem:
            raise ValueError(f"sweep.mixes.{i}: {problem}")


def _check_pairs(scenario: ScenarioKeys, mixes: PairMixes) -> None:
    if len(scenario.mixed) != 1:
        raise ValueError("sweep.mixes: pairs need a scenario with one flow group in the mix")
    most, flows = max(mixes.second or (0,)), scenario.flows[0].count
    if most > flows:
        raise ValueError(f"sweep.mixes.second: {most} flows, but the group has {flows}")
    if isinstance(mixes.pairs, tuple):
        named = {name for pair in mixes.pairs for name in pair}
        check_known(scenario, "sweep.mixes.pairs", named)


def _mix_problem(scenario: ScenarioKeys, mix: MixSpec) -> str | None:
    """What is wrong with a mix as it is written; None: nothing."""
    if isinstance(mix, dict):
        return _mapping_problem(scenario, mix)
    if len(scenario.strategies) != 2:
        return "with more than two strategies write a mapping, e.g. {cubic: 4, bbr: 3, reno: 3}"
    counts = (mix,) if isinstance(mix, int) else mix
    if len(counts) != len(scenario.mixed):
        return f"{counted(len(counts), 'number')} for {counted(len(scenario.mixed), 'flow group')}"
    for count, group in zip(counts, scenario.mixed, strict=True):
        if count > group.count:
            flows = f"{count} {scenario.strategies[1]} flows"
            return f"{flows}, but group {group.name!r} has {group.count}"
    return None


def _mapping_problem(scenario: ScenarioKeys, mix: dict[str, int]) -> str | None:
    if len(scenario.mixed) != 1:
        return "a mapping needs a scenario with one flow group"
    unknown = sorted(set(mix) - set(scenario.strategies))
    if unknown:
        return f"{unknown[0]!r} is not among the strategies ({', '.join(scenario.strategies)})"
    if sum(mix.values()) != scenario.flows[0].count:
        return f"the counts add up to {sum(mix.values())}, not to {scenario.flows[0].count} flows"
    return None


def _check_harm(scenario: ScenarioKeys, mixes: HarmMixes) -> None:
    """Refuse a victim that there is not, and mixes in which it has no company.

    Raises:
        ValueError: In one line that names the key.
    """
    if len(scenario.mixed) != 1:
        raise ValueError("sweep.mixes: harm_to needs a scenario with one flow group in the mix")
    background = [group.name for group in scenario.flows if _runs_alone(group)]
    if mixes.harm_to not in {*scenario.strategies, *background}:
        known = ", ".join([*scenario.strategies, *background])
        raise ValueError(
            f"sweep.mixes.harm_to: {mixes.harm_to!r} is neither a strategy nor a group with a "
            f"`strategy` of its own ({known})"
        )
    if mixes.harm_to not in scenario.strategies:
        _check_alone(scenario)
    elif scenario.mixed[0].count < 2:
        raise ValueError(
            "sweep.mixes.harm_to: a flow that is alone in its group has nobody beside it; write "
            "`count: 2` or more"
        )


def _runs_alone(group: FlowGroup) -> bool:
    """Whether a group is the same whatever the mix is."""
    return not group.mixed and (group.udp is not None or group.strategy != OF_MIX)


def _check_alone(scenario: ScenarioKeys) -> None:
    """Without a flow of the mix, nothing says when a trial has settled or its flows have begun."""
    if not isinstance(scenario.duration, Duration):
        raise ValueError(
            "sweep.mixes.harm_to: a group that is alone cannot settle; write a fixed `duration`"
        )
    if scenario.window == "whole" or scenario.start == "iperf3":
        key = "window: whole" if scenario.window == "whole" else "start: iperf3"
        raise ValueError(
            f"sweep.mixes.harm_to: a group that is alone has no flows of the mix, whose times "
            f"`{key}` is about; remove it"
        )


def check_harm_bound(scenario: ScenarioKeys, where: str, by: str) -> None:
    """Refuse a bound on harm that the run will not show.

    Args:
        where: The bound's place in it.
        by: The strategy that does the harm.

    Raises:
        ValueError: In one line that names the key.
    """
    if not isinstance(scenario.sweep.mixes, HarmMixes):
        raise ValueError(
            f"{where}: harm takes a victim alone; write `sweep: {{mixes: {{harm_to: ...}}}}`"
        )
    if by not in scenario.strategies:
        known = ", ".join(scenario.strategies)
        raise ValueError(f"{where}.by: {by!r} is not among the strategies ({known})")


def check_known(scenario: ScenarioKeys, where: str, named: set[str]) -> None:
    """Refuse a strategy that the scenario does not have."""
    unknown = named - set(scenario.strategies)
    if unknown:
        raise ValueError(
            f"{where}: {min(unknown)!r} is not among the strategies "
            f"({', '.join(scenario.strategies)})"
        )


def check_programs(scenario: ScenarioKeys) -> None:
    """What a scenario cannot do with programs: they send bulk data for a fixed time.

    Raises:
        ValueError: It asks for it.
    """
    if not scenario.programs:
        if scenario.hosts.cpu is not None:
            raise ValueError("hosts.cpu: is that of programs, and no strategy is one; remove it")
        return
    if isinstance(scenario.duration, SettledDuration):
        raise ValueError("duration: programs send for a fixed time; write e.g. 120s")
    if scenario.start == "iperf3":
        raise ValueError("start: is that of our own generator; write another, e.g. together")
    if scenario.telemetry.capture:
        raise ValueError("telemetry.capture: is read as the kernel's TCP; remove it with programs")
    for i, group in enumerate(scenario.flows):
        if not group.mixed and group.runs not in {OF_MIX, *scenario.programs}:
            continue
        for key in ("arrivals", "size", "app", "dscp"):
            if getattr(group, key) is not None:
                raise ValueError(
                    f"flows.{i}.{key}: programs send bulk data; remove it, or name a strategy of "
                    "the group that is no program"
                )
        if group.reverse:
            raise ValueError(f"flows.{i}.direction: programs send forward; write `forward`")
