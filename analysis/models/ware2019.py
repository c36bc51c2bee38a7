"""Ware et al., IMC 2019: BBR's share from its limit in flight, with ProbeRTT taken off."""

from nashbed.controlplane.contract.units import PACKET_BYTES

from .competition import Competition
from .prediction import Model, Prediction, no_competition, other_than_bbr
from .starts import BBR

NAME = "ware"
PROBE_EVERY_S = 10.0
PROBE_S = 0.2


def predict(question: Competition) -> Prediction:
    """Predict BBR's aggregate share.

    With X the buffer in BDP, q in packets, N BBR flows, c the rate in packets/s, l the base
    RTT and d the duration, the loss-based share is p = max(0, 1/2 - 1/(2X) - 4N/q), the time
    in ProbeRTT is t = (q/c + 0.2 + l) d/10, and BBR's share is (1 - p)(d - t)/d. The number
    of CUBIC flows is not in it. Below 1 BDP the model's premise, that BBR is held by its limit in
    flight, does not hold; p is then 0, and the answer says so.

    Source: Ware, Mukerjee, Seshan, Sherry, IMC 2019. A packet is a full frame of 1514 bytes.
    """
    other = other_than_bbr(NAME, question)
    if other is not None:
        return other
    refusals = _refusals(question)
    if refusals:
        return Prediction(NAME, question, None, refusals=refusals)
    alone = no_competition(NAME, question)
    if alone is not None:
        return alone
    unclamped = _unclamped_loss_based_share(question)
    loss_based = max(0.0, unclamped)
    probing = _probing_share(question)
    inner = {"loss_based_share": loss_based, "probe_rtt_share": probing}
    share = (1 - loss_based) * (1 - probing)
    return Prediction(NAME, question, share, flags=_flags(question, unclamped), inner=inner)


def _unclamped_loss_based_share(question: Competition) -> float:
    packets = question.buffer_bytes / PACKET_BYTES
    return 0.5 - 1 / (2 * question.buffer_bdp) - 4 * question.flows_of(BBR) / packets


def _probing_share(question: Competition) -> float:
    """Part of the time that BBR spends in ProbeRTT, (q/c + 0.2 + l) / 10."""
    full_queue_s = question.buffer_bytes * 8 / question.rate_bps
    return (full_queue_s + PROBE_S + question.base_rtt_s) / PROBE_EVERY_S


def _refusals(question: Competition) -> tuple[str, ...]:
    reasons = []
    if _probing_share(question) >= 1:
        reasons.append("draining the queue takes longer than the 10 s between two ProbeRTT")
    if question.duration_s < PROBE_EVERY_S:
        reasons.append(f"{question.duration_s:g} s is less than the 10 s between two ProbeRTT")
    return tuple(reasons)


def _flags(question: Competition, unclamped: float) -> tuple[str, ...]:
    if question.buffer_bdp < 1:
        return (
            f"the buffer is {question.buffer_bdp:.3g} BDP: below 1 BDP BBR is not held by its "
            "limit on the bytes in flight, the model's premise; the loss-based share, "
            f"1/2 - 1/(2X) - 4N/q = {unclamped:.2g}, is taken as 0",
        )
    if unclamped > 0:
        return ()
    return (
        f"the loss-based share would be {unclamped:.2g} and is taken as 0: the 4 packets of each "
        f"of {question.flows_of(BBR)} BBR flows fill what this buffer has left",
    )


MODEL = Model(
    NAME,
    "Ware",
    "Ware, Mukerjee, Seshan, Sherry, IMC 2019",
    "buffers that drain within 10 s (flagged below 1 BDP), competitions of at least 10 s",
    predict,
)
