"""A calibration of the embedded testbed: exact where it must be, within physics elsewhere."""

import hashlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from nashbed.controlplane.contract.errors import EXIT_ACCEPTANCE, EXIT_OK
from tests.e2e.conftest import NASHBED, STATE, TESTBEDS, Nashbed

pytestmark = [pytest.mark.live, pytest.mark.root, pytest.mark.dataplane, pytest.mark.slow]


@pytest.fixture
def bed(tmp_path: Path) -> Iterator[Path]:
    """A copy of the embedded testbed; afterwards nothing of its calibration may be left."""
    path = tmp_path / "embedded.yaml"
    path.write_text((TESTBEDS / "embedded.yaml").read_text())
    yield path
    name = run_id(path)
    assert not list(STATE.glob(f"{name}*"))
    assert not list(Path("/run/netns").glob(f"nb{name}-*"))


def certificate(bed: Path) -> Path:
    return bed.with_suffix(".certificate.json")


def run_id(bed: Path) -> str:
    return hashlib.sha256(str(certificate(bed).resolve()).encode()).hexdigest()[:4]


def state(bed: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((STATE / f"{run_id(bed)}.json").read_text())
    return found


WORDS = ("--rate", "50mbit", "--base-rtt", "10ms", "--base-rtt", "40ms", "--no-capacity", "--json")


TIMED = {"base_rtt", "no_second_queue", "sojourn_explains_delay"}
"""Checks with bounds of 0.2 ms: this machine may keep a program from running for longer."""
TRIES = 3


def calibrated(bed: Path) -> dict[str, Any]:
    """A calibration; again where this machine was too busy for the bounds on time.

    What needs no time must hold at every try.
    """
    for _ in range(TRIES):
        done = subprocess.run(
            [NASHBED, "calibrate", bed, *WORDS], capture_output=True, text=True, timeout=300,
            check=False,
        )  # fmt: skip
        assert done.returncode in (EXIT_OK, EXIT_ACCEPTANCE), done.stderr
        told: dict[str, Any] = json.loads(done.stdout)
        failed = {check["name"] for check in told["checks"] if not check["passed"]}
        assert failed <= TIMED, done.stdout
        assert told["ok"] is (not failed)
        if not failed:
            return told
    pytest.skip(f"this machine was too busy {TRIES} times for the bounds on {sorted(failed)}")


@pytest.mark.long
def test_the_embedded_testbed_is_what_it_says(nashbed: Nashbed, bed: Path) -> None:
    told = calibrated(bed)
    checks = {(c["name"], c["setting"]): c for c in told["checks"]}
    # Exact: the queue drops at its limit, in each unit, and every packet has its postcard.
    for setting in ("30kB", "100kB", "1MB", "64pkt", "1250 cells of 80 B"):
        assert checks["drop_point", setting]["value"] == 0
    assert (
        "accepted up to 100000 bytes, refused from 100001"
        in (checks["drop_point", "100kB"]["detail"])
    )
    assert checks["telemetry_complete", "50mbit"]["value"] == 0
    assert checks["clock_monotonic", "50mbit"]["value"] == 0
    assert checks["clock_resolution", "50mbit"]["value"] == 1
    # Physics: the delay line never sends early, so a round trip takes at least its base RTT.
    for setting in ("10ms", "40ms"):
        assert 0 <= checks["base_rtt", setting]["value"] <= 0.2
    assert abs(checks["rate", "50mbit"]["value"]) <= 0.2
    assert abs(checks["sojourn_explains_delay", "50mbit"]["value"]) <= 0.2

    scenario = nashbed.scenario()
    plan = ("plan", str(scenario), "--testbed", str(bed), "--json")
    assert json.loads(nashbed.call(*plan))["certificate"]["state"] == "certified"
    bed.write_text(bed.read_text() + "# changed\n")
    assert json.loads(nashbed.call(*plan))["certificate"]["state"] == "expired"


def begin(bed: Path) -> subprocess.Popen[str]:
    """Start a calibration and wait until it measures."""
    process = subprocess.Popen(
        [NASHBED, "calibrate", bed, *WORDS], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        try:
            if len(state(bed)["processes"]) >= 2:
                return process
        except (OSError, ValueError):
            pass
        time.sleep(0.05)
    out, err = process.communicate(timeout=60)
    raise AssertionError(out + err)


def test_a_dying_data_plane_ends_it(bed: Path) -> None:
    process = begin(bed)
    (victim,) = (
        p["pid"] for p in state(bed)["processes"] if p["executables"][-1].endswith("-dataplane")
    )
    os.kill(victim, signal.SIGKILL)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 3, err
    assert "dataplane" in json.loads(out)["error"]
    assert not certificate(bed).exists()


def test_only_one_at_a_time_and_ctrl_c_cleans_up(bed: Path, nashbed: Nashbed) -> None:
    process = begin(bed)
    process.send_signal(signal.SIGSTOP)  # it does not end before the other one has asked
    said = nashbed.call("calibrate", str(bed), code=4)
    assert "another run" in said
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGCONT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert not certificate(bed).exists()
