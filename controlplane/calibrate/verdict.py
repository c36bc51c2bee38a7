"""Making verdicts, the same way everywhere."""

from __future__ import annotations

from ..contract.certificate import CalibrationCheck


def within(
    name: str, setting: str, value: float | None, limit: float, unit: str, detail: str
) -> CalibrationCheck:
    """A check that is passed by a value of at most the limit on either side of 0.

    Args:
        name: Name of the check.
        setting: What it was measured at.
        value: What was measured; None: it could not be, which is not passed.
        limit: The bound.
        unit: Unit of both.
        detail: One line for a person.
    """
    passed = value is not None and abs(value) <= limit
    return CalibrationCheck(
        name=name, setting=setting, passed=passed, value=value, limit=limit, unit=unit,
        detail=detail,
    )  # fmt: skip
