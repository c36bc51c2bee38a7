"""Where Mishra 2022 expects the mix to settle: between its two bounds."""

from nashbed.controlplane.contract.model import ContractModel

from ..nash.equilibria import judge_all
from ..nash.game import PayoffTable, two_strategy_table
from . import mishra2022
from .competition import Competition
from .prediction import Model

NAN = float("nan")
HALVINGS = 60
"""Bisection steps over the range of BBR flows: the rest is below a double's precision."""


class Band(ContractModel):
    """The predicted equilibria of N flows.

    Attributes:
        synchronised_bbr: BBR flows at which lambda_b / N_b = C / N if all CUBIC flows lose at
            once, a fraction lying between two mixes; null if refused.
        desynchronised_bbr: The same if they lose one at a time.
        equilibrium_mixes_bbr: BBR flows of every whole mix from which, by one of the bounds, no
            flow gains by switching.
        reasons: Why there is no band.
    """

    flows: int
    synchronised_bbr: float | None
    desynchronised_bbr: float | None
    equilibrium_mixes_bbr: tuple[int, ...] = ()
    reasons: tuple[str, ...] = ()

    @property
    def middle(self) -> int | None:
        """The whole number of BBR flows in the middle of the band; None if refused."""
        if self.synchronised_bbr is None or self.desynchronised_bbr is None:
            return None
        return round((self.synchronised_bbr + self.desynchronised_bbr) / 2)


def equilibrium_band(question: Competition) -> Band:
    """The predicted equilibria for as many flows as the question has.

    The synchronised bound gives BBR the same share s in every mix, so N_b = s N. The other
    one's share falls with every further BBR flow while N_b / N rises: they meet once, or, if
    BBR leads up to one CUBIC flow, at N.

    Args:
        question: The question; how its flows are split plays no part.

    Source: section 4 of Mishra, Tiu, Leong, IMC 2022.
    """
    flows, why = question.flows, mishra2022.outside(question)
    if not why and flows < 2:
        why = ("one flow competes with nobody",)
    if why:
        return Band(flows=flows, synchronised_bbr=None, desynchronised_bbr=None, reasons=why)
    shared = mishra2022.share_of_bbr(question.buffer_bytes, question.bdp_bytes, 0.7)
    bounds = (mishra2022.SYNCHRONISED, mishra2022.DESYNCHRONISED)
    mixes = {k for bound in bounds for k in _equilibria(predicted_table(bound, question))}
    return Band(
        flows=flows,
        synchronised_bbr=shared * flows,
        desynchronised_bbr=_meeting(question),
        equilibrium_mixes_bbr=tuple(sorted(mixes)),
    )


def _meeting(question: Competition) -> float:
    """BBR flows at which the de-synchronised bound gives BBR its fair share."""
    flows = question.flows
    if _lead(flows - 1.0, question) >= 0:
        return float(flows)
    low, high = 0.0, flows - 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _lead(middle, question) > 0 else (low, middle)
    return low


def _lead(bbr: float, question: Competition) -> float:
    k = mishra2022.k_desynchronised(question.flows - bbr)
    share = mishra2022.share_of_bbr(question.buffer_bytes, question.bdp_bytes, k)
    return share - bbr / question.flows


def predicted_table(model: Model, question: Competition) -> PayoffTable:
    """The game that a model predicts: throughput of a flow in every mix, in bit/s.

    Args:
        model: The model; a mix that it refuses is left out.
        question: The question; its number of flows counts.
    """
    answers = (model.predict(question.with_second(k)) for k in range(question.flows + 1))
    utility = {
        a.question.second.flows: (_or_nan(a.first_per_flow_bps), _or_nan(a.second_per_flow_bps))
        for a in answers
        if a.share is not None
    }
    names = ("cubic", "bbr")
    return two_strategy_table(utility, question.flows, names, question.fair_share_bps)


def _or_nan(value: float | None) -> float:
    return NAN if value is None else value


def _equilibria(table: PayoffTable) -> list[int]:
    return [v.state[0][1] for v in judge_all(table) if v.equilibrium == "yes"]
