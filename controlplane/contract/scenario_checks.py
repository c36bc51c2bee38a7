"""What must fit together in a scenario, beyond what each of its parts checks by itself."""

from .applications import UDP
from .course import (
    OffsetStart,
    OrderedStart,
    RandomStart,
    SettledDuration,
    StaggeredStart,
    StartSpec,
)
from .flow_checks import (
    check_applications,
    check_background_start,
    check_directions,
    check_harm_bound,
    check_known,
    check_mixes,
    check_order,
    check_programs,
)
from .flow_group import FlowGroup
from .link_checks import check_link
from .metrics import METRIC_UNITS
from .path_changes import check_times
from .queues import COMPLETE_SHARING, FlowKind, Queues, QueueSpec, check_limits
from .scenario_keys import ScenarioKeys
from .selection import MAX_FLOWS
from .shared import CONSTANTS
from .traffic import OF_MIX
from .units import NS_PER_S, PACKET_BYTES, Duration

LEAST_WINDOW = Duration(50_000_000)
"""In shorter ones a flow need not be seen at all."""
NEED_ECN = frozenset({"dctcp", "prague", "bbr2_ecn", "bbr3_ecn"})
"""Strategies that turn into another one on a connection without ECN."""


def check_scenario(scenario: ScenarioKeys) -> None:
    """Refuse a scenario whose parts do not fit together.

    Raises:
        ValueError: In one line: the key, what is wrong with it, and what to write.
    """
    _check_names(scenario)
    _check_times(scenario)
    _check_sweep(scenario)
    _check_buffers(scenario)
    check_link(scenario)
    _check_disciplines(scenario)
    _check_several(scenario)
    check_mixes(scenario)
    _check_search(scenario)
    _check_named_strategies(scenario)
    _check_ecn(scenario)
    check_times(
        scenario.flows,
        scenario.longest,
        swept=scenario.sweep.base_rtt is not None,
        settles=isinstance(scenario.duration, SettledDuration),
    )
    check_applications(scenario)
    check_directions(scenario)
    check_programs(scenario)


def _check_search(scenario: ScenarioKeys) -> None:
    if scenario.equilibrium.search == "adaptive" and scenario.sweep.mixes != "all":
        raise ValueError(
            "sweep.mixes: an adaptive search chooses the mixes; write `mixes: all`, or "
            "equilibrium.search: exhaustive"
        )
    if scenario.equilibrium.search == "exhaustive" and scenario.equilibrium.budget is not None:
        raise ValueError(
            "equilibrium.budget: an exhaustive search runs every mix of the sweep; remove it, or "
            "write search: adaptive"
        )


def _check_names(scenario: ScenarioKeys) -> None:
    names = [group.name for group in scenario.flows]
    if len(set(names)) != len(names):
        raise ValueError("flows: two groups have the same name; name each group differently")
    if len(set(scenario.strategies)) != len(scenario.strategies):
        raise ValueError("strategies: a congestion control is listed twice; remove one of them")
    if scenario.most_flows > MAX_FLOWS:
        raise ValueError(
            f"flows: up to {scenario.most_flows} flows in a trial are too many; write at most "
            f"{MAX_FLOWS}"
        )
    check_order(scenario)


def _check_times(scenario: ScenarioKeys) -> None:
    if scenario.longest.ns > CONSTANTS.duration_ns_max:
        hours = CONSTANTS.duration_ns_max // (3600 * NS_PER_S)
        raise ValueError(f"duration: {scenario.longest} is too long; write at most {hours}h")
    if scenario.warmup.ns >= scenario.shortest.ns:
        raise ValueError(
            f"warmup: {scenario.warmup} leaves nothing to measure; "
            f"make it shorter than the duration ({scenario.shortest})"
        )
    if scenario.shortest.ns - scenario.warmup.ns < LEAST_WINDOW.ns:
        raise ValueError(
            f"warmup: {scenario.warmup} leaves less than {LEAST_WINDOW} of the duration "
            f"({scenario.shortest}) to measure; make it shorter"
        )
    _check_start(scenario, scenario.start)


def _check_start(scenario: ScenarioKeys, start: StartSpec) -> None:
    """One of the ways in which a scenario's flows start."""
    if start == "iperf3":
        _check_iperf3(scenario)
    elif isinstance(start, OrderedStart | OffsetStart):
        _check_start_names(scenario, start)
    elif start != "together" and isinstance(scenario.duration, SettledDuration):
        raise ValueError(
            "start: a trial that is to settle starts the other way round every other time; write "
            "together, an order or offsets"
        )
    for i, group in enumerate(scenario.flows):
        _check_latest_start(scenario, start, i, group)


def _check_iperf3(scenario: ScenarioKeys) -> None:
    """What an iperf3 process cannot do."""
    if not isinstance(scenario.duration, Duration):
        raise ValueError(
            "start: iperf3 sends for a fixed time; write a `duration` such as 120s, or another "
            "start"
        )
    for i, group in enumerate(scenario.flows):
        if group.size is not None:
            key = "size" if group.ends else "arrivals"
            raise ValueError(
                f"flows.{i}.{key}: iperf3 sends bulk data; write another start, e.g. together"
            )
        if group.start_offset.ns:
            raise ValueError(
                f"flows.{i}.start_offset: iperf3 processes start together; remove the offset, or "
                "write another start"
            )


def _check_start_names(scenario: ScenarioKeys, start: OrderedStart | OffsetStart) -> None:
    if isinstance(start, OffsetStart):
        check_known(scenario, "start.offsets", set(start.offsets))
    elif sorted(start.order) != sorted(scenario.strategies):
        raise ValueError("start.order: name every strategy once: " + ", ".join(scenario.strategies))


def _latest_start(scenario: ScenarioKeys, start: StartSpec) -> Duration:
    """The longest that a flow may start after its group's offset, jitter excepted."""
    if isinstance(start, StaggeredStart):
        return Duration(start.staggered.ns * (scenario.total_flows - 1))
    if isinstance(start, OrderedStart):
        return Duration(start.gap.ns * (len(start.order) - 1))
    if isinstance(start, OffsetStart):
        return max(start.offsets.values(), default=Duration(0), key=lambda offset: offset.ns)
    return start.random if isinstance(start, RandomStart) else Duration(0)


def _check_whole(scenario: ScenarioKeys, latest: Duration, i: int, group: FlowGroup) -> None:
    """Every strategy is measured from its own start, which must come before the end."""
    late = Duration(group.start_offset.ns + latest.ns)
    if late.ns + scenario.start_jitter.ns >= scenario.shortest.ns:
        where = f"flows.{i}.start_offset" if group.start_offset.ns else "start"
        raise ValueError(
            f"{where}: the last flow starts up to {late} late, which is beyond the duration "
            f"({scenario.shortest})"
        )
    if not isinstance(scenario.duration, Duration):
        raise ValueError(
            "window: a trial that runs until it is settled is measured where it was steady; "
            "remove `window: whole`, or write a fixed duration"
        )


def _check_latest_start(scenario: ScenarioKeys, start: StartSpec, i: int, group: FlowGroup) -> None:
    latest = _latest_start(scenario, start) if group.mixed else Duration(0)
    if not group.mixed:
        check_background_start(scenario, i, group)
        return
    if scenario.window == "whole":
        _check_whole(scenario, latest, i, group)
        return
    if group.start_offset.ns + latest.ns + scenario.start_jitter.ns <= scenario.warmup.ns:
        return
    if latest.ns:
        raise ValueError(
            f"start: the last flow starts up to {latest} late; with start_offset "
            f"{group.start_offset} and start_jitter {scenario.start_jitter} that is longer than "
            f"warmup {scenario.warmup}; all flows must run for the whole measured window"
        )
    raise ValueError(
        f"flows.{i}.start_offset: {group.start_offset} and start_jitter "
        f"{scenario.start_jitter} together are longer than warmup {scenario.warmup}; all "
        "flows must run for the whole measured window"
    )


def _check_sweep(scenario: ScenarioKeys) -> None:
    if scenario.sweep.base_rtt is not None and len(scenario.mixed) > 1:
        raise ValueError(
            "sweep.base_rtt: needs one flow group in the mix; remove it, or the other groups"
        )


def _check_buffers(scenario: ScenarioKeys) -> None:
    back = scenario.bottleneck.return_
    if back is not None and back.buffer.unit == "bytes" and back.buffer.amount < PACKET_BYTES:
        raise ValueError(
            f"bottleneck.return.buffer: {back.buffer} is less than one packet; write at least "
            f"{PACKET_BYTES}B"
        )
    buffer = scenario.bottleneck.buffer
    if buffer.unit == "packets" and scenario.bottleneck.arrive_as == "trains":
        raise ValueError(
            f"bottleneck.buffer: {buffer}: a Linux queue counts a whole train as one packet; with "
            "`arrive_as: trains` write the buffer in bytes or as bdp"
        )
    rate, rtt = scenario.bottleneck.rate, scenario.flows[0].base_rtt
    size = buffer.to_bytes(rate, rtt)
    if size < PACKET_BYTES:
        raise ValueError(
            f"bottleneck.buffer: {buffer} at {rate} and {rtt} is {size} B, less than one packet; "
            f"write at least {PACKET_BYTES}B"
        )


def _check_disciplines(scenario: ScenarioKeys) -> None:
    discipline = scenario.bottleneck.discipline
    if not discipline.is_droptail and scenario.bottleneck.arrive_as == "trains":
        raise ValueError(
            f"bottleneck.discipline: {discipline.name} decides packet by packet; with "
            "`arrive_as: trains` write droptail"
        )


def _check_several(scenario: ScenarioKeys) -> None:
    """Several queues: every limit has room, and every flow has one queue."""
    bottleneck, base_rtt = scenario.bottleneck, scenario.flows[0].base_rtt
    queues = bottleneck.several(base_rtt)
    if bottleneck.queues is None or queues is None:
        return
    _check_queue_names(scenario, bottleneck.queues)
    _check_covered(scenario, queues)
    memory = bottleneck.shared_buffer or COMPLETE_SHARING
    check_limits(bottleneck.queues, memory, bottleneck.rate, base_rtt)


def _check_queue_names(scenario: ScenarioKeys, queues: tuple[QueueSpec, ...]) -> None:
    known = [*scenario.ccas, *(group.name for group in scenario.flows)]
    for index, queue in enumerate(queues):
        for name in queue.flows or ():
            if name not in known:
                raise ValueError(
                    f"bottleneck.queues.{index}.flows: {name!r} is neither a strategy nor a flow "
                    f"group ({', '.join(known)})"
                )


def _check_covered(scenario: ScenarioKeys, queues: Queues) -> None:
    for kind in _flow_kinds(scenario):
        claimed = queues.claimants(kind)
        flows = f"{kind.strategy} flows of group {kind.group!r}"
        if len(claimed) > 1:
            first, second = (queues.queues[index].name for index in claimed[:2])
            raise ValueError(
                f"bottleneck.queues.{claimed[1]}.flows: {flows} are in queue {first!r} already, "
                f"and in {second!r}; name the group or the strategy, and let a queue take the rest"
            )
        if queues.queue_of(kind) is None:
            raise ValueError(
                f"bottleneck.queues: no queue takes {flows}; name them in one, or add a queue "
                "without flows and dscp, which takes the rest"
            )


def _flow_kinds(scenario: ScenarioKeys) -> list[FlowKind]:
    """What the flows of every group and strategy are sorted by."""
    return [
        FlowKind(strategy, group.name, group.dscp)
        for group in scenario.flows
        for strategy in (scenario.strategies if group.runs == OF_MIX else (group.runs,))
    ]


def _check_named_strategies(scenario: ScenarioKeys) -> None:
    for i, bound in enumerate(scenario.acceptance):
        where, mix, measured = f"acceptance.{i}", bound.mix or {}, bound.metric in METRIC_UNITS
        # A metric of flows may be one of background, which runs a strategy of its own.
        background = {UDP, *scenario.ccas} if measured else set()
        whose = {name for name in (bound.strategy, bound.over) if name}
        check_known(scenario, where, {*mix, *(whose - background)})
        is_elsewhere = bound.count not in (None, scenario.flows[0].count)
        if sum(mix.values()) > scenario.total_flows and not is_elsewhere:
            raise ValueError(
                f"{where}.mix: has more flows than the scenario ({scenario.total_flows})"
            )
        if bound.metric == "rtt_order" and len({g.base_rtt for g in scenario.mixed}) < 2:
            raise ValueError(
                f"{where}: rtt_order needs flow groups of different base RTTs; remove it, "
                "or add a group"
            )
        if bound.by is not None:
            check_harm_bound(scenario, where, bound.by)
        among = scenario.flows if measured else scenario.mixed
        if bound.group is not None and bound.group not in {g.name for g in among}:
            raise ValueError(f"{where}.group: there is no flow group {bound.group!r}")
    for i, series in enumerate(scenario.reference):
        check_known(scenario, f"reference.{i}.strategy", {series.strategy})
        check_known(scenario, f"reference.{i}.mix", {*(series.mix or ())})


def _check_ecn(scenario: ScenarioKeys) -> None:
    """Every name of `hosts.ecn` is known, and DCTCP and its like have what they need."""
    hosts, groups = scenario.hosts, [group.name for group in scenario.flows]
    listed = () if isinstance(hosts.ecn, bool) else hosts.ecn
    for name in listed:
        if name not in {*scenario.ccas, *groups}:
            known = ", ".join([*scenario.ccas, *groups])
            raise ValueError(
                f"hosts.ecn: {name!r} is neither a strategy nor a flow group ({known})"
            )
    for kind in _flow_kinds(scenario):
        strategy = kind.strategy
        if strategy in NEED_ECN and not hosts.negotiates_ecn(strategy, kind.group):
            raise ValueError(
                f"strategies: {strategy} needs ECN; write `hosts: {{ecn: [{strategy}]}}`"
            )
