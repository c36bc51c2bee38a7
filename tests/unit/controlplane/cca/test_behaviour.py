"""What a CCA does, from simulations with known numbers."""

from __future__ import annotations

import pytest
from nashbed.controlplane.cca.check import (
    CUBIC,
    OWN,
    CcaBehaviour,
    SimulatedCase,
    behaviour_on,
    panel,
    require_sending,
)
from nashbed.controlplane.contract.errors import ConfigError
from nashbed.controlplane.contract.messages.ccas import SimulatedFlow, SimulatedPath
from nashbed.controlplane.machine.cca.simulator import Simulation

THROUGHPUTS = {
    "alone": (8e6,), "loss 1000 ppm": (6e6,), "loss 10000 ppm": (2e6,),
    "pair": (3e6, 6e6), "cubic": (1e6, 7e6),
}  # fmt: skip


def flow(number: int, bps: float) -> SimulatedFlow:
    return SimulatedFlow(
        flow=number, control="mycc", throughput_bps=bps, sent=2000, lost=5, mean_rtt_us=1.0
    )


def known(case: SimulatedCase) -> Simulation:
    flows = tuple(flow(i, bps) for i, bps in enumerate(THROUGHPUTS[case.name]))
    return Simulation(flows, SimulatedPath(utilisation=1, mean_queue_bytes=12_500, drops=1))


def silent(case: SimulatedCase) -> Simulation:
    flows = tuple(flow(i, 0.0) for i, _ in enumerate(case.flows))
    return Simulation(flows, SimulatedPath(utilisation=0, mean_queue_bytes=0, drops=0))


def test_numbers_by_hand() -> None:
    path = panel()[0]
    assert path.rate.bps == 10**7
    assert behaviour_on(path, known) == CcaBehaviour(
        rate_bps=10**7,
        base_rtt_ns=5_000_000,
        link_share=0.8,
        queue_ms=10.0,  # 12500 B at 10 Mbit/s
        loss=0.0025,
        under_loss={1_000: 0.75, 10_000: 0.25},
        pair_ratio=0.5,
        share_against_cubic=0.125,
    )


def test_one_that_never_sends() -> None:
    found = [behaviour_on(path, silent) for path in panel()]
    with pytest.raises(
        ConfigError, match=r"^mycc: never sends: on no simulated path it takes 0\.1%"
    ):
        require_sending("mycc", found)
    require_sending("mycc", [*found, behaviour_on(panel()[0], known)])


def test_the_panel() -> None:
    paths = panel()
    assert len(paths) == 9
    for path in paths:
        assert path.alone.flows == (OWN,)
        assert path.pair.flows == (OWN, OWN)
        assert path.against_cubic.flows == (OWN, CUBIC)
        assert [case.where.loss_ppm for case in path.lossy] == [1_000, 10_000]
        assert {case.where.rate_bps for case in path.all} == {path.rate.bps}
        bdp = path.rate.bps * path.base_rtt.ns // 8 // 10**9
        assert {case.where.buffer_bytes for case in path.all} == {2 * bdp}
        assert all(case.where.warmup_ns < case.where.duration_ns for case in path.all)
