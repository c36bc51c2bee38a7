"""The flows of one trial as qlog: a file of JSON text sequences for each.

The main schema (draft-ietf-quic-qlog-main-schema) and the events of QUIC's schema
(draft-ietf-quic-qlog-quic-events) whose fields TCP has: recovery_metrics_updated,
congestion_state_updated, packet_dropped for drops at the bottleneck, ecn_state_updated when the
first ECN-capable packet left it, and udp_datagrams_received with CE for each that it marked, at the
time when it left. There is no packet_sent, packet_received or packet_lost: TCP numbers no packets,
and nobody saw when a sender took one for lost.
"""

import json
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from heapq import merge
from pathlib import Path
from typing import TextIO

import numpy as np
from nashbed.controlplane.contract.model import JsonObject
from nashbed.controlplane.contract.records import KIND_DROPPED, MARK_CE
from nashbed.controlplane.store.parquet import Arrays
from numpy.typing import NDArray

from .marks import is_capable, is_marked, reason_of
from .selection import NS_PER_S, Selection
from .states import changes, control_states

SUFFIX = "qlog"
FILE_SUFFIX = ".sqlog"
FILE_SCHEMA = "urn:ietf:params:qlog:file:sequential"
SERIALIZATION = "application/qlog+json-seq"
EVENT_SCHEMA = "urn:ietf:params:qlog:events:quic"
RECORD_SEPARATOR = "\x1e"
METRICS, STATE, DROPPED, ECN_STATE, MARKED = (
    f"quic:{name}"
    for name in (
        "recovery_metrics_updated",
        "congestion_state_updated",
        "packet_dropped",
        "ecn_state_updated",
        "udp_datagrams_received",
    )
)
NO_SSTHRESH, NO_RTT_US, UNLIMITED = 2**31 - 1, 2**32 - 1, 2**64 - 1
SAMPLED_TCP = "A TCP flow: the sender's TCP_INFO, sampled, as QUIC's recovery events"
DATAGRAMS = "A flow of UDP datagrams, without any congestion control"
Event = tuple[int, str, JsonObject]
"""Time after t0 in ns, name, data."""


def write_qlog(chosen: Selection, path: Path) -> dict[str, int]:
    """Write a file for each flow.

    Args:
        path: The folder, which is made.

    Returns:
        What -> how many.
    """
    path.mkdir()
    samples, packets = chosen.samples(), _noted(chosen)
    events: Counter[int] = Counter()
    for flow in chosen.control:
        with (path / f"flow-{flow}{FILE_SUFFIX}").open("w", encoding="utf-8") as file:
            _record(file, _head(chosen, flow))
            parts = merge(
                _metrics(_of(samples, flow)),
                _states(chosen.control[flow], _of(samples, flow)),
                _packets(_of(packets, flow), numbered=flow not in chosen.datagrams),
                key=lambda event: event[0],
            )
            for t_ns, name, data in parts:
                _record(file, {"time": t_ns / 1e6, "name": name, "data": data})
                events[flow] += 1
    return {"flows": len(events), "events": events.total()}


def _record(file: TextIO, what: JsonObject) -> None:
    """One JSON text of a sequence (RFC 7464)."""
    file.write(f"{RECORD_SEPARATOR}{json.dumps(what, separators=(',', ':'))}\n")


def _head(chosen: Selection, flow: int) -> JsonObject:
    record = chosen.trial.record
    kept = "all drops and CE marks" if chosen.trial.has("postcards") else "no drops or marks"
    what = DATAGRAMS if flow in chosen.datagrams else SAMPLED_TCP
    began = datetime.fromtimestamp(chosen.base_ns / NS_PER_S, UTC)
    return {
        "file_schema": FILE_SCHEMA,
        "serialization_format": SERIALIZATION,
        "title": f"{record.id}, {chosen.name(flow)}",
        "description": (
            f"{what}, with {kept} at the bottleneck as packet_dropped and udp_datagrams_received. "
            "No other event of QUIC is claimed."
        ),
        "trace": {
            "title": chosen.name(flow),
            "common_fields": {
                "group_id": record.id,
                "time_format": "relative_to_epoch",
                "reference_time": {
                    "clock_type": "monotonic",
                    "epoch": "unknown",
                    "wall_clock_time": began.strftime("%Y-%m-%dT%H:%M:%S.000Z"),
                },
            },
            "vantage_point": {"name": "sender", "type": "client"},
            "event_schemas": [EVENT_SCHEMA],
        },
    }


def _noted(chosen: Selection) -> Arrays:
    """The postcards of drops, of marks, and of each flow's first ECN-capable packet that left.

    Nothing where there are no postcards.
    """
    if not chosen.trial.has("postcards"):
        return {}
    parts, told = [], np.zeros(1 + max(chosen.control), bool)
    for cards in chosen.chosen_postcards("drops and marks"):
        dropped = cards["kind"] == KIND_DROPPED
        first = _first_capable(cards, told)
        noted = dropped | is_marked(cards) | first
        parts.append(
            {name: column[noted] for name, column in cards.items()} | {"first": first[noted]}
        )
    return (
        {name: np.concatenate([part[name] for part in parts]) for name in parts[0]} if parts else {}
    )


def _first_capable(cards: Arrays, told: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which packets are the first ECN-capable one of their flow that left; `told` is kept."""
    found = np.zeros(len(cards["flow"]), bool)
    rows = np.flatnonzero(is_capable(cards) & (cards["kind"] != KIND_DROPPED))
    flows, first = np.unique(cards["flow"][rows], return_index=True)
    found[rows[first[~told[flows]]]] = True
    told[flows] = True
    return found


def _of(table: Arrays, flow: int) -> Arrays:
    """The rows of one flow."""
    if not table:
        return {}
    mine = table["flow"] == flow
    return {name: column[mine] for name, column in table.items()}


def _metrics(samples: Arrays) -> Iterator[Event]:
    """What has changed since the sample before."""
    if not samples:
        return
    last: JsonObject = {}
    rows = zip(*(samples[name].tolist() for name in _SAMPLED), strict=True)
    for row in rows:
        now = _metrics_of(dict(zip(_SAMPLED, row, strict=True)))
        changed = {name: value for name, value in now.items() if last.get(name) != value}
        if changed:
            yield row[0], METRICS, changed
        last |= now


_SAMPLED = (
    "t_ns", "min_rtt_us", "srtt_us", "rttvar_us", "backoff", "cwnd_pkts", "mss", "inflight_bytes",
    "ssthresh_pkts", "pacing_rate_bps",
)  # fmt: skip


def _metrics_of(sample: dict[str, int]) -> JsonObject:
    """The fields of the event, times in ms; what TCP does not know is left out."""
    metrics: JsonObject = {
        "smoothed_rtt": sample["srtt_us"] / 1e3,
        "rtt_variance": sample["rttvar_us"] / 1e3,
        "pto_count": sample["backoff"],
        "congestion_window": sample["cwnd_pkts"] * sample["mss"],
        "bytes_in_flight": sample["inflight_bytes"],
    }
    if sample["min_rtt_us"] != NO_RTT_US:
        metrics["min_rtt"] = sample["min_rtt_us"] / 1e3
    if sample["ssthresh_pkts"] < NO_SSTHRESH:
        metrics["ssthresh"] = sample["ssthresh_pkts"] * sample["mss"]
    if sample["pacing_rate_bps"] != UNLIMITED:
        metrics["pacing_rate"] = sample["pacing_rate_bps"]
    return metrics


def _states(control: str, samples: Arrays) -> Iterator[Event]:
    if not samples:
        return
    old: str | None = None
    for begin, _end, new in changes(samples["t_ns"], control_states(control, samples)):
        yield begin, STATE, {"new": new} if old is None else {"old": old, "new": new}
        old = new


def _packets(noted: Arrays, *, numbered: bool) -> Iterator[Event]:
    """Drops, marks and ECN; with TCP's sequence numbers where packets have any."""
    if not noted:
        return
    columns = ("dequeue_ns", "kind", "marks", "first", "packet_bytes", "payload_bytes", "tcp_seq",
               "queue_bytes", "seq")  # fmt: skip
    for t_ns, kind, marks, first, size, payload, tcp_seq, queue, seq in zip(
        *(noted[name].tolist() for name in columns), strict=True
    ):
        raw = {"length": size, "payload_length": payload}
        if first:
            yield t_ns, ECN_STATE, {"new": "capable"}
        if kind == KIND_DROPPED:
            details = {"at": "bottleneck", **({"tcp_seq": tcp_seq} if numbered else {}),
                       "queue_bytes": queue, "postcard": seq,
                       "reason": reason_of(marks)}  # fmt: skip
            yield t_ns, DROPPED, {"raw": raw, "trigger": "general", "details": details}
        elif marks & MARK_CE:
            yield t_ns, MARKED, {"count": 1, "raw": [raw], "ecn": ["CE"]}
