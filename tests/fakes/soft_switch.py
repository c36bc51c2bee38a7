#!/usr/bin/env python3
"""A switch program for slow links: simple_switch's command line, a drop-tail queue, postcards.

It stands in where the seam to a switch program is tested with real frames and no bmv2 is at
hand. Port 0 comes from the data plane, 1 goes to the receivers, 2 takes postcards. It is
controlled by JSON lines on its --thrift-port. Plain Python without packages.
"""

import json
import selectors
import socket
import struct
import sys
import time
from collections import deque
from typing import Any

NS = 10**9
ETH_P_ALL = 3
SOL_PACKET, PACKET_IGNORE_OUTGOING = 263, 23
REGISTERS = ("arrived", "departed", "dropped")
Key = tuple[bytes, bytes, int, int]


class Flow:
    def __init__(self) -> None:
        self.counts = {f"{n}_{u}": 0 for n in REGISTERS for u in ("packets", "bytes")}
        self.counts |= {"in_queue_bytes": 0, "peak_queue_bytes": 0}
        self.counts |= {"marked_packets": 0, "marked_bytes": 0}

    def count(self, name: str, size: int) -> None:
        self.counts[f"{name}_packets"] += 1
        self.counts[f"{name}_bytes"] += size
        sign = {"arrived": 1}.get(name, -1)
        self.counts["in_queue_bytes"] += sign * size
        peak = max(self.counts["peak_queue_bytes"], self.counts["in_queue_bytes"])
        self.counts["peak_queue_bytes"] = peak


class SoftSwitch:
    """Ports, one queue, one flow table."""

    def __init__(self, interfaces: list[str], port: int) -> None:
        self.epoch_ns = time.monotonic_ns()
        self.selector = selectors.DefaultSelector()
        self.ports = [raw_socket(name) for name in interfaces]
        for number in (0, 1):
            self.selector.register(self.ports[number], selectors.EVENT_READ, number)
        self.server = socket.create_server(("127.0.0.1", port))
        self.selector.register(self.server, selectors.EVENT_READ, "server")
        self.rate_bps, self.limit = 10**6, 10**4
        self.table: dict[Key, int] = {}
        self.reset()

    def reset(self) -> None:
        self.queue: deque[tuple[bytes, int, int, int, int]] = deque()
        self.flows: dict[int, Flow] = {}
        self.queue_bytes = self.free_ns = self.number = self.unknown = 0

    def now(self) -> int:
        return time.monotonic_ns() - self.epoch_ns

    def run(self) -> None:
        while True:
            wait_s = max(0, self.queue[0][4] - self.now()) / NS if self.queue else None
            for key, _ in self.selector.select(wait_s):
                self.serve(key)
            self.depart(self.now())

    def serve(self, key: selectors.SelectorKey) -> None:
        source: Any = key.fileobj
        if key.data == 0:
            self.arrive(source.recv(2048))
        elif key.data == 1:
            self.ports[0].send(source.recv(2048))
        elif key.data == "server":
            connection, _ = source.accept()
            self.selector.register(connection, selectors.EVENT_READ, "control")
        else:
            self.answer(source)

    def arrive(self, frame: bytes) -> None:
        flow = self.table.get(key_of(frame))
        if flow is None:
            self.unknown += 1
            self.ports[1].send(frame)
            return
        now, size = self.now(), len(frame)
        self.depart(now)
        counts = self.flows.setdefault(flow, Flow())
        counts.count("arrived", size)
        if self.queue_bytes + size > self.limit:
            counts.count("dropped", size)
            self.report(frame, flow, self.queue_bytes, now, now, dropped=True)
            return
        self.free_ns = max(now, self.free_ns) + size * 8 * NS // self.rate_bps
        self.queue.append((frame, flow, self.queue_bytes, now, self.free_ns))
        self.queue_bytes += size

    def depart(self, now: int) -> None:
        while self.queue and self.queue[0][4] <= now:
            frame, flow, met, enqueue, dequeue = self.queue.popleft()
            self.queue_bytes -= len(frame)
            self.flows[flow].count("departed", len(frame))
            self.ports[1].send(frame)
            self.report(frame, flow, met, enqueue, dequeue, dropped=False)

    def report(
        self, frame: bytes, flow: int, met: int, enqueue: int, dequeue: int, *, dropped: bool
    ) -> None:
        header = 4 * (frame[14] & 15)
        tcp = frame[14 + header :]
        payload = int.from_bytes(frame[16:18], "big") - header - 4 * (tcp[12] >> 4)
        card = struct.pack(
            ">BBHIIIHIHIIIHBB", 1, dropped, 0, flow, len(frame), met, enqueue >> 32,
            enqueue & 0xFFFFFFFF, dequeue >> 32, dequeue & 0xFFFFFFFF,
            int.from_bytes(tcp[4:8], "big"), self.number, payload, tcp[13], 0,
        )  # fmt: skip
        self.number += 1
        self.ports[2].send(bytes(12) + b"\x88\xb5" + card + bytes(6))

    def answer(self, connection: socket.socket) -> None:
        line = connection.makefile("rb").readline()
        if not line:
            self.selector.unregister(connection)
            connection.close()
            return
        request = json.loads(line)
        answer = getattr(self, f"do_{request['op']}")(request)
        connection.sendall(json.dumps(answer).encode() + b"\n")

    def do_hello(self, request: dict[str, Any]) -> dict[str, Any]:
        return {"epoch_ns": self.epoch_ns}

    def do_program(self, request: dict[str, Any]) -> dict[str, Any]:
        self.rate_bps, self.limit = request["rate_bps"], request["limit"]
        for flow, src, dst, sport, dport in request["flows"]:
            key = (socket.inet_aton(src), socket.inet_aton(dst), sport, dport)
            self.table[key] = flow
        return {}

    def do_read(self, request: dict[str, Any]) -> dict[str, Any]:
        first, count = request["flows"]
        flows = [self.flows.get(first + i, Flow()).counts for i in range(count)]
        return {
            "flows": {name: [flow[name] for flow in flows] for name in Flow().counts},
            "queue_packets": len(self.queue),
            "unknown_packets": self.unknown,
        }

    def do_reset(self, request: dict[str, Any]) -> dict[str, Any]:
        self.table.clear()
        self.reset()
        return {}

    def do_die(self, request: dict[str, Any]) -> dict[str, Any]:
        sys.exit("soft switch: dying as asked")


def key_of(frame: bytes) -> Key:
    """Addresses and ports, where the frame has them."""
    if len(frame) < 54 or frame[12:14] != b"\x08\x00" or frame[23] != 6:
        return (b"", b"", 0, 0)
    start = 14 + 4 * (frame[14] & 15)
    sport, dport = struct.unpack_from(">HH", frame, start)
    return (frame[26:30], frame[30:34], sport, dport)


def raw_socket(interface: str) -> socket.socket:
    made = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    made.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2**22)
    made.bind((interface, 0))
    return made


def main(words: list[str]) -> None:
    """As much of simple_switch's command line as it is started with."""
    if words == ["--help"]:
        print("-i PORT@INTERFACE ... --thrift-port PORT PROGRAM")
        return
    given = [words[i + 1] for i, word in enumerate(words) if word == "-i"]
    interfaces = [each.partition("@")[2] for each in sorted(given)]
    port = int(words[words.index("--thrift-port") + 1])
    SoftSwitch(interfaces, port).run()


if __name__ == "__main__":
    main(sys.argv[1:])
