"""Which testbed a trial is handed to."""

from __future__ import annotations

from nashbed.controlplane.cluster.scheduler import idle_testbed, most_handed, own_testbed_of


def test_repetitions_of_a_mix_go_to_different_testbeds() -> None:
    seats = {"b": 2, "a": 2, "c": 2}
    assert [own_testbed_of(r, seats, {}) for r in range(4)] == ["a", "b", "c", "a"]


def test_a_full_testbed_leaves_it_to_one_that_is_idle() -> None:
    seats = {"a": 1, "b": 3}
    assert own_testbed_of(0, seats, {"a": 1}) == "a"  # one waits there
    assert own_testbed_of(0, seats, {"a": 2, "b": 2}) is None
    assert idle_testbed(0, seats, {"a": 2, "b": 2}) == "b"
    assert idle_testbed(0, seats, {"a": 0, "b": 1}) == "b"
    assert idle_testbed(0, seats, {"a": 2, "b": 3}) is None
    assert own_testbed_of(1, seats, {"a": 2, "b": 3}) == "b"


def test_nobody_is_there() -> None:
    for seats in ({}, {"a": 0}):
        assert own_testbed_of(0, seats, {}) is None
        assert idle_testbed(0, seats, {}) is None


def test_virtual_time_is_one_place() -> None:
    assert own_testbed_of(7, {"": 8}, {"": 9}) == ""
    assert own_testbed_of(7, {"": 8}, {"": 10}) is None
    assert idle_testbed(7, {"": 8}, {"": 10}) is None
    assert most_handed(8) == 10
    assert most_handed(0) == 0
