"""What a CCA of eBPF tells of itself reaches the samples, socket by socket."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from .conftest import MS, REPOSITORY, Config, built

pytestmark = pytest.mark.live
MODES = {1, 2}
"""Modes of the template: it grows, or it was cut in this round."""


def ebpf_object(name: str) -> Path:
    """The object that was built, or else the committed one."""
    of_build = built("nashbed-flows").parents[1] / "cc" / f"{name}.bpf.o"
    return of_build if of_build.exists() else REPOSITORY / f"hosts/cc/objects/{name}.bpf.o"


@pytest.fixture
def state_map() -> Iterator[int]:
    """The number of the template's map; it is registered for as long as the test runs."""
    loader = [str(built("../cc/nashbed-cc")), str(ebpf_object("mine"))]
    with subprocess.Popen(
        loader, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None and process.stdin is not None
        said = json.loads(process.stdout.readline())
        if said["event"] == "refused" and said["reason"] in ("kernel", "not_permitted"):
            pytest.skip(f"this kernel takes no CCAs of eBPF: {said['message']}")
        assert said["event"] == "registered", said
        yield said["state_map"]
        process.stdin.close()


def test_state_is_read_by_socket(
    network: Any, config: Config, helpers: Any, state_map: int
) -> None:
    network.shape(20, 50_000)
    config["duration_ns"] = 1000 * MS
    config["flows"] = [helpers.flow(0, "mine"), helpers.flow(1, "mine"), helpers.flow(2)]
    config["control_states"] = [{"cc": "mine", "map_id": state_map}]
    outcome = network.trial(config)

    assert not outcome.samples_of(2)["has_bbr"].any()
    for number in (0, 1):
        samples = outcome.samples_of(number)
        told = samples[samples["bbr_bw_bps"] > 0]
        assert len(told) >= 10
        assert set(told["bbr_mode"]) <= MODES
        # Its window in a round trip, of the same acknowledgement as TCP_INFO, unless another one
        # came between the two reads; the kernel tells the smoothed round trip in whole us.
        window_bits = told["cwnd_pkts"].astype(np.float64) * told["mss"] * 8
        expected = window_bits / (told["srtt_us"] * 1e-6)
        away = np.abs(told["bbr_bw_bps"] / expected - 1)
        assert np.mean(away <= 2 / told["srtt_us"]) > 0.5


def test_a_number_that_is_no_state_is_refused(
    network: Any, config: Config, helpers: Any, state_map: int
) -> None:
    config["control_states"] = [{"cc": "mine", "map_id": state_map + 1_000_000}]
    _, sender, said = network.start_both(config)
    assert said["event"] == "error"
    assert said["error"].startswith("mine: its state cannot be read (eBPF map")
    assert sender.finish()[2] == said["exit"] == 4
