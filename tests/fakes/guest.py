"""A stand-in for a guest: the kernel's command line, the control socket, made-up processes.

Started in the place of the kernel. What its processes say, and at which virtual times, is in the
file that they are started with, a list of steps (see `FakeProcess`). FAKE_GUEST picks a fault:

- config: ends before `ready`, as with a wrong configuration
- mute: never says that it is ready
- panic: the kernel panics at PANIC_NS
- silent: virtual time stands still for ever at PANIC_NS
- slow: an answer takes SLOW_S of the clock on the wall, and virtual time moves meanwhile
- back, early, unknown, odd: wrong answers to `run`
- deaf: no process obeys SIGTERM
- pfifo: each interface has another queue than the one that was set
"""

import ctypes
import json
import os
import re
import resource
import select
import signal
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

FAULT = os.environ.get("FAKE_GUEST", "")
NS = 10**9
BOOT_NS = 20_000_001
"""When the guest's first process waits for its first request."""
PANIC_NS = 5 * NS
SLOW_S = 1.5
GUEST_OPS = {
    "insert": {"path", "arguments"},
    "host": {"side", "addresses", "routes", "sysctls"},
    "start": {"name", "side", "args", "log"},
    "send": {"process", "line"},
    "run": {"until_ns"},
    "signal": {"process", "signal"},
    "read": {"side", "path"},
    "qdisc": {"side"},
}
OPTIONAL = {"host": {"qdisc"}}
NET_DEV = """Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo
    lo:       0       0    0    0    0     0          0         0        0       0    0    0    0
   {interface}: 512    331    1    2    3     0          0         0     501     331    4    5    6
"""
SOFTNET = "0000a3f1 0000000{dropped} 00000000 00000000\n"
NETSTAT = {
    "snd": "TcpExt: TW PruneCalled TCPBacklogDrop\nTcpExt: 99 11 12\nIpExt: InOctets\nIpExt: 98\n",
    "rcv": "TcpExt: TW PruneCalled TCPBacklogDrop\nTcpExt: 97 21 22\nIpExt: InOctets\nIpExt: 96\n",
}
SNMP = "Ip: Forwarding InDiscards\nIp: 2 31\nTcp: MaxConn InErrs\nTcp: -1 32\n"


class RefusedError(Exception):
    """A request that a real guest would refuse."""


def need(condition: bool, text: str) -> None:
    if not condition:
        raise RefusedError(text)


def texts(value: Any, name: str) -> list[str]:
    need(isinstance(value, list) and all(isinstance(v, str) for v in value), name)
    return list(value)


class FakeProcess:
    """A process that goes by its steps, one after the other.

    A step is {"after_ns": n, "line": text}, {"after_ns": n, "exit": code} or {"await": text}:
    it waits until a line with this text is sent to it. Without an `exit` it runs for ever.
    """

    def __init__(self, number: int, request: dict[str, Any], now_ns: int) -> None:
        self.number = number
        need(request["side"] in ("snd", "rcv"), "side")
        need(isinstance(request["name"], str) and request["name"] != "", "name")
        args = texts(request["args"], "args")
        need(Path(args[0]).is_absolute(), f"{args[0]} must be absolute")
        need(args[1] == "--config", "args")
        self.steps = list(json.loads(Path(args[2]).read_text()))
        self.log = Path(request["log"])
        self.since_ns = now_ns
        self.code: int | None = None

    def due_ns(self) -> int | None:
        if self.code is not None or not self.steps or "await" in self.steps[0]:
            return None
        return self.since_ns + int(self.steps[0]["after_ns"])

    def take_step(self, now_ns: int) -> dict[str, Any]:
        step = self.steps.pop(0)
        self.since_ns = now_ns
        if "exit" in step:
            return self.end(step["exit"])
        return {"process": self.number, "line": step["line"]}

    def end(self, code: int) -> dict[str, Any]:
        self.code = code
        self.log.write_text(f"it is said to have ended\nwith {code}\n")
        return {"process": self.number, "exit": code}

    def hear(self, line: str, now_ns: int) -> None:
        need(self.code is None, "its input: Broken pipe")
        need(bool(self.steps) and self.steps[0].get("await", "") in line, f"unexpected {line}")
        self.steps.pop(0)
        self.since_ns = now_ns


class FakeGuest:
    """Process 1, and the time of all."""

    def __init__(self, config: dict[str, Any]) -> None:
        self.config = config
        self.now_ns = BOOT_NS
        self.processes: list[FakeProcess] = []
        self.hosts: dict[str, dict[str, Any]] = {}
        self.modules: list[str] = []
        self.pending: list[dict[str, Any]] = []
        self.stop = False
        self.note_progress()

    def note_progress(self) -> None:
        Path(self.config["progress"]).write_bytes(self.now_ns.to_bytes(8, "little"))

    def answer(self, line: bytes) -> dict[str, Any]:
        try:
            request = json.loads(line)
            op = request.pop("op")
            handler: Callable[[dict[str, Any]], dict[str, Any]] = getattr(self, f"do_{op}")
            keys = set(request) - OPTIONAL.get(op, set())
            need(keys == GUEST_OPS.get(op, set()), f"{op}: keys are {sorted(request)}")
            return {"ok": True, **handler(request)}
        except (RefusedError, ValueError, AttributeError, LookupError) as error:
            return {"ok": False, "error": str(error)}

    def do_hello(self, request: dict[str, Any]) -> dict[str, Any]:
        return {
            "pid": os.getpid(),
            "epoch_ns": 0,
            "hosts": self.hosts,
            "modules": self.modules,
        }

    def do_shutdown(self, request: dict[str, Any]) -> dict[str, Any]:
        self.stop = True
        return {}

    def do_insert(self, request: dict[str, Any]) -> dict[str, Any]:
        path = Path(request["path"])
        need(not self.hosts, "insert: there are hosts already")
        need(path.is_absolute() and path.suffix == ".ko", f"{path}: not a module")
        need(path.is_file(), f"{path}: No such file or directory")
        need(str(path) not in self.modules, f"{path}: the kernel has a module of this name")
        self.modules.append(f"{path} {request['arguments']}".strip())
        return {}

    def do_host(self, request: dict[str, Any]) -> dict[str, Any]:
        side = request["side"]
        need(side in ("snd", "rcv") and side not in self.hosts, "side")
        routes = request["routes"]
        for prefix in (*texts(request["addresses"], "addresses"), *routes, *routes.values()):
            need(re.fullmatch(r"10\.6[45]\.\d+\.\d+/\d+", prefix) is not None, prefix)
        sysctls = request["sysctls"]
        texts(list(sysctls.values()), "sysctls")
        need(side == "snd" or "net.ipv4.tcp_mem" not in sysctls, "tcp_mem: not in this namespace")
        self.hosts[side] = request
        return {}

    def do_qdisc(self, request: dict[str, Any]) -> dict[str, Any]:
        kind = "pfifo" if FAULT == "pfifo" else self.hosts[request["side"]]["qdisc"]
        return {"kind": kind, "dropped": {"snd": 3, "rcv": 4}[request["side"]], "throttled": 0}

    def do_start(self, request: dict[str, Any]) -> dict[str, Any]:
        self.processes.append(FakeProcess(len(self.processes), request, self.now_ns))
        return {"process": len(self.processes) - 1}

    def do_send(self, request: dict[str, Any]) -> dict[str, Any]:
        need("\n" not in request["line"], "line")
        self.processes[request["process"]].hear(request["line"], self.now_ns)
        return {}

    def do_signal(self, request: dict[str, Any]) -> dict[str, Any]:
        process, number = self.processes[request["process"]], request["signal"]
        need(number in (signal.SIGTERM, signal.SIGKILL), "signal")
        obeys = number == signal.SIGKILL or FAULT != "deaf"
        if process.code is None and obeys:
            self.pending.append(process.end(128 + number))
        return {}

    def do_read(self, request: dict[str, Any]) -> dict[str, Any]:
        interface = {"snd": "nb0", "rcv": "nb1"}[request["side"]]
        files = {
            "/proc/net/dev": NET_DEV.format(interface=interface),
            "/proc/net/softnet_stat": SOFTNET.format(dropped=7),
            "/proc/net/netstat": NETSTAT[request["side"]],
            "/proc/net/snmp": SNMP,
        }
        return {"text": files[request["path"]]}

    def do_run(self, request: dict[str, Any]) -> dict[str, Any]:
        until_ns = request["until_ns"]
        need(isinstance(until_ns, int) and until_ns >= 0, "until_ns")
        if FAULT == "slow" and until_ns:
            self.dawdle()
        events = self.pending or self.happenings(until_ns)
        self.pending = []
        self.note_progress()
        return self.faulty(until_ns, events)

    def happenings(self, until_ns: int) -> list[dict[str, Any]]:
        """What comes first: events at one time, the end of the wait, or a fault."""
        times = [t for p in self.processes if (t := p.due_ns()) is not None]
        next_ns = min([until_ns, *times])
        if FAULT in ("panic", "silent") and max(next_ns, self.now_ns) >= PANIC_NS:
            self.now_ns = PANIC_NS
            self.note_progress()
            self.crash()
        self.now_ns = max(self.now_ns, next_ns)
        return [
            p.take_step(self.now_ns)
            for p in self.processes
            if (t := p.due_ns()) is not None and t <= self.now_ns
        ]

    def faulty(self, until_ns: int, events: list[dict[str, Any]]) -> dict[str, Any]:
        right = {"now_ns": self.now_ns, "events": events}
        if until_ns == 0:
            return right
        return {
            "back": right | {"now_ns": BOOT_NS - 1},
            "early": right | {"now_ns": until_ns - 1, "events": []},
            "unknown": right | {"events": [{"process": 99, "line": "{}"}]},
            "odd": right | {"events": [{"process": 0}]},
        }.get(FAULT, right)

    def dawdle(self) -> None:
        for _ in range(10):
            self.now_ns += 1
            self.note_progress()
            time.sleep(SLOW_S / 10)

    @staticmethod
    def crash() -> None:
        if FAULT == "silent":
            time.sleep(3600)
        words = [
            "Kernel panic - not syncing: Attempted to kill init! exitcode=0x00000009",
            "CPU: 0",
        ]
        sys.stderr.write("".join(f"[    5.000000] {word}\n" for word in [*words, *["RIP"] * 30]))
        sys.stderr.flush()
        os.abort()


def serve(guest: FakeGuest) -> None:
    """Every connection is served, until the last has gone."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        server.bind(guest.config["control_socket"])
        server.listen(8)
        print(json.dumps({"event": "ready", "pid": os.getpid(), "epoch_ns": 0}), flush=True)
        clients: list[socket.socket] = []
        while not guest.stop:
            for ready in select.select([server, *clients], [], [])[0]:
                if ready is server:
                    clients.append(server.accept()[0])
                elif not serve_client(guest, ready):
                    clients.remove(ready)
            if not clients:
                return


def serve_client(guest: FakeGuest, client: socket.socket) -> bool:
    """Answer one request; False: the connection is closed."""
    line = b""
    while not line.endswith(b"\n"):
        part = client.recv(1 << 20)
        if not part:
            return False
        line += part
    client.sendall(json.dumps(guest.answer(line)).encode() + b"\n")
    return True


def checked_config(arguments: list[str]) -> dict[str, Any]:
    """The data plane's configuration, once everything about the start is right."""
    flags = {a for a in arguments if "=" not in a}
    values = dict(a.split("=", 1) for a in arguments if "=" in a)
    assert flags == {"rw", "quiet"}, flags
    assert re.fullmatch(r"[1-9][0-9]*M", values.pop("mem"))
    library, _, config_path = values.pop("nashbed").partition(":")
    init = values.pop("init")
    assert Path(library).name == "nashbed-virtual.so"
    assert Path(init).name == "nashbed-guest"
    assert Path(init).is_absolute()
    scratch = values.pop("uml_dir")
    assert values.pop("NASHBED_PINNED", None) == os.environ.get("NASHBED_PINNED")
    assert values == {
        "time-travel": "inf-cpu", "time-travel-start": str(10**18), "root": "/dev/root",
        "rootfstype": "hostfs", "rootflags": "/", "con": "null", "con0": "null,fd:2",
    }, values  # fmt: skip
    assert int(os.environ["NASHBED_SEED"]) >= 0
    assert os.environ["TMPDIR"] == "/dev/shm"
    assert os.environ["HOME"] == scratch
    config = json.loads(Path(config_path).read_text())
    assert Path(config["progress"]).parent == Path(scratch)
    assert config["ports"] == {
        "senders": {"driver": "virtual", "iface": "nb0"},
        "receivers": {"driver": "virtual", "iface": "nb1"},
    }
    return dict(config)


def check_process() -> None:
    """A session of its own, no core file, an end with its parent."""
    assert os.getsid(0) == os.getpid()
    assert resource.getrlimit(resource.RLIMIT_CORE)[0] == 0
    death_signal = ctypes.c_int()
    ctypes.CDLL(None).prctl(2, ctypes.byref(death_signal))
    assert death_signal.value == signal.SIGKILL


def main() -> None:
    config = checked_config(sys.argv[1:])
    check_process()
    if FAULT == "config":
        sys.stderr.write("[ 0.00] booting\nnashbed-virtual: spec: /nowhere: cannot be read\n")
        sys.exit(2)
    if FAULT == "mute":
        time.sleep(3600)
    serve(FakeGuest(config))
