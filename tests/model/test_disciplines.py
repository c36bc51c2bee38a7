"""A scenario's parameters are those of the data plane's tables: names, kinds, defaults."""

from __future__ import annotations

import pytest
from nashbed.controlplane.contract.disciplines import DISCIPLINES, machine_parameter
from nashbed.controlplane.contract.units import Duration, Share, Size
from nashbed.controlplane.machine.aqm.tool import DisciplineAbout, describe
from nashbed.controlplane.machine.paths import AQM_TOOL

pytestmark = pytest.mark.skipif(not AQM_TOOL.is_file(), reason="needs nashbed-aqm: `make build`")
KINDS = {Duration: {"time"}, Size: {"bytes"}, Share: {"probability"}, bool: {"flag"},
         int: {"number", "packets"}, float: {"real"}}  # fmt: skip


def tables() -> list[DisciplineAbout]:
    return list(describe()) if AQM_TOOL.is_file() else []


def test_the_data_plane_has_what_a_scenario_may_name() -> None:
    assert {"droptail", *(each.name for each in tables())} == set(DISCIPLINES)


@pytest.mark.parametrize("about", tables(), ids=lambda about: about.name)
def test_parameters_and_defaults_are_the_same(about: DisciplineAbout) -> None:
    usual = DISCIPLINES[about.name]()
    assert {each.name for each in about.parameters} == set(type(usual).model_fields)
    for each in about.parameters:
        value = getattr(usual, each.name)
        if value is None:
            assert each.default is None, each.name
            continue
        assert each.kind in KINDS[type(value)], each.name
        assert machine_parameter(each.name, value)[1] == each.default, each.name
