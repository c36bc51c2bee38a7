"""Congestion controls in one C file in real runs: shipped and of one's own, and thirty kills."""

from __future__ import annotations

import json
import random
import shutil
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from nashbed.controlplane.contract.control import read_control
from nashbed.controlplane.contract.errors import NashbedError
from nashbed.controlplane.machine.control_checks import (
    held_controls,
    kernels_own_controls,
    require_controls,
)
from nashbed.controlplane.machine.paths import CONTROL_LOADER, CONTROL_TEMPLATE, CONTROLS
from tests.e2e.conftest import WIDE_GATES, Nashbed, only_valid

pytestmark = [pytest.mark.root, pytest.mark.dataplane]

KILLS = 30
GONE_S = 2.0
"""The kernel frees a killed process's BPF links within this time."""


@pytest.fixture(autouse=True)
def _kernel_that_can() -> None:
    """Skip where this machine cannot run controls as eBPF."""
    if not CONTROL_LOADER.is_file():
        pytest.skip("needs nashbed-cc: run `make build`")
    try:
        require_controls([read_control(CONTROL_TEMPLATE, CONTROLS)])
    except NashbedError as error:
        pytest.skip(error.message)


def with_control(nashbed: Nashbed, control: str, more: str = WIDE_GATES, **changes: str) -> Path:
    """A scenario of one flow of CUBIC and one of a control."""
    path = nashbed.scenario(more, **changes)
    path.write_text(path.read_text().replace("[cubic, bbr]", f"[cubic, {control}]"))
    return path


def own_control(nashbed: Nashbed, name: str) -> str:
    """A control of one's own beside the scenario, as the scenario names it."""
    shutil.copyfile(CONTROL_TEMPLATE, nashbed.folder / f"{name}.c")
    return f"./{name}.c"


def manifest_of(run_dir: Path) -> dict[str, dict[str, str]]:
    """What the manifest says of the run's controls."""
    controls: dict[str, dict[str, str]] = json.loads((run_dir / "manifest.json").read_text())[
        "controls"
    ]
    return controls


def applied(run_dir: Path) -> set[str]:
    """What TCP_CONGESTION read back, of both flows."""
    (trial,) = run_dir.glob("trials/b*")
    return set(pq.read_table(trial / "flows.parquet").to_pydict()["cc_applied"])


def test_a_shipped_control_against_cubic(nashbed: Nashbed) -> None:
    if "bbr3" in held_controls():
        pytest.skip("another program on this machine has registered bbr3")
    before = kernels_own_controls()
    run_dir = nashbed.run(with_control(nashbed, "bbr3"))
    only_valid(run_dir)
    assert applied(run_dir) == {"cubic", "bbr3"}
    facts = manifest_of(run_dir)["bbr3"]
    assert facts["source"] == "hosts/cc/bbr3.c"
    assert len(facts["object_digest"]) == 64
    assert kernels_own_controls() == before
    assert "bbr3" not in held_controls()


def test_what_a_shipped_control_tells_is_on_the_record(nashbed: Nashbed) -> None:
    if "bbr3" in held_controls():
        pytest.skip("another program on this machine has registered bbr3")
    run_dir = nashbed.run(with_control(nashbed, "bbr3"))
    (trial,) = run_dir.glob("trials/b*")
    flows = pq.read_table(trial / "flows.parquet").to_pydict()
    samples = pq.read_table(trial / "flow_samples.parquet").to_pydict()
    bbr3 = flows["cc_applied"].index("bbr3")
    gains = [
        gain
        for flow, gain in zip(samples["flow"], samples["bbr_pacing_gain"], strict=True)
        if flow == bbr3 and gain
    ]
    # STARTUP's gain is 4 ln 2, and cruising is at 1.
    assert max(gains) == pytest.approx(2.773, abs=0.01)
    assert any(gain == pytest.approx(1.0, abs=0.01) for gain in gains)


def test_ones_own_control(nashbed: Nashbed) -> None:
    before = kernels_own_controls()
    run_dir = nashbed.run(with_control(nashbed, own_control(nashbed, "liveown")))
    only_valid(run_dir)
    assert applied(run_dir) == {"cubic", "liveown"}
    assert manifest_of(run_dir)["liveown"]["source"] == "controls/liveown/liveown.c"
    assert (run_dir / "controls" / "liveown" / "liveown.c").is_file()
    assert kernels_own_controls() == before


def test_one_that_the_verifier_refuses_ends_the_run_in_one_line(nashbed: Nashbed) -> None:
    control = own_control(nashbed, "refused")
    path = nashbed.folder / "refused.c"
    path.write_text(path.read_text().replace("if (!mine)", "if (0)"))
    scenario = with_control(nashbed, control)
    said = nashbed.call("run", str(scenario), "--testbed", "embedded", "--out",
                        str(nashbed.results), code=4)  # fmt: skip
    assert "refused: the verifier refuses it: R0 invalid mem access 'map_value_or_null'" in said
    assert "refused.c:" in said


@pytest.mark.slow
def test_thirty_kills_leave_the_kernel_as_it_was(nashbed: Nashbed) -> None:
    # The moments are random but told, so that a failure can be repeated.
    seed = random.randrange(10**6)
    print("seed", seed)
    moments = random.Random(seed)
    before = kernels_own_controls()
    control = own_control(nashbed, "killed")
    scenario = with_control(nashbed, control, WIDE_GATES + "trials: 2\n", duration="60s")
    args = ["run", str(scenario), "--testbed", "embedded", "--out", str(nashbed.results)]
    seen = 0
    for _ in range(KILLS):
        process = nashbed.start(*args)
        time.sleep(moments.uniform(0.5, 4.0))
        assert process.poll() is None, process.communicate()
        seen += "killed" in held_controls()
        process.kill()
        process.communicate()
        wait_until_gone("killed", before)
        if begun := sorted(nashbed.results.glob("*/manifest.json")):
            args = ["resume", str(begun[0].parent)]
    nashbed.call("doctor", "--clean")
    assert seen > KILLS // 3, "most kills came before the control was registered"


def wait_until_gone(name: str, before: tuple[str, ...]) -> None:
    """Wait for the kernel to have the controls that it had before."""
    deadline = time.monotonic() + GONE_S
    while name in held_controls() or kernels_own_controls() != before:
        assert time.monotonic() < deadline, (kernels_own_controls(), held_controls())
        time.sleep(0.02)
