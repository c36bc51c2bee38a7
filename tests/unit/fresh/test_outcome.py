"""What `make fresh` reads from logs, and its table."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.fresh.outcome import (
    BEGIN,
    END,
    Outcome,
    counted_tests,
    markdown_table,
    text_table,
    trials,
    write_into,
)

# From real runs, shortened: two sessions of `make test`, then the quick tests of `make check`.
TWO_SESSIONS = """\
======================== 3 passed in 0.01s of another program ========================
=========================== short test summary info ============================
SKIPPED [2] tests/rtl/simulate.py:20: needs iverilog, which is not on PATH: `apt install iverilog`
SKIPPED [1] tests/unit/x/test_a.py:7: a reason: with a colon, and 3 passed in 2.00s
FAILED tests/unit/test_b.py::test_b[1 and 2] - assert 1 == 2
===== 1 failed, 4114 passed, 3 skipped, 2 warnings in 649.05s (0:10:49) ======
SKIPPED [4] tests/rtl/simulate.py:20: needs iverilog, which is not on PATH: `apt install iverilog`
ERROR tests/e2e/test_c.py::test_c - RuntimeError
========== 150 passed, 4 skipped, 12 deselected, 1 error in 567.00s (0:09:27) ===========
make: *** [Makefile:45: test] Error 1
"""
QUIET = """\
....s                                                                    [100%]
SKIPPED [1] tests/x.py:3: why
4 passed, 1 skipped in 2.31s
"""
ICARUS = "needs iverilog, which is not on PATH: `apt install iverilog`"


def outcome(**changes: object) -> Outcome:
    good = Outcome(
        "trixie", "make test", "root", "c" * 40, "2026-11-23", 90.0, 0, passed=4264,
        processor_s=120.0,
    )  # fmt: skip
    return replace(good, **changes)  # type: ignore[arg-type]


def test_the_sessions_of_a_log_are_summed() -> None:
    counts = counted_tests(TWO_SESSIONS)
    assert (counts.passed, counts.failed, counts.sessions) == (4264, 2, 2)
    assert counts.skipped == {ICARUS: 6, "a reason: with a colon, and 3 passed in 2.00s": 1}
    assert next(iter(counts.skipped)) == ICARUS
    assert counts.names == [
        "tests/unit/test_b.py::test_b[1 and 2] - assert 1 == 2",
        "tests/e2e/test_c.py::test_c - RuntimeError",
    ]


def test_quiet_sessions_have_no_signs_around_their_last_line() -> None:
    counts = counted_tests(QUIET)
    assert (counts.passed, counts.failed, counts.skipped) == (4, 0, {"why": 1})


@pytest.mark.parametrize("number", ["1 error", "2 errors"])
def test_a_session_that_could_not_begin_has_failed(number: str) -> None:
    assert counted_tests(f"=== {number} in 0.50s ===\n").failed == int(number[0])


def test_skips_whose_reasons_are_not_shown_are_counted() -> None:
    assert counted_tests("5 passed, 7 skipped in 1.00s\n").skipped == {"without a reason": 7}


def test_a_log_without_tests() -> None:
    counts = counted_tests("ninja: build stopped\nmake: *** [Makefile:1: build] Error 1\n")
    assert (counts.passed, counts.failed, counts.sessions) == (0, 0, 0)


def test_trials_are_counted_over_all_run_directories(tmp_path: Path) -> None:
    for name, valid in (("a/trials/1", True), ("a/trials/2", False), ("b/trials/1", True)):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "trial.json").write_text(json.dumps({"valid": valid}))
    assert trials(tmp_path) == (2, 1)
    assert trials(tmp_path / "none") == (0, 0)


@pytest.mark.parametrize(
    ("changes", "good", "said"),
    [
        ({}, True, "0"),
        ({"code": 2, "failed": 3}, False, "3"),
        ({"code": 2}, False, "exit code 2"),  # tests passed, and the format did not
        ({"code": 2, "passed": 0}, False, "exit code 2"),
        ({"code": None, "failed": 1}, False, "1; stopped at its time limit"),
        ({"passed": 0}, False, "exit code 0"),  # nothing was done
    ],
)
def test_what_counts_as_a_failure(changes: dict[str, object], good: bool, said: str) -> None:
    one = outcome(**changes)
    assert one.good is good
    where = ["trixie", "make test", "root", "ccccccc", "2026-11-23"]
    assert one.row() == [*where, "1.5", "2.0", f"{one.passed:,} tests", said]


def test_an_outcome_is_kept_whole(tmp_path: Path) -> None:
    one = outcome(code=None, skipped={"why": 3}, names=["tests/a.py::test_a"])
    one.save(tmp_path / "kept.json")
    assert Outcome.load(tmp_path / "kept.json") == one


def test_the_tables() -> None:
    bad = outcome(root="bookworm", code=2, failed=1, names=["a::b"], skipped={"x|y": 2, "z": 1})
    bad = replace(bad, parts={"one": 61.4})
    assert text_table([outcome(), bad]).splitlines() == [
        "root      command    as    commit   on          minutes  of CPU  passed       failed",
        "trixie    make test  root  ccccccc  2026-11-23  1.5      2.0     4,264 tests  0",
        "bookworm  make test  root  ccccccc  2026-11-23  1.5      2.0     4,264 tests  1",
        "    failed: a::b",
        "    skipped: 2: x|y",
        "    skipped: 1: z",
        "    61 s: one",
    ]
    assert markdown_table([outcome(), bad], {"kernel": "6.1", "cores": "2"}).splitlines() == [
        "Measured: kernel 6.1; cores 2.",
        "",
        "| root | command | as | commit | on | minutes | of CPU | passed | failed | "
        "skipped, by reason |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
        "| trixie | `make test` | root | ccccccc | 2026-11-23 | 1.5 | 2.0 | 4,264 tests | 0 |  |",
        "| bookworm | `make test` | root | ccccccc | 2026-11-23 | 1.5 | 2.0 | 4,264 tests | 1<br>"
        "`a::b` | 2: x\\|y<br>1: z<br>61 s: one |",
    ]


def test_a_table_is_replaced_between_its_markers(tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    write_into(readme, "new")
    assert readme.read_text() == f"before\n{BEGIN}\nnew\n{END}\nafter\n"
    readme.write_text("none")
    with pytest.raises(ValueError, match="has no lines"):
        write_into(readme, "new")
    assert readme.read_text() == "none"


def test_the_readme_has_the_markers() -> None:
    text = (Path(__file__).resolve().parents[2] / "fresh" / "README.md").read_text()
    assert text.index(BEGIN) < text.index(END)
