"""Scenario and testbed -> plan; what cannot be run is refused here, with the reason."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest

from ..contract.errors import ConfigError, TargetError
from ..contract.plan import ExpectedSearch, Plan, PlannedTrial
from ..contract.scenario import Scenario, most_flows_at_any_setting
from ..contract.target import Applied, Capabilities, Lane
from ..contract.testbed import Testbed
from ..contract.trial import Mix, Setting, scenario_at
from ..contract.units import Duration, Rate, Size
from .attempt import CONNECT_TIMEOUT_NS, LONGEST_DRAIN_NS, SYN_BITS, emptied_ns
from .estimates import (
    UNLIMITED,
    UNLIMITED_RESOURCES,
    estimate_seconds,
    held_packets,
    mean_seconds,
    most_at_once,
    raw_trial_bytes,
    resources_of,
    trial_table_bytes,
    trial_time,
    trials_at_once,
)
from .refusals import refusals
from .sweep import mix_label, scenario_mixes, scenario_settings

Resolve = Callable[[Lane], Applied]
"""Says what the target would really do."""

Expect = Callable[[Scenario, Sequence[Setting], int], ExpectedSearch]
"""Says what an adaptive search is expected to take, from the scenario, its settings and the number
of trials at once."""


def make_plan(
    scenario: Scenario,
    testbed: Testbed,
    capabilities: Capabilities,
    resolve: Resolve | None = None,
    expect: Expect | None = None,
    highest_rate: Rate | None = None,
    memory_bytes: int = UNLIMITED,
) -> Plan:
    """Plan every trial of a scenario on a testbed.

    Args:
        resolve: Says what it would really do; None: that is not looked at.
        expect: Says what an adaptive search will take; None: every mix is counted.
        highest_rate: Of a trial that runs alone; None: the testbed's capacity.
        memory_bytes: What guests may take together, where each trial has a machine of its own.

    Raises:
        ConfigError: The target or the testbed cannot do what the scenario asks for.
    """
    settings = scenario_settings(scenario)
    own = {setting.label: scenario_at(scenario, setting) for setting in settings}
    for setting in settings:
        _check_rate(scenario, testbed, setting, highest_rate or testbed.capacity.rate)
        _check_setting(own[setting.label], testbed, capabilities, setting)
    expected = _expected(scenario, settings, resolve) if resolve else {}
    trials = _order(own, settings, expected)
    available = resources_of(testbed)
    if capabilities.isolated:
        available = replace(UNLIMITED_RESOURCES, memory_bytes=memory_bytes)
    lanes = most_at_once(trials, _lanes(scenario, testbed, capabilities), available)
    trial_ns = max(each.longest.ns for each in own.values())
    takes = trial_time(capabilities.virtual_time, scenario.longest.ns, scenario.lasting_flows)
    seconds = estimate_seconds(trials, takes, lanes, available)
    disk = sum(trial_table_bytes(own[t.setting.label], t.setting) for t in trials)
    raw = max(raw_trial_bytes(own[setting.label], setting) for setting in settings)
    number, mixes = len(trials), None
    if scenario.equilibrium.search == "adaptive" and expect is not None:
        at_once = trials_at_once(trials, lanes, available)
        search = expect(scenario, settings, at_once)
        number, mixes = min(sum(search.rounds), len(trials)), search.mixes
        seconds = sum(-(-n // at_once) for n in search.rounds) * mean_seconds(trials, takes)
        disk = disk * number // len(trials)
    return Plan(
        scenario=scenario.name,
        trials=tuple(trials),
        search=scenario.equilibrium.search,
        expected_trials=number,
        expected_mixes=mixes,
        flows_per_trial=most_flows_at_any_setting(scenario),
        trial_ns=trial_ns,
        lanes=lanes,
        estimated_seconds=seconds,
        estimated_disk_bytes=disk + raw * min(lanes, len(trials)),
        capacity=testbed.capacity,
        isolated=capabilities.isolated,
        virtual_time=capabilities.virtual_time,
    )


def _expected(
    scenario: Scenario, settings: Sequence[Setting], resolve: Resolve
) -> dict[str, Applied]:
    """What the target would do at each setting, by its label."""
    expected = {}
    for setting in settings:
        try:
            expected[setting.label] = resolve(setting)
        except (ConfigError, TargetError) as error:
            where = f"{scenario.name}: setting {setting.label}"
            raise ConfigError(f"{where}: {error.message}") from error
    return expected


def _order(
    own: Mapping[str, Scenario], settings: Sequence[Setting], expected: dict[str, Applied]
) -> list[PlannedTrial]:
    """Repetition by repetition, settings interleaved, mixes far apart from each other.

    Neighbouring mixes load the machine alike; spread over the run, no moment is heavier
    than another. High rates come first, because small trials fill gaps and large ones do not; in
    virtual time they are the long ones, which are packed best when they start first.

    Args:
        own: Label of a setting -> the scenario as it is there.
    """
    mixes = zip_longest(*(_spread(scenario_mixes(own[setting.label])) for setting in settings))
    beside = [
        (setting, mix)
        for row in mixes
        for setting, mix in zip(settings, row, strict=True)
        if mix is not None
    ]
    trials = [
        _trial(own[setting.label], setting, mix, repetition, expected.get(setting.label))
        for repetition in range(own[settings[0].label].trials)
        for setting, mix in beside
    ]
    return sorted(trials, key=lambda t: (-t.setting.rate_bps, -(t.setting.duration_ns or 0)))


def _spread(mixes: list[Mix]) -> list[Mix]:
    """Reorder so that neighbours stand far apart: by bit-reversed index."""
    bits = max(1, (len(mixes) - 1).bit_length())
    return [mix for _, mix in sorted((_reversed(i, bits), mix) for i, mix in enumerate(mixes))]


def _reversed(number: int, bits: int) -> int:
    return int(f"{number:0{bits}b}"[::-1], 2)


def _trial(
    scenario: Scenario,
    setting: Setting,
    mix: Mix,
    repetition: int,
    expected: Applied | None,
) -> PlannedTrial:
    key = f"{setting.label}-{mix_label(scenario, mix)}-r{repetition}"
    return PlannedTrial(
        key=key,
        setting=setting,
        mix=mix,
        repetition=repetition,
        expected=expected,
        program_flows=_program_flows(scenario, mix),
    )


def _program_flows(scenario: Scenario, mix: Mix) -> int:
    """Flows that are programs', of the mix and beside it."""
    programs = scenario.programs
    mixed = sum(n for group in mix for name, n in group.counts.items() if name in programs)
    return mixed + sum(g.count for g in scenario.flows if not g.mixed and g.runs in programs)


def _check_rate(scenario: Scenario, testbed: Testbed, setting: Setting, highest: Rate) -> None:
    most_bps = setting.most_rate_bps
    if most_bps > highest.bps:
        raise ConfigError(
            f"{scenario.name}: setting {setting.label}: rate {Rate(most_bps)} is more than "
            f"testbed {testbed.name!r} carries ({highest}, capacity.rate)"
        )


def _check_setting(
    scenario: Scenario,
    testbed: Testbed,
    capabilities: Capabilities,
    setting: Setting,
) -> None:
    where = f"{scenario.name}: setting {setting.label}"
    if setting.most_rate_bps > capabilities.max_rate_bps:
        raise ConfigError(
            f"{where}: target {capabilities.target} does at most {Rate(capabilities.max_rate_bps)}"
        )
    if setting.most_buffer_bytes > capabilities.max_buffer_bytes:
        raise ConfigError(
            f"{where}: a buffer of {Size(setting.most_buffer_bytes)} is more than target "
            f"{capabilities.target} has ({Size(capabilities.max_buffer_bytes)}); write a smaller "
            "one, or, where it is of BDPs, a lower rate"
        )
    hosts = refusals(scenario.hosts, capabilities, "hosts")
    for refusal in (*refusals(setting, capabilities), *hosts):
        raise ConfigError(f"{where}: {refusal}")
    _check_slowness(where, scenario, setting)
    if scenario.most_flows > capabilities.flows:
        raise ConfigError(
            f"{where}: {scenario.most_flows} flows, but the flow table has "
            f"{capabilities.flows} entries (dataplane.flow_capacity)"
        )
    if not capabilities.isolated and held_packets(setting) > testbed.dataplane.loop_packets:
        raise ConfigError(
            f"{where}: buffer and delay line hold up to {held_packets(setting)} packets, the "
            f"testbed has room for {testbed.dataplane.loop_packets} {_whose(testbed)}"
        )


def _check_slowness(where: str, scenario: Scenario, setting: Setting) -> None:
    """Refuse a link on which flows cannot connect in time, or that does not empty at the end."""
    back = setting.back
    handshake_ns = scenario.lasting_flows * SYN_BITS * 10**9 // setting.rate_bps
    empty_ns = emptied_ns(scenario, setting)
    if back is not None:
        handshake_ns += scenario.lasting_flows * SYN_BITS * 10**9 // back.rate_bps
        empty_ns += back.longest_ns
    if setting.longest_rtt_ns + handshake_ns > CONNECT_TIMEOUT_NS:
        raise ConfigError(
            f"{where}: to connect its flows takes {handshake_ns / 1e9:.0f} s of its links, and "
            f"they have {Duration(CONNECT_TIMEOUT_NS)} before the start; write a higher rate"
        )
    if empty_ns > LONGEST_DRAIN_NS:
        raise ConfigError(
            f"{where}: what waits at the end of a trial takes up to {empty_ns / 1e9:.0f} s to "
            f"leave, and at most {Duration(LONGEST_DRAIN_NS)} are waited for; write a smaller "
            "buffer or a higher rate"
        )


def _whose(testbed: Testbed) -> str:
    loops = testbed.dataplane.loops
    return "(dataplane.queue_packets" + (f" for {loops} packet loops)" if loops > 1 else ")")


def _lanes(scenario: Scenario, testbed: Testbed, capabilities: Capabilities) -> int:
    """Trials side by side, as far as lanes and the flow table reach; at least one.

    Lanes that are machines of their own do not share the flow table. Where they share hosts, trials
    with programs are run one at a time: a program's socket may take its port at every address, and
    nobody knows how much of a core it takes.
    """
    lanes = testbed.capacity.lanes
    if capabilities.isolated:
        return lanes
    if scenario.programs:
        return 1
    flows = most_flows_at_any_setting(scenario)
    return max(1, min(lanes, capabilities.lanes, capabilities.flows // flows))
