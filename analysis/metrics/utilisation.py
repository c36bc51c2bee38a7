"""Utilisation: how much of the window the link was sending."""

from __future__ import annotations

from ..align.data import TrialData
from .registry import Metric, register


def utilisation(busy_ns: float, window_length_ns: int) -> float:
    """Time in which the link was serialising, by the window's length (unit 1).

    A packet is being serialised for (frame bytes + overhead) x 8 / applied rate up to its
    dequeue time; what of that lies in the window counts.

    Args:
        busy_ns: Time in which the link was serialising, in the window.
        window_length_ns: Length of the window.
    """
    return busy_ns / window_length_ns


def _of_trial(trial: TrialData) -> float:
    return utilisation(trial.need_queue().busy_ns, trial.length_ns)


METRIC = register(
    Metric(
        name="utilisation",
        title="Utilisation",
        unit="1",
        scope="trial",
        definition="Share of the measured window in which the link was serialising a packet.",
        source="nashbed",
        compute=_of_trial,
    )
)
