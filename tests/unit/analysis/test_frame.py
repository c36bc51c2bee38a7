"""Frames: their columns, and what is the same in every rendering of them."""

import polars as pl
from nashbed.analysis.frame import PERCENT, PLAIN, Column, Columns, Frame
from nashbed.analysis.metrics.statistics import Estimate
from nashbed.analysis.text import NONE

Rows = dict[str, dict[str, object]]

MEAN = Estimate(mean=0.125, n=3, ci95=0.0125)
FRAME = Frame[Rows](
    "made", "Made", "setting",
    (
        Column("setting", "the setting", "Setting", brief=True),
        Column("word", "a word", "Word"),
        Column("flows", "whole", kind=pl.Int64),
        Columns("one for each", "as many as there are", lambda rows: [
            Column(name, "", name, PERCENT, over="Share", parts={"n": f"{name}_n"},
                   more="more", brief=name == "a")
            for name in ("a", "b")
        ]),
        Column("value", "a number", "Value", PLAIN),
    ),
    lambda rows: rows.values(),
)  # fmt: skip
ROW = {"setting": "s", "word": "yes", "flows": 4, "a": MEAN, "b": None, "value": float("nan"),
       "more": "(of 2)"}  # fmt: skip


def test_an_exported_table_has_base_units_and_without_rows_the_same_columns() -> None:
    table = FRAME.table({"s": ROW})
    assert table.to_dicts() == [
        {"setting": "s", "word": "yes", "flows": 4, "a": 0.125, "a_n": 3, "b": None, "b_n": None,
         "value": None},
    ]  # fmt: skip
    assert FRAME.table({}).schema == table.schema


def test_a_page_has_words_first_and_shares_under_one_head() -> None:
    section, brief = FRAME.section({"s": ROW}), FRAME.section({"s": ROW}, brief=True)
    assert (section["words"], brief["words"]) == (["Setting", "Word"], ["Setting"])
    assert section["columns"] == [*brief["columns"], "Share, b (%)", "Value"]
    assert brief["columns"] == ["Share, a (%)"]
    assert section["rows"][0]["values"] == [("12.5", "± 1.2 (of 2)"), (NONE, ""), (NONE, "")]
    assert FRAME.heads({}) == [("Share (%)", ["a", "b"]), ("", ["Value"])]
