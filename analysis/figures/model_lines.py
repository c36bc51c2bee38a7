"""What the published models predict for a mix, as figures draw it."""

from __future__ import annotations

from nashbed.controlplane.contract.trial import Setting
from nashbed.controlplane.contract.units import NS_PER_S

from ..measures import RunMeasures
from ..models import MODELS, Question
from ..state import State, strategy_totals

PAYLOAD_PART = 1448 / 1514
"""Of a full frame's bytes, those of payload: models speak of the link, figures of goodput."""
DRAWN = ("ware", "mishra-two-flow", "mishra-synchronised", "mishra-desynchronised")
LOOKS = {
    "ware": ("#8C6D31", ":"),
    "mishra-two-flow": ("#6a7380", "--"),
    "mishra-synchronised": ("#6a7380", "--"),
    "mishra-desynchronised": ("#6a7380", "-."),
}
"""Model -> colour and line style."""


def predicted_shares(measures: RunMeasures, setting: Setting, state: State) -> dict[str, float]:
    """BBR's aggregate share by each model that answers.

    Args:
        measures: The run's measures.
        setting: The setting; with several base RTTs no model answers.
        state: The mix; models know CUBIC and BBR only.

    Returns:
        Model's name -> share of BBR.
    """
    question = ask(measures, setting, state)
    if question is None:
        return {}
    answers = {name: MODELS[name].predict(question) for name in DRAWN if name in MODELS}
    return {n: a.bbr_share for n, a in answers.items() if a.bbr_share is not None}


def ask(measures: RunMeasures, setting: Setting, state: State) -> Question | None:
    """A mix as the models are asked about it; None if they do not speak of it."""
    totals = dict(zip(measures.strategies, strategy_totals(state), strict=True))
    if set(totals) != {"cubic", "bbr"} or len(set(setting.base_rtt_ns)) > 1:
        return None
    if min(totals.values()) == 0 or setting.random_loss_ppb:
        return None
    return Question(
        rate_bps=measures.applied_rate(setting),
        base_rtt_s=setting.base_rtt_ns[0] / NS_PER_S,
        buffer_bytes=measures.applied_buffer(setting),
        cubic=totals["cubic"],
        bbr=totals["bbr"],
        duration_s=measures.run.scenario.longest.seconds,
    )


def goodput_of_share(share: float, rate_bps: float) -> float:
    """A share of the link as goodput in bit/s."""
    return share * rate_bps * PAYLOAD_PART
