"""Real runs with two packet loops: whole trials on each, and nothing left of them."""

import json
import os
import re
import signal
from pathlib import Path

import numpy as np
import pytest
from tests.e2e.conftest import WIDE_GATES, Nashbed, leftovers, records, table
from tests.e2e.test_interrupted_runs import processes_of, wait_for

pytestmark = [pytest.mark.root, pytest.mark.dataplane, pytest.mark.slow]

LANES = 3
EXACT_GATES = {"conservation", "postcards_complete", "no_other_loss", "sink_bytes"}
"""What no busy machine can change."""


@pytest.fixture
def two_loops(nashbed: Nashbed) -> Path:
    """The embedded testbed with two packet loops, which leave the hosts time by sleeping."""
    cores = sorted(os.sched_getaffinity(0))[:2]
    if len(cores) < 2:
        pytest.skip("a machine with one core has no two loops")
    text = nashbed.testbed().read_text()
    for key, value in {
        "cores": cores, "service_core": cores[0], "shield": "false", "loop": "sleep",
        "huge_pages": "false", "memory": "2GiB", "queue_packets": 16384,
    }.items():  # fmt: skip
        text, changed = re.subn(rf"(?m)^  {key}: .*$", f"  {key}: {value}", text)
        assert changed == 1, key
    path = nashbed.folder / "two-loops.yaml"
    path.write_text(f"{text}\ncapacity: {{rate: 100mbit, lanes: {LANES}}}\n")
    return path


def words(nashbed: Nashbed, testbed: Path) -> list[str]:
    """Arguments of a run of three trials at once: two on one packet loop, one on the other."""
    path = nashbed.scenario(WIDE_GATES, rate="5mbit", mixes="all", duration="3s")
    out = ("--out", str(nashbed.results), "--no-report")
    return ["run", str(path), "--testbed", str(testbed), *out]


def test_whole_trials_on_both_loops(nashbed: Nashbed, two_loops: Path) -> None:
    nashbed.call(*words(nashbed, two_loops))
    (run_dir,) = nashbed.run_dirs()
    done = records(run_dir)
    first = [record for name, record in done.items() if name.endswith("-a0")]
    assert {record["lane"] % 2 for record in first} == {0, 1}
    for name, record in done.items():
        passed = {gate["name"] for gate in record["gates"] if gate["passed"]}
        assert passed >= EXACT_GATES, record["invalid_reasons"]
        cards = table(run_dir, name, "postcards")
        assert len(cards["seq"]) == table(run_dir, name, "counters")["arrived_packets"].sum()
        out = cards["dequeue_ns"][cards["kind"] == 0]
        assert (np.diff(out) >= 0).all(), "the queue is first in, first out"
    manifest = json.loads((run_dir / "manifest.json").read_text())
    ports = manifest["ports"]
    assert [ports[name]["iface"] for name in ("senders", "receivers")] == [
        ["nbs1", "nbs3"], ["nbr1", "nbr3"],
    ]  # fmt: skip
    assert leftovers(run_dir) == []


@pytest.mark.parametrize(
    "number", [pytest.param(signal.SIGINT, marks=pytest.mark.long), signal.SIGKILL]
)
def test_nothing_is_left_of_an_interrupted_run(
    nashbed: Nashbed, two_loops: Path, number: signal.Signals
) -> None:
    process = nashbed.start(*words(nashbed, two_loops))
    wait_for(lambda: any(any(d.glob("trials/.*.tmp")) for d in nashbed.run_dirs()))
    (run_dir,) = nashbed.run_dirs()
    process.send_signal(number)
    process.communicate(timeout=60)
    if number == signal.SIGKILL:
        wait_for(lambda: not processes_of(run_dir))  # they die with it
        assert f"cleaned up after {run_dir}" in nashbed.call("doctor", "--clean")
    assert leftovers(run_dir) == []
    nashbed.call("resume", str(run_dir), "--no-report")
    assert leftovers(run_dir) == []
