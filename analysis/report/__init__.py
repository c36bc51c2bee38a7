"""The report: one self-contained page, and the figures as files."""

from .build import USUAL_FORMATS, build_report, report_of

__all__ = ["USUAL_FORMATS", "build_report", "report_of"]
