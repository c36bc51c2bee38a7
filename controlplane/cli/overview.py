"""A plan as a table."""

from __future__ import annotations

import io
from collections import Counter

from rich.console import Console, RenderableType
from rich.table import Table

from ..contract.plan import Plan, PlannedTrial
from ..contract.units import Duration, Rate, Size
from .progress import duration_text

WIDTH = 110


def plan_table(plan: Plan) -> str:
    """Settings with their trials, and what the whole run takes."""
    chosen = plan.search == "adaptive"
    number = f"about {plan.expected_trials} of up to" if chosen else ""
    table = Table(title=f"{plan.scenario}: {number} {len(plan.trials)} trials".replace(":  ", ": "))
    most = "at most" if chosen else "trials"
    for name in ("setting", "rate", "buffer", "base RTT", "mixes", most):
        table.add_column(name)
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
            str(len(mixes)),
            str(count[label]),
        )
    applied = "".join(
        f"{label}: {trial.expected.detail}\n"
        for label, trial in first.items()
        if trial.expected is not None and trial.expected.detail
    )
    takes = duration_text(plan.estimated_seconds)
    disk = f"{plan.estimated_disk_bytes / 1e9:.2f} GB"
    tail = f"{plan.flows_per_trial} flows and {Duration(plan.trial_ns)} each, at most "
    tail += f"{plan.lanes} at once: about {takes}, up to {disk} of disk"
    if plan.capacity is not None and plan.capacity_from:
        tail += (
            f"\ncapacity: {plan.capacity.rate}, {plan.capacity.lanes} lanes ({plan.capacity_from})"
        )
    return as_text(table) + applied + tail


def preview_text(preview: dict[str, list[str]]) -> str:
    """What the target would be told; empty where there is nothing to say."""
    parts = [f"\n\nTarget, {part}:\n  " + "\n  ".join(lines) for part, lines in preview.items()]
    return "".join(parts)


def as_text(what: RenderableType, width: int = WIDTH) -> str:
    """Something of rich's as plain text."""
    target = io.StringIO()
    Console(file=target, width=width, force_terminal=False).print(what)
    return target.getvalue()
