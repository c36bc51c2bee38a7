"""`nashbed validate` and `plan`: files, and what a run would do; nothing is touched."""

from __future__ import annotations

from collections import Counter
from typing import Annotated

import typer
from nashbed.files import read_testbed
from nashbed.planning import (
    ClusterSeats,
    LengthAnswer,
    Preview,
    speed_ups,
    wanted_free_bytes,
)
from pydantic import SerializerFunctionWrapHandler, model_serializer

from ..contract.certificate import Standing
from ..contract.errors import EXIT_OK
from ..contract.model import JsonObject
from ..contract.plan import Plan, PlannedTrial
from ..contract.units import Duration, Rate, Size, counted
from .api_command import Call, command
from .console import as_text, duration_text, new_table
from .options import AsJson, answer, app


class PlanAnswer(Plan):
    """What `nashbed plan` answers: the plan, and what follows from it here.

    Attributes:
        certificate: What the testbed's certificate is worth.
        cluster: The cluster that it is for; left out on this machine.
        target: What the target would be sent, by part; left out where the plan says it all.
        ccas: CCA -> its file; left out where the kernel has all of them.
        trial_lengths: Whether trials are long enough; left out where that was not asked.
    """

    certificate: Standing
    cluster: ClusterSeats | None = None
    target: dict[str, list[str]] | None = None
    controls: dict[str, str] | None = None
    trial_lengths: LengthAnswer | None = None

    @model_serializer(mode="wrap")
    def _without_what_is_left_out(self, dump: SerializerFunctionWrapHandler) -> JsonObject:
        optional = ("cluster", "target", "controls", "trial_lengths")
        return {k: v for k, v in dump(self).items() if k not in optional or v is not None}


@command(
    app,
    "planning.plan",
    examples="Example: nashbed validate configs/scenarios/quickstart.yaml --json",
    seats=None,
)
def validate(plan: Call, as_json: AsJson = False) -> int:
    """Check a scenario and a testbed file; touches nothing."""
    bed = read_testbed(plan.given.get("testbed"))
    planned, scenario = plan(testbed=bed), plan.given["scenario"]
    trials = planned.expected_trials
    text = f"{scenario}: ok, {counted(trials, 'trial')} on {bed.model.name}"
    said = {"ok": True, "scenario": planned.scenario, "testbed": bed.model.name, "trials": trials}
    answer(said, as_json, text)
    return EXIT_OK


@command(
    app,
    "planning.preview",
    examples="Example: nashbed plan configs/scenarios/quickstart.yaml",
    lengths=None,
)
def plan(
    preview: Call,
    no_model: Annotated[
        bool, typer.Option("--no-model", help="Do not ask whether trials are long enough.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Show what a run would do, and the time and disk it needs.

    Of CUBIC and BBR it also says which settings would be measured before their shares have
    settled, by the fluid model. With --on it reaches the cluster, and plans for its seats.
    """
    found = preview(lengths=not no_model)
    said = PlanAnswer(
        **dict(found.plan),
        certificate=found.certificate,
        cluster=found.cluster,
        target=found.target or None,
        controls=found.ccas or None,
        trial_lengths=found.lengths and found.lengths.answer(),
    )
    answer(said, as_json, "" if as_json else preview_text(found))
    return EXIT_OK


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
    most = "at most" if chosen else "trials"
    kernels = any(trial.setting.kernel for trial in plan.trials)
    queues = any(trial.setting.discipline or trial.setting.queues for trial in plan.trials)
    more = (*(("queue",) if queues else ()), *(("kernel",) if kernels else ()))
    shown = ("setting", "rate", "buffer", "base RTT", *more)
    table = new_table(title, *shown, "mixes", most)
    count = Counter(trial.setting.label for trial in plan.trials)
    first: dict[str, PlannedTrial] = {}
    for trial in plan.trials:
        first.setdefault(trial.setting.label, trial)
    for label, trial in first.items():
        mixes = {t.key.rpartition("-r")[0] for t in plan.trials if t.setting.label == label}
        setting = trial.setting
        table.add_row(
            label,
            str(Rate(setting.rate_bps)),
            f"{setting.buffer_label} ({Size(setting.buffer_bytes)})",
            ", ".join(str(Duration(rtt)) for rtt in setting.base_rtt_ns),
            *((setting.queue_text,) if queues else ()),
            *((setting.kernel,) if kernels else ()),
            str(len(mixes)),
            str(count[label]),
        )
    applied = "".join(
        f"{label}: {trial.expected.detail}\n"
        for label, trial in first.items()
        if trial.expected is not None and trial.expected.detail
    )
    several = next((trial.setting.queues for trial in plan.trials if trial.setting.queues), None)
    if several is not None:
        applied += "".join(f"queue {i}, {q.text}\n" for i, q in enumerate(several.queues))
    takes = duration_text(plan.estimated_seconds)
    disk = f"{plan.estimated_disk_bytes / 1e9:.2f} GB of disk"
    free = f"{wanted_free_bytes(plan.estimated_disk_bytes) / 1e9:.2f} GB must be free"
    tail = f"{plan.flows_per_trial} flows and {Duration(plan.trial_ns)} each, at most "
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
    return as_text(table) + applied + tail


def speed_text(plan: Plan) -> str:
    """How fast virtual time is expected to pass."""
    slowest, fastest = (f"{ratio:.2g}" for ratio in speed_ups(plan))
    range_text = slowest if slowest == fastest else f"{slowest} to {fastest}"
    return (
        f"virtual time: each trial about {range_text} times faster than the clock, on one core; "
        f"{plan.lanes} at once ({plan.capacity_from})"
    )
