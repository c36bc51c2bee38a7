"""What is published beside what was measured: rows, how far off, and what changed."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest
from nashbed.analysis.figures.published_plate import published_plot
from nashbed.analysis.results.published import (
    PUBLISHED,
    agreement_with_published,
    changed_rows,
    read_published_table,
)
from nashbed.controlplane.store.errors import RunError
from tests.unit.analysis.made_measures import even, made

MBIT = 1e6
FOLDER = Path(__file__).resolve().parents[4] / "configs" / "scenarios" / "blind"


def table(*reference: dict[str, Any]) -> pl.DataFrame:
    named = [{"label": "A", "strategy": "bbr", **each} for each in reference]
    summary: Any = SimpleNamespace(measures=made({"reference": named}, even, {}))
    return PUBLISHED.table(summary)


def test_rows_of_each_quantity() -> None:
    """Of several published values the nearest one counts; a mix that nobody names is alone."""
    rows = table(
        {"quantity": "per_flow", "x": [1, 2], "y": [50, 50]},
        {"quantity": "share", "mix": {"cubic": 1}, "axis": "buffer_bdp", "x": [2], "y": [0.7],
         "ci95": [0.1]},
        {"quantity": "equilibrium", "axis": "buffer_bdp", "x": [2, 2], "y": [0, 1]},
        {"quantity": "aggregate", "axis": "buffer_bdp", "x": [2], "y": [96]},
        {"quantity": "aggregate", "axis": "buffer_bdp", "x": [77], "y": [96]},
    )  # fmt: skip
    found = rows.unique(["quantity", "mix"], maintain_order=True)
    values = found.select("quantity", "published", "measured").rows()
    assert values == [
        ("per_flow", 50, 60), ("per_flow", 50, 48), ("share", 0.7, 0.75),
        ("equilibrium", 1, 2), ("aggregate", 96, 96),
    ]  # fmt: skip
    (share,) = found.filter(quantity="share").iter_rows(named=True)
    assert (share["published_low"], share["published_high"]) == pytest.approx((0.6, 0.8))


def test_how_far_off_and_what_changed(tmp_path: Path) -> None:
    rows = table({"quantity": "per_flow", "x": [1, 2], "y": [50, 50]})
    (all_rows,) = agreement_with_published(rows).rows(named=True)
    assert (all_rows["median_off"], all_rows["most_off"]) == (6, 10)
    file = tmp_path / "t.csv"
    rows.write_csv(file)
    assert changed_rows(rows, read_published_table(file)) == []
    other = rows.with_columns(pl.lit("0" * 16).alias("digest"))
    assert len(changed_rows(rows, other)) == len(rows)
    assert changed_rows(rows.head(1), rows.head(2))[0].endswith("(" + rows["digest"][1] + ")")
    file.write_text("a,b\n1,2\n")
    with pytest.raises(RunError, match="nashbed published"):
        read_published_table(file)


def test_the_committed_rows_are_those_of_the_published_files() -> None:
    rows = read_published_table(FOLDER / "measured.csv")
    shares = pl.read_csv(FOLDER / "published" / "one_v_one.csv")
    published = shares["published_first_mbps"] / (
        shares["published_first_mbps"] + shares["published_second_mbps"]
    )
    mine = rows.filter(quantity="share")["published"].sort()
    assert mine.to_list() == pytest.approx(published.sort().to_list(), abs=1e-4)
    assert len(published_plot(rows).panels) == 2


def blind_rows() -> list[str]:
    """The rows of docs/results/blind.md: published / predicted blind / measured again."""
    rows, lines = read_published_table(FOLDER / "measured.csv"), []
    queues = {"droptail": "drop-tail", "codel": "CoDel", "pie target 5ms": "PIE",
              "dualpi2 target 5ms": "DualPI2"}  # fmt: skip
    shares = pl.read_csv(FOLDER / "published" / "one_v_one.csv")
    for own in shares.partition_by("first", "second", "queue", maintain_order=True):
        first, second, queue = own.row(0)[:3]
        label, mix = queues[queue], f"1 {first} + 1 {second}"
        cells = dict.fromkeys((0.5, 1, 2, 4, 8), "")
        for each in own.iter_rows(named=True):
            setting = f"b{each['buffer_bdp']:g}bdp"
            (again,) = rows.filter(
                pl.col("setting").str.ends_with(setting)
                & pl.col("mix").is_in([mix, f"1 {second} + 1 {first}"])
                & (pl.col("label") == label)
            )["measured"]
            said = each["published_first_share"], each["here_first_share"], 100 * again
            cells[each["buffer_bdp"]] = " / ".join(f"{value:.0f}" for value in said)
        lines.append(f"| {first} beside {second}, {label} | {' | '.join(cells.values())} |")
    known = pl.read_csv(FOLDER / "published" / "equilibria.csv")
    for own in known.partition_by("bandwidth_mbps", "base_rtt_ms", maintain_order=True):
        rate, rtt = own.row(0)[:2]
        source = rows.filter(source=f"blind-equilibria-{rate}mbit-{rtt:g}ms")
        cells_of = []
        for each in own.iter_rows(named=True):
            found = source.filter(setting=f"b{each['buffer_bdp']:g}bdp")["measured"].to_list()
            said = [each["published_n_cubic"].replace(" ", " or "),
                    *(f"{value:.1f}" for value in (each["measured_n_cubic"], *found))]  # fmt: skip
            cells_of.append(" / ".join(said))
        lines.append(f"| {rate} Mbit/s, {rtt:g} ms | {' | '.join(cells_of)} |")
    return lines


def test_the_page_has_every_row() -> None:
    page = (FOLDER.parents[2] / "docs" / "results" / "blind.md").read_text()
    assert [line for line in blind_rows() if line not in page] == []
