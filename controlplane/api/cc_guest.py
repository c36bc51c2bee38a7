"""What a congestion control that is an ordinary kernel module does, tried in guests.

The table is the simulator's, with fewer and shorter paths: each cell is a trial of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nashbed.controlplane.contract.c_files import CFile
from nashbed.controlplane.contract.errors import HostError
from nashbed.controlplane.machine.c_files.cc_check import BUFFER, CcaBehaviour, CcaVerdict, ratio
from nashbed.controlplane.machine.c_files.guest_modules import module_of
from nashbed.controlplane.machine.c_files.parameters import parameters_of
from nashbed.controlplane.machine.kernels.cache import find_kernel
from nashbed.controlplane.store.staging import scratch_folder

from .running import run
from .steps import ShowStep

if TYPE_CHECKING:
    from nashbed.analysis.measures import TrialMeasures

CUBIC = "cubic"
RATES, RTTS, LOSSES = ("10mbit", "50mbit"), ("10ms", "80ms"), ("0%", "0.1%", "1%")
PPB_PER_PPM = 1000
STEPS = 3
Trials = Mapping[tuple[int, int, int, int], "TrialMeasures"]
"""Rate in bit/s, base RTT in ns, random loss in ppm, flows of CUBIC -> what was measured."""


def check_in_guest(cca: CFile, show: ShowStep) -> CcaVerdict:
    """Build a module, and run it in guests: alone, with random loss, and beside others.

    Raises:
        ConfigError: It does not compile.
        NashbedError: It cannot be inserted, or crashes the guest: where; or this machine has no
            guests.
    """
    kernel = find_kernel("")
    show(f"compiling {cca.name}", 0, STEPS)
    module_of(kernel, cca)
    with scratch_folder("cc") as folder:
        show(f"running {cca.name} alone", 1, STEPS)
        alone = _trials(cca, folder, 1, {"random_loss": LOSSES, "mixes": [0]}, "20s")
        show(f"running {cca.name} beside others", 2, STEPS)
        beside = _trials(cca, folder, 2, {"mixes": [0, 1]}, "40s")
    show(f"running {cca.name}", STEPS, STEPS)
    if not alone:
        raise HostError(f"{cca.name}: no trial in a guest was valid: it may never send")
    paths = dict.fromkeys((rate, rtt) for rate, rtt, *_ in alone)
    found = tuple(_behaviour(cca.name, *path, alone, beside) for path in paths)
    built = f"a module for kernel {kernel.release} of virtual time"
    return CcaVerdict(cca, built, None, "", found, parameters_of(cca))


def _trials(
    cca: CFile, folder: Path, flows: int, sweep: Mapping[str, Any], duration: str
) -> Trials:
    scenario = {
        "name": f"check-{flows}",
        "title": f"What {cca.name} does",
        "bottleneck": {"rate": RATES[0], "buffer": str(BUFFER)},
        "flows": [{"name": "main", "count": flows, "base_rtt": RTTS[0]}],
        "strategies": [f"{cca.source.resolve()}{'/' * cca.source.is_dir()}", CUBIC],
        "duration": duration,
        "warmup": "10s",
        "max_attempts": 1,
        "sweep": {"rate": RATES, "base_rtt": RTTS, **sweep},
    }
    return {_cell(each): each for each in run(scenario, "virtual", folder).measured.values()}


def _cell(measured: TrialMeasures) -> tuple[int, int, int, int]:
    setting = measured.trial.setting
    loss_ppm = (setting.random_loss_ppb or 0) // PPB_PER_PPM
    cubic = list(measured.strategy).count(CUBIC)
    return setting.rate_bps, setting.base_rtt_ns[0], loss_ppm, cubic


def _behaviour(
    name: str, rate_bps: int, rtt_ns: int, alone: Trials, beside: Trials
) -> CcaBehaviour:
    def got(trials: Trials, loss_ppm: int, cubic: int, metric: str, of: str = name) -> float:
        found = trials.get((rate_bps, rtt_ns, loss_ppm, cubic))
        return nan if found is None else found.value(metric, of)

    metric = "per_flow_throughput"
    free = got(alone, 0, 0, metric)
    pair = beside.get((rate_bps, rtt_ns, 0, 0))
    both = [nan] if pair is None else pair.per_flow[metric]
    mine, cubic = (got(beside, 0, 1, metric, of) for of in (name, CUBIC))
    losses = dict.fromkeys(loss for _, _, loss, _ in alone if loss)
    return CcaBehaviour(
        rate_bps=rate_bps,
        base_rtt_ns=rtt_ns,
        link_share=got(alone, 0, 0, "utilisation"),
        queue_ms=got(alone, 0, 0, "mean_queueing_delay") * 1e3,
        loss=got(alone, 0, 0, "loss_rate"),
        under_loss={loss: ratio(got(alone, loss, 0, metric), free) for loss in losses},
        pair_ratio=ratio(float(min(both)), float(max(both))),
        share_against_cubic=ratio(mine, mine + cubic),
    )
