"""Windows and RTTs of the flows of programs, from the qlog that their senders wrote.

qlog (draft-ietf-quic-qlog-main-schema) as JSON text sequences or as one JSON document. Of its
events two are read: `metrics_updated`, whose fields hold until they change, and the first
`packet_sent`. Clocks of qlog begin anywhere, so that packet is taken for the one that was the
flow's first at the bottleneck.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..contract.errors import HostError
from ..contract.records import FLOW_SAMPLE
from ..contract.shared import CONSTANTS
from ..lane.programs import program_folder
from ..plan.attempt import TrialFlow
from ..store.postcards import read_postcards
from ..store.raw_files import read_generator_file
from ..validity.measurement import TrialMeasurement

METRICS, SENT = "metrics_updated", "packet_sent"
RTTS = {"smoothed_rtt": "srtt_us", "rtt_variance": "rttvar_us", "min_rtt": "min_rtt_us"}
INITIAL_RTT_US = 333_000
"""What a sender takes for the RTT before it has measured any (RFC 9002, section 6.2.2)."""
NO_SSTHRESH, NO_RTT_US, UNLIMITED = 2**31 - 1, 2**32 - 1, 2**64 - 1
US_PER = {"ms": 1e3, "s": 1e6}
NS_PER_MS = 1e6


@dataclass(frozen=True)
class First:
    """A flow's first packet at the bottleneck.

    Attributes:
        sent_ns: When its sender sent it, after t0.
        mss: Largest payload of the flow's packets, bytes.
    """

    sent_ns: int
    mss: int


def add_program_samples(measured: TrialMeasurement) -> None:
    """Add what programs wrote of windows and RTTs to the samples of the kernel's flows.

    Raises:
        HostError: A program wrote no qlog, or something else in its place.
    """
    flows = [flow for process in measured.attempt.program_flows for flow in process if _logs(flow)]
    if not flows:
        return
    path = measured.attempt.folder / CONSTANTS.flow_samples_file
    first = _first_packets(measured, flows)
    added = [_samples(measured, flow, first[flow.index]) for flow in flows if flow.index in first]
    records = np.concatenate([read_generator_file(path, FLOW_SAMPLE), *added])
    records[np.argsort(records["t_ns"], kind="stable")].tofile(path)


def _logs(flow: TrialFlow) -> bool:
    return flow.program is not None and bool(flow.program.qlog)


def _first_packets(measured: TrialMeasurement, flows: list[TrialFlow]) -> dict[int, First]:
    """The first packet of each flow; of one that sent nothing, none."""
    delays = measured.attempt.program().delays
    found: dict[int, First] = {}
    for batch in read_postcards(measured.attempt.raw_telemetry, measured.clock):
        for flow in flows:
            mine = batch.flow == flow.index
            if not mine.any():
                continue
            largest = int(batch.payload_bytes[mine].max())
            sent_ns = int(batch.enqueue_ns[mine].min()) - delays[flow.group].forward_ns
            before = found.get(flow.index, First(sent_ns, largest))
            found[flow.index] = First(min(before.sent_ns, sent_ns), max(before.mss, largest))
    return found


def _samples(measured: TrialMeasurement, flow: TrialFlow, first: First) -> NDArray[Any]:
    """The samples of a flow at the ticks of its trial, from its first RTT to its end."""
    assert flow.program is not None
    step_ns = measured.attempt.scenario.telemetry.tcp_info.ns
    path = _qlog_of(program_folder(measured.attempt.folder, flow), flow)
    at_ns, states = metrics(path, flow.program.qlog_rtt)
    at_ns += first.sent_ns
    known = next((i for i, state in enumerate(states) if "smoothed_rtt" in state), 0)
    end_ns = measured.sender.flows[flow.index].end_ns or 0
    ticks = np.arange(-(-int(at_ns[known]) // step_ns), end_ns // step_ns + 1)
    records = np.zeros(len(ticks), FLOW_SAMPLE)
    records["tick"], records["t_ns"] = ticks, measured.t0_ns + ticks * step_ns
    records["flow"], records["mss"] = flow.index, first.mss
    held = np.searchsorted(at_ns, ticks * step_ns, side="right") - 1
    for name, values in columns(states, first.mss).items():
        records[name] = values[held]
    return records


def _qlog_of(folder: Path, flow: TrialFlow) -> Path:
    """The file of a flow: the largest, if its program kept several."""
    assert flow.program is not None
    files = [*folder.glob(flow.program.qlog)]
    if not files:
        raise HostError(f"{flow.cc} of flow {flow.index} wrote no qlog {flow.program.qlog}")
    return max(files, key=lambda file: file.stat().st_size)


def metrics(path: Path, rtt: str = "ms") -> tuple[NDArray[np.float64], list[dict[str, float]]]:
    """The states of a sender, by its qlog.

    Args:
        rtt: The unit of its RTTs.

    Returns:
        When each began, in ns from the first packet that was sent, and what was known then: times
        in microseconds, all else as in qlog.

    Raises:
        HostError: There is none in it.
    """
    at_ms, states, first_ms = [], [], None
    state: dict[str, float] = {}
    try:
        for event in _events(path):
            if event["name"].endswith(SENT):
                first_ms = event["time"] if first_ms is None else first_ms
                continue
            data = event["data"]
            data = {name: data[name] for name in data if isinstance(data[name], int | float)}
            for name in RTTS.keys() & data.keys():
                data[name] *= US_PER[rtt]
            if data.get("smoothed_rtt") == INITIAL_RTT_US:
                data = {name: data[name] for name in data.keys() - RTTS.keys()}
            state = state | data
            at_ms.append(event["time"])
            states.append(state)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise HostError(f"{path}: is no qlog that can be read: {error}") from error
    if not states or first_ms is None:
        raise HostError(f"{path}: has no {METRICS} or no {SENT}")
    return (np.array(at_ms) - first_ms) * NS_PER_MS, states


def _events(path: Path) -> Iterator[dict[str, Any]]:
    """Its events of the two kinds; a last line that its writer did not finish is left out."""
    lines = path.read_text(encoding="utf-8").split("\n")
    if '"traces"' in lines[0]:
        for event in json.loads(lines[0])["traces"][0]["events"]:
            if event["name"].endswith((METRICS, SENT)):
                yield event
        return
    for line in lines[1:-1]:
        if f'{METRICS}"' in line or f'{SENT}"' in line:
            yield json.loads(line.lstrip("\x1e"))


def columns(states: list[dict[str, float]], mss: int) -> dict[str, NDArray[Any]]:
    """Columns of FLOW_SAMPLE, one value for each state.

    Args:
        mss: Bytes of payload in a full packet.
    """

    def column(names: tuple[str, ...], unknown: float, unit: float = 1) -> NDArray[np.float64]:
        values = [next((s[name] for name in names if name in s), None) for s in states]
        return np.array([unknown if value is None else value / unit for value in values])

    told = any("ssthresh" in state for state in states)
    unknown = NO_SSTHRESH * mss if told else 0
    packets = np.minimum(column(("ssthresh",), unknown, mss), NO_SSTHRESH)
    flying = column(("bytes_in_flight",), 0)
    pacing = column(("pacing_rate",), -1)
    found: dict[str, NDArray[Any]] = {
        "cwnd_pkts": np.round(column(("congestion_window", "cwnd"), 0, mss)),
        "ssthresh_pkts": np.round(packets),
        "inflight_bytes": flying,
        "unacked": np.ceil(flying / mss),
        "backoff": column(("pto_count",), 0),
        "srtt_us": column(("smoothed_rtt",), 0),
        "rttvar_us": column(("rtt_variance",), 0),
        "min_rtt_us": np.minimum(column(("min_rtt",), NO_RTT_US), NO_RTT_US),
    }
    paced = np.where(pacing < 0, 0, pacing).astype(np.uint64)
    return found | {"pacing_rate_bps": np.where(pacing < 0, np.uint64(UNLIMITED), paced)}
