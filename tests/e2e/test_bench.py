"""`nashbed bench forward` and `cpu` on this machine: what is physical, never how fast."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.conftest import STATE, Nashbed
from tests.support.programs import needs_program

pytestmark = [pytest.mark.live, pytest.mark.root, pytest.mark.dataplane]
SHORT = ("--repetitions", "1", "--seconds", "1")


def bench(nashbed: Nashbed, *words: str) -> dict[str, dict[str, Any]]:
    """A part's figures by name; a missed bound is no mistake here."""
    process = nashbed.start("bench", *words, "--json")
    out, err = process.communicate(timeout=300)
    assert process.returncode in {0, 20}, err
    return {figure["name"]: figure for figure in json.loads(out)["figures"]}


def left() -> list[Path]:
    """What a measurement has not given back; the lock of admissions stays for the next."""
    files = [path for path in STATE.glob("*") if path.name != "admission.lock"]
    return [*files, *Path("/run/netns").glob("nb????-*")]


@pytest.mark.long
@needs_program("dpdk-testpmd")
def test_tcp_crosses_bottleneck_and_testpmd(nashbed: Nashbed) -> None:
    found = bench(nashbed, "forward", *SHORT, "--warmup", "0.5", "--flows", "2")
    (ours,) = found["forward_bottleneck_gbps"]["values"]
    (ceiling,) = found["forward_testpmd_gbps"]["values"]
    # Two flows on a path without delay cannot but move more than 1 Mbit/s, and two cores copy
    # less than memory does.
    assert 0.001 < ours < 1000
    assert 0.001 < ceiling < 1000
    assert found["forward_ratio"]["values"] == [ours / ceiling]
    (turn,) = found["forward_ratio"]["data"]["turns"]
    assert 0 < turn["bottleneck"]["loop_busy_share"] <= 1
    for each in turn.values():
        assert 0 <= each["retransmitted_share"] < 1
    assert left() == []


@pytest.mark.long
def test_cpu_is_accounted_for(nashbed: Nashbed) -> None:
    words = ("cpu", *SHORT, "--lanes", "2", "--rate", "20mbit", "--flows", "2")
    found = bench(nashbed, *words)
    figure = found["cpu_per_packet_ns_dataplane"]
    (told,) = figure["data"]["repetitions"]
    # The links are the bottleneck: no more payload than 1448 of every 1514 bytes of them; what
    # stood in the queues at the window's edge is at most two BDP of 40 ms each.
    assert 0 < told["goodput_gbps"] <= 2 * 0.020 * 1448 / 1514 * (1 + 2 * 0.040 / 1)
    # Every payload byte came in frames, 1448 bytes in each at the most.
    assert told["frames_through_dataplane"] * 1448 * 8 >= 0.9 * told["goodput_gbps"] * 1e9
    # One loop on one core works at most all the time.
    assert 0 < told["loop_busy_share"] <= 1
    assert figure["values"][0] > 0
    for core in told["cores"]:
        assert sum(v for k, v in core.items() if k != "core") == pytest.approx(1, abs=0.01)
    assert left() == []


@pytest.mark.parametrize(
    "number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.long)]
)
def test_stopped_it_leaves_nothing_behind(nashbed: Nashbed, number: signal.Signals) -> None:
    process = nashbed.start("bench", "cpu", "--lanes", "1", "--seconds", "60")
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not list(STATE.glob("*/control.sock")):
        time.sleep(0.05)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert left() == []
