"""Time stamps of captures in every format that hardware writes them in; streamed, whole numbers."""

from .detect import FORMATS
from .frames import Frames, Mark
from .source import FILE, TimestampSource
from .summary import CaptureSummary, exact_text, summarise_timestamps
from .times import Times
from .trailer import Stamps

__all__ = [
    "FILE",
    "FORMATS",
    "CaptureSummary",
    "Frames",
    "Mark",
    "Stamps",
    "Times",
    "TimestampSource",
    "exact_text",
    "summarise_timestamps",
]
