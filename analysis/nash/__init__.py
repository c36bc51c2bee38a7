"""Payoff tables from trials, and their equilibria."""

from .equilibria import Verdict, judge, judge_all
from .game import PayoffTable, all_states
from .of_run import SettingEquilibria, equilibria_of_run

__all__ = [
    "PayoffTable",
    "SettingEquilibria",
    "Verdict",
    "all_states",
    "equilibria_of_run",
    "judge",
    "judge_all",
]
