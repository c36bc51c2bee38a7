"""Whether two runs measure the same: equivalence of shares within a margin, mix by mix."""

from collections.abc import Iterator, Mapping

from nashbed.controlplane.contract.model import ContractModel, JsonAnswer
from nashbed.controlplane.store.errors import RunError

from ..measures import Cell, RunMeasures
from ..metrics.statistics import EquivalenceTest, equivalence_test, judged
from .compare import METRIC, PairedRuns, mix_text, paired_runs, present


class ComparedShare(ContractModel):
    """Whose share is tested, and where.

    Attributes:
        setting: Label of the setting in the first run.
        against: Label of the setting in the second run.
        mix: The mix in words.
        strategy: Whose share of the throughput of all flows, by its name in the first run.
    """

    setting: str
    against: str
    mix: str
    strategy: str


class ShareEquivalence(EquivalenceTest, ComparedShare):
    """The share of a strategy's flows together at one mix, 0 to 1, in both runs."""


class EquivalenceAnswer(JsonAnswer):
    """Whether two runs measure the same, as `nashbed compare --equivalence --json` answers it.

    Attributes:
        first: Name of the first run.
        second: Name of the second run.
        margin: The largest difference of a share that does not matter, 0 to 1.
        equivalent: Whether every cell is equivalent, and none is missing.
        cells: Every strategy whose share is tested at every mix that both runs have.
        missing: Mixes of several strategies that a run was to measure, and that have no valid trial
            in both.
        unlike: Settings that both were asked for and applied differently, in words.
    """

    first: str
    second: str
    margin: float
    equivalent: bool
    cells: tuple[ShareEquivalence, ...]
    missing: tuple[str, ...]
    unlike: tuple[str, ...]


def equivalence_of_runs(
    first: RunMeasures,
    second: RunMeasures,
    margin: float,
    setting: str | None = None,
    against: str | None = None,
    counterparts: Mapping[str, str] | None = None,
) -> EquivalenceAnswer:
    """Test whether the shares of two runs differ by less than a margin, at every mix of both.

    Args:
        margin: The largest difference of a share that does not matter, 0 to 1.
        against: The setting of the second run to hold it against, alike or not; needs `setting`.
        counterparts: As `PairedRuns` has it.

    Raises:
        RunError: There is no such setting or strategy, or no mix of several strategies has two
            valid trials in both.
    """
    both = paired_runs(first, second, setting, against, counterparts)
    pairs = both.mixes()
    cells = [cell for pair in pairs for cell in _cells(both, *pair, margin)]
    if all(cell.p_equivalent is None for cell in cells):
        raise RunError(
            f"{both.names}: no mix of several strategies has two valid trials in both and "
            "a share that varies, so nothing says what chance does; set `trials: 10` or so in the "
            "scenario and run again"
        )
    known = tuple(judged(cells))
    missing = tuple(dict.fromkeys(_missing(both)))
    return EquivalenceAnswer(
        first=both.runs[0].run.manifest.run,
        second=both.runs[1].run.manifest.run,
        margin=margin,
        equivalent=not missing and all(cell.verdict == "equivalent" for cell in known),
        cells=known,
        missing=missing,
        unlike=both.unlike(),
    )


def _cells(
    both: PairedRuns, cells: tuple[Cell, Cell], mix: str, margin: float
) -> Iterator[ShareEquivalence]:
    """A test for each share that says something of its own."""
    setting, against = (cell.setting.label for cell in cells)
    strategies = present(both.runs[0], cells[0])
    # Two shares add up to the whole: the second says all. Of three, each may differ alone.
    for strategy in strategies if len(strategies) > 2 else strategies[1:]:
        names = strategy, both.counterpart(strategy)
        values = [
            [t.total_of(METRIC, name) for t in cell.trials]
            for cell, name in zip(cells, names, strict=True)
        ]
        test = equivalence_test(values[0], values[1], margin)
        if test is not None:
            yield ShareEquivalence(
                **vars(test), setting=setting, against=against, mix=mix, strategy=strategy
            )


def _missing(both: PairedRuns) -> Iterator[str]:
    """Mixes of several strategies that a run was to measure, and that are not tested."""
    pairs = [cells for cells, _ in both.mixes() if all(cell.trials for cell in cells)]
    for index, run in enumerate(both.runs):
        tested = {(pair[index].setting.label, pair[index].state) for pair in pairs}
        for cell in both.compared(index):
            if len(present(run, cell)) > 1 and (cell.setting.label, cell.state) not in tested:
                yield f"{cell.setting.label}: {mix_text(run, cell)}"
