"""What one check of `nashbed doctor` says."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class DoctorCheck:
    """One thing that was looked for.

    Attributes:
        name: What.
        ok: Whether it is here.
        detail: What was found.
        needed: Whether a run is impossible without it.
        remedy: What is skipped without it, and how to get it.
    """

    name: str
    ok: bool
    detail: str
    needed: bool
    remedy: str

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self)
