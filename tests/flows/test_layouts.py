"""The binary layouts are the same in C, in Python and in the README."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nashbed.controlplane.contract.records import (
    ARRIVED_DATAGRAM,
    FLOW_SAMPLE,
    GOODPUT,
    SEGMENT,
    SENT_DATAGRAM,
    TRANSFER,
)

GOLDEN = Path(__file__).parent / "golden"
README = Path(__file__).resolve().parents[2] / "hosts" / "flows" / "README.md"
DTYPES = {
    "flow_samples.bin": FLOW_SAMPLE,
    "goodput.bin": GOODPUT,
    "transfers.bin": TRANSFER,
    "segments.bin": SEGMENT,
    "sent.bin": SENT_DATAGRAM,
    "arrived.bin": ARRIVED_DATAGRAM,
}

each_file = pytest.mark.parametrize("name", DTYPES)


def described(dtype: np.dtype[Any]) -> list[tuple[int, str, str]]:
    """(offset, type such as "u32", name) of every field."""
    assert dtype.fields is not None
    return [
        (offset, f"{kind.kind}{kind.itemsize * 8}", name)
        for name, (kind, offset, *_) in dtype.fields.items()
    ]


@each_file
def test_python_decodes_what_c_wrote(name: str) -> None:
    expected = json.loads((GOLDEN / "golden.json").read_text())[name]
    records = np.fromfile(GOLDEN / name, DTYPES[name])
    decoded = [{key: int(record[key]) for key in record.dtype.names} for record in records]
    assert decoded == expected


@each_file
def test_golden_fields_tell_one_another_apart(name: str) -> None:
    for record in json.loads((GOLDEN / "golden.json").read_text())[name]:
        assert len(set(record.values())) == len(record)


def test_c_still_writes_the_golden_bytes(golden_binary: Path, tmp_path: Path) -> None:
    subprocess.run([golden_binary, tmp_path], check=True)
    for name in [*DTYPES, "golden.json"]:
        assert (tmp_path / name).read_bytes() == (GOLDEN / name).read_bytes()


@each_file
def test_readme_describes_the_python_types(name: str) -> None:
    """Its size, and its fields where the reference of the run directory does not have them."""
    section = README.read_text().split(f"### `{name}`")[1].split("\n#")[0]
    assert f"{DTYPES[name].itemsize} bytes per record" in section
    if "docs/reference/run-directory.md" in section:
        return
    rows = re.findall(r"^\| (\d+) \| ([iu]\d+) \| `(\w+)` \|", section, re.MULTILINE)
    assert [(int(offset), kind, field) for offset, kind, field in rows] == described(DTYPES[name])
