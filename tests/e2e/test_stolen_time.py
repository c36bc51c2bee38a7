"""Cores that are taken away in the middle of real trials: what that changes, and what is told."""

import json
import os
import random
import signal
import subprocess
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nashbed.analysis.captures import TimestampSource
from nashbed.analysis.clock.match import read_seen
from nashbed.controlplane.store.finished_run import open_run
from nashbed.controlplane.store.sealed_trial import SealedTrial
from nashbed.controlplane.validity.gates import PAUSED
from numpy.typing import NDArray
from tests.e2e.conftest import Nashbed, records
from tests.support.core_thief import stolen_cores
from tests.support.programs import needs_program

pytestmark = [pytest.mark.live, pytest.mark.root, pytest.mark.dataplane, pytest.mark.slow]

MS = 1_000_000
FORWARD_NS = 20 * MS
FLOWS_CORE = 0
BEAR_ALL = "gates: {round_trip_error: 100%, paused: 100%, longest_hold_up: 2s}\n"
"""What the trials meet is the test's doing, and the machine's: it is to be told, not refused."""
USUAL = {"buffer": "2bdp", "count": 4, "rtt": "40ms", "duration": "9s", "warmup": "3s"}


def dataplane_pid(nashbed: Nashbed, others: set[Path]) -> int:
    """The data plane's process, once the new run's manifest tells it."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        for path in set(nashbed.results.glob("*/manifest.json")) - others:
            told = (json.loads(path.read_text()).get("host") or {}).get("dataplane")
            if told:
                return int(told["pid"])
        time.sleep(0.05)
    raise AssertionError("no data plane")


class Stopper(threading.Thread):
    """Stops a process for 5 to 30 ms at random moments, until told otherwise."""

    def __init__(self, pid: int) -> None:
        super().__init__()
        self._pid = pid
        self._over = threading.Event()

    def run(self) -> None:
        moments = random.Random(16)
        while not self._over.wait(moments.uniform(0.2, 0.6)):
            try:
                os.kill(self._pid, signal.SIGSTOP)
                time.sleep(moments.uniform(0.005, 0.030))
                os.kill(self._pid, signal.SIGCONT)
            except ProcessLookupError:
                return

    def end(self) -> None:
        self._over.set()
        self.join()


def finish(process: subprocess.Popen[str]) -> None:
    out, error = process.communicate(timeout=120)
    assert process.returncode in (0, 10), out + error


def run_with_stops(nashbed: Nashbed, scenario: Path) -> Path:
    """A run whose data plane is stopped now and then; its directory."""
    others = set(nashbed.results.glob("*/manifest.json"))
    process = nashbed.start(*nashbed.run_words(scenario))
    stopper = Stopper(dataplane_pid(nashbed, others))
    stopper.start()
    try:
        finish(process)
    finally:
        stopper.end()
    return nashbed.run_dirs()[-1]


def arrivals(trial: SealedTrial) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """When data packets were sent, by a capture, and arrived at the bottleneck, by postcards.

    Both in ns after t0, the sending up to a constant; only packets that were sent once.
    """
    seen = read_seen(TimestampSource(trial.path / "capture.pcap", "file"))
    cards = trial.arrays("postcards", ["flow", "payload_bytes", "tcp_seq", "enqueue_ns"])
    ports = dict(enumerate(sorted(set(seen.sport[seen.payload > 0]))))
    sent, came = [], []
    times = seen.times.ps // 1000
    for flow, port in ports.items():
        mine = (seen.sport == port) & (seen.payload > 0)
        own = (cards["flow"] == flow) & (cards["payload_bytes"] > 0)
        seqs, at, n = np.unique(seen.seq[mine], return_index=True, return_counts=True)
        card_seqs, card_at, card_n = np.unique(
            cards["tcp_seq"][own], return_index=True, return_counts=True
        )
        _, i, j = np.intersect1d(seqs[n == 1], card_seqs[card_n == 1], return_indices=True)
        sent.append(times[mine][at[n == 1][i]])
        came.append(cards["enqueue_ns"][own][card_at[card_n == 1][j]])
    return np.concatenate(sent), np.concatenate(came) - FORWARD_NS


def in_pauses(trial: SealedTrial, times: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which of these times lie in pauses of the loop, but for their last millisecond."""
    pauses = trial.arrays("pauses", ["t_ns", "length_ns"])
    inside = np.zeros(len(times), np.bool_)
    for begin, length in zip(pauses["t_ns"], pauses["length_ns"].astype(np.int64), strict=True):
        inside |= (times > begin) & (times < begin + length - MS)
    return inside


def check_arrivals(trials: Sequence[SealedTrial]) -> None:
    """What came while the loop was stopped arrived when it came, not when the loop went on.

    CUBIC waits for acknowledgements meanwhile; BBR goes on sending at its pace.
    """
    found = []
    for trial in trials:
        sent, came = arrivals(trial)
        late = came - sent - (came - sent).min()
        found.append(late[in_pauses(trial, came - late)])
    late = np.concatenate(found)
    assert len(late) > 20
    # Every pause is of 5 ms at least; a frame's way through the senders' kernel takes some us.
    assert np.median(late) < MS


def check_told(record: dict[str, Any]) -> None:
    """The record tells of the pauses, and of what of them reached the senders."""
    told = record["disturbance"]
    assert told["pauses"] >= 5  # in 6 s, one every 0.63 s at least
    assert told["longest_pause_ns"] >= 5 * MS
    assert told["longest_pause_ns"] <= told["paused_ns"] < 6000 * MS
    # Acknowledgements that were due within a pause left after it, the first of them by all of it.
    assert told["error_max_ns"] > 3 * MS
    gates = {gate["name"]: gate for gate in record["gates"]}
    assert gates["round_trips"]["value"] == pytest.approx(told["error_mean_ns"])
    assert f"{told['pauses']} pauses" in gates["round_trips"]["detail"]
    # So many pauses move shares: a trial whose scenario does not ask to bear them is refused.
    assert gates["paused"]["value"] == told["paused_ns"] > PAUSED * 6000 * MS
    assert gates["conservation"]["passed"]
    assert gates["link_busy"]["value"] == 0


@needs_program("tcpdump")
def test_a_loop_that_is_stopped_changes_no_arrival(nashbed: Nashbed) -> None:
    more = BEAR_ALL + "trials: 3\ntelemetry: {capture: true}\n"
    scenario = nashbed.scenario(more, mixes="[3]", **USUAL)
    run_dir = run_with_stops(nashbed, scenario)
    check_arrivals(open_run(run_dir).trials)
    for record in records(run_dir).values():
        check_told(record)


@pytest.mark.long
@needs_program("clang")  # which makes the thief
def test_a_stolen_core_of_the_flows_is_seen_and_refused(nashbed: Nashbed) -> None:
    scenario = nashbed.scenario("", mixes="[2]", attempts=1, **{**USUAL, "buffer": "1bdp"})
    process = nashbed.start(*nashbed.run_words(scenario))
    with stolen_cores([FLOWS_CORE], hold_ms=300, every_s=1.0):
        process.communicate(timeout=200)
    found = records(nashbed.run_dirs()[-1])
    assert found
    for record in found.values():
        # The link is idle meanwhile, and whoever was to be answered waits.
        assert not record["valid"]
        assert any(reason.startswith("responses:") for reason in record["invalid_reasons"])
        assert record["disturbance"]["response_max_ns"] > 100 * MS
