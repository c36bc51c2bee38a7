"""The link's rate, and the base RTT of an idle path."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from nashbed.controlplane.config import load_testbed
from nashbed.controlplane.contract.target import (
    FlowEntry,
    GroupDelay,
    Lane,
    LaneProgram,
    Limit,
)
from nashbed.controlplane.lane.lab import Lab, open_lab
from nashbed.controlplane.machine.host.local_session import LocalSession
from nashbed.controlplane.machine.host.session import SessionRequest
from nashbed.controlplane.machine.paths import REAL_TIME_TESTBED, spec
from tests.e2e.conftest import Nashbed, only_valid
from tests.support.programs import needs_program

pytestmark = [pytest.mark.live, pytest.mark.root, pytest.mark.dataplane, pytest.mark.slow]

S = 10**9


@pytest.mark.parametrize(
    "rate",
    [pytest.param("10mbit", marks=pytest.mark.long), "100mbit",
     pytest.param("500mbit", marks=pytest.mark.long)],
)  # fmt: skip
def test_the_wire_rate_is_the_applied_rate(nashbed: Nashbed, rate: str) -> None:
    # Two CUBIC flows behind 2 BDP keep the queue filled after slow start, unless this machine keeps
    # the senders from running for so long that the queue drains. While a packet waits the link must
    # send at its rate; how long none waits is the machine's matter, and checked in virtual time.
    # A thousand packets that waited are enough: to a nanosecond each, they show the rate to 1e-7.
    run_dir = nashbed.run(nashbed.scenario(rate=rate, duration="8s", warmup="3s", mixes="[0]"))
    record = only_valid(run_dir)
    cards = pq.read_table(
        run_dir / "trials" / record["id"] / "postcards.parquet",
        columns=["kind", "enqueue_ns", "dequeue_ns", "packet_bytes"],
        filters=[("kind", "=", 0), ("dequeue_ns", ">", 3 * S), ("dequeue_ns", "<=", 7 * S)],
    )
    left, came, sizes = (
        cards[name].to_numpy().astype("int64")
        for name in ("dequeue_ns", "enqueue_ns", "packet_bytes")
    )
    waited = came[1:] <= left[:-1]
    busy_ns = np.diff(left)[waited].sum()
    sent = sizes[1:][waited].sum() * 8 * S / busy_ns
    assert sent == pytest.approx(record["applied"]["rate_bps"], rel=1e-6)
    assert waited.sum() > 1000


RTTS_MS = (5, 40)


@pytest.fixture
def idle_lab(tmp_path: Path) -> Iterator[Lab]:
    testbed = load_testbed(REAL_TIME_TESTBED).model
    lanes = len(RTTS_MS)
    request = SessionRequest("e2e0", tmp_path, testbed, lanes, groups=1, window_bytes=10**6)
    session = LocalSession(request)
    lab = open_lab(session, testbed, spec())
    yield lab
    lab.close()


@needs_program("ping")
def test_an_idle_ping_takes_the_base_rtt(idle_lab: Lab) -> None:
    for lane, rtt_ms in enumerate(RTTS_MS):
        half = rtt_ms * 500_000
        limit = Limit(unit="bytes", value=10**6)
        idle_lab.target.program(
            LaneProgram(
                lane=lane,
                bottleneck=Lane(rate_bps=10**8, limit=limit),
                delays=(GroupDelay(forward_ns=half, reverse_ns=half),),
                flows=(FlowEntry(lane, f"10.64.{lane}.1", f"10.65.{lane}.1", 10000, 5001),),
            )
        )
        # No echo is early. The earliest of a hundred is one that no wake-up of this machine held
        # up: beside the base RTT it took the path alone, four veth crossings.
        assert rtt_ms <= min(ping_ms(lane, 100)) <= rtt_ms + 0.2


def ping_ms(lane: int, count: int) -> list[float]:
    """Round-trip times between a lane's hosts in ms."""
    ping = ["ping", "-n", "-i", "0.02", "-c", str(count), "-I", f"10.64.{lane}.1"]
    done = subprocess.run(
        ["ip", "netns", "exec", "nbe2e0-snd", *ping, f"10.65.{lane}.1"],
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    return [float(found) for found in re.findall(r"time=([\d.]+) ms", done.stdout)]
