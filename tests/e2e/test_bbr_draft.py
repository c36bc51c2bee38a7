"""The BBR draft's suite finds faults in copies of bbr3, each by the case that it is about."""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from nashbed.controlplane.contract.errors import EXIT_ACCEPTANCE
from ruamel.yaml import YAML
from tests.e2e.conftest import Nashbed

pytestmark = [pytest.mark.virtual, pytest.mark.slow, pytest.mark.usefixtures("guests_place")]

ROOT = Path(__file__).resolve().parents[2]
CC = ROOT / "hosts" / "cc"
SUITE = ROOT / "configs" / "evaluations" / "bbr-draft"
CASES = [str(number) for number in range(1, 23)]


@dataclass(frozen=True)
class Fault:
    """A fault of bbr3.

    Attributes:
        case: The draft's case that finds it.
        edits: File below hosts/cc, text that is there, text in its place.
        quick: Whether the ordinary suite has it.
    """

    name: str
    case: int
    edits: tuple[tuple[str, str, str], ...]
    quick: bool = False


FAULTS = (
    Fault("six rounds until the pipe is full", 1, (
        ("bbr/state.h", "BBR_FULL_BW_ROUNDS 3", "BBR_FULL_BW_ROUNDS 6"),
    ), quick=True),
    Fault("losses do not end Startup", 2, (
        ("bbr/startup.h", "b->loss_events >= BBR_FULL_LOSS_COUNT &&", "false &&"),
    ), quick=True),
    Fault("Drain by a gain of 0.35", 3, (
        ("bbr3.c", "BBR_DRAIN_PACING 128", "BBR_DRAIN_PACING 90"),
    )),
    Fault("Drain down to half a BDP", 3, (
        ("bbr/startup.h", "in_flight(tp)) <= bdp", "in_flight(tp)) <= bdp / 2"),
    )),
    Fault("Drain without a timeout", 4, (
        ("bbr3.c", "BBR_DRAIN_ROUNDS 3", "BBR_DRAIN_ROUNDS 300"),
    )),
    Fault("UP does not end at a plateau", 5, (
        ("bbr3.c", "return b->full_now;", "return false;"),
    )),
    Fault("losses of limited samples do not count", 6, (
        ("bbr/long_term.h", "if (b->probe_samples && bbr_too_lossy(s))",
         "if (b->probe_samples && bbr_too_lossy(s) && !rs->is_app_limited)"),
        ("bbr/long_term.h", "		if (b->probe_samples)\n",
         "		if (b->probe_samples && !rs->is_app_limited)\n"),
    )),
    Fault("after 110 rounds limited samples count for the full pipe", 7, (
        ("bbr3.c", "!rs->is_app_limited)", "(!rs->is_app_limited || b->rounds_since_probe > 110))"),
    )),
    Fault("DOWN by a gain of 0.75", 8, (
        ("bbr3.c", "BBR_DOWN_PACING 230", "BBR_DOWN_PACING 192"),
    )),
    Fault("DOWN without a timeout", 9, (
        ("bbr/cycle.h", "if (bbr_is_time_to_probe(sk, b)) {",
         "if (b->mode == BBR_CRUISE && bbr_is_time_to_probe(sk, b)) {"),
    ), quick=True),
    Fault("ProbeRTT every 10 s", 10, (
        ("bbr/state.h", "BBR_PROBE_RTT_EVERY_US 5000000", "BBR_PROBE_RTT_EVERY_US 10000000"),
    )),
    Fault("ProbeRTT for 100 ms", 10, (
        ("bbr/state.h", "BBR_PROBE_RTT_TIME_US 200000", "BBR_PROBE_RTT_TIME_US 100000"),
    )),
    Fault("ProbeRTT after a pause", 11, (
        ("bbr/probe_rtt.h", "due && !b->idle_restart &&", "due &&"),
    )),
    Fault("no allowance for aggregation", 12, (
        ("bbr/aggregation.h", "return min(extra, most);", "return 0 * min(extra, most);"),
    )),
    Fault("no allowance for aggregation after Startup", 13, (
        ("bbr/control.h", "+ bbr_aggregation(tp, b)",
         "+ (b->full_reached ? 0 : bbr_aggregation(tp, b))"),
    )),
    Fault("a least window of 2 segments", 14, (
        ("bbr/state.h", "BBR_MIN_CWND 4", "BBR_MIN_CWND 2"),
    )),
    Fault("inflight_hi grows by one segment in each round", 15, (
        ("bbr/phases.h", "b->up_rounds + 1", "b->up_rounds"),
    )),
    Fault("losses do not lower the estimate", 16, (
        ("bbr/short_term.h", "b->bw_lo = max_t(u64, bw, 1);", ""),
    )),
    Fault("the maximum is for good", 16, (
        ("bbr/short_term.h", "	b->bw_max[0] = 0;\n", ""),
    )),
    Fault("losses do not lower the volume", 17, (
        ("bbr/short_term.h", "b->inflight_lo = max(inflight, b->inflight_latest);",
         "b->inflight_lo = max(inflight, b->inflight_lo);"),
    )),
    Fault("losses of a probe do not lower inflight_hi", 17, (
        ("bbr/long_term.h", "b->inflight_hi = inflight;", ""),
    )),
    Fault("a mistaken recovery is not undone", 18, (
        ("bbr/callbacks.h", "	if (!b)\n		return cc_keep(tp->snd_cwnd);",
         "	if (b)\n		return cc_keep(tp->snd_cwnd);"),
    )),
    Fault("what a mistaken timeout marked lost stays lost", 19, (
        ("bbr/sample.h", "	b->lost = tp->lost;\n	b->lost_no_sooner = tp->lost;\n", ""),
    )),
    Fault("from ProbeRTT always into the cycle", 20, (
        ("bbr/probe_rtt.h", "if (!b->full_reached) {", "if (false) {"),
    )),
    Fault("no headroom", 21, (
        ("bbr/state.h", "BBR_HEADROOM_PERCENT 15", "BBR_HEADROOM_PERCENT 0"),
    )),
    Fault("samples of a pause in REFILL replace the maximum", 22, (
        ("bbr/short_term.h", "	if (!app_limited ||",
         "	if (app_limited && b->mode == BBR_REFILL && bw < bbr_max_bw(b) / 4)\n"
         "		b->bw_max[0] = b->bw_max[1] = bw;\n	if (!app_limited ||"),
    )),
)  # fmt: skip


def with_fault(fault: Fault, folder: Path) -> Path:
    """A copy of bbr3 with a fault: its path."""
    shutil.copytree(CC / "bbr", folder / "bbr")
    shutil.copy(CC / "bbr3.c", folder / "bbr3.c")
    for name, old, new in fault.edits:
        text = (folder / name).read_text()
        assert text.count(old) == 1, (name, old)
        (folder / name).write_text(text.replace(old, new))
    return (folder / "bbr3.c").rename(folder / "faulty.c")


def missed(nashbed: Nashbed, control: str, cases: list[str], code: int) -> list[str]:
    """The cases that a control misses, of some of the suite's, in its order."""
    folder, out = nashbed.folder / "suite", nashbed.folder / "conformed"
    shutil.copytree(SUITE, folder)
    manifest: dict[str, Any] = YAML(typ="safe").load((SUITE / "battery.yaml").read_text())
    manifest["criteria"] = [each for each in manifest["criteria"] if each["section"] in cases]
    with (folder / "battery.yaml").open("w") as file:
        YAML(typ="safe").dump(manifest, file)
    nashbed.call(
        *("cc", "conform", control, "--suite", str(folder), "--size", "quick", "--out", str(out)),
        code=code,
    )
    rows = json.loads((out / "criteria.json").read_text())["criteria"]
    assert {row["section"] for row in rows} == set(cases)
    assert all(row["verdict"] in {"met", "missed"} for row in rows), rows
    beyond = {row["section"] for row in rows if row["verdict"] == "missed"}
    return [case for case in cases if case in beyond]


@pytest.mark.long
def test_bbr3_meets_every_case(nashbed: Nashbed) -> None:
    assert missed(nashbed, "bbr3", CASES, 0) == []


@pytest.mark.long
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_the_first_case_that_a_fault_misses_is_its_own(nashbed: Nashbed, fault: Fault) -> None:
    control = with_fault(fault, nashbed.folder)
    until = CASES[: fault.case]
    assert missed(nashbed, str(control), until, EXIT_ACCEPTANCE) == until[-1:]


@pytest.mark.parametrize(
    "fault", [fault for fault in FAULTS if fault.quick], ids=lambda fault: fault.name
)
def test_a_fault_is_found(nashbed: Nashbed, fault: Fault) -> None:
    control = with_fault(fault, nashbed.folder)
    assert missed(nashbed, str(control), [str(fault.case)], EXIT_ACCEPTANCE) == [str(fault.case)]
