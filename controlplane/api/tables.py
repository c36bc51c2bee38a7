"""Tables over several runs: mixes, equilibria, and what is published beside what was measured.

>>> import nashbed as nb
>>> nb.tables.mixes(["results/20260101T120000Z-a", "results/20260102T120000Z-b"], "mixes.csv")
"""

import io
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl
from nashbed.analysis.models.agreement import (
    Agreement,
    EquilibriaTableAnswer,
    HeldIntervals,
    agreement_by_source,
)
from nashbed.analysis.models.equilibrium_files import (
    EquilibriumRow,
    EquilibriumTable,
    equilibria_csv,
    equilibrium_table,
    merge_rows,
    read_equilibria,
    read_published,
)
from nashbed.analysis.models.mix_files import MixTable, mix_table
from nashbed.analysis.results.published import (
    PUBLISHED,
    agreement_with_published,
    changed_rows,
    read_published_table,
)
from nashbed.controlplane.contract.units import counted
from nashbed.controlplane.machine.paths import PUBLISHED_EQUILIBRIA
from nashbed.controlplane.store.errors import RunError, writing

from .runs import RunLike, measures_of, open_run
from .steps import ShowStep, show_nothing

__all__ = [
    "Agreement",
    "Equilibria",
    "EquilibriaTableAnswer",
    "EquilibriumRow",
    "HeldIntervals",
    "MixTable",
    "Published",
    "equilibria",
    "mixes",
    "published",
]


@dataclass(frozen=True)
class Equilibria:
    """Equilibria of several settings and sources.

    Attributes:
        rows: One for each setting and source.
        left_out: Why settings were left out -> how many.
        agreement: Each source against the published equilibria.
        files: What was written.
    """

    rows: tuple[EquilibriumRow, ...]
    left_out: Mapping[str, int]
    agreement: tuple[Agreement, ...]
    files: tuple[Path, ...]

    def answer(self) -> EquilibriaTableAnswer:
        """What `nashbed equilibria --json` says of them."""
        return EquilibriaTableAnswer(
            rows=len(self.rows),
            left_out=dict(self.left_out),
            agreement=self.agreement,
            files=tuple(map(str, self.files)),
        )

    def __repr__(self) -> str:
        """How much is in it."""
        return f"<Equilibria: {counted(len(self.rows), 'row')}>"

    def _repr_html_(self) -> str:
        return pl.read_csv(io.StringIO(equilibria_csv(self.rows)))._repr_html_()


@dataclass(frozen=True)
class Published:
    """What is published of several runs' settings, and what they measured.

    Attributes:
        rows: One for each published value; docs/reference/exported-tables.md has the columns.
        agreement: How far off they are, by quantity: all, by label, by strategy.
        changed: What is not as in the table that they were held against, a line for each row.
        files: What was written.
    """

    rows: pl.DataFrame
    agreement: pl.DataFrame
    changed: tuple[str, ...]
    files: tuple[Path, ...]


def mixes(runs: Sequence[RunLike], out: str | Path | None = None) -> MixTable:
    """The measured mixes of runs, as a table for `models.errors`.

    Each row is a mix of cubic and one other congestion control, the mean over its valid trials,
    with its starts. docs/reference/exported-tables.md describes the columns.

    Args:
        runs: Run directories (results/...), or open runs.
        out: The CSV file, which is replaced; None: none is written.

    Raises:
        RunError: There is no such mix, or the file cannot be written.
    """
    table = mix_table(measures_of(run) for run in runs)
    if not table.rows:
        raise RunError(
            f"{_name(runs[0])}: no mix of cubic and another congestion control "
            f"({_why(table.left_out)})"
        )
    if out is not None:
        _write(Path(out), table.text())
    return table


def equilibria(
    sources: Sequence[RunLike],
    *,
    fluid: bool = False,
    out: str | Path | None = None,
    plate: str | Path | None = None,
    on_step: ShowStep = show_nothing,
) -> Equilibria:
    """The equilibria of runs, in CUBIC flows, held against published ones.

    Each row is the equilibrium of one setting in CUBIC flows, with its 95 % interval, whether that
    is closed, and whether the mixes that decide had settled. Where a table and a run have the same
    setting of the same source, the later one counts. docs/reference/exported-tables.md
    describes the columns.

    Args:
        sources: Run directories, finished or not, and tables that this wrote (.csv).
        fluid: Add the fluid model's rows for every setting of the runs.
        out: Write all rows into this CSV file, which is replaced; None: none is written.
        plate: Draw a panel for each rate and base RTT: .png, .pdf, .svg; None: none is drawn.
        on_step: Called as the fluid model answers.

    Raises:
        RunError: A source cannot be read, has no equilibrium, or a file cannot be written.
    """
    tables = [table for source in sources for table in _tables(source, fluid, on_step)]
    rows = merge_rows(table.rows for table in tables)
    left_out = sum((Counter(table.left_out) for table in tables), Counter())
    if not rows:
        raise RunError(
            f"{_name(sources[0])}: no equilibrium of cubic and another ({_why(left_out)})"
        )
    known = read_published(PUBLISHED_EQUILIBRIA)
    if out is not None:
        _write(Path(out), equilibria_csv(rows))
    if plate is not None:
        from nashbed.analysis.figures.equilibrium_plate import (  # noqa: PLC0415 - slow to import
            write_plate,
        )

        with writing(Path(plate)):
            write_plate(rows, known, Path(plate))
    written = tuple(Path(path) for path in (out, plate) if path is not None)
    return Equilibria(rows, dict(left_out), tuple(agreement_by_source(rows, known)), written)


def published(
    sources: Sequence[RunLike],
    *,
    out: str | Path | None = None,
    plate: str | Path | None = None,
    against: str | Path | None = None,
) -> Published:
    """What runs measured beside what their scenarios say is published (`reference`).

    Each row is a published value, with both 95 % intervals and a digest of the trials: in virtual
    time it is the same on every machine. docs/reference/exported-tables.md describes the columns.

    Args:
        sources: Run directories, and tables that this wrote (.csv).
        out: Write all rows into this CSV file, which is replaced; None: none is written.
        plate: Draw what was measured against what is published: .png, .pdf, .svg; None: none is
            drawn.
        against: A table that this wrote: what differs from it is named; None: nothing is.

    Raises:
        RunError: A source cannot be read, has nothing published, or a file cannot be written.
    """
    rows = pl.concat(_published(each) for each in sources)
    changed = () if against is None else changed_rows(rows, read_published_table(Path(against)))
    if out is not None:
        _write(Path(out), rows.write_csv())
    if plate is not None:
        from nashbed.analysis.figures.published_plate import (  # noqa: PLC0415 - slow to import
            write_plate,
        )

        with writing(Path(plate)):
            write_plate(rows, Path(plate))
    written = tuple(Path(path) for path in (out, plate) if path is not None)
    return Published(rows, agreement_with_published(rows), tuple(changed), written)


def _published(source: RunLike) -> pl.DataFrame:
    if isinstance(source, str | Path) and Path(source).suffix == ".csv":
        return read_published_table(Path(source))
    run = open_run(source) if isinstance(source, str | Path) else source
    return run.table(PUBLISHED.name)


def _tables(source: RunLike, fluid: bool, on_step: ShowStep) -> list[EquilibriumTable]:
    """The rows of a table, or of a run with those of the fluid model."""
    if isinstance(source, str | Path) and Path(source).suffix == ".csv":
        return [EquilibriumTable(read_equilibria(Path(source)), {})]
    measures = measures_of(source)
    tables = [equilibrium_table(measures)]
    if fluid:
        from nashbed.analysis.models.equilibrium_predictions import (  # noqa: PLC0415 - slow to import
            fluid_rows,
        )

        rows = fluid_rows(measures.run.scenario, measures.run.settings, on_step)
        tables.append(EquilibriumTable(tuple(rows), {}))
    return tables


def _name(source: RunLike) -> str | Path:
    return source if isinstance(source, str | Path) else source.path


def _why(left_out: Mapping[str, int]) -> str:
    why = "; ".join(f"{count} left out: {reason}" for reason, count in left_out.items())
    return why or "it is empty"


def _write(path: Path, text: str) -> None:
    with writing(path):
        path.write_text(text, encoding="utf-8")
