"""What figures share: axes of mixes and of what was swept, the fair share, published series."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from matplotlib.ticker import MaxNLocator
from nashbed.controlplane.contract.scenario_keys import ReferenceSeries
from nashbed.controlplane.contract.trial import Setting

from ..measures import RunMeasures
from ..results.sweep import SweepSeries
from ..state import State, strategy_totals
from ..text import shown
from .model_lines import goodput_of_share
from .plot import Axis, Line, Rule
from .style import DASHED, INK, colour_of, marker_of

Element = TypeVar("Element")
AXIS_TITLES = {
    "buffer_bdp": "buffer (BDP)", "buffer_mb": "buffer (MB)", "random_loss": "random loss (%)",
    "duration": "length of the trials (s)", "flows": "flows",
}  # fmt: skip
WHOLE = partial(MaxNLocator, integer=True, nbins=12, min_n_ticks=1)
"""Ticks at numbers of flows."""
SPARSE = partial(MaxNLocator, integer=True)
"""Fewer of them."""


def a_few(items: Sequence[Element], most: int) -> list[Element]:
    """All of them, or so many at most, spread evenly."""
    return list(items[:: max(1, -(-len(items) // most))])


def place_of_mix(state: State) -> int:
    """The place of a mix on the axis of mixes: flows of all strategies but the first."""
    return sum(strategy_totals(state)[1:])


@dataclass(frozen=True)
class MixAxis:
    """The axis of a setting's mixes.

    Where three strategies or more run and each only alone, a place for each of them; otherwise
    the number of flows of all but the first.

    Attributes:
        alone: The strategies, where each runs only alone; empty: mixes are by their numbers.
        others: What the flows of the axis run, or do not run.
    """

    alone: tuple[str, ...]
    flows: int
    others: str

    def place(self, state: State) -> int:
        """The place of a mix."""
        return strategy_totals(state).index(self.flows) if self.alone else place_of_mix(state)

    @property
    def axis(self) -> Axis:
        """Its scale and its title."""
        if self.alone:
            title = f"what all {self.flows} flows run" if self.flows > 1 else "the flow runs"
            return Axis(title, -0.5, len(self.alone) - 0.5, ticks=dict(enumerate(self.alone)))
        title = f"flows {self.others}, of {self.flows}"
        return Axis(title, -0.5, self.flows + 0.5, locator=WHOLE)


def mix_axis(measures: RunMeasures, setting: Setting) -> MixAxis:
    """The axis of a setting's mixes."""
    strategies = measures.strategies
    return MixAxis(
        alone=strategies if measures.each_runs_alone(setting) else (),
        flows=measures.flows(setting),
        others=f"running {strategies[1]}"
        if len(strategies) == 2
        else f"not running {strategies[0]}",
    )


def axis_of(measures: RunMeasures, line: SweepSeries) -> str:
    """Unit of the places on the line: the one in which the scenario writes its buffers."""
    if line.axis != "buffer":
        return line.axis
    written = {s.buffer_label.lstrip("0123456789.") for s in line.settings}
    return "buffer_bdp" if written == {"bdp"} else "buffer_mb"


def swept(unit: str, places: Sequence[float]) -> Axis:
    """The axis of what was swept."""
    return Axis(AXIS_TITLES[unit], scale="swept", places=places)


def flows_axis(measures: RunMeasures, settings: Sequence[Setting], title: str) -> Axis:
    """The axis of flows of the first strategy; `title` ends in what they are at."""
    totals = [measures.flows(setting) for setting in settings]
    least, most = min(totals), max(totals)
    of = str(most) if least == most else f"{least} to {most}"
    return Axis(f"{measures.strategies[0]} {title}, of {of}", -0.03 * most, 1.03 * most)


FAIR_SHARE = "fair share, as goodput"


def fair_share(measures: RunMeasures, setting: Setting, upright: bool = False) -> Rule:
    """The fair share of a full link's payload in Mbit/s: the curves are goodput, too."""
    at = shown(goodput_of_share(1.0, measures.fair_share(setting)), "bit/s")
    return Rule(at, FAIR_SHARE, upright=upright, color=INK, linestyle=DASHED,
                linewidth=1.0, zorder=2)  # fmt: skip


def published(series: ReferenceSeries, strategies: Sequence[str], factor: float = 1.0) -> Line:
    """A published series with open marks in the colour of its strategy."""
    return Line(series.x, [y * factor for y in series.y], f"{series.label}, {series.strategy}",
                color=colour_of(series.strategy, strategies), linestyle=":",
                marker=marker_of(series.strategy, strategies), markerfacecolor="white",
                linewidth=1.3, zorder=3)  # fmt: skip
