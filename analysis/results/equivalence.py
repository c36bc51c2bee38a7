"""Whether two runs measure the same: equivalence of shares within a margin, mix by mix."""

from collections.abc import Iterator

from nashbed.controlplane.contract.model import ContractModel, JsonAnswer
from nashbed.controlplane.store.errors import RunError

from ..measures import Cell, RunMeasures
from ..metrics.statistics import EquivalenceTest, equivalence_test, judged
from ..state import strategy_totals
from .compare import METRIC, PairedRuns, mix_text, paired_runs


class ComparedShare(ContractModel):
    """Whose share is tested, and where.

    Attributes:
        setting: Label of the setting in the first run.
        against: Label of the setting in the second run.
        mix: The mix in words.
        strategy: Whose share of the throughput of all flows.
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
) -> EquivalenceAnswer:
    """Test whether the shares of two runs differ by less than a margin, at every mix of both.

    Args:
        margin: The largest difference of a share that does not matter, 0 to 1.
        against: The setting of the second run to hold it against, alike or not; needs `setting`.

    Raises:
        RunError: There is no such setting, or no mix of several strategies has two valid trials in
            both.
    """
    both = paired_runs(first, second, setting, against)
    pairs = both.mixes()
    cells = [cell for pair in pairs for cell in _cells(both, *pair, margin)]
    if all(cell.p_equivalent is None for cell in cells):
        raise RunError(
            f"{both.names}: no mix of several strategies has two valid trials in both and "
            "a share that varies, so nothing says what chance does; set `trials: 10` or so in the "
            "scenario and run again"
        )
    known = tuple(judged(cells))
    missing = tuple(_missing(both))
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
    present = _present(both.runs[0], cells[0])
    # Two shares add up to the whole: the second says all. Of three, each may differ alone.
    for strategy in present if len(present) > 2 else present[1:]:
        values = [[t.total_of(METRIC, strategy) for t in cell.trials] for cell in cells]
        test = equivalence_test(values[0], values[1], margin)
        if test is not None:
            yield ShareEquivalence(
                **vars(test), setting=setting, against=against, mix=mix, strategy=strategy
            )


def _present(run: RunMeasures, cell: Cell) -> list[str]:
    """The strategies that have flows in a mix, in the run's order."""
    totals = strategy_totals(cell.state)
    return [s for s, flows in zip(run.strategies, totals, strict=True) if flows]


def _missing(both: PairedRuns) -> dict[str, None]:
    """Mixes of several strategies that a run was to measure, and that are not tested."""
    tested = [(cells, mix) for cells, mix in both.mixes() if all(cell.trials for cell in cells)]
    found: dict[str, None] = {}
    for index, run in enumerate(both.runs):
        known = {(cells[index].setting.label, mix) for cells, mix in tested}
        for cell in (cell for each in both.compared(index) for cell in run.cells(each)):
            what = cell.setting.label, mix_text(run, cell)
            if len(_present(run, cell)) > 1 and what not in known:
                found[": ".join(what)] = None
    return found
