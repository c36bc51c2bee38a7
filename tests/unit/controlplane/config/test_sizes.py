"""Files of sizes: what they may hold, and that they are found however they are written."""

from pathlib import Path

import pytest
from nashbed.controlplane.config import load_scenario
from nashbed.controlplane.contract.errors import ConfigError
from nashbed.controlplane.contract.traffic import FileSizes
from tests.unit.controlplane.conftest import SCENARIO

WEB = """\
  - name: web
    base_rtt: 20ms
    arrivals: {every: 50ms}
    size: SIZE
"""
SIZES = "size_bytes\n1\n\n2000\n2kB\n"


def written(folder: Path, sizes: str, size: str = "{file: sizes.csv}", file: str = "") -> Path:
    path = folder / (file or "sizes.csv")
    path.parent.mkdir(exist_ok=True)
    path.write_text(sizes)
    scenario = folder / "web.yaml"
    web = WEB.replace("SIZE", size)
    scenario.write_text(SCENARIO.replace("strategies:", f"{web}strategies:"))
    return scenario


@pytest.mark.parametrize(
    ("size", "file"),
    [
        ("{file: sizes.csv}", "sizes.csv"),
        ('{file: "fb.txt"}', "fb.txt"),
        ("{ 'file': 'my sizes.txt' }", "my sizes.txt"),
        ("# in a block\n      file: sub/my sizes.txt  # as measured", "sub/my sizes.txt"),
    ],
)
def test_sizes_are_read_however_their_file_is_written(tmp_path: Path, size: str, file: str) -> None:
    path = written(tmp_path, SIZES, size, file)
    loaded = load_scenario(path)
    found = loaded.model.flows[1].size
    assert isinstance(found, FileSizes)
    assert [each.bytes for each in found.content.one_of] == [1, 2000, 2000]
    assert loaded.text == path.read_text()
    assert loaded.files == {file: tmp_path / file}


COLUMNS = "write one size on each line (of a distribution with shares, each size as often as "


@pytest.mark.parametrize(
    ("sizes", "problem"),
    [
        ("", "has 0 sizes; write 1 to 10000, one a line"),
        ("size_bytes\n", "has 0 sizes; write 1 to 10000, one a line"),
        ("20\n0\n", "line 2: 0B is out of range; write 1B to 1000GB"),
        ("20\nx\n", "line 2: 'x' is not a size such as 1MB (units: B, kB, KB, MB, GB, KiB, MiB, "
         "GiB)"),
        ("1460 5\n3000 50\n", f"line 1: '1460 5' has 2 columns; {COLUMNS}its share says)"),
        ("20\n1460, 5%\n", f"line 2: '1460, 5%' has 2 columns; {COLUMNS}its share says)"),
    ],
)  # fmt: skip
def test_what_is_no_file_of_sizes(tmp_path: Path, sizes: str, problem: str) -> None:
    path = written(tmp_path, sizes)
    with pytest.raises(ConfigError) as caught:
        load_scenario(path)
    where = f"{path}: flows[1].size.file: {tmp_path / 'sizes.csv'}"
    assert caught.value.message == f"{where}: {problem}"


def test_a_file_that_is_missing_is_named(tmp_path: Path) -> None:
    path = written(tmp_path, "1\n")
    (tmp_path / "sizes.csv").unlink()
    with pytest.raises(ConfigError) as caught:
        load_scenario(path)
    where = f"{path}: flows[1].size.file: {tmp_path / 'sizes.csv'}"
    assert caught.value.message == f"{where}: cannot be read: No such file or directory"


def test_a_trace_that_is_missing_is_not_taken_from_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "traces").mkdir()
    (tmp_path / "traces" / "link.trace").write_text("1\n2\n")
    path = tmp_path / "s.yaml"
    trace = "{rate: 100mbit, trace: ../elsewhere/link.trace,"
    path.write_text(SCENARIO.replace("{rate: 100mbit,", trace))
    with pytest.raises(ConfigError) as caught:
        load_scenario(path)
    where = f"{path}: bottleneck.trace: {tmp_path / '../elsewhere/link.trace'}"
    assert caught.value.message == f"{where}: cannot be read: No such file or directory"
