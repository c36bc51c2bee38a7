"""The settings of a scenario: every combination of what is swept, and its limit."""

from __future__ import annotations

import pytest
from nashbed.controlplane.plan.sweep import scenario_settings
from tests.unit.controlplane.conftest import scenario_with


def test_settings_are_named_by_what_is_swept() -> None:
    scenario = scenario_with(
        "sweep: {", "sweep: {rate: [10mbit, 20mbit], base_rtt: [5ms], buffer: [1bdp, 0.5MB], "
    )
    settings = [setting for setting, _ in scenario_settings(scenario)]
    assert [s.label for s in settings] == [
        "c10mbit-t5ms-b1bdp",
        "c10mbit-t5ms-b500kB",
        "c20mbit-t5ms-b1bdp",
        "c20mbit-t5ms-b500kB",
    ]
    assert settings[0].buffer_bytes == 6250  # 10 Mbit/s x 5 ms
    assert settings[1].buffer_bdp == 80


def test_the_kernel_is_a_part_of_the_setting() -> None:
    swept = scenario_with("sweep: {", 'sweep: {kernel: ["6.1", "6.12"], buffer: [1bdp, 2bdp], ')
    settings = [setting for setting, _ in scenario_settings(swept)]
    assert [(s.kernel, s.label) for s in settings] == [
        ("6.1", "v6.1-b1bdp"),
        ("6.1", "v6.1-b2bdp"),
        ("6.12", "v6.12-b1bdp"),
        ("6.12", "v6.12-b2bdp"),
    ]
    ((one, _),) = scenario_settings(scenario_with("duration:", 'kernel: "6.10"\nduration:'))
    assert (one.kernel, one.label) == ("6.10", "b2bdp")
    ((usual, _),) = scenario_settings(scenario_with("small", "usual"))
    assert usual.kernel == ""


def test_trains_are_asked_of_the_target() -> None:
    ((setting, program),) = scenario_settings(scenario_with("2bdp", "2bdp, arrivals: trains"))
    assert (setting.arrivals, program.arrivals) == ("trains", "trains")
    ((setting, program),) = scenario_settings(scenario_with("small", "usual"))
    assert (setting.arrivals, program.arrivals) == ("frames", "frames")


@pytest.mark.parametrize(
    ("buffer", "unit", "value", "cell"),
    [
        ("2bdp", "bytes", 250_000, 0),
        ("64pkt", "packets", 64, 0),
        ("2bdp, cell: 80B", "cells", 3125, 80),
    ],
)
def test_the_limit_is_in_the_unit_that_is_meant(
    buffer: str, unit: str, value: int, cell: int
) -> None:
    ((_, program),) = scenario_settings(scenario_with("2bdp", buffer))
    assert program.limit.model_dump() == {"unit": unit, "value": value, "cell_bytes": cell}
