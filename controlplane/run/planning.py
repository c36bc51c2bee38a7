"""What a run would do: its plan, and what the target would be given; nothing is touched."""

from collections.abc import Sequence
from functools import partial

from ..config import Loaded, check_utility
from ..contract.c_files import CFile
from ..contract.errors import ConfigError
from ..contract.plan import Plan
from ..contract.scenario import Scenario
from ..contract.testbed import MIB, Testbed
from ..machine.c_files.finding import find_ccas, find_disciplines, require_strategies
from ..machine.c_files.loadable import require_disciplines
from ..machine.guest.memory import MemoryRoom, memory_room
from ..machine.host.preflight import require_qdisc
from ..machine.kernels.cache import find_kernel
from ..plan.estimates import UNLIMITED, guest_takes_bytes
from ..plan.planner import Expect, make_plan
from ..targets.registry import capabilities_of, preview, resolve
from .standing import EACH_SEAT, standing, with_capacity, with_seats


def plan_run(
    scenario: Loaded[Scenario],
    testbed: Loaded[Testbed],
    expect: Expect | None = None,
    seats: int | None = None,
) -> Plan:
    """Plan a run, refusing what cannot be done; touches nothing.

    Args:
        expect: Says what an adaptive search will take; None: every mix is counted.
        seats: Trials that a cluster runs at once; None: this machine runs them.
    """
    ccas, own = find_ccas(scenario, testbed), find_disciplines(scenario)
    if own and seats is not None:
        raise ConfigError(
            f"{scenario.name}: discipline: {own[0].source.name} is a file of yours, and workers of "
            "a cluster load none; run it on this machine"
        )
    plan = plan_with(scenario, testbed, ccas, expect, seats)
    require_disciplines(plan, own, scenario.name)
    return plan


def plan_with(
    scenario: Loaded[Scenario],
    testbed: Loaded[Testbed],
    ccas: Sequence[CFile],
    expect: Expect | None = None,
    seats: int | None = None,
) -> Plan:
    """As `plan_run`, with CCAs that are known already.

    Args:
        ccas: Those of its CCAs that come from a file.
        expect: Says what an adaptive search will take; None: every mix is counted.
        seats: Trials that a cluster runs at once; None: this machine runs them.
    """
    require_strategies(scenario, testbed.model, ccas)
    check_utility(scenario.model, scenario.name)
    qdisc = scenario.model.hosts.qdisc
    if qdisc is not None and seats is None and not testbed.model.is_virtual:
        require_qdisc(qdisc)
    if seats is None:
        loaded, capacity_from = with_capacity(testbed, standing(testbed))
    else:
        loaded, capacity_from = with_seats(testbed, seats), EACH_SEAT
    bed = loaded.model
    room = memory_room() if seats is None and bed.is_virtual else None
    # A calibration measures many lanes together: it is no reason to refuse one fast trial.
    highest_rate = max(bed.capacity.rate, testbed.model.capacity.rate)
    plan = make_plan(
        scenario.model,
        bed,
        capabilities_of(bed),
        partial(resolve, bed),
        expect,
        highest_rate,
        UNLIMITED if room is None else room.free_bytes,
    )
    require_kernels(plan)
    short = "" if room is None else _memory_short(plan, bed.capacity.lanes, room)
    return plan.model_copy(update={"capacity_from": capacity_from, "memory_short": short})


def _memory_short(plan: Plan, lanes: int, room: MemoryRoom) -> str:
    """Why a plan has fewer lanes than its testbed: for want of memory; empty: it has not."""
    if plan.lanes >= min(lanes, len(plan.trials)):
        return ""
    takes = sorted({guest_takes_bytes(trial.setting) // MIB for trial in plan.trials})
    range_text = " to ".join(map(str, dict.fromkeys((takes[0], takes[-1]))))
    return (
        f"memory for {plan.lanes} of {lanes} lanes: {max(0, room.free_bytes) // MIB} MiB free "
        f"({room.place}), and a trial takes {range_text} MiB"
    )


def require_kernels(plan: Plan) -> None:
    """Raise HostError for a guest kernel that settings name and that is not built."""
    for name in sorted({trial.setting.kernel for trial in plan.trials} - {""}):
        find_kernel(name)


def preview_run(plan: Plan, testbed: Testbed) -> dict[str, list[str]]:
    """What the target would be given, as lines: for all lanes, and for one of each setting.

    Empty where the target is given no more than the plan says.
    """
    programs = {trial.setting.label: trial.setting for trial in plan.trials}
    parts = {"every lane": list(preview(testbed))}
    parts |= {f"setting {label}": list(preview(testbed, p)) for label, p in programs.items()}
    return {part: lines for part, lines in parts.items() if lines}
