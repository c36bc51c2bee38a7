"""A session without namespaces: the fakes as processes on this machine, no root needed."""

import os
import socket
import sys
import tempfile
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from nashbed.controlplane.machine.host.counters import StrainCounts
from nashbed.controlplane.machine.host.layout import Side
from nashbed.controlplane.machine.host.session import PathEnds, Session, require_running
from nashbed.controlplane.machine.process.clock import SYSTEM_CLOCK, Clock
from nashbed.controlplane.machine.process.command import Completed
from nashbed.controlplane.machine.process.managed import Process

ROOT = Path(__file__).resolve().parents[2]


class FakeSession(Session):
    """Starts the fakes; remembers what was called, in order."""

    def __init__(self, ports: tuple[str, ...] = ("senders", "receivers")) -> None:
        self._ports = ports
        self.calls: list[str] = []
        self._folder = tempfile.TemporaryDirectory(prefix="nashbed-fake-")
        self.processes: list[Process] = []
        os.environ["PYTHONPATH"] = str(ROOT)

    @property
    def scratch(self) -> Path:
        return Path(self._folder.name)

    @property
    def sysctls(self) -> dict[str, str]:
        return {"net.ipv4.tcp_ecn": "0"}

    @property
    def clock(self) -> Clock:
        return SYSTEM_CLOCK

    def open(self) -> None:
        self.calls.append("open")

    def ports(self) -> dict[str, dict[str, Any]]:
        return {name: {"driver": "af_xdp", "iface": f"nb{name[0]}1"} for name in self._ports}

    def start_dataplane(self, config: Path) -> Process:
        return self._start("dataplane", "dataplane.py", config)

    def start_switch(self, artefact: Path, options: Sequence[str] = ()) -> Process:
        raise AssertionError("no fake runs a switch program")

    def connect_switch(self, timeout_s: float) -> socket.socket:
        raise AssertionError("no fake runs a switch program")

    def connect_hosts(self) -> None:
        self.calls.append("connect_hosts")

    def start_flows(self, side: Side, config: Path, lane: int) -> Process:
        return self._start(f"{side} of lane {lane}", "flows.py", config)

    def start_capture(self, lane: int, path: Path, side: Side = "snd") -> Process:
        self.calls.append(f"start capture of lane {lane} ({side})")
        script = "import sys, time; open(sys.argv[1], 'wb').write(bytes(24)); time.sleep(60)"
        process = Process(f"capture of lane {lane}", [sys.executable, "-c", script, str(path)])
        self.processes.append(process)
        return process

    def start_probe(self, side: Side, config: Path) -> Process:
        raise AssertionError("the probe's stand-in is in tests/fakes/path.py")

    def start_program(self, name: str, side: Side, args: Sequence[str], output: Path) -> Process:
        raise AssertionError("no fake runs programs of others")

    def read_host(self, side: Side, path: str) -> str:
        raise AssertionError("only programs of others are looked for")

    def only_port(self, side: Side, port: int) -> AbstractContextManager[None]:
        raise AssertionError("only programs of others have their ports chosen")

    def run_beside_senders(
        self, args: Sequence[str], text: str | None, timeout_s: float
    ) -> Completed:
        raise AssertionError("no run needs a load generator")

    @property
    def path_ends(self) -> PathEnds:
        return PathEnds("nbs0", "02:6e:62:00:00:01", "02:6e:62:00:00:02")

    def require_targets(self) -> None:
        require_running(self.processes)

    def host_losses(self) -> dict[str, int]:
        return {"softnet_dropped": 0, "nbs0_tx_dropped": 0}

    def host_strain(self) -> StrainCounts:
        return StrainCounts({"snd PruneCalled": 0})

    def close(self) -> None:
        self.calls.append("close")
        for process in self.processes:
            process.stop()
        self._folder.cleanup()

    def _start(self, name: str, script: str, config: Path) -> Process:
        self.calls.append(f"start {name}")
        args = [sys.executable, str(ROOT / "tests" / "fakes" / script), "--config", str(config)]
        process = Process(name, args)
        self.processes.append(process)
        return process
