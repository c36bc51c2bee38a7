"""Runs on a switch program of this machine: session, hosts role and seam, with real flows.

The program is a stand-in (tests/fakes/soft_switch.py), so that all this is tested where bmv2 is
not; its queue is exact, so that every gate but those on timing holds as on the embedded target.
"""

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from nashbed.controlplane.config import parse_scenario, parse_testbed
from nashbed.controlplane.contract.errors import NashbedError, TargetError
from nashbed.controlplane.contract.target import Applied, LaneProgram
from nashbed.controlplane.contract.testbed import Testbed
from nashbed.controlplane.machine.host.local_session import LocalSession
from nashbed.controlplane.machine.host.session import SessionRequest
from nashbed.controlplane.machine.process.clock import poll
from nashbed.controlplane.run.active_run import ActiveRun, new_run
from nashbed.controlplane.run.planning import plan_run
from nashbed.controlplane.run.runner import execute
from nashbed.controlplane.study import adaptive
from nashbed.controlplane.targets import registry
from nashbed.controlplane.targets.base import TargetHost
from nashbed.controlplane.targets.with_hosts import SwitchWithHosts
from tests.e2e.conftest import SCENARIO, USUAL, WIDE_GATES, leftovers
from tests.e2e.soft_target import PROGRAM, SoftSwitch

pytestmark = [pytest.mark.root, pytest.mark.dataplane, pytest.mark.slow]

TESTBED = f"""\
name: soft
target: bmv2
dataplane: {{memory: 1GiB, huge_pages: false, loop: sleep, shield: false}}
switch: {{program: {PROGRAM}}}
ports:
  senders: {{driver: af_packet}}
  switch: {{driver: af_packet}}
  telemetry: {{driver: af_packet}}
capacity: {{rate: 20mbit, lanes: 1}}
"""
NEED_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: network namespaces")
MakeSwitch = Callable[[TargetHost], SoftSwitch]


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Callable[[MakeSwitch], None]:
    """Makes `bmv2` mean the stand-in."""

    def use_one(make: MakeSwitch) -> None:
        def make_target(host: TargetHost, testbed: Testbed) -> SwitchWithHosts:
            return SwitchWithHosts(make(host), host, testbed.dataplane)

        kind = registry.TargetKind(
            capabilities=lambda testbed: SoftSwitch.capabilities(make(None)),  # type: ignore[arg-type]
            resolve=lambda testbed, program: SoftSwitch.resolve(make(None), program),  # type: ignore[arg-type]
            make=make_target,
            artefact=lambda testbed: "build.py",
        )
        monkeypatch.setitem(registry.TARGETS.ours, "bmv2", lambda: kind)

    return use_one


@pytest.fixture
def planned(tmp_path: Path) -> Iterator[Callable[..., ActiveRun]]:
    """Makes runs; afterwards nothing of them may be left."""
    made: list[ActiveRun] = []

    def make(**changes: str) -> ActiveRun:
        usual = USUAL | {"rate": "10mbit", "buffer": "3bdp"}
        text = SCENARIO.format(**(usual | changes)) + WIDE_GATES
        scenario, bed = parse_scenario(text, "s.yaml"), parse_testbed(TESTBED, "t.yaml")
        plan = plan_run(scenario, bed, adaptive.expect)
        made.append(new_run(tmp_path / "results", scenario, bed, plan, adaptive.make_chooser))
        return made[-1]

    yield make
    assert [each for run in made for each in leftovers(run.directory.path)] == []


@pytest.mark.live
def test_a_run_on_a_switch_program_is_valid(
    use: Callable[[MakeSwitch], None], planned: Callable[..., ActiveRun]
) -> None:
    use(SoftSwitch)
    run = planned(mixes="[1]")
    records = execute(run, lambda snapshot: None)
    assert [record.invalid_reasons for record in records if not record.valid][1:] == []
    valid = next(record for record in records if record.valid)
    folder = run.directory.trials / valid.id
    goodput = pq.read_table(folder / "goodput.parquet")
    window = np.array(goodput["t_ns"]) > valid.window_ns[0]
    rate = np.array(goodput["bytes"])[window].sum() * 8 / 2
    # Two flows that never leave the link idle for long; never more than it carries.
    assert 0.7 * 10**7 < rate <= 1.02 * 10**7
    samples = pq.read_table(folder / "flow_samples.parquet")
    assert np.array(samples["min_rtt_us"]).min() >= 20_000
    manifest = json.loads((run.directory.path / "manifest.json").read_text())
    assert set(manifest["ports"]) == {"senders", "switch", "telemetry"}


def test_a_switch_program_that_dies_ends_the_run_and_leaves_nothing(
    use: Callable[[MakeSwitch], None], planned: Callable[..., ActiveRun]
) -> None:
    use(lambda host: SoftSwitch(host, dies_after=1))
    run = planned()
    with pytest.raises(TargetError, match="switch ended while asked") as caught:
        execute(run, lambda snapshot: None)
    assert "dying as asked" in caught.value.message
    assert run.manifest.status == "failed"
    assert list(run.directory.trials.iterdir()) == []


def test_its_death_is_noticed_at_once(
    use: Callable[[MakeSwitch], None], planned: Callable[..., ActiveRun]
) -> None:
    """Two seconds into a trial of a minute; nobody waits for that minute's end."""

    class Dying(SoftSwitch):
        def program(self, lane: LaneProgram) -> Applied:
            assert self.process is not None
            threading.Timer(2.0, os.kill, (self.process.pid, signal.SIGTERM)).start()
            return super().program(lane)

    use(Dying)
    run = planned(duration="60s", warmup="1s")
    began = time.monotonic()
    with pytest.raises(TargetError, match=r"switch ended in mid-trial \(killed by SIGTERM\)"):
        execute(run, lambda snapshot: None)
    assert time.monotonic() - began < 40
    assert list(run.directory.trials.iterdir()) == []


@pytest.fixture
def session(tmp_path: Path) -> Iterator[LocalSession]:
    bed = parse_testbed(TESTBED, "t.yaml").model
    made = LocalSession(SessionRequest("e2e1", tmp_path, bed, 1, 1, window_bytes=10**6))
    yield made
    made.close()


@NEED_ROOT
def test_a_switch_program_that_does_not_start_says_why(session: LocalSession) -> None:
    """It is given an interface that is not there."""
    session.open()
    session.start_switch(Path("x"), ["-i", "9@nowhere"])
    with pytest.raises(NashbedError, match="switch ended before its Thrift port 9090 answered"):
        session.connect_switch(10.0)


@NEED_ROOT
def test_a_taken_thrift_port_is_told(session: LocalSession) -> None:
    session.open()
    first = session.start_switch(Path("x"))
    session.connect_switch(10.0).close()
    second = session.start_switch(Path("x"))
    poll(second.poll, 10.0, lambda: AssertionError("it did not end"))
    with pytest.raises(TargetError, match=r"Thrift port 9090 answered.*Address already in use"):
        session.connect_switch(10.0)
    first.stop()
