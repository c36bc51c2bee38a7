"""One trial as a file that others' tools read: Perfetto, qlog, INT-XD reports, pcapng."""

from ..measures import silent
from .export import FORMATS, TrialExport, check_form, export_trial
from .selection import NS_PER_S, Progress, Selection, choose_trial, parse_flows

__all__ = [
    "FORMATS",
    "NS_PER_S",
    "Progress",
    "Selection",
    "TrialExport",
    "check_form",
    "choose_trial",
    "export_trial",
    "parse_flows",
    "silent",
]
