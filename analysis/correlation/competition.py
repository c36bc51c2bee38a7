"""A trial as the models see it: CUBIC against BBR at one bottleneck and one base RTT.

The models are of BBR's first version. Of a trial with a later one they are asked the same, so that
the ledger says which of their assumptions that version does not keep.
"""

import numpy as np
from nashbed.controlplane.contract.units import NS_PER_S

from ..measures import TrialMeasures
from ..models.asked import problem_of_queue
from ..models.competition import Competition, cubic_against
from ..models.starts import BBR, CUBIC

VERSIONS = (BBR, "bbr2", "bbr3")
"""Versions of BBR: the kernel's, and those of hosts/cc."""


def bbr_of(measures: TrialMeasures) -> str:
    """The version of BBR that a trial's flows run; the first one if there is none or several."""
    present = [name for name in VERSIONS if name in measures.strategy]
    return present[0] if len(present) == 1 else BBR


def bbr_share(measures: TrialMeasures) -> float | None:
    """BBR's aggregate share of the throughput, if it competes with CUBIC alone at one RTT.

    Returns:
        None also where models do not describe the queue, and where there is background.
    """
    if not measures.flow_mask().all():
        return None
    version, setting = bbr_of(measures), measures.trial.setting
    if set(measures.strategy) != {CUBIC, version} or len(set(setting.base_rtt_ns)) > 1:
        return None
    if problem_of_queue(setting) is not None:
        return None
    if "throughput_share" not in measures.per_flow:
        return None
    share = float(measures.per_flow["throughput_share"][measures.flow_mask(version)].sum())
    return share if np.isfinite(share) else None


def question_of(measures: TrialMeasures) -> Competition:
    """The trial as a model is asked about it."""
    return cubic_against(
        measures.rate_bps,
        measures.trial.setting.base_rtt_ns[0] / NS_PER_S,
        measures.buffer_bytes,
        cubic=int(measures.flow_mask(CUBIC).sum()),
        others=int(measures.flow_mask(bbr_of(measures)).sum()),
    )
