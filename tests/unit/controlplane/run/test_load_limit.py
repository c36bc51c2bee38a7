"""The sum of rates at once: lowered once for one cause, raised again step by step."""

from __future__ import annotations

import pytest
from nashbed.controlplane.run.load_limit import LoadLimit

SLOW = frozenset({"round_trips"})
NONE: frozenset[str] = frozenset()


def test_a_slow_trial_takes_a_fifth_off_what_was_running() -> None:
    limit = LoadLimit(1000, now=lambda: 10.0)
    assert not limit.reduced
    assert limit.trial_ended(5.0, valid=False, failed_gates=SLOW, load_bps=500)
    assert (limit.allowed_bps, limit.reduced) == (400, True)


def test_trials_that_ran_side_by_side_lower_it_once() -> None:
    limit = LoadLimit(1000, now=lambda: 10.0)
    limit.trial_ended(5.0, valid=False, failed_gates=SLOW, load_bps=1000)
    assert not limit.trial_ended(6.0, valid=False, failed_gates=SLOW, load_bps=1000)
    assert limit.allowed_bps == 800
    assert limit.trial_ended(11.0, valid=False, failed_gates=SLOW, load_bps=1000)
    assert limit.allowed_bps == 640


def test_where_load_is_no_cause_it_stays() -> None:
    limit = LoadLimit(1000, now=lambda: 10.0, adapts=False)
    assert not limit.trial_ended(5.0, valid=False, failed_gates=SLOW, load_bps=500)
    assert (limit.allowed_bps, limit.reduced) == (1000, False)


def test_other_failures_leave_it_alone() -> None:
    limit = LoadLimit(1000)
    assert not limit.trial_ended(0.0, False, frozenset({"overlap"}), 1000)
    assert limit.allowed_bps == 1000


def test_valid_trials_raise_it_to_the_capacity() -> None:
    limit = LoadLimit(1000, now=lambda: 1.0)
    limit.trial_ended(0.0, valid=False, failed_gates=SLOW, load_bps=1000)
    limit.trial_ended(2.0, valid=True, failed_gates=NONE, load_bps=800)
    assert limit.allowed_bps == pytest.approx(840, abs=1)
    for _ in range(10):
        limit.trial_ended(2.0, valid=True, failed_gates=NONE, load_bps=800)
    assert (limit.allowed_bps, limit.reduced) == (1000, False)
