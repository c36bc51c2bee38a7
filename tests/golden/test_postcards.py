"""P4, C and Python agree on every byte of a postcard."""

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nashbed.controlplane.contract.records import (
    MARK_CAPABLE,
    POSTCARD,
    POSTCARD_OF_QUEUES,
    POSTCARD_VERSION,
    POSTCARD_VERSION_QUEUES,
)
from tests.golden.postcards import BOTTLENECK, BYTES, CAPTURE, VALUES, p4_values, python_values
from tests.support.replay import BUILD, replay

C_DECODER = BUILD / "hosts" / "dpdk" / "test" / "nashbed-postcards"


def golden() -> list[dict[str, int]]:
    values: list[dict[str, int]] = json.loads(VALUES.read_text())
    return values


def c_values(path: Path) -> Any:
    if not C_DECODER.exists():
        pytest.skip(f"{C_DECODER} is not built: run `make test-build`")
    run = subprocess.run([C_DECODER, path], check=True, capture_output=True, text=True)
    return json.loads(run.stdout)


@pytest.mark.dataplane
def test_p4_writes_the_golden_bytes(tmp_path: Path) -> None:
    replayed = replay(tmp_path, CAPTURE.read_bytes(), BOTTLENECK)
    assert (replayed.folder / "postcards.raw").read_bytes() == BYTES.read_bytes()


def test_python_reads_the_golden_values() -> None:
    assert python_values(np.fromfile(BYTES, POSTCARD)) == golden()


def test_c_reads_the_golden_values() -> None:
    assert c_values(BYTES) == golden()


def test_p4_declares_what_the_golden_bytes_hold() -> None:
    data = BYTES.read_bytes()
    size = POSTCARD.itemsize
    records = [data[at : at + size] for at in range(0, len(data), size)]
    assert [p4_values(record) for record in records] == golden()


@pytest.mark.parametrize(
    ("version", "record"),
    [(POSTCARD_VERSION, POSTCARD), (POSTCARD_VERSION_QUEUES, POSTCARD_OF_QUEUES)],
)
def test_all_three_place_every_byte_alike(
    tmp_path: Path, version: int, record: np.dtype[Any]
) -> None:
    path = tmp_path / "postcard"
    all_bytes_differ = bytes(range(version, version + record.itemsize))
    path.write_bytes(all_bytes_differ)
    declared = p4_values(all_bytes_differ)
    [python] = python_values(np.fromfile(path, record))
    assert python == declared
    assert c_values(path) == [python]


def test_the_golden_capture_shows_what_it_should() -> None:
    values = golden()
    assert {card["kind"] for card in values} == {0, 1}
    assert max(card["enqueue_ns"] for card in values) > 2**32
    assert max(card["tcp_seq"] for card in values) == 2**32 - 1
    assert [card["lane_seq"] for card in values] == list(range(len(values)))
    assert [card["marks"] for card in values] == [0] * (len(values) - 1) + [MARK_CAPABLE]
