"""What `make fresh` reads from logs, and its table."""

from dataclasses import replace

import pytest
from tests.fresh.outcome import (
    Outcome,
    counted_tests,
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


@pytest.mark.parametrize("number", ["1 error", "2 errors"])
def test_a_session_that_could_not_begin_has_failed(number: str) -> None:
    assert counted_tests(f"=== {number} in 0.50s ===\n").failed == int(number[0])


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
