"""The report: one self-contained page, and the figures as files."""

from .build import build_report

__all__ = ["build_report"]
