"""The report: one self-contained page, and the figures as files."""

from .build import USUAL_FORMATS, build_report, check_formats, report_of

__all__ = ["USUAL_FORMATS", "build_report", "check_formats", "report_of"]
