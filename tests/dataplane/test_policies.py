# SPDX-License-Identifier: Apache-2.0
"""Policies of the memory: ours in the control plane's words and in C's, and one of a user's own."""

from __future__ import annotations

from pathlib import Path

import pytest
from nashbed.controlplane.contract.errors import ConfigError
from nashbed.controlplane.contract.own_discipline import OwnDiscipline, read_own_discipline
from nashbed.controlplane.contract.queues import TITLES, DynamicThreshold, Memory, MemoryProgram
from nashbed.controlplane.contract.units import Duration, Rate
from nashbed.controlplane.machine.aqm.loadable import loadable
from nashbed.controlplane.machine.aqm.tool import describe
from nashbed.controlplane.machine.paths import AQM_HEADERS
from tests.support.policies import OWN_POLICY

pytestmark = pytest.mark.dataplane


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OwnDiscipline:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "mine.c").write_text(OWN_POLICY)
    return read_own_discipline(tmp_path / "mine.c", AQM_HEADERS)


def asked(**params: str) -> MemoryProgram:
    memory = Memory.model_validate({"file": "./mine.c", "params": params})
    return memory.program(Rate.parse("100mbit"), Duration.parse("10ms"))


def test_ours_are_cs() -> None:
    policies = {about.name: about for about in describe(command="policies")}
    assert list(policies) == list(TITLES)
    (alpha,) = policies["dynamic_threshold"].parameters
    usual = DynamicThreshold.model_fields["alpha"]
    assert (alpha.name, alpha.default) == ("alpha", usual.default)
    assert {bound: getattr(alpha, name) for bound, name in (("ge", "min"), ("le", "max"))} == {
        kind: getattr(each, kind)
        for each in usual.metadata
        for kind in ("ge", "le")
        if hasattr(each, kind)
    }
    assert not any(policies[name].parameters for name in TITLES if name != "dynamic_threshold")


def test_ones_own_is_compiled_and_asked(own: OwnDiscipline) -> None:
    told = loadable(own, asked(least="20kB"))
    assert isinstance(told, MemoryProgram)
    assert Path(told.file).is_file()
    assert told.model_dump() == {"name": "mine", "file": told.file, "least_bytes": 20_000}


@pytest.mark.parametrize(
    ("params", "problem"),
    [
        ({"most": "1kB"}, "half: params.most: there is no such parameter; it has least"),
        ({"least": "2MB"}, "half: params.least: 2MB is out of range; write 1.514kB to 1MB"),
    ],
)
def test_what_it_does_not_take(own: OwnDiscipline, params: dict[str, str], problem: str) -> None:
    with pytest.raises(ConfigError) as error:
        loadable(own, asked(**params))
    assert error.value.message == problem


def test_a_discipline_is_no_policy(own: OwnDiscipline) -> None:
    own.source.write_text("int nothing(void);\nint nothing(void) { return 1; }\n")
    other = read_own_discipline(own.source, AQM_HEADERS)
    with pytest.raises(ConfigError, match="exports no policy: end it with MEMORY_EXPORT"):
        loadable(other, asked())
