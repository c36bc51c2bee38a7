"""One clock: offset and drift between sources from the packets that both saw."""

from .alignment import Alignment, align
from .envelope import Envelope, lower_envelope
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
