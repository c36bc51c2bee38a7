"""One clock: offset and drift between sources from the packets that both saw."""

from .alignment import Alignment, Envelope, align, lower_envelope
from .timebase import ClockError, Instants, TimeBase

__all__ = [
    "Alignment",
    "ClockError",
    "Envelope",
    "Instants",
    "TimeBase",
    "align",
    "lower_envelope",
]
