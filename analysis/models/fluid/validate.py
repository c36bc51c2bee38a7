"""The fluid model of other CCAs than BBR against our own runs.

    python -m nashbed.analysis.models.fluid.validate [MIXES.csv ...]

It prints, by CCA and buffer, how far the predicted aggregate share is from the measured one,
and writes `analysis/models/fluid/validation.json`, by which `fluid.model_of` refuses. Nothing is
fitted here: the constants are those that FABRIC's mixes of CUBIC and BBR gave. Without arguments
it reads `MEASURED_MIXES`.
"""

import json
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from ..accuracy import MeasuredMix
from ..measured import mixes_of_file
from ..mix_files import MEASURED_MIXES, read_rows
from . import ccas
from .model import VALIDATION_FILE, predict

POINTS = 100.0


@dataclass(frozen=True)
class Asked:
    """A measured mix, and what the model said.

    Attributes:
        cca: What ran beside CUBIC.
        share: Its predicted aggregate share.
        spread: Largest less smallest share over the seeds.
    """

    cca: str
    mix: MeasuredMix
    share: float
    spread: float

    @property
    def error(self) -> float:
        """Predicted less measured, in points."""
        return POINTS * (self.share - self.mix.share)


def ask(cca: str, mix: MeasuredMix) -> Asked:
    """Ask the model about one mix."""
    answer = predict(mix.question, unvalidated=True)
    assert answer.share is not None and answer.share_range is not None, answer.refusals
    low, high = answer.share_range
    return Asked(cca, mix, answer.share, high - low)


def ask_all(paths: Sequence[Path]) -> list[Asked]:
    """Ask about every mix of every CCA that the model knows."""
    tasks = [
        (cca, mix)
        for cca in ccas()
        if cca != "cubic"
        for path in paths
        for mix in mixes_of_file(path, cca).mixes
    ]
    with ProcessPoolExecutor() as pool:
        return list(pool.map(ask, *zip(*tasks, strict=True), chunksize=4)) if tasks else []


def errors(asked: Sequence[Asked]) -> NDArray[np.float64]:
    """Predicted less measured shares in points, shape (len(asked),)."""
    return np.array([each.error for each in asked])


def numbers(asked: Sequence[Asked]) -> dict[str, float]:
    """What `fluid.seconds.Validation` holds of a CCA."""
    off = errors(asked)
    settings = {
        (q.rate_bps, q.base_rtt_s, q.buffer_bytes, q.flows)
        for q in (each.mix.question for each in asked)
    }
    return {
        "mixes": len(asked),
        "settings": len(settings),
        "median_points": round(float(np.median(np.abs(off))), 2),
        "bias_points": round(float(off.mean()), 2),
        "p90_points": round(float(np.quantile(np.abs(off), 0.9)), 2),
    }


def table(asked: Sequence[Asked]) -> Table:
    """A row for each CCA and buffer, and one for each CCA."""
    shown = Table(
        "CCA", "buffer, BDP", "mixes", "median |error|", "bias", "90 % within", "over seeds"
    )
    by_cca = groupby(sorted(asked, key=lambda each: each.cca), lambda each: each.cca)
    for cca, of_cca in by_cca:
        every = sorted(of_cca, key=lambda each: each.mix.buffer_bdp)
        for buffer, of_buffer in groupby(every, lambda each: each.mix.buffer_bdp):
            shown.add_row(*_cells(cca, f"{buffer:g}", list(of_buffer)))
        shown.add_row(*_cells(cca, "all", every), end_section=True)
    return shown


def _cells(cca: str, buffer: str, asked: Sequence[Asked]) -> tuple[str, ...]:
    found = numbers(asked)
    spread = POINTS * float(np.median([each.spread for each in asked]))
    points = (found["median_points"], found["bias_points"], found["p90_points"], spread)
    return cca, buffer, str(len(asked)), *(f"{value:.1f}" for value in points)


def write(asked: Sequence[Asked], sources: Sequence[Path]) -> None:
    """Write the validation of every CCA that was asked about."""
    names = sorted({each.cca for each in asked})
    found = {name: numbers([each for each in asked if each.cca == name]) for name in names}
    runs = sorted({row.source for path in sources for row in read_rows(path) if row.cca in found})
    text = json.dumps({"runs": runs, "controls": found}, indent=1)
    VALIDATION_FILE.write_text(text + "\n", encoding="utf-8")


def main() -> None:
    """Ask, print, write."""
    sources = [Path(name) for name in sys.argv[1:]] or [MEASURED_MIXES]
    asked = ask_all(sources)
    Console(width=100).print(table(asked))
    write(asked, sources)


if __name__ == "__main__":
    main()
