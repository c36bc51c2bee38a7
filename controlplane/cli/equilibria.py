"""Equilibria as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nashbed.analysis.nash.of_run import SettingEquilibria


def equilibria_text(found: Sequence[SettingEquilibria]) -> str:
    """One block for each setting."""
    return "\n".join(_setting_text(each.to_dict()) for each in found)


def _setting_text(setting: dict[str, Any]) -> str:
    lines = [f"{setting['setting']}: {setting['summary']}"]
    for kind in ("equilibria", "epsilon_equilibria"):
        shown = ", ".join(state["text"] for state in setting[kind]) or "none"
        lines.append(f"  {kind.replace('_', '-')}: {shown}")
    if setting["mixes_not_measured"]:
        lines.append(f"  {setting['mixes_not_measured']} of {setting['mixes']} mixes not measured")
    return "\n".join(lines)
