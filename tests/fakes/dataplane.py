"""A stand-in for nashbed-dataplane: the same protocol, checked strictly, made-up traffic.

As a guest's library it is never late, and its clock's zero is that of CLOCK_MONOTONIC.
A lane's traffic has "happened" once the sender's file lies beside the lane's telemetry.
FAKE_DATAPLANE picks a fault: lateness, gap, ring_loss, dies, lost_postcard, full_ring
(a lost postcard that is reported), disk_full, held_up (round trips are too long), stalled (a
receiver does not answer), forgotten (a record is lost), other_flags (one packet has another TCP
flag).
"""

import ipaddress
import json
import os
import socket
import sys
import time
from pathlib import Path
from typing import Any

from nashbed.controlplane.contract.records import POSTCARD
from nashbed.controlplane.contract.shared import CONSTANTS
from tests.fakes.disturbances import disturbances, pauses
from tests.fakes.traffic import binned, postcards, registers

FAULT = os.environ.get("FAKE_DATAPLANE", "")
CONFIG_KEYS = {
    "control_socket", "cores", "service_core", "loop", "huge_pages", "memory_mb",
    "lanes", "flow_capacity", "queue_packets", "ports",
}  # fmt: skip
ROLES = {
    "bottleneck": ({"spec"}, {"senders", "receivers"}),
    "hosts": ({"role"}, {"senders", "switch", "telemetry"}),
}
"""Role -> its own keys, its ports."""
HOSTS_RATE_BPS = 10**8
"""In the hosts role the rate is the switch's matter; this is that of the tests' scenario."""


PACKETS_A_LOOK = 1000
"""Packets that each port takes in and gives out between two looks at the counters."""
BUSY_NS_A_LOOK = 4_000_000


class RefusedError(Exception):
    """A request that the real data plane would refuse."""


def need(condition: bool, text: str) -> None:
    if not condition:
        raise RefusedError(text)


def whole(value: Any, low: int, high: int, name: str) -> int:
    need(isinstance(value, int) and not isinstance(value, bool), f"{name} must be whole")
    need(low <= value <= high, f"{name} must be {low} to {high}")
    return int(value)


def exactly(request: dict[str, Any], *keys: str) -> None:
    need(set(request) == {"op", *keys}, f"{request['op']}: keys are {sorted(request)}")


class FakeDataPlane:
    """Lanes, entries and telemetry of the fake."""

    def __init__(self, config: dict[str, Any]) -> None:
        self.looks = 0
        self.role = config.get("role", "bottleneck")
        keys, ports = ROLES[self.role]
        need(set(config) == CONFIG_KEYS | keys, f"config keys are {sorted(config)}")
        need(set(config["ports"]) == ports, "ports")
        self.config = config
        self.is_virtual = config["ports"]["senders"]["driver"] == "virtual"
        self.epoch_ns = 0 if self.is_virtual else time.monotonic_ns()
        self.programs: dict[int, dict[str, Any]] = {}
        self.entries: dict[int, list[dict[str, Any]]] = {}
        self.telemetry: dict[int, dict[str, Any]] = {}
        self.begun: dict[int, int] = {}
        self.unwritten = 0  # how often a stop is asked for before a slow disk has it all
        self.stop = False

    def answer(self, line: bytes) -> dict[str, Any]:
        try:
            request = json.loads(line)
            need(isinstance(request, dict) and "op" in request, "no op")
            handler = getattr(self, f"do_{request['op']}", None)
            need(handler is not None, f"unknown op {request['op']}")
            return {"ok": True, **handler(request)}
        except (RefusedError, ValueError) as error:
            return {"ok": False, "error": str(error)}

    def lane(self, request: dict[str, Any]) -> int:
        return whole(request["lane"], 0, self.config["lanes"] - 1, "lane")

    def range(self, request: dict[str, Any]) -> tuple[int, int]:
        first, count = request["flows"]
        whole(first, 0, self.config["flow_capacity"], "first")
        whole(count, 1, self.config["flow_capacity"] - first, "count")
        return first, count

    def do_hello(self, request: dict[str, Any]) -> dict[str, Any]:
        exactly(request)
        return {
            "version": "fake", "pid": os.getpid(), "epoch_ns": self.epoch_ns,
            "lanes": self.config["lanes"], "flow_capacity": self.config["flow_capacity"],
            "postcard_bytes": POSTCARD.itemsize, "ports": self.ports(), "role": self.role,
            **(
                {"spec_digest": "00" * 32, "pipeline": "interpreted"}
                if self.role == "bottleneck" else {}
            ),
        }  # fmt: skip

    def ports(self) -> dict[str, dict[str, str]]:
        return {
            name: {
                "driver": port["driver"],
                "device": "fake",
                "stamps": "kernel" if port["driver"] == "af_xdp" else "none",
            }
            for name, port in self.config["ports"].items()
        }

    def do_program(self, request: dict[str, Any]) -> dict[str, Any]:
        need(self.role == "bottleneck", "program: this data plane has role hosts")
        counts = request.pop("limit_counts", "system")
        discipline = request.pop("discipline", None)
        schedule = request.pop("schedule", None)
        buckets = {key: request.pop(key) for key in ("policer", "shaper") if key in request}
        queues, points = request.pop("queues", None), request.pop("dscp", None)
        default = request.pop("dscp_default", None)
        need((queues is None) == (points is None) == (default is None), "dscp is of queues")
        exactly(request, "lane", "rate_bps", "limit", "overhead_bytes", "arrive_as")
        limit = request["limit"]
        need(set(limit) == {"unit", "value", "cell_bytes"}, "limit keys")
        need(limit["unit"] in ("bytes", "packets", "cells"), "limit unit")
        whole(limit["value"], 1, CONSTANTS.limit_max, "limit value")
        whole(request["rate_bps"], 1, CONSTANTS.rate_bps_max, "rate_bps")
        whole(request["overhead_bytes"], 0, CONSTANTS.overhead_bytes_max, "overhead_bytes")
        need(request["arrive_as"] in ("frames", "trains"), "arrive_as")
        need(counts in ("system", "queue"), "limit_counts")
        applied = {
            key: request[key] for key in ("rate_bps", "limit", "overhead_bytes", "arrive_as")
        }
        applied["limit_counts"] = counts
        applied |= buckets
        if schedule is not None:
            need(("states" in schedule) != ("opportunities" in schedule), "schedule")
            times = [state["at_ns"] for state in schedule.get("states", ())]
            need(times == sorted(set(times)), "schedule.states: not in order")
            applied["schedule"] = schedule
        if discipline is not None:
            whole(discipline.pop("seed"), 0, 2**63 - 1, "seed")
            applied["discipline"] = discipline
        if queues is not None:
            need(discipline is None and limit["unit"] == "bytes", "several queues")
            applied["queues"] = self.several(queues)
            for point, queue in points:
                whole(point, 0, 63, "dscp")
                whole(queue, 0, len(queues["queues"]) - 1, "dscp queue")
            whole(default, 0, len(queues["queues"]) - 1, "dscp_default")
        self.programs[self.lane(request)] = applied
        return {"applied": applied}

    def several(self, queues: dict[str, Any]) -> dict[str, Any]:
        need(set(queues) == {"scheduler", "memory", "queues", "seed"}, "keys of queues")
        whole(queues["seed"], 0, 2**63 - 1, "seed")
        need(2 <= len(queues["queues"]) <= CONSTANTS.queues_max, "number of queues")
        drr = queues["scheduler"] == "drr"
        for queue in queues["queues"]:
            need(("weight" in queue) == drr, "weights are drr's")
            need(set(queue) - {"weight", "discipline"} == {"limit_bytes"}, "queue keys")
        answered = [{"weight": 1, **queue} for queue in queues["queues"]]
        return queues | {"queues": answered}

    def do_delay(self, request: dict[str, Any]) -> dict[str, Any]:
        exactly(
            request,
            "lane",
            "group",
            "forward_ns",
            "reverse_ns",
            "loss_ppb",
            "seed",
            "jitter_ns",
            "receivers_wait",
        )
        self.lane(request)
        whole(request["group"], 0, 15, "group")
        whole(request["forward_ns"], 0, 60 * 10**9, "forward_ns")
        whole(request["reverse_ns"], 0, 60 * 10**9, "reverse_ns")
        whole(request["loss_ppb"], 0, 10**9, "loss_ppb")
        need(isinstance(request["receivers_wait"], bool), "receivers_wait")
        whole(request["jitter_ns"], 0, 60 * 10**9, "jitter_ns")
        whole(request["seed"], 0, 2**63 - 1, "seed")
        return {}

    def do_flows(self, request: dict[str, Any]) -> dict[str, Any]:
        need(self.role == "bottleneck", "flows: this data plane has role hosts")
        exactly(request, "lane", "entries")
        lane = self.lane(request)
        need(len(request["entries"]) <= CONSTANTS.flow_entries_per_call, "too many entries")
        for entry in request["entries"]:
            keys = {"flow", "src", "dst", "sport", "dport", "proto"}
            queues = self.programs[lane].get("queues") if lane in self.programs else None
            need(set(entry) == (keys if queues is None else keys | {"queue"}), "entry keys")
            if queues is not None and entry["queue"] != CONSTANTS.queue_by_dscp:
                whole(entry["queue"], 0, len(queues["queues"]) - 1, "queue")
            whole(entry["flow"], 0, self.config["flow_capacity"] - 1, "flow")
            need(ipaddress.ip_address(entry["src"]).packed[:3] == bytes((10, 64, lane)), "src")
            need(ipaddress.ip_address(entry["dst"]).packed[:3] == bytes((10, 65, lane)), "dst")
            whole(entry["sport"], 10000, 65535, "sport")
            need(entry["dport"] == 5001 and entry["proto"] == 6, "dport and proto")
        self.entries.setdefault(lane, []).extend(request["entries"])
        return {"added": len(request["entries"])}

    def do_telemetry(self, request: dict[str, Any]) -> dict[str, Any]:
        own = ("start_ns",) if self.role == "hosts" else ()
        exactly(request, "lane", "mode", "bin_ns", "path", "flows", *own)
        if own:  # the postcards' clock is the switch's
            whole(request["start_ns"], 0, 2**62, "start_ns")
            self.epoch_ns = time.monotonic_ns() - request["start_ns"]
        lane = self.lane(request)
        need(request["mode"] in ("all", "bins"), "mode")
        need(lane not in self.telemetry, "already collecting")
        need(Path(request["path"]).is_absolute(), "path must be absolute")
        self.range(request)
        Path(request["path"]).touch()
        self.telemetry[lane] = request
        return {}

    def do_disturbances(self, request: dict[str, Any]) -> dict[str, Any]:
        exactly(request, "lane", "path", "pauses_path")
        lane = self.lane(request)
        need(lane in self.telemetry, "the fake knows the times of a recorded lane only")
        for key in ("path", "pauses_path"):
            need(Path(request[key]).is_absolute(), f"{key} must be absolute")
        begin, end = (0, 0)
        if self.happened(self.telemetry[lane]):
            begin, end = (t + self.epoch_ns for t in self.span(self.telemetry[lane]))
        bins = disturbances((begin, end), self.is_virtual, FAULT)
        paused = pauses((begin, end), self.is_virtual, FAULT)
        bins.tofile(request["path"])
        paused.tofile(request["pauses_path"])
        lost = 1 if FAULT == "forgotten" else 0
        return {"bins": len(bins), "pauses": len(paused), "lost": lost}

    def do_telemetry_stop(self, request: dict[str, Any]) -> dict[str, Any]:
        exactly(request, "lane")
        lane = self.lane(request)
        need(lane in self.telemetry, "not collecting")
        if self.unwritten > 0:
            self.unwritten -= 1
            return {"totals": None}
        recording = self.telemetry.pop(lane)
        if FAULT == "disk_full":
            raise RefusedError("telemetry: the file could not be written: No space left on device")
        if not self.happened(recording):
            return {"totals": {"seen": 0, "written": 0, "gaps": 0, "lost": 0}}
        first, count = recording["flows"]
        rate = HOSTS_RATE_BPS if self.role == "hosts" else self.programs[lane]["rate_bps"]
        raw = postcards(lane, first, count, self.span(recording), rate)
        if FAULT == "lost_postcard":
            raw = raw[[i for i in range(len(raw)) if i != 100]]
        if FAULT == "other_flags":
            raw["tcp_flags"][100] ^= 0x08
        is_binned = recording["mode"] == "bins"
        (binned(raw, recording["bin_ns"]) if is_binned else raw).tofile(recording["path"])
        lost = 1 if FAULT == "full_ring" else 0
        totals = {"seen": len(raw), "written": len(raw) - lost, "gaps": 0, "lost": lost}
        return {"totals": totals}

    def span(self, recording: dict[str, Any]) -> tuple[int, int]:
        """From just before the sender's t0 to its end, on the switch clock."""
        times = json.loads((Path(recording["path"]).parent / "times.bin").read_text())
        t0 = times["t0_ns"] - self.epoch_ns
        return t0 - 10**6, t0 + times["duration_ns"]

    @staticmethod
    def happened(recording: dict[str, Any]) -> bool:
        return (Path(recording["path"]).parent / "flow_samples.bin").exists()

    def do_counters(self, request: dict[str, Any]) -> dict[str, Any]:
        exactly(request, "lane", "flows")
        lane = self.lane(request)
        _, count = self.range(request)
        over = lane in self.telemetry and self.happened(self.telemetry[lane])
        flows = registers(count)
        if not over:
            flows = {name: [0] * count for name in flows}
        usual = {"late": 0, "gap": 0} if self.is_virtual else {"late": 20_000, "gap": 1000}
        late = 10**8 if FAULT == "lateness" else usual["late"]
        made = sum(flows["departed_packets"]) + sum(flows["dropped_packets"])
        queue = {
            "queue": "fake", "queue_bytes": 0, "queue_packets": 0, "peak_bytes": 0,
            "dropped_packets": 0, "histogram_bin_ns": 1048576, "histogram": [1],
        }  # fmt: skip
        has_queue = self.role == "bottleneck"
        return ({"flows": flows} if has_queue else {}) | {
            "lane": (queue if has_queue else {}) | {
                "delay_packets": 0, "random_loss_packets": 0, "postcards": made,
                "lateness": {"count": 1, "mean_ns": 9, "p50_ns": 9, "p99_ns": 9,
                             "p999_ns": late, "max_ns": late,
                             "max_gap_ns": 10**9 if FAULT == "gap" and over else usual["gap"]},
            },
        }  # fmt: skip

    def do_stats(self, request: dict[str, Any]) -> dict[str, Any]:
        exactly(request)
        busy = bool(self.telemetry) and any(self.happened(t) for t in self.telemetry.values())
        self.looks += 1
        packets = PACKETS_A_LOOK * self.looks
        port = {"rx_packets": packets, "tx_packets": packets,
                "rx_bytes": 1514 * packets, "tx_bytes": 1514 * packets,
                "rx_dropped": 0, "tx_dropped": 0, "rx_no_mbuf": 0, "xdp_rx_dropped": 0,
                "xdp_rx_ring_full": 0, "xdp_fill_ring_empty": 0, "xdp_tx_invalid": 0,
                "rx_unstamped": 0, "link_downs": 0}  # fmt: skip
        unshaped = {"unshaped": {"reverse_packets": 5, "malformed_packets": 0}}
        return (unshaped if self.role == "bottleneck" else {}) | {
            "ports": dict.fromkeys(ROLES[self.role][1], port),
            "rings": {"no_memory": 3 if FAULT == "ring_loss" and busy else 0, "discarded": 7},
            "loop": {"iterations": 1, "busy": 1, "busy_ns": BUSY_NS_A_LOOK * self.looks,
                     "max_gap_ns": 2 * 10**9},
        }  # fmt: skip

    def do_begin(self, request: dict[str, Any]) -> dict[str, Any]:
        exactly(request, "lane", "t0_ns")
        lane = self.lane(request)
        need(self.role == "hosts" or lane in self.programs, "begin: the lane is not programmed")
        now_ns = 0 if self.is_virtual else time.monotonic_ns() - self.epoch_ns
        whole(request["t0_ns"], now_ns, 2**63 - 1, "t0_ns")
        self.begun[lane] = request["t0_ns"]
        return {}

    def do_reset(self, request: dict[str, Any]) -> dict[str, Any]:
        exactly(request, "lane", "flows")
        lane = self.lane(request)
        self.range(request)
        if FAULT == "dies" and lane in self.entries:
            sys.stderr.write("fake data plane: dying as asked\n")
            os._exit(3)
        self.entries.pop(lane, None)
        return {}

    def do_shutdown(self, request: dict[str, Any]) -> dict[str, Any]:
        exactly(request)
        self.stop = True
        return {}


def serve(plane: FakeDataPlane) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        server.bind(plane.config["control_socket"])
        server.listen(1)
        print(json.dumps({"event": "ready"}), flush=True)
        connection, _ = server.accept()
        with connection, connection.makefile("rwb") as stream:
            while not plane.stop and (line := stream.readline()):
                stream.write(json.dumps(plane.answer(line)).encode() + b"\n")
                stream.flush()


if __name__ == "__main__":
    assert sys.argv[1] == "--config"
    serve(FakeDataPlane(json.loads(Path(sys.argv[2]).read_text())))
