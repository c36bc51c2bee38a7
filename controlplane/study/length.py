"""Whether the trials of a plan are long enough, by the fluid model of the analysis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, isfinite
from typing import TYPE_CHECKING

from pydantic import SerializeAsAny

from ..contract.course import OffsetStart, OrderedStart, SettledDuration
from ..contract.model import ContractModel, JsonObject
from ..contract.plan import Plan
from ..contract.scenario import Scenario
from ..contract.trial import Setting, scenario_at
from ..contract.units import NS_PER_S, Duration
from ..machine.log import ShowStep

if TYPE_CHECKING:
    from nashbed.analysis.models.transients import SettingSettling

BUDGET_S = 8.0
"""No mix is begun after so many seconds; one takes 0.1 to 2, from shallow to deep buffers."""
BOTH_STARTS = 2
"""Repetitions that hold both starts of a trial that is to settle."""
ONE_START = (
    "a mix has settled when trials from opposite starts agree: write `trials: 2`, or its "
    "equilibrium holds for one start"
)
ROUND_S = 60
"""Durations that are proposed are multiples of it."""


class LengthAnswer(ContractModel):
    """Whether trials are long enough, as `nashbed plan` answers it.

    Attributes:
        problem: Why the model does not speak at all; null if it does.
        settings: Settings that it speaks of.
        looked_at: What it says of those that were looked at.
        advice: What to write so that all settings are measured once settled; null: no need.
        short_windows: Settings whose measured window is shorter than their full queue, in words.
    """

    problem: str | None
    settings: int
    looked_at: tuple[SerializeAsAny[ContractModel], ...]
    advice: str | None
    short_windows: tuple[str, ...] = ()


@dataclass(frozen=True)
class TrialLengths:
    """What the fluid model says of the length of a plan's trials.

    Attributes:
        settings: Settings that the model speaks of.
        problem: Why it does not speak at all; None if it does.
        short_windows: Settings whose measured window is shorter than their full queue, in words.
    """

    scenario: Scenario
    found: Sequence[SettingSettling]
    settings: int
    problem: str | None = None
    short_windows: tuple[str, ...] = ()

    def answer(self) -> LengthAnswer:
        """What is said of it in JSON."""
        return LengthAnswer(
            problem=self.problem,
            settings=self.settings,
            looked_at=tuple(each.answer() for each in self.found),
            advice=self.advice,
            short_windows=self.short_windows,
        )

    @property
    def too_short(self) -> list[SettingSettling]:
        """Settings that are measured before they have settled."""
        return [each for each in self.found if each.transient]

    @property
    def text(self) -> str:
        """One line for each setting that needs longer trials, and what to write; else nothing."""
        return "\n".join(line for line in (*self.short_windows, self._settling) if line)

    @property
    def _settling(self) -> str:
        if self.problem:
            return f"how long trials must be: {self.problem}"
        if not self.too_short:
            return self._one_start
        looked = len(self.found)
        some = (
            f" ({looked} of {self.settings} settings looked at)" if looked < self.settings else ""
        )
        lines = [
            f"measured before shares have settled, by the fluid model{some}; BBR's part of the "
            "throughput, by who starts first:"
        ]
        lines += [f"  {_line(each)}" for each in self.too_short]
        return "\n".join([*lines, f"  {self.advice}"])

    @property
    def _one_start(self) -> str:
        """What a trial that is to settle lacks without a second repetition; empty: nothing."""
        settles = isinstance(self.scenario.duration, SettledDuration)
        return ONE_START if settles and self.scenario.trials < BOTH_STARTS else ""

    @property
    def advice(self) -> str | None:
        """What to write so that all settings are measured once settled; None: no need."""
        if not self.too_short:
            return self._one_start or None
        after = [each.after_s for each in self.too_short if isfinite(each.after_s)]
        beyond = [each.setting.label for each in self.too_short if not isfinite(each.after_s)]
        parts = [f"for settled shares write {self._written(max(after))}"] if after else []
        parts += [f"{', '.join(beyond)}: more than half an hour"] if beyond else []
        return "; ".join(parts)

    def _written(self, after_s: float) -> str:
        """The duration, and the warm-up that leaves its second half to be measured."""
        whole_s = max(ceil(after_s / ROUND_S) * ROUND_S, self.scenario.shortest.seconds)
        settled = SettledDuration(until="settled")
        most = Duration(int(max(settled.at_most.seconds, 2 * whole_s)) * NS_PER_S)
        until = f"`duration: {{until: settled, at_most: {most}}}`"
        if self.scenario.trials < BOTH_STARTS:
            until += f" and `trials: {BOTH_STARTS}` (from opposite starts)"
        if isinstance(self.scenario.duration, SettledDuration):
            return until
        whole, half = (Duration(int(s * NS_PER_S)) for s in (whole_s, whole_s / 2))
        fixed = f"`duration: {whole}` and `warmup: {half}`"
        if self.scenario.window == "whole":
            fixed += ", without `window: whole`"
        start = self.scenario.start
        reversible = start == "together" or isinstance(start, OrderedStart | OffsetStart)
        return f"{until}, or {fixed}" if reversible else fixed


def trial_lengths(scenario: Scenario, plan: Plan, show: ShowStep) -> TrialLengths:
    """Ask the fluid model whether the trials of a plan are long enough."""
    from nashbed.analysis.models.fluid import FluidNotBuiltError  # noqa: PLC0415 - slow to import
    from nashbed.analysis.models.transients import settle_plan  # noqa: PLC0415
    from nashbed.analysis.state import mix_state  # noqa: PLC0415

    planned: JsonObject = {}
    for trial in plan.trials:
        _, states = planned.setdefault(trial.setting.label, (trial.setting, []))
        states.append(mix_state(trial.mix, scenario.strategies))
    short = tuple(_short_windows(scenario, [setting for setting, _ in planned.values()]))
    try:
        found, settings = settle_plan(scenario, planned, BUDGET_S, show)
    except FluidNotBuiltError as error:
        return TrialLengths(scenario, (), 0, str(error), short)
    return TrialLengths(scenario, found, settings, short_windows=short)


def _short_windows(scenario: Scenario, settings: Sequence[Setting]) -> Iterator[str]:
    """Settings in which what is behind one hole may be more than what leaves in the window."""
    for setting in settings:
        window_s = (scenario_at(scenario, setting).shortest.ns - scenario.warmup.ns) / NS_PER_S
        queue_s = setting.buffer_bytes * 8 / setting.rate_bps
        if scenario.window != "whole" and window_s < queue_s:
            yield (
                f"{setting.label}: the window of {window_s:.3g} s (duration less warmup) is "
                f"shorter than the full queue's {queue_s:.3g} s; a trial with losses may not be "
                "valid (gate window_goodput)"
            )


def _line(setting: SettingSettling) -> str:
    worst, kinds = setting.worst, setting.worst.competition.kinds
    shares = worst.planned_shares("bbr")
    bbr = sum(kind.flows for kind in kinds if kind.cca == "bbr")
    low, high = setting.range_s
    when = f"about {_seconds(setting.after_s)} s ({_seconds(low)} to {_seconds(high)} s)"
    return (
        f"{setting.setting.label}, {bbr} of {sum(kind.flows for kind in kinds)} flows BBR: "
        f"{shares.min():.2f} to {shares.max():.2f} by {worst.competition.duration_s:.0f} s, "
        f"{worst.settled_share('bbr'):.2f} once settled, after "
        f"{when if isfinite(setting.after_s) else f'more than {worst.simulated_s:.0f} s'}"
    )


def _seconds(value: float) -> str:
    """Two digits: more than the model knows."""
    return f"{float(f'{value:.2g}'):.0f}" if isfinite(value) else "more"
