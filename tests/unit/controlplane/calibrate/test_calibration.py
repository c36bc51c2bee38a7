"""A calibration of a virtual path: what is true passes, and each lie is found by its check."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nashbed.controlplane.calibrate import rig as rig_module
from nashbed.controlplane.calibrate.calibration import Settings, limits_of, make_settings
from nashbed.controlplane.calibrate.capacity import Capacities, LaneCount
from nashbed.controlplane.calibrate.dpdk_loads import PKTGEN_STEP_S, choose_load
from nashbed.controlplane.calibrate.drop_point import STOPPED_BPS, burst_steps
from nashbed.controlplane.calibrate.runner import Calibration, execute
from nashbed.controlplane.cli.calibrate import certificate_text
from nashbed.controlplane.config import Loaded, parse_testbed
from nashbed.controlplane.contract.certificate import Certificate, LoneShare
from nashbed.controlplane.contract.errors import ConfigError, TargetError
from nashbed.controlplane.contract.target import PLAIN_LANE, Limit
from nashbed.controlplane.contract.testbed import Testbed
from nashbed.controlplane.contract.units import Rate
from nashbed.controlplane.lane import lab as lab_module
from nashbed.controlplane.store.documents import read_document
from nashbed.controlplane.targets import capabilities_of
from tests.fakes.path import Faults, PathSession, PathTarget, World
from tests.model.droptail import Arrival, droptail
from tests.unit.controlplane.conftest import TESTBED

SECONDS = 0.5
RATES = (10**7, 4 * 10**7)
LIMITS = (
    Limit(unit="bytes", value=100_000),
    Limit(unit="packets", value=64),
    Limit(unit="cells", value=1250, cell_bytes=80),
)
RTTS = (5 * 10**6, 20 * 10**6)


@pytest.fixture
def bed() -> Loaded[Testbed]:
    return parse_testbed(TESTBED, "fake.yaml")


Calibrate = Callable[..., Certificate]


@pytest.fixture
def world_of(monkeypatch: pytest.MonkeyPatch) -> Callable[[Faults, Loaded[Testbed]], World]:
    def make(faults: Faults, bed: Loaded[Testbed]) -> World:
        world = World(faults)
        can = capabilities_of(bed.model)
        monkeypatch.setattr(lab_module, "make_target", lambda host, bed: PathTarget(world, can))
        monkeypatch.setattr(rig_module, "ARRIVAL_S", 0.05)
        return world

    return make


@pytest.fixture
def calibrate(tmp_path: Path, bed: Loaded[Testbed], world_of: Any) -> Calibrate:
    """Calibrates a path with faults; the certificate goes to tmp_path."""

    def run(faults: Faults | None = None, session: list[PathSession] | None = None) -> Certificate:
        world = world_of(faults or Faults(), bed)
        settings = Settings(RATES, LIMITS, RTTS, 10**11, RATES[1], SECONDS)
        work = tmp_path / "work"
        work.mkdir()
        what = Calibration(bed, settings, tmp_path / "c.json", work, choose_load("own", bed.model))
        made = PathSession(world)
        if session is not None:
            session.append(made)
        return execute(what, lambda *_: None, print, lambda _: made, lambda _: Path("fake"))

    return run


def missed(certificate: Certificate) -> set[str]:
    return {check.name for check in certificate.checks if not check.passed}


@pytest.mark.slow
def test_a_true_path_passes_every_check(calibrate: Calibrate, tmp_path: Path) -> None:
    certificate = calibrate()
    assert missed(certificate) == set()
    assert certificate.passed
    names = {check.name for check in certificate.checks}
    assert names == {
        "base_rtt", "no_second_queue", "rate", "sojourn_explains_delay", "clock_resolution",
        "clock_monotonic", "telemetry_complete", "drop_point",
    }  # fmt: skip
    assert read_document(tmp_path / "c.json", Certificate, "") == certificate


@pytest.mark.slow
def test_the_capacity_goes_into_the_certificate(
    bed: Loaded[Testbed], tmp_path: Path, world_of: Any
) -> None:
    settings = Settings(RATES, LIMITS, RTTS, 10**11, RATES[1], SECONDS)
    (tmp_path / "work").mkdir()
    what = Calibration(
        bed, settings, tmp_path / "c.json", tmp_path / "work", choose_load("own", bed.model),
        Capacities(),
    )  # fmt: skip
    few = LoneShare(mean=0.16, ci95=0.002, lanes=8)
    certificate = execute(
        what,
        lambda *_: None,
        print,
        lambda _: PathSession(world_of(Faults(), bed)),
        lambda _: Path("fake"),
        lambda testbed, what, tell: LaneCount(23, 23 * 50_000_000, (), few),
        lambda lanes: LoneShare(mean=0.2, ci95=0.001, lanes=12),
    )
    assert certificate.shares is not None
    assert certificate.shares.few == few
    text = certificate_text(certificate, tmp_path / "c.json")
    assert "gets 16.0 +- 0.2 % (two lanes), 20.0 +- 0.1 % (virtual time)" in text
    assert "without load it does not get what virtual time says" in text
    assert certificate.capacity is not None
    assert certificate.capacity.rate.bps == 1_100_000_000
    assert read_document(tmp_path / "c.json", Certificate, "") == certificate


@pytest.mark.slow
def test_the_numbers_are_what_the_path_is(calibrate: Calibrate) -> None:
    checks = {(c.name, c.setting): c for c in calibrate().checks}
    # The path adds 15 us to a round trip; its queue sends at exactly the applied rate.
    assert checks["base_rtt", "5ms"].value == pytest.approx(0.014, abs=0.001)
    assert checks["rate", "40mbit"].value == pytest.approx(0, abs=1e-3)
    for setting in ("100kB", "64pkt", "1250 cells of 80 B"):
        assert checks["drop_point", setting].value == 0
    assert (
        "accepted up to 100000 bytes, refused from 100001" in checks["drop_point", "100kB"].detail
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("faults", "found"),
    [
        (Faults(rate=0.99), {"rate"}),
        (Faults(rate=1.003), {"rate"}),
        (Faults(limit_bytes=1), {"drop_point"}),
        (Faults(limit_bytes=-1), {"drop_point"}),
        (Faults(delay_ns=300_000), {"base_rtt", "sojourn_explains_delay"}),
        (
            Faults(second_queue_bps=39_000_000),
            {"no_second_queue", "rate", "sojourn_explains_delay"},
        ),
        (Faults(clock_step_ns=1_048_576), {"clock_resolution"}),
        (Faults(clock_back=True), {"clock_monotonic"}),
        (Faults(lost_card=True), {"telemetry_complete"}),
    ],
)
def test_each_lie_is_found(calibrate: Calibrate, faults: Faults, found: set[str]) -> None:
    certificate = calibrate(faults)
    assert not certificate.passed
    assert found <= missed(certificate)
    # A fault of one kind may show elsewhere only where times are compared with each other.
    if not (faults.clock_step_ns > 1 or faults.clock_back or faults.lost_card):
        assert missed(certificate) == found


@pytest.mark.slow
def test_a_switch_without_a_standstill_is_no_lie(calibrate: Calibrate) -> None:
    assert "drop_point" not in missed(calibrate(Faults(first_leaves=True)))


@pytest.mark.slow
def test_a_disturbed_measurement_is_repeated(calibrate: Calibrate) -> None:
    certificate = calibrate(Faults(lost_frames=(3, 2)))
    assert certificate.passed


@pytest.mark.slow
def test_a_measurement_that_stays_disturbed_is_no_proof(calibrate: Calibrate) -> None:
    certificate = calibrate(Faults(lost_frames=(3,) * 100))
    assert {"telemetry_complete", "drop_point"} <= missed(certificate)


def test_a_dying_target_leaves_no_certificate(calibrate: Calibrate, tmp_path: Path) -> None:
    sessions: list[PathSession] = []
    with pytest.raises(TargetError, match="closed the connection"):
        calibrate(Faults(dies=True), sessions)
    assert not (tmp_path / "c.json").exists()
    assert sessions[0].calls[-1] == "close"
    assert all(process.stopped for process in sessions[0].probes)


@pytest.mark.slow
@given(
    st.integers(2_000, 300_000),
    st.sampled_from(["bytes", "packets", "cells"]),
    st.sampled_from([0.0, 0.1, PKTGEN_STEP_S]),
)
def test_the_burst_finds_any_limit_exactly(value: int, unit: Any, step_s: float) -> None:
    limit = Limit(
        unit=unit,
        value=value if unit == "bytes" else value // 300 + 20,
        cell_bytes=80 if unit == "cells" else 0,
    )
    steps = burst_steps(limit, step_s)
    sizes = [step.frame_bytes for step in steps for _ in range(step.count)]
    starts = np.cumsum([step_s] * len(steps)) - step_s
    lag_ns = np.repeat(starts, [step.count for step in steps]) * 1e9
    arrivals = [Arrival(i * 50_000 + int(lag_ns[i]), size) for i, size in enumerate(sizes)]
    outcomes = droptail(arrivals, STOPPED_BPS[0], limit.value, unit, 80)
    held = sum(
        {"bytes": size, "packets": 1, "cells": -(-size // 80)}[unit]
        for size, outcome in zip(sizes, outcomes, strict=True)
        if not outcome.dropped
    )
    assert held == limit.value
    # Nothing had to leave: the first, full-sized frame takes longer than the burst.
    assert arrivals[-1].time_ns < outcomes[0].departure_ns


def test_settings_follow_testbed_and_target(bed: Loaded[Testbed]) -> None:
    can = capabilities_of(bed.model)
    settings = make_settings(bed.model, can)
    assert settings.rates_bps == (25_000_000, 250_000_000)
    assert {limit.unit for limit in settings.limits} == {"bytes", "packets", "cells"}
    small = can.model_copy(update={"max_buffer_bytes": 50_000, "lane": PLAIN_LANE})
    assert [limit.value for limit in limits_of(small)] == [30_000]


def test_a_rate_beyond_the_target_is_refused(bed: Loaded[Testbed]) -> None:
    can = capabilities_of(bed.model).model_copy(update={"max_rate_bps": 10**9})
    with pytest.raises(ConfigError, match="--rate 2gbit: target dpdk supports at most 1gbit"):
        make_settings(bed.model, can, rates=(Rate(2 * 10**9),))


@pytest.mark.slow
def test_the_certificate_is_plain_json(calibrate: Calibrate, tmp_path: Path) -> None:
    calibrate()
    told = json.loads((tmp_path / "c.json").read_text())
    assert told["format"] == 1
    assert told["capacity"] is None
    assert told["load"] == {"generator": "nashbed-probe"}
