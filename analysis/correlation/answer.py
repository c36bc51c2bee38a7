"""CUBIC and BBR in a run as JSON: `correlation` in summary.json, and the exported ledger."""

import math
from typing import Annotated

from nashbed.controlplane.contract.model import ContractModel
from pydantic import BeforeValidator

from ..metrics.statistics import Estimate
from .k_verdict import KVerdict
from .ledger import Ledger, LedgerEntry, PointsMoved
from .of_run import MixReadings, RunCorrelation, mix_readings, mix_text


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


Finite = Annotated[float | None, BeforeValidator(_finite)]
"""A number; null where it is none, or infinite."""


class MixReadingsAnswer(ContractModel):
    """What one mix showed.

    Attributes:
        mix: The mix in words.
        measured: Name of a reading -> its mean over repetitions; null: not measured.
    """

    mix: str
    measured: dict[str, Estimate | None]


class LedgerRow(ContractModel):
    """One assumption of Mishra's model in one mix; columns of the exported ledger.

    What ends in `_synchronised` and `_desynchronised` is of the model's two bounds.

    Attributes:
        assumption: Its key.
        words: What is assumed.
        equation: The equations that assume it.
        unit: Unit of the values.
        derived: Whether it follows from others.
        measured: What was measured, mean over trials.
        n: Number of trials.
        ci95: Half the width of its 95 % interval; null with one trial.
        observations: Single measurements behind it, in all trials.
        p10: Their 10th percentile.
        p90: Their 90th percentile.
        chance_mean: What chance gives, mean over trials; null where that is no question.
        chance_low: The low end of what it gives.
        chance_high: The high end.
        says_synchronised: What the model says, mean over trials.
        ratio_synchronised: Measured by that.
        points_synchronised: The points by which BBR's share moves when the measured value replaces
            the assumed one, everything else as assumed; null without a solution.
        no_solution_synchronised: Why there is no solution; empty where there is one.
        points_last_synchronised: The points when everything else has been replaced before; null
            for what follows from others, and where not all could be measured or solved.
        says_desynchronised: As above, of the other bound, like the next four.
        ratio_desynchronised: Measured by that.
        points_desynchronised: The points.
        no_solution_desynchronised: Why there are none.
        points_last_desynchronised: The points after everything else.
    """

    assumption: str
    words: str
    equation: str
    unit: str
    derived: bool
    measured: Finite
    n: int
    ci95: Finite
    observations: int
    p10: Finite
    p90: Finite
    chance_mean: Finite
    chance_low: Finite
    chance_high: Finite
    says_synchronised: Finite
    ratio_synchronised: Finite
    points_synchronised: Finite
    no_solution_synchronised: str
    points_last_synchronised: Finite
    says_desynchronised: Finite
    ratio_desynchronised: Finite
    points_desynchronised: Finite
    no_solution_desynchronised: str
    points_last_desynchronised: Finite


class PredictedShares(ContractModel):
    """BBR's share of the throughput by the model.

    Attributes:
        synchronised: If all CUBIC flows lose at once.
        desynchronised: If they lose one at a time.
    """

    synchronised: Finite
    desynchronised: Finite


class LedgerAnswer(ContractModel):
    """All assumptions in one mix.

    Attributes:
        mix: The mix in words.
        sentence: Which assumption costs how many points.
        bbr_share: BBR's share of the throughput, measured.
        predicted: The same by the model.
        replaced: By the model with every measured value in its place; null if something could not
            be measured, or there is no solution.
        left_over_points: Points by which the measured share is above that; null likewise.
        not_measured: Assumptions that could not be measured, by key.
        entries: One for each that could be.
    """

    mix: str
    sentence: str
    bbr_share: Finite
    predicted: PredictedShares
    replaced: Finite
    left_over_points: Finite
    not_measured: tuple[str, ...]
    entries: tuple[LedgerRow, ...]


class SettingCorrelation(ContractModel):
    """CUBIC and BBR at one setting.

    Attributes:
        setting: Label of the setting.
        mixes: What each mix showed.
        ledgers: The ledger of every mix that the model holds for.
    """

    setting: str
    mixes: tuple[MixReadingsAnswer, ...]
    ledgers: tuple[LedgerAnswer, ...]


class CorrelationAnswer(ContractModel):
    """CUBIC and BBR in a run.

    Attributes:
        settings: At each setting.
        k: Whether the measured k predicts better; null: no trial says so.
    """

    settings: tuple[SettingCorrelation, ...]
    k: KVerdict | None


def correlation_answer(run: RunCorrelation) -> CorrelationAnswer:
    """The correlations of a run for a script."""
    settings = [
        SettingCorrelation(
            setting=setting.label,
            mixes=tuple(_mix(run, mix) for mix in mix_readings(run, setting)),
            ledgers=tuple(
                ledger_answer(ledger, mix_text(run, ledger.state))
                for ledger in run.ledgers(setting)
            ),
        )
        for setting in run.measures.run.settings
    ]
    return CorrelationAnswer(settings=tuple(settings), k=run.k)


def _mix(run: RunCorrelation, mix: MixReadings) -> MixReadingsAnswer:
    return MixReadingsAnswer(mix=mix_text(run, mix.state), measured=dict(mix.readings))


def ledger_answer(ledger: Ledger, mix: str) -> LedgerAnswer:
    """The ledger of a mix for a script."""
    replaced = ledger.replaced
    return LedgerAnswer(
        mix=mix,
        sentence=ledger.sentence(),
        bbr_share=ledger.share.mean,
        predicted=PredictedShares(
            synchronised=ledger.predicted["synchronised"].share,
            desynchronised=ledger.predicted["desynchronised"].share,
        ),
        replaced=None if replaced is None or replaced.why else replaced.share,
        left_over_points=ledger.left_over,
        not_measured=ledger.missing,
        entries=tuple(ledger_row(entry) for entry in ledger.entries),
    )


def ledger_row(entry: LedgerEntry) -> LedgerRow:
    """One assumption for a script: a flat row of a table."""
    one, null, alone = entry.assumption, entry.null, entry.alone
    return LedgerRow(
        assumption=one.key,
        words=one.words,
        equation=one.equation,
        unit=one.unit,
        derived=one.derived,
        measured=entry.measured.mean,
        n=entry.measured.n,
        ci95=entry.measured.ci95,
        observations=entry.observations,
        p10=entry.spread[0],
        p90=entry.spread[1],
        chance_mean=None if null is None else null.mean,
        chance_low=None if null is None else null.low,
        chance_high=None if null is None else null.high,
        says_synchronised=entry.says["synchronised"],
        ratio_synchronised=entry.ratio("synchronised"),
        points_synchronised=alone["synchronised"].solved,
        no_solution_synchronised=alone["synchronised"].why,
        points_last_synchronised=_solved(entry.last.get("synchronised")),
        says_desynchronised=entry.says["desynchronised"],
        ratio_desynchronised=entry.ratio("desynchronised"),
        points_desynchronised=alone["desynchronised"].solved,
        no_solution_desynchronised=alone["desynchronised"].why,
        points_last_desynchronised=_solved(entry.last.get("desynchronised")),
    )


def _solved(moved: PointsMoved | None) -> float | None:
    return None if moved is None else moved.solved
