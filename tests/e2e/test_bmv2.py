"""The same scenario on simple_switch and on the embedded target: valid trials, like shares."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from nashbed.controlplane.contract.units import PACKET_BYTES
from tests.e2e.conftest import ROOT, Nashbed, records
from tests.support.programs import needs_program

pytestmark = [pytest.mark.root, pytest.mark.dataplane]

SCENARIO = ROOT / "configs" / "scenarios" / "bmv2-short.yaml"
LIKE = 0.1
"""How far a strategy's share per flow may be apart on two targets."""


def shares(run_dir: Path) -> dict[str, float]:
    """Each strategy's mean share of the throughput per flow, over all valid trials."""
    got: dict[str, list[float]] = {}
    for name, record in records(run_dir).items():
        if not record["valid"]:
            continue
        folder = run_dir / "trials" / name
        flows = pq.read_table(folder / "flows.parquet").to_pydict()
        goodput = pq.read_table(folder / "goodput.parquet").to_pydict()
        read = dict.fromkeys(flows["flow"], 0)
        for t_ns, flow, count in zip(*(goodput[k] for k in ("t_ns", "flow", "bytes")), strict=True):
            read[flow] += count if t_ns > record["window_ns"][0] else 0
        for flow, cc in zip(flows["flow"], flows["cc"], strict=True):
            got.setdefault(cc, []).append(read[flow] / sum(read.values()))
    return {cc: sum(values) / len(values) for cc, values in got.items()}


@needs_program("simple_switch")
@pytest.mark.live
@pytest.mark.slow
def test_shares_are_those_of_the_embedded_target(nashbed: Nashbed) -> None:
    text = SCENARIO.read_text().replace("name: bmv2-short", "name: e2e-bmv2")
    scenario = nashbed.folder / "scenario.yaml"
    scenario.write_text(text)
    on_bmv2, embedded = (nashbed.run(scenario, bed) for bed in ("bmv2", "embedded"))
    for run_dir in (on_bmv2, embedded):
        valid = [r for r in records(run_dir).values() if r["valid"]]
        assert len(valid) == 2, [r["invalid_reasons"] for r in records(run_dir).values()]
    told, expected = shares(on_bmv2), shares(embedded)
    assert told == pytest.approx(expected, abs=LIKE)
    applied = next(iter(records(on_bmv2).values()))["applied"]
    # Whole packets per second: at most half a packet per second beside what was asked for.
    assert abs(applied["rate_bps"] - 10**7) <= 8 * PACKET_BYTES / 2 + 1


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"rate": "2gbit"}, "rate 2gbit is more than testbed 'bmv2' carries"),
        ({"rate": "5kbit", "buffer": "9kB"}, "0 packets/s of 1514 bytes"),
        ({"buffer": "64pkt"}, "target bmv2 cannot limit in packets"),
        ({"buffer": "17MB"}, "more than target bmv2 has"),
    ],
)
def test_what_it_cannot_do_is_refused_while_planning(
    nashbed: Nashbed, change: dict[str, str], why: str
) -> None:
    scenario = nashbed.scenario(**change)
    bed = ROOT / "configs" / "testbeds" / "bmv2.yaml"
    said = nashbed.call("plan", str(scenario), "--testbed", str(bed), code=2)
    assert "setting b" in said
    assert why in said


def test_without_simple_switch_a_run_says_how_to_get_it(nashbed: Nashbed) -> None:
    bed = nashbed.folder / "bmv2.yaml"
    text = (ROOT / "configs" / "testbeds" / "bmv2.yaml").read_text()
    bed.write_text(text.replace("program: simple_switch", "program: no_such_switch"))
    said = nashbed.call(
        "run", str(nashbed.scenario(rate="10mbit")), "--testbed", str(bed),
        "--out", str(nashbed.results), code=4,
    )  # fmt: skip
    assert said.count("\n") == 1
    assert "no_such_switch: not on PATH" in said
    assert "p4lang-bmv2" in said
