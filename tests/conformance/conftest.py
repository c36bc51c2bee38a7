"""Every vector runs on every target that is here."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.conformance.bmv2 import Bmv2
from tests.conformance.dpdk import Dpdk
from tests.conformance.target import Outcome, Packet, Target
from tests.conformance.virtual import Virtual
from tests.model.classifier import FlowKey
from tests.support.replay import Bottleneck

DATAPLANE, LONG = pytest.mark.dataplane, pytest.mark.long
# A replay and the library, the P4 program interpreted and native, one packet loop and two: each is
# met in the first two, and each with each in `make test-long`.
PARAMETERS = [
    pytest.param(Dpdk("interpreted"), id="dpdk-interpreted", marks=DATAPLANE),
    pytest.param(Virtual(loops=2), id="virtual-2-loops", marks=DATAPLANE),
    pytest.param(Dpdk("native"), id="dpdk-native", marks=[DATAPLANE, LONG]),
    pytest.param(Virtual(), id="virtual", marks=[DATAPLANE, LONG]),
    pytest.param(Bmv2(), id="bmv2", marks=[pytest.mark.live, pytest.mark.root]),
]

Run = Callable[..., Outcome]
"""Runs packets and flows through a bottleneck, with presets where they are needed."""


@pytest.fixture(params=PARAMETERS)
def target(request: pytest.FixtureRequest) -> Target:
    """A target that can be run here."""
    target: Target = request.param
    reason = target.why_not()
    if reason:
        pytest.skip(f"{target.name}: {reason}")
    return target


@pytest.fixture
def run(target: Target, tmp_path: Path) -> Run:
    """Target.run in a folder of the test's own."""

    def run(
        packets: list[Packet],
        flows: list[FlowKey],
        bottleneck: Bottleneck,
        presets: dict[str, int] | None = None,
    ) -> Outcome:
        return target.run(tmp_path, packets, flows, bottleneck, presets)

    return run
