"""Forty lanes and more: packed as measured, shown on a terminal; a large trial is not refused."""

import io
import re
from pathlib import Path

import pytest
from nashbed.controlplane.cli.console import as_text
from nashbed.controlplane.cli.plan import plan_table
from nashbed.controlplane.cli.progress import RunDisplay, lane_grid
from nashbed.controlplane.config import Loaded, load_testbed, parse_scenario, parse_testbed
from nashbed.controlplane.contract.certificate import Certificate
from nashbed.controlplane.contract.errors import ConfigError
from nashbed.controlplane.contract.scenario import Scenario
from nashbed.controlplane.contract.testbed import Capacity, Testbed
from nashbed.controlplane.contract.trial import FailedAttempt
from nashbed.controlplane.contract.units import Rate
from nashbed.controlplane.machine.host import facts
from nashbed.controlplane.machine.paths import spec
from nashbed.controlplane.machine.process.clock import utc_now
from nashbed.controlplane.plan.estimates import resources_of
from nashbed.controlplane.run.active_run import new_run, resumed_run
from nashbed.controlplane.run.planning import plan_run
from nashbed.controlplane.run.progress import Running, Snapshot, TimeLeft
from nashbed.controlplane.run.standing import certificate_path
from nashbed.controlplane.run.work import Job
from nashbed.controlplane.study.adaptive import make_chooser
from rich.console import Console
from tests.unit.controlplane.conftest import SCENARIO, TESTBED, plan_of

MBIT = 10**6
SILENT = TESTBED.replace("capacity: {rate: 250mbit, lanes: 4}\n", "")
LANES = SCENARIO.replace("100mbit", "20mbit").replace("[0, 1, 3]", "[0]")
LANES = LANES.replace("trials: 1", "trials: 64")


def certified(folder: Path, lanes: int) -> Loaded[Testbed]:
    """A testbed whose calibration found so many lanes of 50 Mbit/s."""
    (folder / "fake.yaml").write_text(SILENT)
    bed = load_testbed(folder / "fake.yaml")
    stamp = spec().read_text().splitlines()[0].split("sha256:")[1].split()[0]
    made = Certificate(
        testbed="fake", testbed_digest=bed.digest, target="dpdk", artefact_digest=stamp,
        dataplane_version="1", created_utc=utc_now(), load={}, passed=True, checks=(), software={},
        git={}, kernel=facts.kernel(), cpu=facts.cpu(), host={},
        capacity=Capacity(rate=Rate(lanes * 50 * MBIT), lanes=lanes),
    )  # fmt: skip
    certificate_path(bed).write_text(made.model_dump_json())
    return bed


def test_a_plan_packs_what_was_measured_and_a_resumed_run_keeps_to_it(tmp_path: Path) -> None:
    """48 lanes of 50 Mbit/s are 2400 Mbit/s: trials of 20 Mbit/s are bounded by the lanes."""
    bed = certified(tmp_path, 48)
    scenario = parse_scenario(LANES, "s.yaml")
    plan = plan_run(scenario, bed, lambda *_: [])
    assert plan.lanes == 48
    assert plan.estimated_seconds == pytest.approx(2 * (0.4 + 3))
    assert "capacity: 2.4gbit, 48 lanes (measured by its calibration)" in plan_table(plan)
    run = new_run(tmp_path / "results", scenario, bed, plan, make_chooser)
    certificate_path(bed).unlink()
    again = resumed_run(run.directory.path, make_chooser)
    assert resources_of(again.testbed.model, again.plan).rate_bps == 2400 * MBIT


def test_a_measured_capacity_refuses_no_single_trial(tmp_path: Path) -> None:
    """Lanes of 50 Mbit/s were counted; one of 500 runs alone, as it would unmeasured."""
    bed = certified(tmp_path, 4)
    scenario = parse_scenario(SCENARIO.replace("100mbit", "500mbit"), "s.yaml")
    plan = plan_run(scenario, bed, lambda *_: [])
    assert plan.estimated_seconds == pytest.approx(3 * (0.4 + 3))  # one after the other
    beyond = parse_scenario(SCENARIO.replace("100mbit", "601mbit"), "s.yaml")
    with pytest.raises(ConfigError, match="more than testbed 'fake' carries"):
        plan_run(beyond, bed, lambda *_: [])


def test_a_switch_states_its_capacity() -> None:
    switch = "target: bmv2\nswitch: {}\nports:\n  telemetry: {driver: af_xdp}"
    text = SILENT.replace("ports:", switch).replace("receivers:", "switch:")
    with pytest.raises(ConfigError, match="'capacity' is missing; it is not measured with target"):
        parse_testbed(text, "fake.yaml")


@pytest.mark.parametrize(("lanes", "height", "width", "missing"), [
    (4, 20, 80, 0), (48, 21, 160, 0), (48, 17, 240, 0), (64, 10, 80, 55), (64, 1, 50, 63),
    (0, 20, 80, 0),
])  # fmt: skip
def test_many_lanes_fit_on_a_terminal(lanes: int, height: int, width: int, missing: int) -> None:
    rows = [(f"lane {n}", f"b2bdp-k05-r{n}-a0", "run", "12/30 s") for n in range(lanes)]
    lines = as_text(lane_grid(rows, height, width), width).splitlines()
    assert len(lines) <= max(2, height)
    text = "\n".join(lines)
    assert text.count("lane ") == lanes - missing
    assert (f"and {missing} more lanes" in text) == (missing > 0)


def test_a_terminal_shows_where_each_lane_is(
    scenario: Scenario, testbed: Testbed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm")  # a dumb one shows nothing that changes
    plan = plan_of(scenario, testbed)
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=100, height=20, color_system=None)
    first, second, third = plan.trials
    running = Running(Job(first, 0), "lane 1")
    failure = FailedAttempt(
        trial=f"{second.key}-a0", where="lane 0", failed_utc="", reason="killed", repeated=True
    )
    snapshot = Snapshot(
        running=(running,), waiting=(third,), finished=1, invalid=0, failures=(failure,), total=3,
        allowed_bps=10**9, reduced=False,
    )  # fmt: skip
    with RunDisplay(TimeLeft(plan, resources_of(testbed)), console) as display:
        display.show(snapshot)
        shown = screen.getvalue()
    assert "1/3 trials done, 1 running" in shown
    assert f"{first.key}-a0" in shown
    assert re.search(r" \d+/0 s", shown)  # 0.4 s of flows
    assert screen.getvalue().endswith("\x1b[2K")  # the display is gone, results follow
