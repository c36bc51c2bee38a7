"""Policies of the memory: ours in the control plane's words and in C's, and one of a user's own."""

from pathlib import Path

import pytest
from nashbed.controlplane.contract.c_files import CFile
from nashbed.controlplane.contract.disciplines import Discipline
from nashbed.controlplane.contract.errors import ConfigError
from nashbed.controlplane.contract.queues import Memory
from nashbed.controlplane.machine.c_files.kinds import DISCIPLINE
from nashbed.controlplane.machine.c_files.loadable import loadable
from nashbed.controlplane.machine.paths import AQM_TEMPLATE
from tests.support.policies import OWN_POLICY

pytestmark = pytest.mark.dataplane


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CFile:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "mine.c").write_text(OWN_POLICY)
    return DISCIPLINE.read(tmp_path / "mine.c")


def asked(**params: str) -> Memory:
    return Memory(name="mine", file="./mine.c", parameters=tuple(params.items()))


def test_ones_own_is_compiled_and_asked(own: CFile) -> None:
    told = loadable(own, asked(least="20kB"))
    assert isinstance(told, Memory)
    assert Path(told.file).is_file()
    assert told.model_dump() == {"name": "mine", "file": told.file, "least_bytes": 20_000}


@pytest.mark.parametrize(
    ("params", "problem"),
    [
        ({"most": "1kB"}, "half: params.most: there is no such parameter; it has least"),
        ({"least": "2MB"}, "half: params.least: 2MB is out of range; write 1.514kB to 1MB"),
    ],
)
def test_what_it_does_not_take(own: CFile, params: dict[str, str], problem: str) -> None:
    with pytest.raises(ConfigError) as error:
        loadable(own, asked(**params))
    assert error.value.message == problem


def test_what_is_neither(own: CFile) -> None:
    own.source.write_text("int nothing(void);\nint nothing(void) { return 1; }\n")
    other = DISCIPLINE.read(own.source)
    with pytest.raises(ConfigError, match="exports no discipline: end it with AQM_EXPORT"):
        loadable(other, asked())


def test_each_in_its_place(own: CFile) -> None:
    with pytest.raises(ConfigError) as error:
        loadable(own, Discipline(name="mine", file="./mine.c"))
    assert error.value.message == (
        "mine: is a policy of memory, not a discipline; write it as `memory`"
    )
    own.source.write_bytes(AQM_TEMPLATE.read_bytes())
    other = DISCIPLINE.read(own.source)
    with pytest.raises(ConfigError) as error:
        loadable(other, asked())
    assert error.value.message == (
        "mine: is a discipline, not a policy of memory; write it as `discipline`"
    )
