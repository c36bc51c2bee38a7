"""What a kernel module does, from trials with known numbers."""

from types import SimpleNamespace
from typing import Any

import numpy as np
from nashbed.controlplane.api.cc_guest import CUBIC, _behaviour
from nashbed.controlplane.machine.c_files.cc_check import CcaBehaviour

RATE_BPS, RTT_NS = 10**7, 10**7


def measured(throughputs: dict[str, list[float]], **total: float) -> Any:
    """A trial whose flows had these throughputs, by strategy."""

    def value(metric: str, strategy: str) -> float:
        return total[metric] if metric in total else float(np.mean(throughputs[strategy]))

    flows = np.concatenate(list(throughputs.values()))
    return SimpleNamespace(value=value, per_flow={"per_flow_throughput": flows})


def test_numbers_by_hand() -> None:
    alone = {
        (RATE_BPS, RTT_NS, 0, 0): measured(
            {"own": [8e6]}, utilisation=0.8, mean_queueing_delay=0.01, loss_rate=0.0025
        ),
        (RATE_BPS, RTT_NS, 1_000, 0): measured({"own": [6e6]}),
        (RATE_BPS, RTT_NS, 10_000, 0): measured({"own": [2e6]}),
    }
    beside = {
        (RATE_BPS, RTT_NS, 0, 0): measured({"own": [3e6, 6e6]}),
        (RATE_BPS, RTT_NS, 0, 1): measured({"own": [1e6], CUBIC: [7e6]}),
    }
    assert _behaviour("own", RATE_BPS, RTT_NS, alone, beside) == CcaBehaviour(
        rate_bps=RATE_BPS,
        base_rtt_ns=RTT_NS,
        link_share=0.8,
        queue_ms=10.0,
        loss=0.0025,
        under_loss={1_000: 0.75, 10_000: 0.25},
        pair_ratio=0.5,
        share_against_cubic=0.125,
    )
