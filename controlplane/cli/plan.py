"""`nashbed validate` and `plan`: files, and what a run would do; nothing is touched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nashbed.files import read_testbed
from nashbed.planning import Preview, speed_ups, wanted_free_bytes

from ..contract.plan import Plan
from ..contract.units import Duration, counted
from .api_command import Call, command
from .console import duration_text, rows_text
from .options import Answer, app


@command(
    app,
    "planning.plan",
    examples="Example: nashbed validate configs/scenarios/quickstart.yaml --json",
    seats=None,
)
def validate(plan: Call) -> Answer:
    """Check a scenario and a testbed file; touches nothing."""
    bed = read_testbed(plan.given.get("testbed"))
    planned, scenario = plan(testbed=bed), plan.given["scenario"]
    trials = planned.expected_trials
    text = f"{scenario}: ok, {counted(trials, 'trial')} on {bed.model.name}"
    said = {"ok": True, "scenario": planned.scenario, "testbed": bed.model.name, "trials": trials}
    return Answer(said, text)


@command(
    app,
    "planning.preview",
    examples="Example: nashbed plan configs/scenarios/quickstart.yaml",
    lengths=None,
)
def plan(preview: Call, no_model: bool = False) -> Answer:
    """Show what a run would do, and the time and disk it needs.

    Of CUBIC and BBR it also says which settings would be measured before their shares have
    settled, by the fluid model. With --on it reaches the cluster, and plans for its seats.

    Args:
        no_model: Do not ask whether trials are long enough.
    """
    found = preview(lengths=not no_model)
    more = {
        "cluster": found.cluster,
        "target": found.target,
        "controls": found.ccas,
        "trial_lengths": found.lengths and found.lengths.answer(),
    }
    said = dict(found.plan) | {"certificate": found.certificate}
    said |= {key: value for key, value in more.items() if value}  # the rest was not asked
    return Answer(said, lambda: preview_text(found))


def preview_text(found: Preview) -> str:
    """The plan, and what follows from it."""
    text = f"{plan_table(found.plan)}\n"
    if found.cluster is not None:
        workers, seats = found.cluster.workers, found.cluster.seats
        text += f"cluster: workers: {workers}, seats (trials at once): {seats}\n"
    text += "".join(f"{name}: {source}\n" for name, source in found.ccas.items())
    text += found.certificate.detail
    for part, lines in found.target.items():
        text += f"\n\nTarget, {part}:\n  " + "\n  ".join(lines)
    if found.lengths is not None and found.lengths.text:
        text += f"\n\n{found.lengths.text}"
    return text


def plan_table(plan: Plan) -> str:
    """Settings with their trials, and what the whole run takes."""
    chosen = plan.search == "adaptive"
    number = f"about {plan.expected_trials} of up to " if chosen else ""
    title = f"{plan.scenario}: {number}{counted(len(plan.trials), 'trial')}"
    rows = plan.by_setting()
    first = {trial.setting.label: trial for trial in reversed(plan.trials)}
    applied = "".join(
        f"{row['setting']}: {expected.detail}\n"
        for row in rows
        if (expected := first[row["setting"]].expected) is not None and expected.detail
    )
    several = next((trial.setting.queues for trial in plan.trials if trial.setting.queues), None)
    if several is not None:
        applied += "".join(f"queue {i}, {q.text}\n" for i, q in enumerate(several.queues))
    takes = duration_text(plan.estimated_seconds)
    disk = f"{plan.estimated_disk_bytes / 1e9:.2f} GB of disk"
    free = f"{wanted_free_bytes(plan.estimated_disk_bytes) / 1e9:.2f} GB must be free"
    tail = f"{_size_text(plan, rows)}, at most "
    if plan.expected_mixes is not None:
        tail = (
            f"about {plan.expected_mixes:.1f} mixes a setting until its interval is closed; {tail}"
        )
    tail += f"{plan.lanes} at once: about {takes} and the report, up to {disk} ({free})"
    if plan.memory_short:
        tail += f"\n{plan.memory_short}"
    if plan.virtual_time:
        tail += f"\n{speed_text(plan)}"
    elif plan.capacity_from:
        tail += (
            f"\ncapacity: {plan.capacity.rate}, {plan.capacity.lanes} lanes ({plan.capacity_from})"
        )
    return rows_text(title, rows) + applied + tail


def _size_text(plan: Plan, rows: Sequence[Mapping[str, str]]) -> str:
    """Flows and length of the trials; where they are swept, the most."""
    flows, length = f"{plan.flows_per_trial} flows", str(Duration(plan.trial_ns))
    flows = f"up to {flows}" if "flows" in rows[0] else flows
    return f"{flows} and {'up to ' * ('duration' in rows[0])}{length} each"


def speed_text(plan: Plan) -> str:
    """How fast virtual time is expected to pass."""
    slowest, fastest = (f"{ratio:.2g}" for ratio in speed_ups(plan))
    range_text = slowest if slowest == fastest else f"{slowest} to {fastest}"
    return (
        f"virtual time: each trial about {range_text} times faster than the clock, on one core; "
        f"{plan.lanes} at once ({plan.capacity_from})"
    )
