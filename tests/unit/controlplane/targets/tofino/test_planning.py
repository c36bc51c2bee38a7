"""A scenario on a Tofino testbed before a switch is touched: rounding, limits, what is shown."""

import json
import re
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nashbed.controlplane.cli.main import run
from nashbed.controlplane.config import load_testbed
from nashbed.controlplane.contract.errors import ConfigError
from nashbed.controlplane.contract.target import Lane, Limit
from nashbed.controlplane.contract.testbed import Testbed
from nashbed.controlplane.targets import capabilities_of, preview, resolve
from nashbed.controlplane.targets.tofino.capabilities import BRIDGED_BYTES, CHIPS, Chip
from nashbed.controlplane.targets.tofino.programming import MIRROR_BYTES
from nashbed.controlplane.targets.tofino.times import ClockReading, epoch_ns

ROOT = Path(__file__).resolve().parents[5]
EXAMPLE = ROOT / "configs" / "testbeds" / "tofino.example.yaml"
EXPERIMENT1 = ROOT / "configs" / "scenarios" / "srivastava2023" / "experiment1-short.yaml"
SCENARIO = """
name: big
title: More than the chip has
bottleneck: {{rate: {rate}, buffer: {buffer}}}
flows: [{{name: main, count: 2, base_rtt: 40ms}}]
strategies: [cubic, reno]
duration: 10s
warmup: 2s
"""
chips = pytest.mark.parametrize("chip", CHIPS.values(), ids=list(CHIPS))


@pytest.fixture
def bed() -> Testbed:
    return load_testbed(EXAMPLE).model


def intent(rate_bps: int = 10**8, unit: str = "bytes", value: int = 10**6) -> Lane:
    return Lane.model_validate({"rate_bps": rate_bps, "limit": {"unit": unit, "value": value}})


@chips
@given(rate=st.integers(200_000, 120 * 10**9))
def test_no_setting_of_the_shaper_is_nearer(chip: Chip, rate: int) -> None:
    """By trying every exponent with the two mantissas around the ideal one."""
    found = chip.shaper(rate)
    largest = (1 << chip.mantissa_bits) - 1
    assert 0 < found.mantissa <= largest
    errors = []
    for exponent in range(16):
        ideal = rate * 80 * 2**exponent / (8 * chip.clock_hz)
        for mantissa in (int(ideal), int(ideal) + 1):
            if 0 < mantissa <= largest:
                errors.append(abs(Fraction(mantissa * 8 * chip.clock_hz, 80 * 2**exponent) - rate))
    exact = Fraction(found.mantissa * 8 * chip.clock_hz, 80 << found.exponent)
    assert abs(exact - rate) == min(errors)
    assert abs(exact - rate) <= rate / 100


def test_shaper_by_hand() -> None:
    # 1 Gbit/s on Tofino 1: 125e6 B/s x 80 / 1.22e9 = 8.1967 bytes; x 64 = 524.6, so 525 / 64,
    # which is 525 x 8 x 1.22e9 / (80 x 64) = 1000781250 bit/s.
    found = CHIPS["tofino1"].shaper(10**9)
    assert (found.mantissa, found.exponent, found.rate_bps) == (525, 6, 1_000_781_250)


@chips
def test_rates_beyond_the_shaper_are_refused(chip: Chip) -> None:
    for rate in (chip.slowest_bps // 2, chip.fastest_bps * 2):
        with pytest.raises(ValueError, match=f"beyond the shapers of {chip.name}"):
            chip.shaper(rate)


def test_bursts_are_rounded_down() -> None:
    # 18000 = 0b100011001010000: 4 bits of it are 8 << 11 = 16384; 8 bits are 140 << 7.
    assert CHIPS["tofino1"].burst_bytes(18_000) == 16_384
    assert CHIPS["tofino2"].burst_bytes(18_000) == 140 << 7
    assert CHIPS["tofino1"].burst_bytes(10**9) == 15 << 15
    assert CHIPS["tofino2"].burst_bytes(7) == 7


def test_a_packet_takes_whole_cells_with_its_headers() -> None:
    # 1514 + 26 bytes: 19.25 cells of 80, 8.75 of 176. The smallest frame: 86 bytes.
    assert [CHIPS[name].cells_of(1514) for name in ("tofino1", "tofino2")] == [20, 9]
    assert [CHIPS[name].cells_of(60) for name in ("tofino1", "tofino2")] == [2, 1]


@pytest.mark.parametrize(
    ("program", "cells"),
    [
        (intent(unit="bytes", value=10**6), 660 * 20),
        (intent(unit="packets", value=64), 64 * 20),
    ],
)
def test_limits_become_cells(bed: Testbed, program: Lane, cells: int) -> None:
    applied = resolve(bed, program)
    assert applied.limit == Limit(unit="cells", value=cells, cell_bytes=80)
    assert applied.buffer_bytes == cells // 20 * 1514
    assert f"{cells} cells of 80 B" in applied.detail


def test_full_packets_get_the_rate_that_is_asked_for(bed: Testbed) -> None:
    """Whatever the scenario and the shaper count beside a frame."""
    for overhead in (0, 24):
        program = intent().model_copy(update={"overhead_bytes": overhead})
        applied = resolve(bed, program)
        packets = applied.rate_bps / (8 * (1514 + applied.overhead_bytes))
        assert packets == pytest.approx(1e8 / (8 * (1514 + overhead)), rel=0.001)


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        (intent(value=10**4 // 7), "is 0 cells; tofino1 takes 20 .one packet. to 250000"),
        (intent(value=25 * 10**6), "cells; tofino1 takes"),
        (intent(rate_bps=10**5), "beyond the shapers of tofino1"),
        (intent(rate_bps=25 * 10**9), "of port 133, which has 25gbit"),
    ],
)
def test_what_the_chip_cannot_do_is_refused(bed: Testbed, program: Lane, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason) as error:
        resolve(bed, program)
    assert "\n" not in error.value.message


def test_a_speed_that_the_chip_has_not(bed: Testbed) -> None:
    text = EXAMPLE.read_text().replace("port: 132, speed: 25gbit", "port: 132, speed: 200gbit")
    other = Testbed.model_validate(_parsed(text))
    with pytest.raises(ConfigError, match="port 132: tofino1 has no speed 200gbit; write 1gbit"):
        resolve(other, intent())


def _parsed(text: str) -> object:
    from ruamel.yaml import YAML

    return YAML(typ="safe").load(text)


def test_lanes_share_the_buffer(bed: Testbed) -> None:
    can = capabilities_of(bed)
    assert can.max_buffer_bytes == 250_000 // 2 // 20 * 1514
    assert can.lanes == 7
    assert not can.in_queue_registers


@pytest.mark.parametrize(
    ("rate", "buffer", "reason"),
    [
        ("5gbit", "2bdp", "a buffer of 50MB is more than target tofino has (9.4625MB)"),
        ("100kbit", "20kB", "beyond the shapers of tofino1"),
    ],
)
def test_the_planner_refuses_with_the_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], rate: str, buffer: str, reason: str
) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(SCENARIO.format(rate=rate, buffer=buffer))
    assert run(["plan", str(path), "--testbed", str(EXAMPLE)]) == 2
    told = capsys.readouterr().err
    assert reason in told
    assert len(told.strip().splitlines()) == 1


def test_plan_prints_what_would_be_programmed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", str(EXPERIMENT1), "--testbed", str(EXAMPLE)]) == 0
    told = " ".join(capsys.readouterr().out.split())
    for part in (
        "add $PORT [$DEV_PORT=133] $SPEED=BF_SPEED_25G, $FEC=BF_FEC_TYP_RS",
        "set $mirror.cfg [$sid=1] $normal $session_enable=True, $direction=EGRESS, "
        "$ucast_egress_port=134",
        "modify tf1.tm.pipe.cfg on pipe 1 [] mirror_drop_pg_id=port 134's group",
        "modify tf1.tm.queue.buffer on pipe 1 [pg_id=port 133's group, pg_queue=its queue 1] "
        "buffer_only guaranteed_cells=13200, hysteresis_cells=0, tail_drop_enable=True",
        "unit=BPS, provisioning=MIN_ERROR, max_rate=103295, max_burst_size=4096",
        "set BottleneckIngress.flow_table",
    ):
        assert part in told


def test_plan_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", str(EXPERIMENT1), "--testbed", str(EXAMPLE), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["target"]
    assert set(told) == {"every lane", "setting b2bdp"}


def test_tofino2_has_tables_of_its_own() -> None:
    text = EXAMPLE.read_text().replace("chip: tofino1", "chip: tofino2")
    bed = Testbed.model_validate(_parsed(text))
    lines = preview(bed)
    assert any(line.startswith("modify tf2.tm.pipe.cfg") for line in lines)
    assert any("mirror_drop_enable=True" in line for line in lines)
    assert not any("tf1" in line for line in (*lines, *preview(bed, intent())))


def test_the_epoch_is_that_of_the_freshest_reading() -> None:
    readings = [ClockReading(1000, 100), ClockReading(2000, 1150), ClockReading(3000, 2100)]
    assert epoch_ns(readings) == 850
    assert epoch_ns([ClockReading(1000, 100), ClockReading(2000, 100)]) is None


def test_the_clock_may_wrap_between_readings() -> None:
    end = 2**48
    readings = [(1000, end - 900), (2000, end - 1), (3000, 1100), (4000, 2050)]
    assert epoch_ns([ClockReading(*reading) for reading in readings]) == 1900 - end
    late = [(5000, 10), (6000, end - 10)]  # the first was answered late
    assert epoch_ns([ClockReading(*reading) for reading in late]) == 4990


def test_headers_have_the_lengths_of_the_p4_program() -> None:
    assert (
        header_bytes("tofino/intrinsic.p4", "stamp_h")
        + header_bytes("common/bridge.p4", "bridge_h")
        == BRIDGED_BYTES
    )
    # The mirrored header must be whole, and no word of the length may be left out.
    assert header_bytes("tofino/intrinsic.p4", "mirror_h") <= 32 < MIRROR_BYTES
    assert MIRROR_BYTES % 4 == 0


WIDTHS = {"pass_t": 4, "lane_t": 16, "flow_id_t": 32, "time_ns_t": 48, "bytes_t": 32}


def header_bytes(file: str, header: str) -> int:
    source = (ROOT / "p4src" / file).read_text()
    body = re.search(rf"header {header} {{(.*?)\n}}", source, re.DOTALL)
    assert body is not None
    kinds = re.findall(r"^ +(\w+(?:<\d+>)?) +\w+;", body[1], re.MULTILINE)
    bits = [int(k[4:-1]) if k.startswith("bit<") else WIDTHS[k] for k in kinds]
    return sum(bits) // 8
