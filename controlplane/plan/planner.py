"""Scenario and testbed -> plan; what cannot be run is refused here, with the reason."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence

from ..contract.errors import ConfigError, TargetError
from ..contract.plan import Plan, PlannedTrial
from ..contract.scenario import Scenario
from ..contract.target import Applied, BottleneckProgram, Capabilities
from ..contract.testbed import Testbed
from ..contract.trial import Mix, Setting
from ..contract.units import PACKET_BYTES, Duration, Rate, Size
from .mixes import mix_label, scenario_mixes
from .resources import NOTHING, Room, held_packets, room_of, taken_by
from .seeds import derive
from .settings import scenario_settings

OVERHEAD_S = 3.0
"""Wall-clock seconds of a trial besides its duration: connecting, draining, converting."""
RAW_BYTES_PER_PACKET = 40
TABLE_BYTES_PER_PACKET = 24
SAMPLE_BYTES = 120
CAPTURED_BYTES = 144
"""Of a captured data segment or ACK: 128 bytes of headers and the capture's own 16."""
GOODPUT_BYTES = 12
DEFAULT_SPEED = 1.25
"""Packets for each full-sized packet of the rate: drops and short packets are extra."""


Resolve = Callable[[BottleneckProgram], Applied]


Rounds = Sequence[int]
"""Trials of each round of an adaptive search, as expected."""

Expect = Callable[[Scenario, Sequence[Setting], int], Rounds]
"""Says what an adaptive search will take: (scenario, settings, trials at once) -> rounds."""


def make_plan(
    scenario: Scenario,
    testbed: Testbed,
    can: Capabilities,
    resolve: Resolve | None = None,
    expect: Expect | None = None,
    alone: Rate | None = None,
) -> Plan:
    """Plan every trial of a scenario on a testbed.

    Args:
        scenario: What to run.
        testbed: Where to run it.
        can: What the testbed's target can do.
        resolve: Tells what it would really do; None: that is not looked at.
        expect: Says what an adaptive search will take; None: every mix is counted.
        alone: The highest rate of a trial that runs alone; None: the testbed's capacity.

    Raises:
        ConfigError: The target or the testbed cannot do what the scenario asks for.
    """
    settings = scenario_settings(scenario)
    for setting, program in settings:
        _check_rate(scenario, testbed, setting, alone or testbed.capacity.rate)
        _check_setting(scenario, testbed, can, setting, program)
    expected = _expected(scenario, settings, resolve) if resolve else {}
    trials = _order(scenario, settings, scenario_mixes(scenario), expected)
    lanes = _lanes(scenario, testbed, can, settings)
    trial_ns = scenario.duration.ns
    room = room_of(testbed)
    seconds = estimate_seconds(trials, trial_ns, lanes, room)
    disk = sum(trial_table_bytes(scenario, t.setting) for t in trials)
    number = len(trials)
    if scenario.equilibrium.search == "adaptive" and expect is not None:
        at_once = trials_at_once(trials, lanes, room)
        rounds = expect(scenario, [setting for setting, _ in settings], at_once)
        number = min(sum(rounds), len(trials))
        seconds = sum(-(-n // at_once) for n in rounds) * _trial_seconds(trial_ns)
        disk = disk * number // len(trials)
    return Plan(
        scenario=scenario.name,
        trials=tuple(trials),
        search=scenario.equilibrium.search,
        expected_trials=number,
        flows_per_trial=scenario.total_flows,
        trial_ns=trial_ns,
        lanes=min(lanes, len(trials)),
        estimated_seconds=seconds,
        estimated_disk_bytes=disk + _raw_bytes(scenario, trials, lanes),
        capacity=testbed.capacity,
    )


def _expected(
    scenario: Scenario, settings: list[tuple[Setting, BottleneckProgram]], resolve: Resolve
) -> dict[BottleneckProgram, Applied]:
    """What the target would do at each setting."""
    found = {}
    for setting, program in settings:
        try:
            found[program] = resolve(program)
        except (ConfigError, TargetError) as error:
            where = f"{scenario.name}: setting {setting.label}"
            raise ConfigError(f"{where}: {error.message}") from error
    return found


def _order(
    scenario: Scenario,
    settings: list[tuple[Setting, BottleneckProgram]],
    mixes: list[Mix],
    expected: dict[BottleneckProgram, Applied],
) -> list[PlannedTrial]:
    """Repetition by repetition, settings interleaved, mixes far apart from each other.

    Neighbouring mixes load the machine alike; spread over the run, no moment is heavier
    than another. High rates come first, because small trials fill gaps and large ones do not.
    """
    trials = [
        _trial(scenario, setting, program, mix, repetition, expected.get(program))
        for repetition in range(scenario.trials)
        for mix in _spread(mixes)
        for setting, program in settings
    ]
    return sorted(trials, key=lambda trial: -trial.setting.rate_bps)


def _spread(mixes: list[Mix]) -> list[Mix]:
    """Reorder so that neighbours stand far apart: by bit-reversed index."""
    bits = max(1, (len(mixes) - 1).bit_length())
    return [mix for _, mix in sorted((_reversed(i, bits), mix) for i, mix in enumerate(mixes))]


def _reversed(number: int, bits: int) -> int:
    return int(f"{number:0{bits}b}"[::-1], 2)


def _trial(
    scenario: Scenario,
    setting: Setting,
    program: BottleneckProgram,
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
        seed=derive(scenario.seed, key),
        program=program,
        expected=expected,
    )


def _check_rate(scenario: Scenario, testbed: Testbed, setting: Setting, most: Rate) -> None:
    if setting.rate_bps > most.bps:
        raise ConfigError(
            f"{scenario.name}: setting {setting.label}: rate {Rate(setting.rate_bps)} is more than "
            f"testbed {testbed.name!r} carries ({most}, capacity.rate)"
        )


def _check_setting(
    scenario: Scenario,
    testbed: Testbed,
    can: Capabilities,
    setting: Setting,
    program: BottleneckProgram,
) -> None:
    where = f"{scenario.name}: setting {setting.label}"
    if setting.rate_bps > can.max_rate_bps:
        raise ConfigError(f"{where}: target {can.target} does at most {Rate(can.max_rate_bps)}")
    if setting.buffer_bytes > can.max_buffer_bytes:
        raise ConfigError(
            f"{where}: a buffer of {Size(setting.buffer_bytes)} is more than target "
            f"{can.target} has ({Size(can.max_buffer_bytes)})"
        )
    if program.limit.unit not in can.limit_units:
        raise ConfigError(f"{where}: target {can.target} cannot limit in {program.limit.unit}")
    if scenario.telemetry.mode not in can.postcards:
        raise ConfigError(
            f"{where}: target {can.target} keeps postcards as {', '.join(can.postcards)}, not as "
            f"{scenario.telemetry.mode} (telemetry.postcards)"
        )
    if scenario.total_flows > can.flows:
        raise ConfigError(
            f"{where}: {scenario.total_flows} flows, but the flow table has {can.flows} entries "
            "(dataplane.flow_capacity)"
        )
    if held_packets(setting) > testbed.dataplane.queue_packets:
        raise ConfigError(
            f"{where}: buffer and delay line hold up to {held_packets(setting)} packets, the "
            f"testbed has room for {testbed.dataplane.queue_packets} (dataplane.queue_packets)"
        )


def _lanes(
    scenario: Scenario,
    testbed: Testbed,
    can: Capabilities,
    settings: list[tuple[Setting, BottleneckProgram]],
) -> int:
    """Trials side by side, as far as lanes, flow table and packet memory reach.

    Of the settings that need the least memory; how many of each fit is seen while they run.
    """
    least = min(held_packets(setting) for setting, _ in settings)
    return max(
        1,
        min(
            testbed.capacity.lanes,
            can.lanes,
            can.flows // scenario.total_flows,
            testbed.dataplane.queue_packets // least,
        ),
    )


def estimate_seconds(
    trials: list[PlannedTrial] | tuple[PlannedTrial, ...],
    trial_ns: int,
    lanes: int,
    room: Room,
) -> float:
    """Wall-clock seconds of trials packed by rate, packet memory and number of lanes.

    Args:
        trials: In the order of their start.
        trial_ns: Length of one.
        lanes: At most so many at once.
        room: What they may take at once.
    """
    takes = _trial_seconds(trial_ns)
    running: list[tuple[float, Room]] = []
    now, taken = 0.0, NOTHING
    for trial in trials:
        wanted = taken_by(trial.setting)
        while running and (len(running) >= lanes or not room.holds(taken.plus(wanted))):
            now, ended = heapq.heappop(running)
            taken = taken.less(ended)
        heapq.heappush(running, (now + takes, wanted))
        taken = taken.plus(wanted)
    return max((end for end, _ in running), default=0.0)


def trials_at_once(trials: Sequence[PlannedTrial], lanes: int, room: Room) -> int:
    """Trials side by side: each of the largest rate, and of the average packet memory."""
    wanted = [taken_by(trial.setting) for trial in trials]
    by_rate = room.rate_bps // max(each.rate_bps for each in wanted)
    by_memory = room.packets * len(wanted) // sum(each.packets for each in wanted)
    return max(1, min(lanes, by_rate, by_memory))


def _trial_seconds(trial_ns: int) -> float:
    return Duration(trial_ns).seconds + OVERHEAD_S


def trial_packets(scenario: Scenario, setting: Setting) -> int:
    """Upper estimate of the packets that reach the bottleneck in a trial."""
    full = setting.rate_bps * scenario.duration.ns // (8 * 10**9 * PACKET_BYTES)
    return int(full * DEFAULT_SPEED) + 1000


def trial_table_bytes(scenario: Scenario, setting: Setting) -> int:
    """Upper estimate of a sealed trial's size in bytes."""
    samples = scenario.duration.ns // scenario.telemetry.tcp_info.ns * scenario.total_flows
    intervals = scenario.duration.ns // scenario.telemetry.goodput.ns * scenario.total_flows
    postcards = kept_records(scenario, setting) * TABLE_BYTES_PER_PACKET
    captured = 0
    if scenario.telemetry.capture:
        places = 2 if scenario.telemetry.capture == "both" else 1
        captured = 2 * places * trial_packets(scenario, setting) * CAPTURED_BYTES
    return captured + postcards + samples * SAMPLE_BYTES + intervals * GOODPUT_BYTES + 100_000


def kept_records(scenario: Scenario, setting: Setting) -> int:
    """Upper estimate of the postcards or bins that a trial keeps."""
    kept = scenario.telemetry.postcards
    if kept == "all":
        return trial_packets(scenario, setting)
    if hasattr(kept, "sample"):
        return trial_packets(scenario, setting) // kept.sample + 1
    return scenario.duration.ns // kept.bins.ns * scenario.total_flows


def _raw_bytes(scenario: Scenario, trials: list[PlannedTrial], lanes: int) -> int:
    """Raw postcards of the trials that are on disk at once, before their conversion."""
    largest = max((kept_records(scenario, trial.setting) for trial in trials), default=0)
    return largest * RAW_BYTES_PER_PACKET * min(lanes, len(trials))
