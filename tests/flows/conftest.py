"""Fixtures that run nashbed-flows: its binary, a configuration, a pair of joined namespaces."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np
import pytest
from nashbed.controlplane.contract.records import FLOW_SAMPLE, GOODPUT

REPOSITORY = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("NASHBED_BUILD", REPOSITORY / "build"))
MS = 1_000_000
SENDER_ADDRESS = "10.64.0.1"
SINK_ADDRESS = "10.65.0.1"
ENDS = {"sender": SENDER_ADDRESS, "sink": SINK_ADDRESS}
ANSWER_TIMEOUT_S = 20.0

Config = dict[str, Any]


def built(relative: str) -> Path:
    path = BUILD / "hosts" / "flows" / relative
    if not path.exists():
        pytest.skip(f"{path} is not built")
    return path


@pytest.fixture(scope="session")
def flows_binary() -> Path:
    return built("nashbed-flows")


@pytest.fixture(scope="session")
def golden_binary() -> Path:
    return built("test/nashbed-flows-golden")


def flow(number: int, cc: str = "cubic", start_ns: int = 0) -> Config:
    return {
        "flow": number,
        "group": 0,
        "cc": cc,
        "src": SENDER_ADDRESS,
        "sport": 10000 + number,
        "dst": SINK_ADDRESS,
        "dport": 5001,
        "start_ns": start_ns,
        "process": 0,
        "ecn": False,
        "dscp": 0,
        "bytes": 0,
        "kept": False,
    }


def control(process: int) -> Config:
    """The control connection of an iperf3 process."""
    return {"src": SENDER_ADDRESS, "sport": 9000 + process, "dst": SINK_ADDRESS, "dport": 5201}


@pytest.fixture
def config(tmp_path: Path) -> Config:
    """One cubic flow for 600 ms; tests change what they are about."""
    return {
        "role": "sender",
        "duration_ns": 600 * MS,
        "span_ns": 600 * MS,
        "sample_ns": 50 * MS,
        "interval_ns": 100 * MS,
        "drain_ns": 500 * MS,
        "progress_ns": 0,
        "read_bytes": 16384,
        "read_interval_ns": 0,
        "connect_timeout_ns": 5000 * MS,
        "out": str(tmp_path),
        "controls": [],
        "control_states": [],
        "applications": [],
        "flows": [flow(0)],
    }


@dataclass
class Process:
    """A running nashbed-flows, stopped by its handle; its stdin stays open until close_stdin."""

    popen: subprocess.Popen[str]
    stdin: IO[str]
    watchdog: threading.Timer

    def event(self) -> dict[str, Any]:
        """The next line on stdout; the watchdog bounds the wait."""
        assert self.popen.stdout is not None
        line = self.popen.stdout.readline()
        assert line, f"no answer; stderr: {self.finish()[1]}"
        return json.loads(line)

    def say(self, line: str) -> None:
        self.stdin.write(line + "\n")
        self.stdin.flush()

    def close_stdin(self) -> None:
        with contextlib.suppress(BrokenPipeError):
            self.stdin.close()

    def finish(self) -> tuple[list[dict[str, Any]], str, int]:
        """Wait for the end. Returns the remaining events, stderr and the exit status."""
        assert self.popen.stderr is not None
        out = self.popen.stdout.read() if self.popen.stdout is not None else ""
        err = self.popen.stderr.read()
        status = self.popen.wait()
        return [json.loads(line) for line in out.splitlines()], err, status


@dataclass
class Outcome:
    """What a complete trial left behind."""

    t0_ns: int
    ready: dict[str, Any]
    sender: dict[str, Any]
    sink: dict[str, Any]
    samples: np.ndarray
    goodput: np.ndarray

    def sender_flow(self, number: int) -> dict[str, Any]:
        return next(entry for entry in self.sender["flows"] if entry["flow"] == number)

    def sink_flow(self, number: int) -> dict[str, Any]:
        return next(entry for entry in self.sink["flows"] if entry["flow"] == number)

    def samples_of(self, number: int) -> np.ndarray:
        return self.samples[self.samples["flow"] == number]

    def goodput_of(self, number: int) -> np.ndarray:
        return self.goodput[self.goodput["flow"] == number]


@dataclass
class Network:
    """Sender and sink in a namespace each, and a router between them that can be a bottleneck.

    The queue is not on the sender's own interface: the kernel tells a sender at once of a packet
    that its own interface drops, and no network does.
    """

    binary: Path
    directory: Path
    name: str
    processes: list[Process] = field(default_factory=list)

    def namespace(self, role: str) -> str:
        return f"{self.name}-{role}"

    def ip(self, role: str, *arguments: str) -> None:
        command("ip", "-n", self.namespace(role), *arguments)

    def build(self) -> None:
        for role in [*ENDS, "router"]:
            command("ip", "netns", "add", self.namespace(role))
        for role, address in ENDS.items():
            self.join(role, address, gateway=address.rsplit(".", 2)[0] + ".255.254")
        router = ["ip", "netns", "exec", self.namespace("router")]
        command(*router, "sysctl", "-qw", "net.ipv4.ip_forward=1")

    def join(self, role: str, address: str, gateway: str) -> None:
        """Link an end with the router; the router's interface has the end's name."""
        peer = ["peer", "name", "nbt0", "netns", self.namespace(role)]
        self.ip("router", "link", "add", f"to-{role}", "type", "veth", *peer)
        self.ip(role, "address", "add", f"{address}/16", "dev", "nbt0")
        self.ip(role, "link", "set", "nbt0", "up")
        self.ip("router", "address", "add", f"{gateway}/16", "dev", f"to-{role}")
        self.ip("router", "link", "set", f"to-{role}", "up")
        self.ip(role, "route", "add", "default", "via", gateway)

    def remove(self) -> None:
        for process in self.processes:
            if process.popen.poll() is None:
                process.popen.kill()
            process.popen.wait()
            process.watchdog.cancel()
            process.close_stdin()
        for role in [*ENDS, "router"]:
            subprocess.run(["ip", "netns", "del", self.namespace(role)], check=False)

    def shape(self, rate_mbit: int, limit_bytes: int) -> None:
        command(
            *["tc", "-n", self.namespace("router"), "qdisc", "add", "dev", "to-sink", "root"],
            *["tbf", "rate", f"{rate_mbit}mbit", "burst", "16000", "limit", str(limit_bytes)],
        )

    def start(self, role: str, config: Config) -> Process:
        path = self.directory / f"{role}.json"
        span_ns = max(config["duration_ns"], config["span_ns"])
        path.write_text(json.dumps({**config, "role": role, "span_ns": span_ns}))
        within = ["ip", "netns", "exec", self.namespace(role)]
        popen = subprocess.Popen(
            [*within, str(self.binary), "--config", str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert popen.stdin is not None
        process = Process(popen, popen.stdin, threading.Timer(ANSWER_TIMEOUT_S, popen.kill))
        process.watchdog.start()
        self.processes.append(process)
        return process

    def start_both(self, config: Config) -> tuple[Process, Process, dict[str, Any]]:
        """Start sink and sender. Returns both and the sender's "ready"."""
        sink = self.start("sink", config)
        assert sink.event()["event"] == "listening"
        sender = self.start("sender", config)
        return sink, sender, sender.event()

    def trial(
        self, config: Config, during: Callable[[int, Process, Process], None] | None = None
    ) -> Outcome:
        """Run a whole trial; `during` is called with t0 and both processes once it is under way."""
        sink, sender, ready = self.start_both(config)
        t0_ns = announce(sink, sender)
        if during is not None:
            during(t0_ns, sink, sender)
        [sender_done], sender_stderr, sender_status = sender.finish()
        [sink_done], sink_stderr, sink_status = sink.finish()
        assert (sender_stderr, sink_stderr) == ("", "")
        assert (sender_status, sink_status) == (0, 0)
        return Outcome(
            t0_ns, ready, sender_done, sink_done, *read_records(Path(str(config["out"])))
        )


def command(*arguments: str) -> None:
    subprocess.run(arguments, check=True, capture_output=True, text=True)


def announce(*processes: Process) -> int:
    """Tell all processes the same t0, a little ahead."""
    t0_ns = time.monotonic_ns() + 100 * MS
    for process in processes:
        process.say(json.dumps({"t0_ns": t0_ns}))
    return t0_ns


def sleep_until(t_ns: int) -> None:
    time.sleep(max(0, t_ns - time.monotonic_ns()) / 1e9)


def read_records(directory: Path) -> tuple[np.ndarray, np.ndarray]:
    return (
        np.fromfile(directory / "flow_samples.bin", FLOW_SAMPLE),
        np.fromfile(directory / "goodput.bin", GOODPUT),
    )


@pytest.fixture
def network(flows_binary: Path, tmp_path: Path) -> Iterator[Network]:
    if os.geteuid() != 0:
        pytest.skip("needs root: network namespaces")
    network = Network(flows_binary, tmp_path, f"nbt{secrets.token_hex(3)}")
    try:
        network.build()
        yield network
    finally:
        network.remove()


@pytest.fixture
def helpers() -> type[Helpers]:
    return Helpers


class Helpers:
    """Functions of this file for the test modules, which cannot import it by name."""

    flow = staticmethod(flow)
    control = staticmethod(control)
    announce = staticmethod(announce)
    sleep_until = staticmethod(sleep_until)
    read_records = staticmethod(read_records)
