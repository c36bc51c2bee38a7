"""Whole runs on a Tofino testbed: the runner, the hosts' fakes, a BfRt server in this process."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from nashbed.controlplane.config import parse_scenario, parse_testbed
from nashbed.controlplane.contract.errors import TargetError
from nashbed.controlplane.contract.trial import TrialRecord
from nashbed.controlplane.run.active_run import ActiveRun, new_run
from nashbed.controlplane.run.planning import plan_run
from nashbed.controlplane.run.runner import execute
from nashbed.controlplane.run.this_machine import ThisMachine
from nashbed.controlplane.study import adaptive
from nashbed.controlplane.targets import with_hosts
from nashbed.controlplane.targets.tofino import client
from tests.fakes.bfrt import FakeBfRt
from tests.fakes.session import FakeSession
from tests.fakes.traffic import registers
from tests.support.tofino import artefact, bed_text
from tests.unit.controlplane.conftest import SCENARIO

PORTS = ("senders", "switch", "telemetry")
FLOWS = 3
ONE_TRIAL = SCENARIO.replace("[0, 1, 3]", "[1]")


@pytest.fixture
def server() -> Iterator[FakeBfRt]:
    fake = FakeBfRt("tofino1", artefact("tofino1").read_bytes()).start()
    yield fake
    fake.stop()


def planned(folder: Path, address: str, text: str = SCENARIO) -> ActiveRun:
    scenario = parse_scenario(text, "small.yaml")
    bed = parse_testbed(bed_text(address), "tofino.yaml")
    plan = plan_run(scenario, bed, adaptive.expect)
    return new_run(folder / "results", scenario, bed, plan, adaptive.make_chooser)


def run_all(run: ActiveRun) -> list[TrialRecord]:
    session = FakeSession(PORTS)
    chip = artefact("tofino1")
    records = execute(run, lambda s: None, ThisMachine(lambda r: session, lambda _: chip))
    assert session.calls[-1] == "close"
    return records


def counting(server: FakeBfRt, run: ActiveRun) -> None:
    """The lane's traffic is in the counters once its flows have sent."""
    counted = registers(FLOWS)
    key = server.queue_key(136, 1)

    def count() -> None:
        if not any(run.directory.trials.glob(".*/*/flow_samples.bin")):
            return
        for name in (
            "BottleneckIngress.arrived",
            "BottleneckEgress.departed",
            "BottleneckEgress.dropped",
        ):
            kind = name.partition(".")[2]
            for flow in range(FLOWS):
                packets, size = counted[f"{kind}_packets"][flow], counted[f"{kind}_bytes"][flow]
                server.put_flow(name, flow, packets, size)
        drops = {"drop_count_packets": sum(counted["dropped_packets"])}
        server.put("tf1.tm.counter.queue", drops, 1, **key)

    server.before_read = count


@pytest.mark.slow
def test_a_whole_run_is_valid_and_leaves_nothing(server: FakeBfRt, tmp_path: Path) -> None:
    run = planned(tmp_path, server.address, ONE_TRIAL)
    counting(server, run)
    before = {place: dict(stored.data) for place, stored in server.entries.items()}
    records = run_all(run)
    assert [record.invalid_reasons for record in records] == [()]
    assert {record.applied.limit.unit for record in records} == {"cells"}
    manifest = json.loads((run.directory.path / "manifest.json").read_text())
    assert manifest["status"] == "complete"
    for place, data in before.items():
        assert server.entries[place].data == data, place


@pytest.mark.slow
def test_drops_that_nobody_reported_make_a_trial_invalid(
    server: FakeBfRt, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(with_hosts, "LAST_POSTCARDS_S", 0.2)  # they never come
    run = planned(tmp_path, server.address, ONE_TRIAL + "max_attempts: 1\n")
    counting(server, run)
    count = server.before_read
    key = server.queue_key(136, 1)

    def lose() -> None:
        count()
        entry = server.entry("tf1.tm.counter.queue", 1, **key)
        if entry is not None and entry.data["drop_count_packets"]:
            entry.data["drop_count_packets"] += 2

    server.before_read = lose
    records = run_all(run)
    assert not any(record.valid for record in records)
    assert "switch_lane_0_unreported_drops" in records[0].invalid_reasons[0]


def test_nobody_there_ends_the_run_with_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "TIMEOUT_S", 0.3)
    run = planned(tmp_path, "127.0.0.1:1")
    with pytest.raises(TargetError, match="no BfRt server answers within") as error:
        run_all(run)
    assert error.value.exit_code == 3
    assert "\n" not in error.value.message
    assert json.loads((run.directory.path / "manifest.json").read_text())["status"] == "failed"


@pytest.mark.slow
def test_a_switch_that_vanishes_ends_the_run(server: FakeBfRt, tmp_path: Path) -> None:
    run = planned(tmp_path, server.address)
    server.before_read = lambda: (
        server.vanish() if any(run.directory.trials.glob(".*/*/flow_samples.bin")) else None
    )
    with pytest.raises(TargetError, match=r"switch at 127\.0\.0\.1:\d+: Read: .* \(\w+\)") as error:
        run_all(run)
    assert error.value.exit_code == 3
    assert list(run.directory.trials.iterdir()) == []
