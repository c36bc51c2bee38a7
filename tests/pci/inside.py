"""What runs in the machine of `machine.py`: one function after the other, as it is asked for.

Standard library only: every file that is imported comes over 9p.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import traceback
from pathlib import Path
from typing import Any, TextIO

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "hosts" / "dpdk"
PCI = Path("/sys/bus/pci")
RUN = Path("/run/pci")
LINK_S = 60
END_S = 60
ARRIVAL_S = 60
"""After a frame, until the next one is given up: this machine may be starved."""

_dataplane: subprocess.Popen[str] | None = None
_control: TextIO | None = None
_run: subprocess.Popen[str] | None = None


def shell(command: str) -> str:
    """Output of a command that must succeed."""
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{command}: {done.stderr}{done.stdout}")
    return done.stdout


def driver(address: str) -> str:
    """Name of the driver that has a NIC; empty: none."""
    link = PCI / "devices" / address / "driver"
    return link.resolve().name if link.exists() else ""


def bind(addresses: list[str], name: str) -> list[str]:
    """Give NICs to a driver (empty: the kernel's own); the drivers that have them now."""
    for address in addresses:
        device = PCI / "devices" / address
        if driver(address):
            (device / "driver" / "unbind").write_text(address)
        (device / "driver_override").write_text(f"{name}\n")
        (PCI / "drivers_probe").write_text(address)
    return drivers(addresses)


def drivers(addresses: list[str]) -> list[str]:
    return [driver(address) for address in addresses]


def interface(address: str) -> str:
    """Interface of a NIC that the kernel has; virtio's is a device further down."""
    device = PCI / "devices" / address
    [found] = [*device.glob("net/*"), *device.glob("virtio*/net/*")]
    return found.name


def prepare_ends(addresses: list[str]) -> None:
    """Make the kernel's ends of the cables what a run makes them."""
    for address in addresses:
        name = interface(address)
        shell(f"sysctl -qw net.ipv6.conf.{name}.disable_ipv6=1")
        # A NIC without flow control has nothing to switch off.
        shell(f"ip link set {name} mtu 1564; ethtool -A {name} autoneg off rx off tx off || true")
        # The frames of these tests are for nobody.
        shell(f"ip link set {name} promisc on up")


def start_dataplane(ports: dict[str, str]) -> str:
    """Start it; empty once it is ready, else what it said.

    Args:
        ports: Port -> PCI address.
    """
    global _dataplane, _control  # noqa: PLW0603 - there is one
    RUN.mkdir(exist_ok=True)
    (RUN / "control.sock").unlink(missing_ok=True)
    # It was compiled for this machine's processor, not for the emulated one.
    (BUILD / "pipeline" / "native" / "bottleneck.so").unlink(missing_ok=True)
    config = {
        "spec": str(ROOT / "p4src" / "dpdk" / "bottleneck.spec"),
        "control_socket": str(RUN / "control.sock"),
        "cores": [1],
        "service_core": 0,
        "loop": "poll",
        "huge_pages": True,
        "memory_mb": 640,
        "lanes": 1,
        "queue_packets": 1024,
        "ports": {name: {"driver": "pci", "address": each} for name, each in ports.items()},
    }
    (RUN / "dataplane.json").write_text(json.dumps(config))
    with (RUN / "dataplane.err").open("w") as log:
        _dataplane = subprocess.Popen(
            [BUILD / "nashbed-dataplane", "--config", RUN / "dataplane.json"],
            stdout=subprocess.PIPE, stderr=log, text=True,
        )  # fmt: skip
    assert _dataplane.stdout is not None
    if not _dataplane.stdout.readline():
        status = _dataplane.wait()
        return f"{status}: {(RUN / 'dataplane.err').read_text()}"
    control = socket.socket(socket.AF_UNIX)
    control.connect(str(RUN / "control.sock"))
    _control = control.makefile("rw")
    return ""


def ask(**request: Any) -> Any:
    assert _control is not None
    _control.write(json.dumps(request) + "\n")
    _control.flush()
    return json.loads(_control.readline())


def stop_dataplane() -> int:
    """End it in good order; its exit status."""
    ask(op="shutdown")
    assert _dataplane is not None
    return _dataplane.wait(timeout=END_S)


def exchange(here: str, there: str, frames: list[str]) -> list[str]:
    """Send frames at one end of the path; those that arrive at the other, in their order.

    Args:
        here: PCI address of the NIC that sends.
        there: Of the one that receives.
        frames: Frames of one Ethernet type, in hexadecimal.
    """
    kind = int(frames[0][24:28], 16)
    arrived: list[str] = []
    with _packets(there, kind) as receiver, _packets(here, 0) as sender:
        receiver.settimeout(ARRIVAL_S)
        for frame in frames:
            sender.send(bytes.fromhex(frame))
        try:
            while len(arrived) < len(frames):
                arrived.append(receiver.recv(4096).hex())
        except TimeoutError:
            pass
    return arrived


def _packets(address: str, kind: int) -> socket.socket:
    packets = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(kind))
    packets.bind((interface(address), kind))
    return packets


def receive_errors(address: str) -> int:
    """Frames that a NIC of the kernel's received and threw away."""
    return int(Path(f"/sys/class/net/{interface(address)}/statistics/rx_errors").read_text())


def await_link(address: str) -> None:
    """Wait until a NIC of the kernel's has a link."""
    carrier = Path(f"/sys/class/net/{interface(address)}/carrier")
    deadline = time.monotonic() + LINK_S
    while carrier.read_text().strip() != "1":
        if time.monotonic() > deadline:
            raise TimeoutError(f"{address}: no link")
        time.sleep(0.1)


def settings(address: str) -> dict[str, Any]:
    """What a run changes of a NIC and must give back; also the huge pages and namespaces."""
    name = interface(address)
    [link] = json.loads(shell(f"ip -j addr show dev {name}"))
    return {
        "up": "UP" in link["flags"],
        "mtu": link["mtu"],
        "addresses": [each["local"] for each in link["addr_info"] if each["family"] == "inet"],
        "pauses": shell(f"ethtool -a {name}"),
        "offloads": shell(f"ethtool -k {name}"),
        "huge pages": shell("grep HugePages_Free /proc/meminfo"),
        "namespaces": shell("ip netns list"),
        "state files": sorted(str(path) for path in Path("/run/nashbed").glob("*.json")),
    }


def reset_end(address: str) -> None:
    """Make a NIC of the kernel's as it comes up by itself, but for an MTU and an address."""
    name = interface(address)
    shell(f"ip link set {name} down promisc off mtu 1400 && ip addr flush dev {name}")
    shell(f"ethtool -A {name} autoneg on rx on tx on && ethtool -K {name} tso on gro on")
    shell(f"ip link set {name} up && ip addr add 192.0.2.{address[-4:-2]}/24 dev {name}")
    await_link(address)


def sleep(seconds: float) -> None:
    """Wait, on this machine's clock."""
    time.sleep(seconds)


def start_run(scenario: str, testbed: str) -> None:
    """Start a whole run in the background."""
    global _run  # noqa: PLW0603 - there is one
    RUN.mkdir(exist_ok=True)
    shutil.rmtree(RUN / "results", ignore_errors=True)
    (BUILD / "pipeline" / "native" / "bottleneck.so").unlink(missing_ok=True)
    (RUN / "scenario.yaml").write_text(scenario)
    (RUN / "testbed.yaml").write_text(testbed)
    with (RUN / "run.log").open("w") as log:
        _run = subprocess.Popen(
            [
                *(ROOT / ".venv" / "bin" / "nashbed", "run", RUN / "scenario.yaml", "--testbed"),
                *(RUN / "testbed.yaml", "--out", RUN / "results"),
            ],
            stdout=log, stderr=subprocess.STDOUT, text=True, start_new_session=True,
            env=os.environ | {"GIT_DIR": os.devnull},
        )  # fmt: skip


def run_state() -> dict[str, Any]:
    """How far the run is: its status once it has ended, complete trials, whether flows start."""
    assert _run is not None
    configured = (RUN / "results").glob("*/trials/.*/**/sender.json")
    return {
        "status": _run.poll(),
        "log": (RUN / "run.log").read_text()[-4000:],
        "trials": len(list((RUN / "results").glob("*/trials/*/trial.json"))),
        "starts": any(configured),
    }


def recorded() -> dict[str, Any]:
    """The records of the run's trials, in their order, and its manifest."""
    trials = (RUN / "results").glob("*/trials/*/trial.json")
    manifests = (RUN / "results").glob("*/manifest.json")
    return {
        "trials": [json.loads(path.read_text()) for path in sorted(trials)],
        "manifests": [json.loads(path.read_text()) for path in manifests],
    }


def signal_run(number: int) -> None:
    assert _run is not None
    os.kill(_run.pid, number)


def kill(program: str) -> None:
    """Kill a program so that it can do nothing about it."""
    os.kill(int(shell(f"pidof {program}")), signal.SIGKILL)


def serve() -> None:
    [port] = Path("/dev").glob("vport*")
    channel = os.open(port, os.O_RDWR)
    tell(channel, {"result": "ready"})
    pending = b""
    while True:
        data = os.read(channel, 65536)
        if not data:
            time.sleep(0.02)  # nobody is at the other end yet
        *lines, pending = (pending + data).split(b"\n")
        for line in lines:
            tell(channel, answer(json.loads(line)))


def tell(channel: int, message: dict[str, Any]) -> None:
    """Write a line; the port takes 32 KiB at a time."""
    left = json.dumps(message).encode() + b"\n"
    while left:
        left = left[os.write(channel, left) :]


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Call the function that a request names."""
    try:
        return {"result": globals()[request["function"]](**request["arguments"])}
    except Exception:  # whatever it is, the one who asked has to know
        return {"error": traceback.format_exc()}


if __name__ == "__main__":
    sys.exit(serve())
