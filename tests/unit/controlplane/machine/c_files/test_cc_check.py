"""What a CCA does, from simulations with known numbers."""

from dataclasses import replace

import pytest
from nashbed.controlplane.contract.errors import ConfigError
from nashbed.controlplane.contract.messages.ccas import SimulatedFlow, SimulatedPath
from nashbed.controlplane.machine.c_files.cc_check import (
    CUBIC,
    OWN,
    PATHS,
    CcaBehaviour,
    behaviour_on,
    require_sending,
)
from nashbed.controlplane.machine.c_files.cc_simulator import SimulatedBottleneck, Simulation

ALONE, PAIR, AGAINST = (OWN,), (OWN, OWN), (OWN, CUBIC)
THROUGHPUTS = {
    (ALONE, 0): (8e6,), (ALONE, 1_000): (6e6,), (ALONE, 10_000): (2e6,),
    (PAIR, 0): (3e6, 6e6), (AGAINST, 0): (1e6, 7e6),
}  # fmt: skip
"""Flows and ppm of random loss -> throughput of each flow."""


def flow(number: int, bps: float) -> SimulatedFlow:
    return SimulatedFlow(
        flow=number, control="mycc", throughput_bps=bps, sent=2000, lost=5, mean_rtt_us=1.0
    )


def known(where: SimulatedBottleneck, flows: tuple[str, ...]) -> Simulation:
    got = tuple(flow(i, bps) for i, bps in enumerate(THROUGHPUTS[flows, where.loss_ppm]))
    return Simulation(got, SimulatedPath(utilisation=1, mean_queue_bytes=12_500, drops=1))


def silent(_: SimulatedBottleneck, flows: tuple[str, ...]) -> Simulation:
    got = tuple(flow(i, 0.0) for i, _ in enumerate(flows))
    return Simulation(got, SimulatedPath(utilisation=0, mean_queue_bytes=0, drops=0))


def test_numbers_by_hand() -> None:
    assert behaviour_on(*PATHS[0], known) == CcaBehaviour(
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
    found = [behaviour_on(*path, silent) for path in PATHS]
    with pytest.raises(
        ConfigError, match=r"^mycc: never sends: on no simulated path it takes 0\.1%"
    ):
        require_sending("mycc", found)
    require_sending("mycc", [*found, behaviour_on(*PATHS[0], known)])


def test_what_is_simulated() -> None:
    """Nine paths with a buffer of two BDP; two flows get longer to find their shares."""
    assert len(PATHS) == 9
    asked = []

    def run(where: SimulatedBottleneck, flows: tuple[str, ...]) -> Simulation:
        asked.append((flows, where))
        return known(where, flows)

    behaviour_on(*PATHS[0], run)
    s = 10**9
    alone = SimulatedBottleneck(10**7, 5_000_000, 12_500, 60 * s, 20 * s)
    both = SimulatedBottleneck(10**7, 5_000_000, 12_500, 120 * s, 60 * s)
    assert asked == [
        (ALONE, alone), (ALONE, replace(alone, loss_ppm=1_000)),
        (ALONE, replace(alone, loss_ppm=10_000)), (PAIR, both), (AGAINST, both),
    ]  # fmt: skip
