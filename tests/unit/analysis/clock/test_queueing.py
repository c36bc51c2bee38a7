"""Captures before and behind a simulated bottleneck, made from its postcards, and read back."""

import csv
import json
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from nashbed.analysis.clock.of_run import compare_run
from nashbed.analysis.clock.queueing import compare
from nashbed.analysis.clock.taps import taps_of
from nashbed.analysis.report import build_report
from nashbed.controlplane.store.finished_run import FinishedRun, open_run
from nashbed.controlplane.store.sealed_trial import SealedTrial
from tests.support import timestamps as made

HEADERS = 66
RTT_NS = 40_000_000
TESTBED = "name: embedded\n"
HARDWARE = """
capture:
  before: {file: "taps/{trial}-before.pcap"}
  behind: {file: "taps/{trial}-behind.pcap", format: exablaze}
"""


def frames(flow: np.ndarray, seq: np.ndarray, size: np.ndarray, lane: int) -> list[bytes]:
    """Headers of TCP segments; the n-th has IP identification n."""
    rows = []
    for n, (f, s, b) in enumerate(zip(flow.tolist(), seq.tolist(), size.tolist(), strict=True)):
        ip = struct.pack(">BBHHHBBH", 0x45, 0, b - 14, n % 65536, 0x4000, 64, 6, 0)
        addresses = bytes([10, 64, lane, 1, 10, 65, lane, 1])
        tcp = struct.pack(">HHIIBBHHH", 10000 + f, 5001, s, n // 65536, 0x80, 0x10, 500, 0, 0)
        rows.append(bytes(12) + b"\x08\x00" + ip + addresses + tcp + bytes(12))
    return rows


def ack(number: int, lane: int) -> bytes:
    """A packet from the receivers to the senders."""
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 52, number % 65536, 0x4000, 64, 6, 0)
    addresses = bytes([10, 65, lane, 1, 10, 64, lane, 1])
    tcp = struct.pack(">HHIIBBHHH", 5001, 10000, 1, number, 0x80, 0x10, 500, 0, 0)
    return bytes(12) + b"\x08\x00" + ip + addresses + tcp + bytes(12)


Stamp = Callable[[int, int], tuple[int, int, bytes]]
"""Number of a packet and its time in ns -> seconds, nanoseconds of the file, trailer."""


def plain(number: int, ns: int) -> tuple[int, int, bytes]:
    """The file's own time."""
    return made.EPOCH + ns // 10**9, ns % 10**9, b""


def write(path: Path, data: list[bytes], times: list[int], order: list[int], stamp: Stamp) -> None:
    """A pcap of frames in some order."""
    path.parent.mkdir(exist_ok=True)
    packets = []
    for n in order:
        seconds, ns, trailer = stamp(n, times[n])
        packets.append((seconds, ns, data[n] + trailer))
    path.write_bytes(made.pcap(packets))


def trial_of(run: FinishedRun) -> SealedTrial:
    """One with much of both."""
    return next(t for t in run.valid_trials if "k02" in t.id or "k2" in t.id)


def captured(
    run: Path,
    places: tuple[str, str],
    late_ns: Callable[[int], int] = lambda n: 50_000,
    lost_behind: tuple[int, ...] = (),
    stamp: Stamp = plain,
    before_ns: int = RTT_NS // 2,
) -> SealedTrial:
    """Write what taps before and behind would have seen of one trial.

    Args:
        places: Captures before and behind, of the run directory, with {trial} in them.
        late_ns: How late the tap behind is with the n-th postcard's packet.
        lost_behind: Packets that the capture behind lost.
        stamp: How the capture behind tells times.
        before_ns: How long before it meets the queue a packet is captured.
    """
    trial = trial_of(open_run(run))
    table = trial.arrays("postcards")
    data = frames(table["flow"], table["tcp_seq"], table["packet_bytes"], trial.record.lane)
    came = (10**9 + table["enqueue_ns"] - before_ns).tolist()
    went = (10**9 + table["dequeue_ns"]).tolist()
    went = [t + late_ns(n) for n, t in enumerate(went)]
    every = range(len(data))
    gone = [n for n in every if table["kind"][n] == 0 and n not in lost_behind]
    # ACKs on their way back: behind first, then before, held up by nothing but the hosts.
    late = np.random.default_rng(1).exponential(20_000, len(gone)).astype(int).tolist()
    acks = [ack(n, trial.record.lane) for n in range(len(gone))]
    back = [went[n] + 1_000_000 for n in gone]
    data, first = data + acks, len(data)
    came += [t + late[n] for n, t in enumerate(back)]
    went += back
    returned = list(range(first, len(data)))
    paths = [run / place.replace("{trial}", trial.id) for place in places]
    write(paths[0], data, came, sorted([*every, *returned], key=came.__getitem__), plain)
    write(paths[1], data, went, sorted([*gone, *returned], key=went.__getitem__), stamp)
    return trial_of(open_run(run))


SOFTWARE = ("trials/{trial}/capture.pcap", "trials/{trial}/behind.pcap")
TAPS = ("taps/{trial}-before.pcap", "taps/{trial}-behind.pcap")


def compared(run: Path, trial: SealedTrial):
    taps = taps_of(open_run(run), trial)
    assert taps is not None
    return compare(trial, taps)


def data_departures(trial: SealedTrial) -> int:
    table = trial.arrays("postcards", ["kind", "payload_bytes"])
    return int(np.count_nonzero((table["kind"] == 0) & (table["payload_bytes"] > 0)))


@pytest.mark.slow
def test_software_taps(run_copy: Path) -> None:
    """The hosts see each packet 50 us after it left; the delay line before the queue is known."""
    trial = captured(run_copy, SOFTWARE)
    found = compared(run_copy, trial)
    assert len(found.sojourn_ns) == data_departures(trial) > 1000
    assert np.all(found.difference_ns == 50_000)
    assert (found.bias_ns, found.spread_ns) == (50_000, (50_000, 50_000))
    assert found.mismatches == ()
    assert found.clocks[0] == "Both captures read the hosts' kernel clock."
    (of_switch,) = found.alignments
    offset_ns = (of_switch.other_origin_s - of_switch.origin_s) * 10**9 + of_switch.offset_ps / 1e3
    assert offset_ns == pytest.approx((made.EPOCH + 1) * 10**9 + 50_000, abs=1)
    assert abs(of_switch.drift) < 1e-12


@pytest.mark.slow
def test_hardware_taps_with_clocks_of_their_own(run_copy: Path) -> None:
    """Behind: 2.5 s off and 30 ppm fast, in Exablaze trailers. The ACKs align them: the queue of
    this run is never empty again once it has filled."""
    (run_copy / "testbed.yaml").write_text(TESTBED + HARDWARE)

    def drifting(number: int, ns: int) -> tuple[int, int, bytes]:
        units = (made.EPOCH << 40) + ((ns + 2_500_000_000 + ns * 30 // 10**6) << 40) // 10**9
        seconds, nanoseconds, _ = plain(number, ns)
        return seconds, nanoseconds, made.exablaze(units >> 40, units & (2**40 - 1))

    trial = captured(run_copy, TAPS, lambda n: 0, (), drifting, before_ns=0)
    found = compared(run_copy, trial)
    alignment = found.alignments[0]
    assert alignment.drift == pytest.approx(30e-6, abs=0.02e-6)
    assert np.abs(found.difference_ns).max() < 500
    assert found.mismatches == ()
    assert "-behind.pcap is +2.5000" in found.clocks[0]
    assert "fast, by" in found.clocks[0]
    assert not found.software


@pytest.mark.slow
@pytest.mark.usefixtures("no_figures")
def test_mismatches_packet_by_packet(run_copy: Path) -> None:
    """One packet lost by the capture behind, one late by 5 ms: both are named, and no other."""
    table = trial_of(open_run(run_copy)).arrays("postcards")
    data = np.flatnonzero((table["kind"] == 0) & (table["payload_bytes"] > 0))
    lost, late = int(data[500]), int(data[-1])
    trial = captured(
        run_copy, SOFTWARE, lambda n: 5_050_000 if n == late else 50_000, lost_behind=(lost,)
    )
    found = compared(run_copy, trial)
    told = {(m.flow, m.tcp_seq): m for m in found.mismatches}
    again = _transmissions(table, lost)
    assert len(again) == 1, "choose a packet that was sent once"
    names = [(int(table["flow"][n]), int(table["tcp_seq"][n])) for n in (lost, late)]
    assert set(told) == set(names)
    assert told[names[0]].problem == "has a postcard, but is not in both captures"
    assert told[names[1]].problem == "delay by the captures less that by the postcard: +5.050 ms"
    page = build_report(run_copy, ("html",))
    files = list(page.parent.glob("mismatches-*.csv"))
    with files[0].open() as file:
        rows = list(csv.DictReader(file))
    assert {(int(r["flow"]), int(r["tcp_seq"])) for r in rows} == set(names)


def _transmissions(table: dict[str, np.ndarray], n: int) -> np.ndarray:
    same = (table["flow"] == table["flow"][n]) & (table["tcp_seq"] == table["tcp_seq"][n])
    return np.flatnonzero(same)


@pytest.mark.slow
def test_in_the_report(run_copy: Path, unsaved_figures: list[str]) -> None:
    trial = captured(run_copy, SOFTWARE)
    page = build_report(run_copy, ("html",)).read_text()
    assert "Clocks and captures" in page
    assert "Both captures read the hosts&#39; kernel clock." in page
    assert "the hosts&#39; kernel clock is +" in page
    assert f"tap_delay-{trial.id}" in unsaved_figures
    (told,) = json.loads((run_copy / "report" / "summary.json").read_text())["taps"]
    assert (told["bias_s"], told["mismatches"], told["software"]) == (50e-6, 0, True)
    assert told["alignments"][0]["reference"] == "the switch's clock"


@pytest.mark.slow
@pytest.mark.usefixtures("no_figures")
def test_without_captures_there_is_no_section(run_copy: Path) -> None:
    assert not compare_run(open_run(run_copy))
    assert "Clocks and captures" not in build_report(run_copy, ("html",)).read_text()


@pytest.mark.slow
@pytest.mark.usefixtures("no_figures")
def test_what_cannot_be_compared_is_said(run_copy: Path) -> None:
    """A missing capture, one of other packets, a clock that ran backwards: one line each."""
    (run_copy / "testbed.yaml").write_text(TESTBED + HARDWARE)
    problems = compare_run(open_run(run_copy)).problems
    assert len(problems) == len(open_run(run_copy).valid_trials)
    assert "before.pcap: cannot be read" in problems[0]
    (run_copy / "testbed.yaml").write_text(TESTBED)

    trial = captured(run_copy, SOFTWARE)
    behind = trial.path / "behind.pcap"
    whole = behind.read_bytes()
    size = HEADERS + 16
    behind.write_bytes(whole[: 24 + 20 * size])
    (problem,) = compare_run(open_run(run_copy)).problems
    assert "of its packets are in the postcards of" in problem
    behind.write_bytes(whole + whole[24 : 24 + size])
    (problem,) = compare_run(open_run(run_copy)).problems
    assert "the hosts' kernel clock: its clock ran backwards by" in problem
    assert "Clocks and captures" in build_report(run_copy, ("html",)).read_text()
