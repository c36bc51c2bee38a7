"""Files of sizes: what they may hold, and that a run needs them no more."""

from __future__ import annotations

from pathlib import Path

import pytest
from nashbed.controlplane.config import load_scenario, parse_scenario
from nashbed.controlplane.contract.errors import ConfigError
from nashbed.controlplane.contract.traffic import ListedSizes
from tests.unit.controlplane.conftest import SCENARIO

WEB = "  - {name: web, base_rtt: 20ms, arrivals: {every: 50ms}, size: {file: sizes.csv}}\n"


def written(folder: Path, sizes: str) -> Path:
    (folder / "sizes.csv").write_text(sizes)
    path = folder / "web.yaml"
    path.write_text(SCENARIO.replace("strategies:", f"{WEB}strategies:"))
    return path


@pytest.mark.parametrize("sizes", ["1\n2000\n2kB\n", "size_bytes\n1\n2000\n2000\n"])
def test_sizes_take_the_place_of_their_file(tmp_path: Path, sizes: str) -> None:
    loaded = load_scenario(written(tmp_path, sizes))
    found = loaded.model.flows[1].size
    assert isinstance(found, ListedSizes)
    assert [size.bytes for size in found.one_of] == [1, 2000, 2000]
    (tmp_path / "sizes.csv").unlink()
    assert parse_scenario(loaded.text, "elsewhere.yaml").model == loaded.model


@pytest.mark.parametrize(
    ("sizes", "problem"),
    [
        ("", "has 0 sizes; write 1 to 10000, one a line"),
        ("size_bytes\n", "has 0 sizes; write 1 to 10000, one a line"),
        ("20\n0\n", "size 2: 0B is out of range; write 1B to 1000GB"),
        ("20\nx\n", "size 2: 'x' is not a size such as 1MB (units: B, kB, KB, MB, GB, KiB, MiB, "
         "GiB)"),
    ],
)  # fmt: skip
def test_what_is_no_file_of_sizes(tmp_path: Path, sizes: str, problem: str) -> None:
    path = written(tmp_path, sizes)
    with pytest.raises(ConfigError) as caught:
        load_scenario(path)
    assert caught.value.message == f"{path}: size.file: {tmp_path / 'sizes.csv'}: {problem}"


def test_a_file_that_is_missing_is_named(tmp_path: Path) -> None:
    path = written(tmp_path, "1\n")
    (tmp_path / "sizes.csv").unlink()
    with pytest.raises(ConfigError, match=r"size\.file: .*sizes\.csv: cannot be read"):
        load_scenario(path)
