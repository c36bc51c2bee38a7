"""A trial as the models see it: CUBIC against BBR at one bottleneck and one base RTT."""

from __future__ import annotations

import numpy as np
from nashbed.controlplane.contract.units import NS_PER_S

from ..measures import TrialMeasures
from ..models.measured import BBR, CUBIC
from ..models.question import Question


def bbr_share(measures: TrialMeasures) -> float | None:
    """BBR's aggregate share of the throughput, if it competes with CUBIC alone at one RTT."""
    if set(measures.strategy) != {CUBIC, BBR} or len(set(measures.trial.setting.base_rtt_ns)) > 1:
        return None
    if "throughput_share" not in measures.per_flow:
        return None
    share = float(measures.per_flow["throughput_share"][measures.flow_mask(BBR)].sum())
    return share if np.isfinite(share) else None


def question_of(measures: TrialMeasures) -> Question:
    """The trial as a model is asked about it."""
    return Question(
        rate_bps=measures.rate_bps,
        base_rtt_s=measures.trial.setting.base_rtt_ns[0] / NS_PER_S,
        buffer_bytes=measures.buffer_bytes,
        cubic=int(measures.flow_mask(CUBIC).sum()),
        bbr=int(measures.flow_mask(BBR).sum()),
    )
