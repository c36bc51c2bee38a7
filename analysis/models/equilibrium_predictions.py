"""The fluid model's rows of a table of equilibria: as a run measures them, and settled.

The first asks what a run asks: trials of its length, its start and its measured time, so that the
prediction is of the same transients. Settled is what is left of it after `SETTLED_S`, in the second
half of that, whichever CCA starts first: the middle of both orders, settled if they agree.
"""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from nashbed.controlplane.contract.course import EITHER_FIRST, SettledDuration, starts_label
from nashbed.controlplane.contract.scenario import Scenario
from nashbed.controlplane.contract.trial import Setting, scenario_at

from . import fluid
from .crossing import PredictedCrossing, ShowAsked, crossing_of, show_nothing
from .equilibrium_files import EquilibriumRow, columns_of_setting, hundredths
from .expected import Mixes, mixes_of, quick_crossing
from .settling import AHEAD_S, LENGTHS_S
from .starts import BBR, CUBIC, Starts

AS_MEASURED, SETTLED = "fluid", "fluid-settled"
"""What such rows name as their source."""
SETTLED_S = LENGTHS_S[-1]
"""How long a mix is simulated for its settled shares: as long as any course is."""
AGREE_FLOWS = 1.0
"""Flows by which the equilibria of both orders may differ where shares count as settled."""
SPREAD_S = 0.1


def fluid_rows(
    scenario: Scenario, settings: Sequence[Setting], show: ShowAsked = show_nothing
) -> list[EquilibriumRow]:
    """What the fluid model predicts of every setting that it speaks of, on every core.

    Args:
        scenario: Says how flows start, how long they run, and what limits their windows.
        settings: Its settings, measured or not.

    Returns:
        One row or two for each setting: as measured, unless trials last until they are settled, and
        settled; none where the model refuses.
    """
    spoken = [(setting, mixes) for setting in settings if (mixes := mixes_of(scenario, setting))]
    rows: list[EquilibriumRow] = []
    with ThreadPoolExecutor(os.cpu_count()) as workers:
        predicted = workers.map(lambda each: _rows_of_setting(scenario, *each), spoken)
        for done, found in enumerate(predicted, 1):
            rows += found
            show("settings by the fluid model", done, len(spoken))
    return sorted(rows, key=lambda row: row.source)


def _rows_of_setting(scenario: Scenario, setting: Setting, mixes: Mixes) -> list[EquilibriumRow]:
    scenario = scenario_at(scenario, setting)
    flows = scenario.total_flows
    near = quick_crossing(mixes, flows)
    rows = []
    if not isinstance(scenario.duration, SettledDuration):
        found = crossing_of(fluid.MODEL, mixes, flows, near)
        near = near if found.second is None else found.second
        start = starts_label(scenario.starts())
        length_s = scenario.longest.seconds
        rows.append(_row(scenario, setting, [found], (AS_MEASURED, length_s, start)))
    orders = [crossing_of(fluid.MODEL, _long(mixes, cca), flows, near) for cca in (BBR, CUBIC)]
    rows.append(_row(scenario, setting, orders, (SETTLED, SETTLED_S, EITHER_FIRST)))
    return [row for row in rows if row is not None]


def _long(mixes: Mixes, first: str) -> Mixes:
    """Mixes with a CCA ahead, over the second half of a long time."""
    late = {name: 0.0 if name == first else AHEAD_S for name in (CUBIC, BBR)}
    starts = Starts(late[CUBIC], late[BBR], SPREAD_S)
    return lambda bbr: replace(mixes(bbr), duration_s=SETTLED_S).started(starts, SETTLED_S / 2)


def _row(
    scenario: Scenario,
    setting: Setting,
    found: Sequence[PredictedCrossing],
    about: tuple[str, float, str],
) -> EquilibriumRow | None:
    """A row of one question or of several that are asked the same; None if one was refused."""
    cubic = [each.first for each in found if each.first is not None]
    if len(cubic) < len(found):
        return None
    bbr = [b for each in found for b in (each.low, each.high, each.second) if b is not None]
    source, length_s, start = about
    flows = scenario.total_flows
    columns: dict[str, Any] = columns_of_setting(setting, flows, scenario.strategies)
    return EquilibriumRow(
        kind="model",
        source=source,
        **columns,
        n_cubic=hundredths(sum(cubic) / len(cubic)),
        n_cubic_low=hundredths(flows - max(bbr)),
        n_cubic_high=hundredths(flows - min(bbr)),
        places=1,
        by="lead",
        closed=None,
        settled=source == SETTLED and max(cubic) - min(cubic) <= AGREE_FLOWS,
        trials=0,
        mixes=sum(each.questions for each in found),
        shortest_s=length_s,
        longest_s=length_s,
        start=start,
    )
