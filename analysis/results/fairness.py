"""Whether a congestion control is fair to what is deployed, and would be adopted: in sentences.

Fair is who does a deployed control no more harm than its own kind does (Ware, Mukerjee, Seshan,
Sherry, HotNets 2019). It spreads where a flow gains by switching to it.
"""

from collections.abc import Iterator
from typing import NamedTuple

from nashbed.controlplane.contract.trial import Setting

from ..measures import Cell, RunMeasures
from ..metrics.statistics import Estimate, estimate
from .harm import YARDSTICKS, Harm, compared, harm_of_run

METRIC = "per_flow_throughput"
FAIR = {
    "less": "fair, as it does less harm",
    "as much": "fair, as far as these trials tell",
    "more": "not fair, as it does more harm",
    None: "undecided, as there are too few trials for an interval",
}
SWITCH = {
    "less": "it would not switch",
    "as much": "no gain, as far as these trials tell",
    "more": "it would switch",
    None: FAIR[None],
}


class FairnessAnswer(NamedTuple):
    """A sentence on a control at a setting.

    Attributes:
        text: What it is or gets.
        why: What that says, or why it is said.
    """

    setting: Setting
    text: str
    why: str

    def __str__(self) -> str:
        """All in a line."""
        return f"{self.setting.label}: {self.text}: {self.why}"


def fairness_lines(measures: RunMeasures) -> list[str]:
    """The answers of a run, a line each."""
    return [str(answer) for answer in fairness_answers(measures)]


def fairness_answers(measures: RunMeasures) -> list[FairnessAnswer]:
    """Two answers for each setting and control that is not deployed; none: not asked for."""
    found = [harm for harm in harm_of_run(measures) if harm.metric == METRIC]
    own = {harm.setting.label: harm for harm in found if harm.by == harm.victim}
    return [
        answer
        for harm in found
        if harm.by not in (harm.victim, *YARDSTICKS) and harm.setting.label in own
        for answer in (_fair(harm, own[harm.setting.label]), *_adopted(measures, harm))
    ]


def _fair(harm: Harm, own: Harm) -> FairnessAnswer:
    return FairnessAnswer(
        harm.setting,
        f"{harm.by} is {FAIR[harm.against(own)]}",
        f"it takes {_text(harm.harm, 100)} % of the throughput of a {harm.victim} flow, another "
        f"{harm.victim} flow {_text(own.harm, 100)} %",
    )


def _adopted(measures: RunMeasures, harm: Harm) -> Iterator[FairnessAnswer]:
    """Who would be adopted where there are two flows; of more, a victim's mixes do not show it."""
    cells = {_who(measures, cell): cell for cell in measures.cells(harm.setting)}
    before, after = (harm.victim, harm.victim), tuple(sorted((harm.victim, harm.by)))
    answer = _switch(harm.setting, harm.victim, harm.by, cells.get(before), cells.get(after))
    yield from (answer,) if answer else ()


def switch_line(measures: RunMeasures, setting: Setting) -> str:
    """Would the first flow of a game of one group and two strategies switch? Empty: not known."""
    first, second = measures.strategies
    cells = {_who(measures, cell).count(second): cell for cell in measures.cells(setting)}
    return str(_switch(setting, first, second, cells.get(0), cells.get(1)) or "")


def _switch(
    setting: Setting, victim: str, by: str, own: Cell | None, beside: Cell | None
) -> FairnessAnswer | None:
    """What a flow gains that leaves its own kind for another control; None: not known."""
    before, after = _throughput(own, victim), _throughput(beside, by)
    if before is None or after is None:
        return None
    return FairnessAnswer(
        setting,
        f"a {victim} flow that switches to {by} gets {_text(after, 1e-6)} "
        f"instead of {_text(before, 1e-6)} Mbit/s",
        SWITCH[compared(after, before)],
    )


def _who(measures: RunMeasures, cell: Cell) -> tuple[str, ...]:
    """The strategies of a mix's flows."""
    (counts,) = cell.state
    names = zip(measures.strategies, counts, strict=True)
    return tuple(sorted(name for name, count in names for _ in range(count)))


def _throughput(cell: Cell | None, strategy: str) -> Estimate | None:
    return estimate([t.value(METRIC, strategy) for t in cell.trials]) if cell else None


def _text(found: Estimate, scale: float) -> str:
    half = "" if found.ci95 is None else f" ± {found.ci95 * scale:.1f}"
    return f"{found.mean * scale:.1f}{half}"
